# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory sizes and NUMA nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import memory
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

NODES = "sys/devices/system/node"


def node(number: int, cpus: str, kib: int | None) -> dict[str, str]:
    """Return the files of a NUMA node."""
    files = {f"{NODES}/node{number}/cpulist": cpus + "\n"}
    if kib is not None:
        files[f"{NODES}/node{number}/meminfo"] = (
            f"Node {number} MemTotal:       {kib} kB\nNode {number} MemFree: 1 kB\n"
        )
    return files


@pytest.mark.parametrize(
    ("files", "total"),
    [
        pytest.param({"proc/meminfo": "MemTotal:       16370687 kB\n"}, 15986, id="rounded down, never up"),
        pytest.param(node(0, "0-3", 1023) | node(1, "4-7", 1025), 2, id="sum first, then round"),
        pytest.param(
            node(0, "0-71", 490000) | node(1, "", 96000) | {"proc/meminfo": "MemTotal: 586000 kB\n"},
            490000 // 1024,
            id="GPU memory that is a NUMA node",
        ),
        pytest.param(node(0, "0-71", 490000) | node(1, "", 96000), 490000 // 1024, id="the same without meminfo"),
        pytest.param(
            node(0, "0-1", 8612056) | {"proc/meminfo": "MemTotal: 24684096 kB\n"},
            24684096 // 1024,
            id="a memory balloon that moves the node's size",
        ),
        pytest.param(node(0, "0-1", None), None, id="unknown for a node"),
        pytest.param({}, None, id="nothing readable"),
        pytest.param({"proc/meminfo": "MemFree: 1 kB\n"}, None, id="no MemTotal"),
        pytest.param(node(1, "", 96000) | {"proc/meminfo": "MemTotal: 96000 kB\n"}, None, id="nothing left"),
    ],
)
def test_total(evidence: Callable[..., Evidence], files: dict[str, str], total: int | None) -> None:
    source = evidence(files)
    assert memory.total_mib(source, memory.read_nodes(source)) == total


def test_nodes_by_number_with_and_without_cpus(evidence: Callable[..., Evidence]) -> None:
    files = {f"{NODES}/possible": "0-255\n"}
    for number, cpus in ((10, ""), (8, "88-91"), (0, "0-3"), (250, "")):
        files |= node(number, cpus, 1024)
    nodes = memory.read_nodes(evidence(files))
    assert [entry.number for entry in nodes] == [0, 8, 10, 250]
    assert [entry.number for entry in memory.with_cpus(nodes)] == [0, 8]


def test_old_kernels_show_a_mask_only(evidence: Callable[..., Evidence]) -> None:
    nodes = memory.read_nodes(evidence({f"{NODES}/node0/cpumap": "00000000,0000000f\n"}))
    assert nodes[0].cpus == (0, 1, 2, 3)
