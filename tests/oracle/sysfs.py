# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complete sysfs trees of processors, as hwloc reads them: machines that no capture shows.

Unlike the fixture bundles, which hold only what the detection asks for, these have all that hwloc looks at, so that the
detection and hwloc can be held against each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"


@dataclass(frozen=True)
class Processors:
    """Sockets, NUMA nodes a socket, third-level caches a node, cores a cache, threads a core; and the numbering.

    ``numbering``: ``blocks`` (all cores, then all second threads), ``pairs`` (threads of a core side by side),
    ``sockets`` and ``nodes`` (neighbouring numbers alternate between them), or ``shuffled``. ``off``: CPUs offline.
    ``memories``: NUMA nodes without CPUs, behind the others: the nodes that each is near to, by distance or,
    with ``initiators``, by what firmware says in that folder (beside ``access1``, ``access0`` says something else).
    """

    sockets: int
    nodes: int = 1
    caches: int = 1
    cores: int = 4
    threads: int = 1
    numbering: str = "blocks"
    off: Sequence[int] = ()
    memories: Sequence[Sequence[int]] = ()
    initiators: str = ""

    @property
    def total(self) -> int:
        """Return the number of cores."""
        return self.sockets * self.nodes * self.caches * self.cores

    def numbers(self) -> list[list[int]]:
        """Return the CPU numbers of each core, cores in the order socket, node, cache, core."""
        total, threads = self.total, self.threads
        order = list(range(total))
        if self.numbering == "pairs":
            return [[core * threads + thread for thread in range(threads)] for core in order]
        if self.numbering == "shuffled":
            random.Random(total * threads).shuffle(order)
        elif self.numbering != "blocks":
            groups = self.sockets if self.numbering == "sockets" else self.sockets * self.nodes
            size = total // groups
            order = [core % size * groups + core // size for core in range(total)]
        return [[thread * total + number for thread in range(threads)] for number in order]

    def groups(self, size: int) -> list[list[int]]:
        """Return the online CPUs of each group of ``size`` cores."""
        numbers = self.numbers()
        return [
            sorted({cpu for core in numbers[at : at + size] for cpu in core} - set(self.off))
            for at in range(0, self.total, size)
        ]

    @property
    def near(self) -> list[list[int]]:
        """Return the CPUs of each NUMA node."""
        return self.groups(self.caches * self.cores)


def listed(numbers: Iterable[int]) -> str:
    """Return a CPU list; single numbers, the kernel's ranges do not matter here."""
    return ",".join(map(str, sorted(numbers))) + "\n"


def mask(numbers: Iterable[int], highest: int) -> str:
    """Return a CPU mask in words of 32 bits."""
    value = sum(1 << number for number in numbers)
    words = highest // 32 + 1
    return ",".join(f"{value >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(words))) + "\n"


def tree(processors: Processors, memory_mib: int = 65536) -> dict[str, str]:
    """Return the files of the tree: path -> text."""
    every = [cpu for core in processors.numbers() for cpu in core]
    highest = max(every)
    online = set(every) - set(processors.off)
    files = {
        f"{CPUS}/possible": listed(every),
        f"{CPUS}/present": listed(every),
        f"{CPUS}/online": listed(online),
        "proc/cpuinfo": "".join(f"processor\t: {cpu}\nmodel name\t: Made-up Processor\n\n" for cpu in sorted(online)),
        "proc/meminfo": f"MemTotal: {memory_mib * 1024} kB\n",
    }
    per_socket = processors.total // processors.sockets
    kinds = {
        "package_cpus": processors.groups(per_socket),
        "core_siblings": processors.groups(per_socket),
        "core_cpus": processors.groups(1),
        "thread_siblings": processors.groups(1),
    }
    for kind, groups in kinds.items():
        for group in groups:
            for cpu in group:
                files[f"{CPUS}/cpu{cpu}/topology/{kind}"] = mask(group, highest)
                files[f"{CPUS}/cpu{cpu}/topology/{kind}_list"] = listed(group)
    for number, core in enumerate(processors.numbers()):
        for cpu in core:
            if cpu not in online:
                files[f"{CPUS}/cpu{cpu}/online"] = "0\n"
                continue
            files[f"{CPUS}/cpu{cpu}/topology/core_id"] = f"{number % per_socket}\n"
            files[f"{CPUS}/cpu{cpu}/topology/physical_package_id"] = f"{number // per_socket}\n"
    for group in processors.groups(processors.cores):
        for cpu in group:
            files |= _cache(cpu, 0, 3, group, highest)
    return files | _nodes(processors, highest, memory_mib)


def _nodes(processors: Processors, highest: int, memory_mib: int) -> dict[str, str]:
    groups = [*processors.near, *([] for _memory in processors.memories)]
    bare = {len(processors.near) + at: near for at, near in enumerate(processors.memories)}
    every = listed(range(len(groups)))
    files = {f"{NODES}/online": every, f"{NODES}/possible": every}
    share = memory_mib * 1024 // len(groups)
    for number, group in enumerate(groups):
        files[f"{NODES}/node{number}/cpumap"] = mask(group, highest)
        files[f"{NODES}/node{number}/cpulist"] = listed(group)
        files[f"{NODES}/node{number}/meminfo"] = f"Node {number} MemTotal:       {share} kB\n"
        near = bare.get(number, ())
        reached = {processors.initiators: near} if near and processors.initiators else {}
        if "access1" in reached:
            reached["access0"] = [0]
        for access, others in reached.items():
            for other in others:
                files[f"{NODES}/node{number}/{access}/initiators/node{other}/cpumap"] = mask(groups[other], highest)
        close = {other for other in range(len(groups)) if other in near or number in bare.get(other, ())}
        files[f"{NODES}/node{number}/distance"] = (
            " ".join(
                "10" if other == number else "20" if other in close and not processors.initiators else "40"
                for other in range(len(groups))
            )
            + "\n"
        )
    return files


def _cache(cpu: int, index: int, level: int, group: Sequence[int], highest: int) -> dict[str, str]:
    folder = f"{CPUS}/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/level": f"{level}\n",
        f"{folder}/type": "Unified\n",
        f"{folder}/size": "32768K\n",
        f"{folder}/coherency_line_size": "64\n",
        f"{folder}/number_of_sets": "32768\n",
        f"{folder}/physical_line_partition": "1\n",
        f"{folder}/shared_cpu_map": mask(group, highest),
        f"{folder}/shared_cpu_list": listed(group),
    }
