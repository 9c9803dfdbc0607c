# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh evidence against the stored record."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.compare import settle
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take

Record = dict[str, Any]
Change = Callable[[Record], object]
LATER = "2027-01-01T00:00:00Z"


def record_of(folder: Path, name: str, taken_at: str = "2026-11-30T19:31:44Z") -> Record:
    """Return the record of a fixture bundle on the machine with two sockets."""
    return take(Evidence([str(folder / name), str(folder / "cpu-2x56c-smt2")]), "gpu001", taken_at)


def ids(problems: Any) -> list[str]:
    """Return the ids of problems, sorted."""
    return sorted(problem["id"] for problem in problems)


@pytest.fixture(scope="module")
def stored(bundles_dir: Path) -> Record:
    """Return the stored record of a healthy node with four A100, one of them split."""
    return record_of(bundles_dir, "a100-4gpu-mig")


def later(record: Record, change: Change | None = None) -> Record:
    """Return evidence that was taken later, with a change."""
    evidence = copy.deepcopy(record)
    evidence["taken_at"] = LATER
    if change:
        change(evidence)
    return evidence


def test_first_record(stored: Record) -> None:
    assert settle(None, stored) == (stored, [])


def test_nothing_new_keeps_the_time(stored: Record) -> None:
    assert settle(stored, later(stored)) == (stored, [])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda e: e.update(memory_mib=e["memory_mib"] - 900), id="some MiB less"),
        pytest.param(lambda e: e.update(memory_mib=e["memory_mib"] - 20_000), id="less than 1 percent less"),
        pytest.param(lambda e: e.update(memory_mib=e["memory_mib"] + 900), id="some MiB more"),
        pytest.param(lambda e: e["cpu"]["numa_nodes"][0].update(memory_mib=5), id="a node's part of the same memory"),
    ],
)
def test_small_changes_of_memory_are_no_change(stored: Record, change: Change) -> None:
    assert settle(stored, later(stored, change)) == (stored, [])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda e: e["nvidia"].update(driver="595.91.07"), id="driver"),
        pytest.param(lambda e: e["gpus"][0].update(uuid="GPU-new"), id="GPU replaced by its like"),
        pytest.param(lambda e: e["gpus"][0].update(minor=7), id="minor number"),
        pytest.param(lambda e: e["gpus"][0].update(type="a100", product="A100"), id="new driver, new name"),
        pytest.param(lambda e: e["gpus"][3]["mig"]["instances"][0].update(gi=1), id="same profiles, other ids"),
        pytest.param(lambda e: e.update(memory_mib=e["memory_mib"] + 100_000), id="more memory"),
        pytest.param(lambda e: e["fabric"]["hcas"].append({"name": "mlx5_0", "guid": None, "ports": []}), id="adapter"),
        pytest.param(
            lambda e: e["problems"].append({"id": "GPU013", "severity": "warning", "host": "gpu001"}), id="warning"
        ),
    ],
)
def test_ordinary_changes_are_taken_over(stored: Record, change: Change) -> None:
    evidence = later(stored, change)
    record, problems = settle(stored, evidence)
    assert record == evidence
    assert record["taken_at"] == LATER
    assert problems == evidence["problems"]


def test_small_memory_changes_ride_along_with_others(stored: Record) -> None:
    def change(evidence: Record) -> None:
        evidence["memory_mib"] -= 5
        evidence["nvidia"]["driver"] = "595.91.07"

    record, _problems = settle(stored, later(stored, change))
    assert (record["memory_mib"], record["nvidia"]["driver"]) == (stored["memory_mib"], "595.91.07")


def swap_model(evidence: Record) -> None:
    """Put another model in the place of the first GPU."""
    evidence["gpus"][0].update(device_id="2330", type="nvidia_h100_80gb_hbm3")


def move(evidence: Record) -> None:
    """Move one GPU to another slot."""
    evidence["gpus"][0].update(pci="00000000:22:00.0")


@pytest.mark.parametrize(
    ("change", "problem", "words"),
    [
        pytest.param(lambda e: e["gpus"].pop(1), "GPU020", "shows 3 GPUs, its record has 4", id="fewer"),
        pytest.param(
            lambda e: e["gpus"].append({**e["gpus"][0], "pci": "00000000:f0:00.0"}),
            "GPU021",
            "new: 00000000:f0:00.0",
            id="more",
        ),
        pytest.param(swap_model, "GPU022", "nvidia_h100_80gb_hbm3", id="other model"),
        pytest.param(move, "GPU023", "00000000:22:00.0", id="moved"),
        pytest.param(lambda e: e.update(memory_mib=1_000_000), "MEM010", "1000000", id="less memory"),
        pytest.param(
            lambda e: e["cpu"].update(sockets=1, cores_per_socket=112),
            "CPU010",
            "1 sockets x 112 cores",
            id="CPU layout",
        ),
        pytest.param(
            lambda e: e["cpu"].update(core_map=["0-110:2,1-111:2", "112-223"]), "CPU010", "0-110:2", id="CPU numbers"
        ),
        pytest.param(lambda e: e["gpus"][3]["mig"]["instances"].pop(), "MIG010", "1 x 2g.20gb", id="MIG"),
        pytest.param(
            lambda e: e["gpus"][3].update(mig={"mode": "disabled", "instances": []}), "MIG010", "none", id="MIG off"
        ),
    ],
)
def test_contradictions_keep_the_record_until_accepted(
    stored: Record, change: Change, problem: str, words: str
) -> None:
    evidence = later(stored, change)
    record, problems = settle(stored, evidence)
    assert record is stored
    assert ids(problems) == [problem]
    assert words in problems[0]["message"]
    assert "hardware_accept=gpu001" in problems[0]["remedy"]
    assert settle(stored, evidence, accept=True) == (evidence, [])


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("a100-mig-empty", ["MIG001"]),
        ("a100-device-cgroup", ["GPU002"]),
        ("a100-hanging-nvidia-smi", ["GPU005"]),
        ("a100-no-handle", ["GPU003"]),
        ("truncated-xml", ["GPU007"]),
    ],
)
def test_new_errors_keep_the_record_too(bundles_dir: Path, stored: Record, name: str, problems: list[str]) -> None:
    evidence = record_of(bundles_dir, name, LATER)
    record, found = settle(stored, evidence)
    assert record is stored
    assert ids(found) == problems


def test_a_lost_gpu_neither_shrinks_the_record_nor_changes_it(bundles_dir: Path) -> None:
    healthy = record_of(bundles_dir, "hgx-h100-8gpu")
    record, found = settle(healthy, record_of(bundles_dir, "h100-lost-gpu", LATER))
    assert record is healthy
    assert ids(found) == ["GPU003"]


def test_a_known_error_goes_on_and_heals(bundles_dir: Path) -> None:
    """A node that was recorded before its driver came gets its types when the driver is there."""
    first = record_of(bundles_dir, "no-driver")
    again = later(first)
    assert settle(first, again) == (first, first["problems"])
    healed = later(first)
    healed["problems"] = []
    for gpu in healed["gpus"]:
        gpu.update(type="nvidia_h100_80gb_hbm3", minor=0, problem=None)
    assert settle(first, healed) == (healed, [])


def test_an_adapter_that_is_gone(bundles_dir: Path) -> None:
    healthy = record_of(bundles_dir, "hgx-h100-8gpu")
    record, found = settle(healthy, later(healthy, lambda e: e["fabric"]["hcas"].pop(2)))
    assert record is healthy
    assert ids(found) == ["FAB010"]
    assert "mlx5_2" in found[0]["message"]


def test_several_contradictions_are_all_told(stored: Record) -> None:
    def change(evidence: Record) -> None:
        evidence["gpus"].pop(0)
        evidence["memory_mib"] //= 2
        evidence["cpu"]["sockets"] = 1

    _record, problems = settle(stored, later(stored, change))
    assert ids(problems) == ["CPU010", "GPU020", "MEM010"]


XID = {
    "id": "GPU036",
    "severity": "error",
    "host": "gpu001",
    "message": "Xid 119 (GSP RPC timeout) at GPU 00000000:ca:00.0 of gpu001 since boot: once 1849 s after boot.",
    "remedy": "Reset it.",
}
NARROW = {**XID, "id": "GPU031", "severity": "warning"}


def test_health_is_told_and_leaves_the_record_alone(stored: Record) -> None:
    record, problems = settle(stored, later(stored), health=[XID, NARROW])
    assert record is stored
    assert problems == [XID, NARROW]


def test_health_is_no_part_of_a_first_record(stored: Record) -> None:
    record, problems = settle(None, stored, health=[XID])
    assert record["problems"] == []
    assert problems == [XID]


def test_accepted_health_is_known_until_it_changes(stored: Record) -> None:
    """Azure/azurehpc#648: an acknowledged Xid does not drain the node again; a new event does."""
    accepted, problems = settle(stored, later(stored), accept=True, health=[XID, NARROW])
    known = {**XID, "severity": "warning"}
    assert accepted["problems"] == [known]
    assert problems == [known, NARROW]
    assert settle(accepted, later(stored), health=[XID]) == (accepted, [known])
    again = {**XID, "message": XID["message"].replace("once", "2 times, last")}
    record, problems = settle(accepted, later(stored), health=[again])
    assert (record["problems"], problems) == ([], [again])
    record, problems = settle(accepted, later(stored))
    assert (record["problems"], problems) == ([], [])


def test_health_and_a_contradiction_are_both_told(stored: Record) -> None:
    record, problems = settle(stored, later(stored, lambda e: e["gpus"].pop(0)), health=[XID])
    assert record is stored
    assert ids(problems) == ["GPU020", "GPU036"]
