# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets, cores and threads, and the order in which Slurm numbers the cores.

slurmd numbers cores by their position in hwloc's logical order. That order is reproduced here from sysfs alone:
packages by their lowest CPU, inside them NUMA nodes, then groups that share an L3 cache, then cores, each by lowest
CPU. Every core has one number, whatever the number of its threads. A NUMA node without CPUs of its own (memory of a GPU
or of an extension card) takes part with the CPUs of the nodes it is nearest to, as in hwloc.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, FrozenSet, Iterable, Mapping, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.memory import NumaNode
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make

__all__ = ["CpuTopologyError", "Topology", "describe", "order_cores", "read_topology"]

_CPUS = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"
_HYBRID = "/sys/devices/cpu_atom"  # there only where a package has performance and efficiency cores
_CPUINFO_BYTES = 4096  # the first processor's paragraph; the file of a large machine has hundreds of kilobytes

CpuSet = FrozenSet[int]


class CpuTopologyError(Exception):
    """sysfs does not show a topology that makes sense."""


@dataclass(frozen=True)
class Topology:
    """The CPUs that are online, those that are present but offline, and the cores.

    ``packages`` holds, in hwloc's order, the cores of each package; a core is the ascending tuple of its online CPUs.
    """

    online: tuple[int, ...]
    offline: tuple[int, ...]
    packages: tuple[tuple[tuple[int, ...], ...], ...]
    hybrid: bool = False
    siblings_off: bool = False

    @property
    def cores(self) -> tuple[tuple[int, ...], ...]:
        """Return all cores; the index of a core is its abstract id."""
        return tuple(core for package in self.packages for core in package)

    def core_ids(self, cpus: Iterable[int]) -> list[int]:
        """Return the abstract ids of the cores that have at least one of the CPUs."""
        wanted = set(cpus)
        return [number for number, core in enumerate(self.cores) if wanted.intersection(core)]


def order_cores(
    cores: Iterable[CpuSet], packages: Iterable[CpuSet], nodes: Sequence[CpuSet], caches: Sequence[CpuSet]
) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return the cores of each package in hwloc's order.

    hwloc's objects form a tree by inclusion, and siblings stand by their lowest CPU. So a core's place is the list of
    the lowest CPUs of all groups that hold it, from the largest group to the core itself. NUMA nodes that cut through
    a core are left out of account, as hwloc drops them.
    """
    cores = list(cores)
    if any(core & node and not core <= node for core in cores for node in nodes):
        nodes = ()
    groups = sorted({*nodes, *caches}, key=lambda group: (-len(group), min(group, default=0)))

    def place(core: CpuSet) -> tuple[int, ...]:
        return (*(min(group) for group in groups if core <= group), min(core))

    return tuple(
        tuple(tuple(sorted(core)) for core in sorted((core for core in cores if core <= package), key=place))
        for package in sorted(packages, key=min)
    )


def read_topology(evidence: Evidence, nodes: Iterable[NumaNode]) -> Topology:
    """Return the topology that sysfs shows; raises CpuTopologyError where it shows none or a contradictory one."""
    online, offline = _online(evidence)
    usable = frozenset(online)
    packages = _groups(online, usable, lambda cpu: _siblings(evidence, cpu, "package_cpus", "core_siblings"))
    cores = _groups(online, usable, lambda cpu: _siblings(evidence, cpu, "core_cpus", "thread_siblings"))
    for core in cores:
        if not any(core <= package for package in packages):
            raise CpuTopologyError(f"the core of CPU {min(core)} is not inside one package")
    caches = _groups([min(core) for core in cores], usable, lambda cpu: _third_level_cache(evidence, cpu))
    return Topology(
        online=tuple(online),
        offline=tuple(offline),
        packages=order_cores(cores, packages, _localities(evidence, nodes, usable), caches),
        hybrid=evidence.names(_HYBRID) is not None and evidence.read(f"{_HYBRID}/cpus") not in (None, ""),
        siblings_off=evidence.read(f"{_CPUS}/smt/control") in ("off", "forceoff"),
    )


def _online(evidence: Evidence) -> tuple[list[int], list[int]]:
    """Return the CPUs that are online and those that are present but offline."""
    try:
        listed = evidence.read(f"{_CPUS}/online")
        if listed is not None:
            online = cpulist.parse_set(listed)
            present = cpulist.parse_set(evidence.read(f"{_CPUS}/present") or listed)
        else:  # kernels before 2.6.26; the boot CPU has no file "online" of its own
            numbers = (re.fullmatch(r"cpu(\d+)", name) for name in evidence.names(_CPUS) or ())
            present = sorted(int(match[1]) for match in numbers if match)
            online = [cpu for cpu in present if evidence.read(f"{_CPUS}/cpu{cpu}/online") != "0"]
    except cpulist.CpuListError as error:
        raise CpuTopologyError(f"{_CPUS}/online: {error}") from None
    if not online:
        raise CpuTopologyError(f"{_CPUS} names no CPU that is online")
    return online, sorted(set(present) - set(online))


def _localities(evidence: Evidence, nodes: Iterable[NumaNode], usable: CpuSet) -> list[CpuSet]:
    """Return the CPUs of every NUMA node as hwloc has them (topology-linux.c): its own and those that reach it best."""
    cpus = {node.number: frozenset(node.cpus) & usable for node in nodes}
    matches = (re.fullmatch(r"node(\d+)", name) for name in evidence.names(_NODES) or ())
    numbers = sorted(int(match[1]) for match in matches if match)
    for number in numbers:
        own = cpus.get(number, frozenset())
        near = _initiators(evidence, number)
        if not own and not near:
            near = _nearest(evidence, number, numbers)
        cpus[number] = own.union(*(cpus.get(other, frozenset()) for other in near))
    return [group for _number, group in sorted(cpus.items()) if group]


def _initiators(evidence: Evidence, number: int) -> list[int]:
    """Return the nodes from which firmware says that the node is reached best; empty where it says nothing."""
    for access in ("access1", "access0"):  # since Linux 5.2; the first, of CPUs alone, since 5.10
        names = evidence.names(f"{_NODES}/node{number}/{access}/initiators") or ()
        found = [int(match[1]) for match in (re.fullmatch(r"node(\d+)", name) for name in names) if match]
        if found:
            return found
    return []


def _nearest(evidence: Evidence, number: int, numbers: Sequence[int]) -> list[int]:
    """Return the other nodes at the smallest distance of the node, unless they all are or it is a local one."""
    words = (evidence.read(f"{_NODES}/node{number}/distance") or "").split()
    if len(words) != len(numbers) or len(words) < 2 or not all(word.isdigit() for word in words):
        return []
    distances = dict(zip(numbers, map(int, words)))
    own = distances.pop(number)
    least = min(distances.values())
    near = [other for other, distance in distances.items() if distance == least]
    return near if least > own and len(near) < len(distances) else []


def _groups(cpus: Iterable[int], usable: CpuSet, members: Callable[[int], CpuSet | None]) -> list[CpuSet]:
    """Return disjoint groups of the usable CPUs, asking only one CPU of each group for its members.

    ``members`` may answer None for "in no group".
    """
    groups: list[CpuSet] = []
    seen: set[int] = set()
    for cpu in cpus:
        if cpu in seen:
            continue
        named = members(cpu)
        if named is None:
            continue
        group = named & usable
        if cpu not in group or seen & group:
            raise CpuTopologyError(f"CPU {cpu} says that it belongs with {cpulist.format_set(group) or 'none'}")
        groups.append(group)
        seen |= group
    return groups


def _siblings(evidence: Evidence, cpu: int, name: str, old_name: str) -> CpuSet:
    """Return the CPUs in the file ``name`` of the CPU's topology (its name since Linux 5.3) or ``old_name``."""
    folder = f"{_CPUS}/cpu{cpu}/topology"
    for base in (name, old_name):
        try:
            listed = evidence.read(f"{folder}/{base}_list")
            if listed is not None:
                return frozenset(cpulist.parse_set(listed))
            mask = evidence.read(f"{folder}/{base}")
            if mask is not None:
                return frozenset(cpulist.parse_mask(mask))
        except cpulist.CpuListError as error:
            raise CpuTopologyError(f"{folder}/{base}: {error}") from None
    raise CpuTopologyError(f"{folder} has neither {name} nor {old_name}")


def _third_level_cache(evidence: Evidence, cpu: int) -> CpuSet | None:
    folder = f"{_CPUS}/cpu{cpu}/cache"
    for name in reversed(evidence.names(folder) or []):
        if name.startswith("index") and evidence.read(f"{folder}/{name}/level") == "3":
            listed = evidence.read(f"{folder}/{name}/shared_cpu_list")
            if listed is not None:
                return frozenset(cpulist.parse_set(listed))
            mask = evidence.read(f"{folder}/{name}/shared_cpu_map")
            return None if mask is None else frozenset(cpulist.parse_mask(mask))
    return None


def describe(
    evidence: Evidence, host: str, nodes: Sequence[NumaNode]
) -> tuple[dict[str, Any], Topology | None, list[Problem]]:
    """Return the record's ``cpu`` section, the topology where core ids can be used, and the problems."""
    section: dict[str, Any] = {
        "architecture": _architecture(evidence),
        "model": _model(evidence),
        "sockets": None,
        "cores_per_socket": None,
        "threads_per_core": None,
        "cpus": None,
        "core_map": [],
        "numa_nodes": [],
        "offline": None,
    }
    try:
        topology = read_topology(evidence, nodes)
    except (CpuTopologyError, cpulist.CpuListError) as error:
        section["numa_nodes"] = [_node(node, None) for node in nodes]
        return section, None, [make("CPU001", host, detail=error)]
    problem = _fault(topology, host)
    usable = None if problem and problem.severity == "error" else topology
    section.update(cpus=len(topology.online), offline=cpulist.format_set(topology.offline))
    section["numa_nodes"] = [_node(node, topology if usable else None, topology.online) for node in nodes]
    if usable:
        section.update(
            sockets=len(topology.packages),
            cores_per_socket=len(topology.packages[0]),
            threads_per_core=len(topology.cores[0]),
            core_map=[cpulist.format_sequence(slot) for slot in zip(*topology.cores)],
        )
    return section, usable, [problem] if problem else []


def _fault(topology: Topology, host: str) -> Problem | None:
    """Return what keeps Slurm from describing the topology with one number each of sockets, cores and threads."""
    threads = {len(core) for core in topology.cores}
    cores = {len(package) for package in topology.packages}
    even = len(threads) == 1 and len(cores) == 1
    # slurmd does not map CPU numbers at or above the number of CPUs that are online (xcpuinfo.c).
    contiguous = topology.online == tuple(range(len(topology.online)))
    offline = cpulist.format_set(topology.offline)
    if topology.hybrid or (len(threads) > 1 and not offline):
        return make("CPU004", host, threads=" and ".join(str(number) for number in sorted(threads)))
    if offline and not (even and contiguous):
        return make("CPU002", host, offline=offline)
    if not even:
        return make("CPU003", host, cores=sum(map(len, topology.packages)), sockets=len(topology.packages))
    if offline and not topology.siblings_off:
        return make("CPU006", host, offline=offline)
    if not contiguous:
        return make("CPU005", host, online=cpulist.format_set(topology.online))
    return None


def _node(node: NumaNode, topology: Topology | None, online: Sequence[int] = ()) -> Mapping[str, Any]:
    cpus = set(node.cpus).intersection(online) if online else node.cpus
    return {
        "id": node.number,
        "cpus": cpulist.format_set(cpus),
        "cores": cpulist.format_set(topology.core_ids(cpus)) if topology else None,
        "memory_mib": None if node.memory_kib is None else node.memory_kib // 1024,
    }


def _architecture(evidence: Evidence) -> str | None:
    return evidence.run("uname", "-m").output.strip() or None


def _model(evidence: Evidence) -> str | None:
    text = evidence.read("/proc/cpuinfo", limit=_CPUINFO_BYTES) or ""
    match = re.search(r"^(?:model name|cpu)\s*:[ \t]*(\S.*?)\s*$", text, re.MULTILINE)  # x86 and Arm say the first
    return match[1] if match else None
