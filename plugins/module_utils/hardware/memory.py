# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory and NUMA nodes.

Only NUMA nodes that have CPUs count: on GH200 and GB200 the memory of the GPUs appears as further nodes, whose size
depends on the state of the driver and which Slurm must not hand out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence, EvidenceError

__all__ = ["NumaNode", "read_nodes", "total_mib", "with_cpus"]

_NODES = "/sys/devices/system/node"
_MEM_TOTAL = re.compile(r"MemTotal:\s*(\d{1,15})\s*kB", re.ASCII)


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node: its number, its CPUs (ascending) and its memory in KiB (None: unknown)."""

    number: int
    cpus: tuple[int, ...]
    memory_kib: int | None


def read_nodes(evidence: Evidence) -> tuple[NumaNode, ...]:
    """Return all NUMA nodes by number; empty where the kernel shows none."""
    names = evidence.names(_NODES) or ()
    numbers = sorted(int(name[4:]) for name in names if re.fullmatch(r"node[0-9]{1,6}", name))
    return tuple(_read_node(evidence, number) for number in numbers)


def with_cpus(nodes: Iterable[NumaNode]) -> tuple[NumaNode, ...]:
    """Return those nodes that have CPUs."""
    return tuple(node for node in nodes if node.cpus)


def _read_node(evidence: Evidence, number: int) -> NumaNode:
    folder = f"{_NODES}/node{number}"
    listed = evidence.read(f"{folder}/cpulist")
    try:
        if listed is not None:
            cpus = cpulist.parse_set(listed)
        else:  # kernels before 2.6.26
            cpus = cpulist.parse_mask(evidence.read(f"{folder}/cpumap") or "0")
    except cpulist.CpuListError as error:
        raise EvidenceError(f"{folder} has no list of CPUs: {error}") from None
    return NumaNode(number, tuple(cpus), _kib(evidence.read(f"{folder}/meminfo")))


def total_mib(evidence: Evidence, nodes: Iterable[NumaNode]) -> int | None:
    """Return the memory near to CPUs in MiB, rounded down, or None when it is unknown.

    That is what the kernel calls MemTotal (and slurmd goes by) less the nodes without CPUs. Nodes with CPUs are summed
    up only where MemTotal cannot be read: in virtual machines with a memory balloon the two differ, and then the sum
    moves all the time.
    """
    nodes = tuple(nodes)
    total = _kib(evidence.read("/proc/meminfo"))
    if total is None:
        return _mib(node.memory_kib for node in nodes if node.cpus) if nodes else None
    return _mib([total, *(-(node.memory_kib or 0) for node in nodes if not node.cpus)])


def _mib(sizes_kib: Iterable[int | None]) -> int | None:
    """Return the sum of the sizes in MiB, or None when one of them is unknown or nothing is left."""
    total = 0
    for size in sizes_kib:
        if size is None:
            return None
        total += size
    return total // 1024 if total > 0 else None


def _kib(meminfo: str | None) -> int | None:
    match = _MEM_TOTAL.search(meminfo or "")
    return int(match[1]) if match else None
