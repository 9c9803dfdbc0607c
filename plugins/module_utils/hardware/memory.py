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
from typing import Iterable, Optional, Tuple

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

__all__ = ["NumaNode", "read_nodes", "total_mib"]

_NODES = "/sys/devices/system/node"
_MEM_TOTAL = re.compile(r"MemTotal:\s*(\d+)\s*kB")


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node: its number, its CPUs (ascending) and its memory in KiB (None: unknown)."""

    number: int
    cpus: Tuple[int, ...]
    memory_kib: Optional[int]


def read_nodes(evidence: Evidence) -> Tuple[NumaNode, ...]:
    """Return the NUMA nodes that have CPUs, by number; empty where the kernel shows none."""
    numbers = sorted(int(name[4:]) for name in evidence.names(_NODES) or () if re.fullmatch(r"node\d+", name))
    nodes = (_read_node(evidence, number) for number in numbers)
    return tuple(node for node in nodes if node.cpus)


def _read_node(evidence: Evidence, number: int) -> NumaNode:
    folder = f"{_NODES}/node{number}"
    listed = evidence.read(f"{folder}/cpulist")
    if listed is not None:
        cpus = cpulist.parse_set(listed)
    else:  # kernels before 2.6.26
        cpus = cpulist.parse_mask(evidence.read(f"{folder}/cpumap") or "0")
    return NumaNode(number, tuple(cpus), _kib(evidence.read(f"{folder}/meminfo")))


def total_mib(evidence: Evidence, nodes: Iterable[NumaNode]) -> Optional[int]:
    """Return the memory of the nodes together in MiB, rounded down; without nodes the kernel's MemTotal counts.

    None when it is unknown for one of the nodes.
    """
    sizes = [node.memory_kib for node in nodes]
    if not sizes:
        sizes = [_kib(evidence.read("/proc/meminfo"))]
    known = [size for size in sizes if size is not None]
    return sum(known) // 1024 if len(known) == len(sizes) else None


def _kib(meminfo: Optional[str]) -> Optional[int]:
    match = _MEM_TOTAL.search(meminfo or "")
    return int(match[1]) if match else None
