# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a record."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import faults, ordered

Record = dict[str, Any]


@pytest.fixture
def record(bundles_dir: Path) -> Record:
    """Return a record in which no list is empty but that of problems."""
    return copy.deepcopy(
        take(Evidence([str(bundles_dir / "a100-4gpu-mig"), str(bundles_dir / "cpu-only-2x56c-smt2")]), "n", "t")
    )


def reversed_keys(value: Any) -> Any:
    """Return the value with the keys of all dictionaries in reverse order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def test_order_of_keys_is_the_schemas(record: Record) -> None:
    assert faults(record) == []
    assert str(ordered(reversed_keys(record))) == str(record)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda r: r.pop("gpus"), "node_hardware.gpus is missing"),
        (lambda r: r.update(more=1), "node_hardware.more is not known"),
        (lambda r: r["cpu"].pop("sockets"), "node_hardware.cpu.sockets is missing"),
        (lambda r: r.update(cpu=3), "node_hardware.cpu is not a dictionary"),
        (lambda r: r.update(gpus={}), "node_hardware.gpus is not a list"),
        (
            lambda r: r["gpus"][3]["mig"]["instances"][1].pop("gi"),
            "node_hardware.gpus[3].mig.instances[1].gi is missing",
        ),
        (lambda r: r.update(memory_mib={"total": 1}), "node_hardware.memory_mib is a dictionary"),
        (lambda r: r.update(memory_mib="64"), "node_hardware.memory_mib is '64', not a number in reason"),
        (lambda r: r.update(memory_mib=-1), "node_hardware.memory_mib is -1, not a number in reason"),
        (lambda r: r.update(memory_mib=True), "node_hardware.memory_mib is True, not a number in reason"),
        (lambda r: r.update(taken_at=5), "node_hardware.taken_at is 5, not a text in quotes"),
        (lambda r: r["nvidia"].update(nvswitch="no"), "node_hardware.nvidia.nvswitch is 'no', neither true nor false"),
        (lambda r: r["cpu"].update(core_map="0-1"), "node_hardware.cpu.core_map is no list of texts"),
        (lambda r: r["gpus"][0].update(pci=None), "node_hardware.gpus[0].pci is None, not a text in quotes"),
    ],
)
def test_faults(record: Record, change: Callable[[Record], object], fault: str) -> None:
    change(record)
    assert faults(record) == [fault]


def test_what_is_no_record_at_all() -> None:
    assert faults(None) == ["node_hardware is not a dictionary"]
