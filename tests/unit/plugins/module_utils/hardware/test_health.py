# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a node with all of its hardware out of service."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import health, kernel_log
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take

Examine = Callable[..., list[dict[str, str]]]


def found(folder: Path, name: str) -> list[tuple[str, str]]:
    """Return (id, bus of the GPU) for each finding in a bundle."""
    evidence = Evidence([str(folder / name), str(folder / "cpu-2x56c-smt2")])
    return _short([problem.as_dict() for problem in health.examine(evidence, "gpu001")])


def _short(problems: list[dict[str, str]]) -> list[tuple[str, str]]:
    pattern = re.compile(r"[0-9a-f]{8}:([0-9a-f]{2}):00\.0")
    return [(problem["id"], (pattern.search(problem["message"]) or ["", ""])[1]) for problem in problems]


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        ("a100-xid", [("GPU038", "4b"), ("GPU036", "ca"), ("GPU037", "e3")]),
        pytest.param("a100-fallen-off-without-xid", [("GPU037", "e3")], id="NVIDIA/NVSentinel#155"),
        ("a100-row-remap", [("GPU033", "4b"), ("GPU034", "ca")]),
        ("a100-recovery-action", [("GPU035", "4b")]),
        ("a100-narrow-link", [("GPU030", "ca")]),
        ("a100-library-mismatch", []),
        ("hgx-h100-8gpu", []),
        ("k80-minors-out-of-order", []),
        ("cpu-only-2x56c-smt2", []),
        ("no-driver", []),
        ("unreadable-xml", []),
    ],
)
def test_bundles(bundles_dir: Path, bundle: str, expected: list[tuple[str, str]]) -> None:
    assert found(bundles_dir, bundle) == expected


def test_findings_are_no_part_of_the_record(bundles_dir: Path) -> None:
    """Else every event would change a file that is under version control."""
    roots = [str(bundles_dir / "a100-xid"), str(bundles_dir / "cpu-2x56c-smt2")]
    record = take(Evidence(roots), "gpu001", "")
    assert record["problems"] == []
    assert {gpu["problem"] for gpu in record["gpus"]} == {None}


def test_the_words_stay_the_same_while_nothing_happens(bundles_dir: Path) -> None:
    roots = [str(bundles_dir / "a100-xid")]
    first, second = (health.examine(Evidence(roots), "gpu001") for _time in range(2))
    assert first == second
    assert "119 (GSP RPC timeout)" in first[1].message
    assert "2 times, last 1849 s after boot" in first[1].message


def a100(parts: ModuleType, log: str = "", **of_gpus: dict[str, Any]) -> dict[str, bytes]:
    """Return four A100, changed."""
    files: dict[str, bytes] = parts.machine_files(replace(parts.changed(parts.plain_a100(), **of_gpus), kernel_log=log))
    return files


@pytest.mark.parametrize("code", [13, 31, 43, 45, 68])
def test_faults_of_applications_are_not_told(parts: ModuleType, health_of: Examine, code: int) -> None:
    log = parts.logged(f"NVRM: Xid (PCI:0000:31:00): {code}, pid=4711, name=process, whatever")
    assert health_of(a100(parts, log)) == []


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        *[(code, "GPU036") for code in (46, 48, 62, 64, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158)],
        *[(code, "GPU037") for code in (54, 78, 79)],
        *[(code, "GPU038") for code in (63, 92, 94, 145, 999)],
    ],
)
def test_classes_of_xids(parts: ModuleType, health_of: Examine, code: int, problem: str) -> None:
    (finding,) = health_of(a100(parts, parts.logged(f"NVRM: Xid (PCI:0000:31:00): {code}, x")))
    assert finding["id"] == problem
    assert finding["severity"] == ("warning" if problem == "GPU038" else "error")
    assert f"Xid {code}" in finding["message"]


def test_each_code_is_in_one_class() -> None:
    classes = (set(health.NEED_RESET), set(health.NEED_REPAIR), set(health.NEED_ATTENTION), health._OF_NO_CONSEQUENCE)
    assert sum(map(len, classes)) == len(set().union(*classes))


def test_what_came_before_the_last_boot_is_not_read(parts: ModuleType, evidence: Callable[..., Evidence]) -> None:
    """Azure/azurehpc#648: a node must not stay drained because of an error that a reboot has cured."""
    source = evidence(a100(parts))
    health.examine(source, "gpu001")
    assert "--boot" in kernel_log._JOURNAL
    assert any(path.startswith("commands/journalctl_--dmesg_--boot") for path in (parts.JOURNAL,))


def test_ring_buffer_where_there_is_no_journal(parts: ModuleType, health_of: Examine) -> None:
    files = a100(parts) | {"commands/dmesg": "[  12.5] NVRM: Xid (PCI:0000:31:00): 95, Uncontained\n"}
    assert _short(health_of(files)) == [("GPU036", "31")]


def test_only_the_drivers_lines_go_into_a_bundle(parts: ModuleType, evidence: Callable[..., Evidence]) -> None:
    files = a100(parts, "[ 1.0] kernel: secret of eth0\n" + parts.XIDS)
    source = evidence(files)
    health.examine(source, "gpu001")
    assert b"secret" not in source.taken[parts.JOURNAL]
    assert source.taken[parts.JOURNAL].count(b"NVRM") == 9


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        pytest.param([(5, 16)] * 4, [], id="all equal"),
        pytest.param([(5, 8)] * 4, [], id="slots with eight lanes, by design"),
        pytest.param([(5, 16), (5, 16), (5, 8), (5, 8)], [], id="two and two, perhaps by design"),
        pytest.param([(5, 16), (5, 16), (5, 16), (5, 8)], ["GPU030"], id="one narrower"),
        pytest.param([(5, 16), (4, 16), (5, 16), (5, 16)], ["GPU030"], id="one slower"),
        pytest.param([(5, 16), (3, 4), (5, 16), (5, 16)], ["GPU030", "GPU030", "GPU031"], id="one slower and narrow"),
        pytest.param([(5, 4)] * 4, ["GPU031"] * 4, id="all on a fourth of the lanes"),
    ],
)
def test_links(parts: ModuleType, health_of: Examine, links: list[tuple[int, int]], expected: list[str]) -> None:
    of_gpus = {f"gpu{at}": {"link": link} for at, link in enumerate(links)}
    assert [problem["id"] for problem in health_of(a100(parts, **of_gpus))] == expected


def test_a_link_at_rest_is_not_judged(parts: ModuleType, health_of: Examine) -> None:
    """A resting GPU lowers its link; capture a10g-1gpu shows generation 1 and 8 of 16 lanes."""
    assert health_of(a100(parts, gpu1={"link": (1, 1), "state": "P8"})) == []


def test_other_models_are_no_peers(parts: ModuleType, health_of: Examine) -> None:
    other = {"link": (4, 8), "product": "NVIDIA A2"}
    assert health_of(a100(parts, gpu3=other)) == []


@pytest.mark.parametrize("tag", ["pending_retirement", "pending_blacklist"])
def test_retired_pages_of_older_gpus(parts: ModuleType, health_of: Examine, tag: str) -> None:
    text = parts.report(parts.plain_a100()).replace(
        "\t</gpu>", f"<retired_pages><{tag}>Yes</{tag}></retired_pages></gpu>", 1
    )
    assert _short(health_of(parts.with_report(a100(parts), text))) == [("GPU033", "31")]


def test_verdict_in_the_log_of_a_driver_whose_report_has_none(parts: ModuleType, health_of: Examine) -> None:
    log = parts.logged("NVRM: Xid (PCI:0000:31:00): 154, changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    text = re.sub(r".*<gpu_recovery_action>.*\n", "", parts.report(parts.plain_a100()))
    (finding,) = health_of(parts.with_report(a100(parts, log), text))
    assert (finding["id"], "Node Reboot Required" in finding["message"]) == ("GPU035", True)


@pytest.mark.parametrize(("text", "expected"), [("Fatal, Link 30", ["GPU039"]), ("Non-fatal, Link 30", [])])
def test_nvswitch(parts: ModuleType, health_of: Examine, text: str, expected: list[str]) -> None:
    log = parts.logged(f"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, {text}")
    assert [problem["id"] for problem in health_of(a100(parts, log))] == expected


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ((), []),
        (("580.126.20",), []),
        (("580.142",), ["GPU017"]),
        pytest.param(("470.256.02", "580.126.20"), [], id="an older driver lies beside it"),
    ],
)
def test_libraries(parts: ModuleType, health_of: Examine, versions: tuple[str, ...], expected: list[str]) -> None:
    machine = replace(parts.plain_a100(), libraries=versions)
    assert [problem["id"] for problem in health_of(parts.machine_files(machine))] == expected


def test_libraries_of_another_machine_say_nothing(parts: ModuleType, health_of: Examine) -> None:
    """A bundle laid over a machine of its own, as in the demo."""
    below = {"usr/lib/x86_64-linux-gnu/libcuda.so.1.1": "", "usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14": ""}
    assert health_of(a100(parts), below) == []
