# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small functions behind the roles' templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.filter import site as site_filters
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils import site

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("addresses", "extra", "lines"),
    [
        pytest.param({}, {}, [], id="nobody"),
        pytest.param({"b": "10.0.0.2", "a": "10.0.0.1"}, {}, ["10.0.0.1\ta", "10.0.0.2\tb"], id="in order of names"),
        pytest.param({"a": None, "b": "10.0.0.2"}, {}, ["10.0.0.2\tb"], id="left to DNS"),
        pytest.param({"a.example.org": "10.0.0.1"}, {}, ["10.0.0.1\ta.example.org a"], id="dotted name"),
        pytest.param({}, {"10.0.0.9": "filer filer.example.org"}, ["10.0.0.9\tfiler filer.example.org"], id="extra"),
    ],
)
def test_hosts_lines(addresses: dict[str, str | None], extra: dict[str, str], lines: list[str]) -> None:
    assert site.hosts_lines(addresses, extra) == lines


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}[0-9]{0,3}", fullmatch=True), st.just("10.0.0.1"), max_size=8))
def test_the_order_of_hosts_does_not_change_the_lines(addresses: dict[str, str | None]) -> None:
    backwards = dict(reversed(addresses.items()))
    assert site.hosts_lines(addresses, {}) == site.hosts_lines(backwards, {})


@pytest.mark.parametrize(
    ("defaults", "overrides", "lines"),
    [
        pytest.param({"A": 1}, {}, ["A=1"], id="default"),
        pytest.param({"ReturnToService": 1}, {"returntoservice": 2}, ["ReturnToService=2"], id="case does not matter"),
        pytest.param({"A": 1}, {"A": None}, [], id="taken out"),
        pytest.param({"A": 1}, {"A": ""}, [], id="taken out by an empty text"),
        pytest.param({"A": []}, {}, [], id="cyclecloud-slurm#200: an empty list makes no line"),
        pytest.param({"A": [1, "b"]}, {}, ["A=1,b"], id="list"),
        pytest.param({"A": True, "B": False}, {}, ["A=yes", "B=no"], id="booleans"),
        pytest.param({"A": 0}, {}, ["A=0"], id="zero is a value"),
        pytest.param({}, {"Z": 1, "B": 2}, ["Z=1", "B=2"], id="order of the site's own"),
        pytest.param({"J": ["x"]}, {"j": "y,x"}, ["J=x,y"], id="joined"),
        pytest.param({"J": ["x"]}, {"J": ["y"]}, ["J=x,y"], id="joined list"),
        pytest.param({"A": "/bin/systemctl reboot"}, {}, ['A="/bin/systemctl reboot"'], id="blanks are quoted"),
    ],
)
def test_conf_lines(defaults: dict[str, Any], overrides: dict[str, Any], lines: list[str]) -> None:
    assert site.conf_lines(defaults, overrides, joined=["J"]) == lines


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        pytest.param({"nodename": "x"}, "NodeName", id="derived parameter"),
        pytest.param({"A": 'say "x"'}, "quote", id="quote"),
        pytest.param({"A": "x\ny"}, "line break", id="line break"),
        pytest.param({"StoragePass": "se#cret"}, "comment", id="comment sign"),
        pytest.param({"A": "x\\"}, "backslash", id="backslash at the end joins the next line"),
        pytest.param({"A": "x\ty"}, "control character", id="tab"),
        pytest.param({"A": {"b": 1}}, "no text, number", id="dictionary"),
        pytest.param({"A": [{"b": 1}]}, "no text, number", id="list of dictionaries"),
        pytest.param({"A": float("nan")}, "no text, number", id="not a number"),
        pytest.param({1: 2}, "no name", id="name that is a number"),
        pytest.param({"A ": 2}, "no name", id="name with a blank"),
        pytest.param({"A=1\nB": 2}, "no name", id="name with a line break"),
        pytest.param({"ReturnToService": 1, "returntoservice": 2}, "one parameter", id="one parameter twice"),
    ],
)
def test_conf_lines_refuses(overrides: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        site.conf_lines({}, overrides, denied=["NodeName"])


def test_conf_lines_tells_everything_at_once_and_no_password() -> None:
    with pytest.raises(ValueError, match=r"NodeName.*'B '.*StoragePass") as caught:
        site.conf_lines({}, {"NodeName": 1, "B ": 2, "StoragePass": "hunter#2"}, denied=["NodeName"])
    assert "hunter" not in str(caught.value)


def test_template_denies_what_the_inventory_check_denies() -> None:
    template = ROOT / "roles" / "slurm_controller" / "templates" / "etc" / "slurm" / "slurm.conf.j2"
    assert f"denied={list(site.DERIVED)}" in template.read_text(encoding="utf-8")


def gpu(minor: int | None, problem: str | None = None, instances: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"minor": minor, "problem": problem, "mig": {"mode": None, "instances": instances or []}}


@pytest.mark.parametrize(
    ("record", "files"),
    [
        pytest.param({}, [], id="no record"),
        pytest.param({"gpus": [gpu(3), gpu(0)]}, ["/dev/nvidia3", "/dev/nvidia0"], id="in the order of the bus"),
        pytest.param({"gpus": [gpu(0), gpu(1, "GPU003")]}, ["/dev/nvidia0"], id="a lost GPU is not waited for"),
        pytest.param({"gpus": [gpu(None)]}, [], id="no minor number"),
        pytest.param(
            {"gpus": [gpu(0, None, [{"files": ["/dev/nvidia0", "/dev/c1"]}, {"files": ["/dev/nvidia0", "/dev/c2"]}])]},
            ["/dev/nvidia0", "/dev/c1", "/dev/c2"],
            id="MIG instances with their capabilities",
        ),
    ],
)
def test_device_files(record: dict[str, Any], files: list[str]) -> None:
    assert site.device_files(record) == files


@pytest.mark.parametrize(
    "record",
    [{"gpus": 5}, {"gpus": ["x"]}, {"gpus": [{}]}, {"gpus": [{**gpu(0), "mig": None}]}, ["x"]],
    ids=["number", "texts", "no keys", "no mig", "list"],
)
def test_device_files_of_a_record_that_cannot_be_read(record: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"node_hardware.*discover again"):
        site_filters.gpu_device_files(record)


def test_device_files_take_a_text_for_a_list() -> None:
    assert site.device_files({"gpus": [gpu(1), gpu(0), gpu(2)]}, "1,2") == ["/dev/nvidia0"]


@pytest.mark.parametrize("entry", [1, "1", "1b:00.0", "GPU-5f1d2c3b"])
def test_device_files_of_gpus_left_out(entry: Any) -> None:
    """BiBiServ/bibigrid#705: slurmd must not wait for a file that it will not open."""
    left_out = {**gpu(1), "pci": "00000000:1b:00.0", "uuid": "GPU-5f1d2c3b"}
    other = {**gpu(0), "pci": "00000000:43:00.0", "uuid": None}
    assert site.device_files({"gpus": [left_out, other]}, [entry]) == ["/dev/nvidia0"]


def test_faulty_nodes_names_the_first_error_as_the_reason() -> None:
    def found(problem_id: str, severity: str) -> dict[str, str]:
        return {"id": problem_id, "severity": severity, "host": "n1", "message": f"says {problem_id}", "remedy": ""}

    warning, first, second = found("MEM010", "warning"), found("GPU003", "error"), found("GPU020", "error")
    seen = {"n1": [second, warning, first], "n2": [warning], "n3": []}
    assert site.faulty_nodes(seen) == {"n1": "steelrack: GPU003 says GPU003"}
    assert site.faulty_nodes(seen, ["GPU003"]) == {"n1": "steelrack: GPU020 says GPU020"}
    assert site.faulty_nodes(seen, ["GPU003", "GPU020"]) == {}


def test_discovered_problems_leaves_out_who_did_not_take_part() -> None:
    problem = {"id": "GPU020"}
    hostvars: dict[str, dict[str, Any]] = {
        "n1": {"__discover_record": {"problems": [problem]}},
        "n2": {},
        "n3": {"__discover_record": {"unreachable": True}},
    }
    assert site_filters.discovered_problems(["n1", "n2", "n3", "n4"], hostvars) == {"n1": [problem]}
