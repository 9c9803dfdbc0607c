# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action hardware_record: one file beside the inventory, written only when its record changes."""

from __future__ import annotations

import copy
import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml
from ansible.errors import AnsibleActionFail, AnsibleError

from ansible_collections.steelrack.gpu_cluster.plugins.action import hardware_record
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import RECORD
from ansible_collections.steelrack.gpu_cluster.plugins.modules import hardware_record as documented

BUNDLES = Path(__file__).resolve().parents[3] / "fixtures" / "bundles"
Record = dict[str, Any]


def evidence_of(name: str, taken_at: str = "2026-11-30T19:31:44Z") -> Record:
    """Return the record of a fixture bundle on the machine with two sockets."""
    return take(Evidence([str(BUNDLES / name), str(BUNDLES / "cpu-2x56c-smt2")]), "gpu001", taken_at)


def run(path: Path, evidence: Any, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    """Return the result of the action."""
    task = MagicMock(args={"path": str(path), "evidence": evidence, **options}, async_val=0, check_mode=check_mode)
    action = hardware_record.ActionModule(
        task=task,
        connection=MagicMock(),
        play_context=MagicMock(),
        loader=MagicMock(),
        templar=MagicMock(),
        shared_loader_obj=MagicMock(),
    )
    return action.run(None, {})


def ids(result: dict[str, Any]) -> list[str]:
    """Return the ids of the problems of a result."""
    return [problem["id"] for problem in result["problems"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of the record, which is not there yet, nor is its folder."""
    return tmp_path / "host_vars" / "gpu001" / "hardware.yml"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"node_hardware: \xff\xfe", "UTF-8", id="not UTF-8"),
        pytest.param(b"node_hardware: 2026-13-45", "not YAML", id="date that is none"),
        pytest.param(b"node_hardware: " + b"[" * 5000, "not YAML", id="nested too deeply"),
        pytest.param(b"node_hardware: {schema: 1", "not YAML", id="cut off"),
    ],
)
def test_file_that_is_no_yaml(path: Path, content: bytes, words: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    result = run(path, evidence_of("hgx-h100-8gpu"))
    assert ids(result) == ["REC002"]
    assert words in result["problems"][0]["message"]
    assert path.read_bytes() == content


def test_value_of_another_type_in_the_file(path: Path) -> None:
    """A number in quotes was compared with one, which ended in a traceback."""
    evidence = evidence_of("hgx-h100-8gpu")
    run(path, evidence)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"memory_mib: {evidence['memory_mib']}", "memory_mib: '64 GB'"), encoding="utf-8")
    result = run(path, evidence)
    assert ids(result) == ["REC002"]
    assert "memory_mib is '64 GB'" in result["problems"][0]["message"]


@pytest.mark.parametrize("name", ["gpu001", "gpu001.yml"])
def test_variables_that_the_record_would_hide_are_not_lost(path: Path, name: str) -> None:
    file = path.parents[1] / name
    file.parent.mkdir()
    file.write_text("slurm_node_rack: r1\n", encoding="utf-8")
    with pytest.raises(AnsibleActionFail, match=r"gpu001 is not written.*move the file to .*/gpu001/main\.yml"):
        run(path, evidence_of("hgx-h100-8gpu"))
    assert [entry.name for entry in file.parent.iterdir()] == [name]


def test_place_that_cannot_be_written(path: Path) -> None:
    path.parents[1].write_text("", encoding="utf-8")
    with pytest.raises(AnsibleActionFail, match=r"record of gpu001 cannot be .* hardware_record_dir"):
        run(path, evidence_of("hgx-h100-8gpu"))


def test_first_run_writes_the_record(path: Path) -> None:
    evidence = evidence_of("hgx-h100-8gpu")
    result = run(path, evidence)
    assert result["changed"] is True
    assert result["record"] == evidence
    assert result["ansible_facts"] == {"node_hardware": evidence}
    assert yaml.safe_load(path.read_text()) == {"node_hardware": evidence}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["hardware.yml"]


def test_keys_stand_in_the_order_of_the_schema_under_a_heading(path: Path) -> None:
    evidence = evidence_of("a100-4gpu-mig")
    run(path, dict(reversed(evidence.items())))
    text = path.read_text()
    assert text.startswith("# Written by the playbook steelrack.gpu_cluster.discover")
    assert "hardware_accept=gpu001" in text
    assert list(yaml.safe_load(text)["node_hardware"]) == list(RECORD)
    assert "&id" not in text


def test_second_run_changes_no_byte(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
    result = run(path, evidence_of("hgx-h100-8gpu", "2027-01-01T00:00:00Z"))
    assert result["changed"] is False
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert result["record"]["taken_at"] == "2026-11-30T19:31:44Z"
    assert result["diff"]["before"] == result["diff"]["after"]


def test_comments_of_people_stay_as_long_as_nothing_changes(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    path.write_text(path.read_text() + "# rack 7\n")
    assert run(path, evidence_of("hgx-h100-8gpu", "later"))["changed"] is False
    assert path.read_text().endswith("# rack 7\n")


def test_check_mode_writes_nothing(path: Path) -> None:
    result = run(path, evidence_of("hgx-h100-8gpu"), check_mode=True)
    assert result["changed"] is True
    assert result["diff"]["after"].count("nvidia_h100_80gb_hbm3") == 8
    assert not path.parent.exists()


def test_contradiction_keeps_the_file_until_accepted(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    before = path.read_bytes()
    fewer = evidence_of("hgx-h100-8gpu", "2027-01-01T00:00:00Z")
    del fewer["gpus"][4]
    result = run(path, fewer)
    assert (result["changed"], ids(result), path.read_bytes()) == (False, ["GPU020"], before)
    assert len(result["ansible_facts"]["node_hardware"]["gpus"]) == 8

    accepted = run(path, fewer, accept=True)
    assert (accepted["changed"], ids(accepted)) == (True, [])
    assert yaml.safe_load(path.read_text())["node_hardware"] == fewer
    assert run(path, copy.deepcopy(fewer) | {"taken_at": "still later"})["changed"] is False


def test_lost_gpu_is_told_and_the_record_stays(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    result = run(path, evidence_of("h100-lost-gpu"))
    assert (result["changed"], ids(result)) == (False, ["GPU003"])
    assert [gpu["problem"] for gpu in result["record"]["gpus"]] == [None] * 8


def test_first_record_of_a_node_with_a_lost_gpu_keeps_it(path: Path) -> None:
    result = run(path, evidence_of("h100-lost-gpu"))
    assert (result["changed"], ids(result)) == (True, ["GPU003"])
    assert len(yaml.safe_load(path.read_text())["node_hardware"]["gpus"]) == 8


@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        ("node_hardware: {schema: 2, host: gpu001}\n", "REC001", "schema 2"),
        ("node_hardware: {host: gpu001}\n", "REC001", "schema None"),
        ("node_hardware: [1\n", "REC002", "not YAML"),
        ("", "REC002", "must define node_hardware"),
        ("node_hardware: {schema: 1}\nrack: 7\n", "REC002", "no other variable"),
        ("node_hardware: {schema: 1, host: gpu001}\n", "REC002", "taken_at is missing"),
    ],
)
def test_stored_record_that_cannot_be_used_is_never_overwritten(
    path: Path, text: str, problem: str, words: str
) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    result = run(path, evidence_of("hgx-h100-8gpu"))
    assert (result["changed"], result["record"], ids(result)) == (False, None, [problem])
    assert words in result["problems"][0]["message"]
    assert "ansible_facts" not in result
    assert path.read_text() == text
    assert run(path, evidence_of("hgx-h100-8gpu"), accept=True)["changed"] is True
    assert len(yaml.safe_load(path.read_text())["node_hardware"]["gpus"]) == 8


def test_record_of_another_host(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu") | {"host": "gpu099"})
    result = run(path, evidence_of("hgx-h100-8gpu"))
    assert ids(result) == ["REC003"]
    assert "gpu099" in result["problems"][0]["message"]


def test_a_killed_run_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    before = path.read_bytes()

    def killed(*_arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hardware_record.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        run(path, evidence_of("a100-4gpu-mig"), accept=True)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["hardware.yml"]


@pytest.mark.parametrize("evidence", [{}, {"schema": 1}, "no dictionary"])
def test_evidence_that_is_no_record(path: Path, evidence: Any) -> None:
    with pytest.raises((AnsibleActionFail, AnsibleError), match="evidence"):
        run(path, evidence)
    assert not path.exists()


def test_options_of_the_documentation(path: Path) -> None:
    options = yaml.safe_load(documented.DOCUMENTATION)["options"]
    assert {name: (option["type"], option.get("required", False)) for name, option in options.items()} == {
        "path": ("path", True),
        "evidence": ("dict", True),
        "accept": ("bool", False),
        "health": ("list", False),
        "excluded": ("list", False),
    }
    with pytest.raises(AnsibleError, match="other"):
        run(path, evidence_of("hgx-h100-8gpu"), other=1)


XID = {
    "id": "GPU036",
    "severity": "error",
    "host": "gpu001",
    "message": "Xid 119 (GSP RPC timeout) at GPU 00000000:d1:00.0 of gpu001 since boot: once 1849 s after boot.",
    "remedy": "Reset it.",
}


def test_health_changes_no_byte_until_it_is_accepted(path: Path) -> None:
    """Azure/azurehpc#648: acknowledged with hardware_accept; the acknowledgement ends with the finding."""
    run(path, evidence_of("hgx-h100-8gpu"))
    before = path.read_bytes()
    result = run(path, evidence_of("hgx-h100-8gpu", "later"), health=[XID])
    assert (result["changed"], result["problems"], path.read_bytes()) == (False, [XID], before)
    accepted = run(path, evidence_of("hgx-h100-8gpu", "later"), health=[XID], accept=True)
    assert (accepted["changed"], [problem["severity"] for problem in accepted["problems"]]) == (True, ["warning"])
    assert run(path, evidence_of("hgx-h100-8gpu", "still later"), health=[XID])["changed"] is False
    healed = run(path, evidence_of("hgx-h100-8gpu", "still later"))
    assert (healed["changed"], healed["problems"]) == (True, [])


@pytest.mark.parametrize(
    ("name", "excluded", "severities"),
    [
        ("h100-lost-gpu", [], ["error"]),
        ("h100-lost-gpu", ["0000:c3:00.0"], ["warning"]),
        ("h100-lost-gpu", [5], ["warning"]),
        ("h100-lost-gpu", ["0000:1b:00.0"], ["error"]),
    ],
)
def test_problems_of_a_gpu_that_is_left_out_keep_no_node_out_of_service(
    path: Path, name: str, excluded: list[Any], severities: list[str]
) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    result = run(path, evidence_of(name), excluded=excluded)
    assert [problem["severity"] for problem in result["problems"]] == severities


def test_a_problem_of_two_gpus_counts_unless_both_are_left_out(path: Path) -> None:
    run(path, evidence_of("hgx-h100-8gpu"))
    fewer = evidence_of("hgx-h100-8gpu")
    del fewer["gpus"][4:6]
    assert run(path, fewer, excluded=["9d:00.0"])["problems"][0]["severity"] == "error"
    assert run(path, fewer, excluded=["9d:00.0", "c3:00.0"])["problems"][0]["severity"] == "warning"
