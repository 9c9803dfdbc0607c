# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole derivation: hosts with their records and the site's settings in, lines and problems out.

Same input, same bytes: the order of hosts and of dictionaries plays no part. The time goes with the number of nodes,
the work with the number of *different* nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, Problem, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.addresses import base_address
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gpu_types import (
    FULL,
    SHORT,
    clean,
    short_name,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.hardware import (
    SCHEMA,
    Machine,
    RecordError,
    machine_of,
    memory_of,
    shape_key,
    without,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import (
    fold,
    fold_addresses,
    name_fault,
    natural_key,
    unfold,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.nodes import (
    MIG_FEATURE,
    OFF,
    Inspected,
    NodeKind,
    inspect,
    real_memory,
    specify,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.partitions import (
    Partition,
    PartitionRules,
    partitions,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import (
    MODES as SHARING_MODES,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import (
    Sharing,
    SharingError,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import (
    read as read_sharing,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import (
    AUTODETECT_NVIDIA_SINCE,
    KNOWN,
    Release,
    parse,
    release,
    version_known,
    version_text,
)

__all__ = ["Cluster", "Host", "Node", "Site", "derive"]


@dataclass(frozen=True)
class Host:
    """A host of the group slurm_node with the host variables that count here. ``record``: node_hardware, or None."""

    name: str
    record: Mapping[str, Any] | None = None
    base_address: str | None = None
    ansible_host: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    features: Sequence[str] = ()
    rack: str = ""
    gpu_type_names: Mapping[str, str] = field(default_factory=dict)
    gpu_exclude: Sequence[Any] = ()
    gpu_sharing: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """The settings of the whole cluster. ``version`` of Slurm like ``24.11``; memory reserve in percent and MiB."""

    version: str = ""
    gpu_type_style: str = SHORT
    gres_autodetect: str = OFF
    reserve_percent: int = 2
    reserve_mib: int = 1024
    partitions: PartitionRules = field(default_factory=PartitionRules)
    skip_problems: Sequence[str] = ()


@dataclass(frozen=True)
class Node:
    """One configured node."""

    name: str
    address: str | None
    kind: NodeKind


@dataclass(frozen=True)
class Cluster:
    """The result. Lines have no line break; ``nodes`` and ``left_out`` are in natural order."""

    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    node_lines: tuple[str, ...]
    gres_lines: tuple[str, ...]
    partition_lines: tuple[str, ...]
    gres_types: tuple[str, ...]
    left_out: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def def_mem_per_cpu(self) -> int | None:
        """Memory in MiB that every node has for each of its CPUs at least; None without nodes.

        As DefMemPerCPU it is what a job without a GPU and without a wish gets. Slurm's own default is all the memory of
        the node (slurm.conf(5), DefMemPerCPU), so that one such job would keep every other off it.
        """
        kinds = {id(node.kind): node.kind for node in self.nodes}.values()
        return min(((kind.real_memory - (kind.mem_spec_limit or 0)) // kind.cpus for kind in kinds), default=None)


class _Derivation:
    """Keeps what was derived, so that equal nodes are derived once. The caches live as long as one run."""

    def __init__(self, site: Site, rules: Release) -> None:
        self.site = site
        self.rules = rules
        self.problems: list[Problem] = []
        self._machines: dict[tuple[Any, ...], Machine | RecordError] = {}
        self._inspected: dict[tuple[Any, ...], Inspected] = {}
        self._kinds: dict[tuple[Any, ...], NodeKind] = {}

    def tell(self, problem_id: str, host: str, **fields: Any) -> None:
        """Record a problem."""
        self.problems.append(make(problem_id, host, **fields))

    def _machine(self, host: Host) -> tuple[tuple[Any, ...], Machine, int | None] | None:
        """Return key, machine and memory of a host; None with the problem told if it has no usable record."""
        record = host.record
        if not record:
            self.tell("SLM001", host.name)
            return None
        if not isinstance(record, Mapping):
            self.tell("SLM003", host.name, detail="it is not a dictionary")
            return None
        if record.get("schema") != SCHEMA:
            self.tell("SLM002", host.name, schema=repr(record.get("schema")), known=SCHEMA)
            return None
        try:
            self._pass_on(host, record)
            shape = shape_key(record)
            key = (shape, self._left_out(host, record) if host.gpu_exclude else frozenset())
            if key not in self._machines:
                try:
                    self._machines[key] = without(machine_of(shape), key[1])
                except RecordError as exc:
                    self._machines[key] = exc
            machine = self._machines[key]
            if isinstance(machine, RecordError):
                raise machine
            memory = memory_of(record)
        except RecordError as exc:
            self.tell("SLM003", host.name, detail=str(exc))
            return None
        except TypeError as exc:
            # An unhashable value in the key: a list or dictionary where a number or a text belongs.
            self.tell("SLM003", host.name, detail=f"a value has the wrong type ({exc})")
            return None
        return key, machine, memory

    def _pass_on(self, host: Host, record: Mapping[str, Any]) -> None:
        """Pass on what detection found, and tell if the record is another host's."""
        try:
            for problem in record.get("problems") or ():
                fields = {name: str(problem[name]) for name in ("id", "severity", "host", "message", "remedy")}
                self.problems.append(Problem(**fields))
        except (KeyError, TypeError) as exc:
            raise RecordError("its list of problems has another form") from exc
        recorded = record.get("host")
        if recorded and recorded != host.name:
            self.tell("SLM033", host.name, recorded=recorded)

    def _left_out(self, host: Host, record: Mapping[str, Any]) -> frozenset[int]:
        """Return the positions of the GPUs that the operator leaves out; an entry that names none is told."""
        try:
            positions, unknown = left_out(record["gpus"], host.gpu_exclude)
        except (KeyError, TypeError, AttributeError) as exc:
            raise RecordError(f"a GPU has another form ({exc})") from exc
        for entry in unknown:
            known = ", ".join(f"{gpu['pci']} (minor {gpu['minor']})" for gpu in record["gpus"]) or "none"
            self.tell("SLM040", host.name, entry=entry, known=known)
        return positions

    def _sharing(self, host: Host) -> Sharing | None:
        """Return how the host's GPUs are shared; a value that cannot be used is told."""
        try:
            return read_sharing(host.gpu_sharing)
        except SharingError as exc:
            self.tell("SLM041", host.name, given=dict(host.gpu_sharing), reason=exc)
            return None

    def _unusable(self, host: Host, machine: Machine, memory_mib: int | None) -> bool:
        """Tell whether CPU layout or memory cannot be configured."""
        fault = ""
        if not machine.threads or not machine.cpus:
            fault = "CPU layout"
        elif machine.cpus != machine.threads:
            fault = f"CPU layout: {machine.cpus} CPUs are online, its cores have {machine.threads} threads"
        elif not memory_mib:
            fault = "memory size"
        if fault:
            self.tell("SLM004", host.name, detail=fault)
        return bool(fault)

    def kind(self, host: Host) -> NodeKind | None:
        """Return the kind of a host; None with the problem told if it has to be left out."""
        fault = name_fault(host.name)
        if fault:
            self.tell("SLM005", host.name, detail=fault)
            return None
        found = self._machine(host)
        if found is None:
            return None
        machine_key, machine, memory_mib = found
        if self._unusable(host, machine, memory_mib):
            return None
        sharing = self._sharing(host)
        names_key = (self._key_text(host.gpu_type_names), sharing)
        parameters_key = self._key_text(host.parameters)
        reserve = (self.site.reserve_percent, self.site.reserve_mib)
        derived_memory = real_memory(memory_mib or 0, *reserve)
        # The memory to the MiB matters only where an override is held against it; else nearly every node would differ.
        memory_key = memory_mib if parameters_key else None
        key = (machine_key, names_key, derived_memory, memory_key, parameters_key, tuple(host.features), host.rack)
        kind = self._kinds.get(key)
        if kind is None:
            inspected = self._inspected.get((machine_key, names_key))
            if inspected is None:
                inspected = inspect(
                    machine,
                    host.gpu_type_names,
                    self.site.gpu_type_style,
                    self.site.gres_autodetect,
                    release=self.rules,
                    sharing=sharing,
                    fewer=bool(machine_key[1]),
                )
                self._inspected[(machine_key, names_key)] = inspected
            if inspected.faults:
                for gpu_fault in inspected.faults:
                    self.tell(gpu_fault.id, host.name, pci=gpu_fault.pci, detail=gpu_fault.detail)
                return None
            kind = specify(
                inspected, memory_mib or 0, host.parameters, tuple(host.features), host.rack, self.rules, reserve
            )
            self._kinds[key] = kind
        for finding in kind.findings:
            self.tell(finding.id, host.name, **dict(finding.fields))
        return kind

    @staticmethod
    def _key_text(values: Mapping[str, Any]) -> str:
        # The names as texts first: sorting does not take a number beside a text.
        named = {str(name): value for name, value in values.items()}
        return json.dumps(sorted(named.items()), default=str, skipkeys=True) if values else ""

    def tell_about_types(self, hosts: Iterable[Host]) -> None:
        """Tell what is wrong with type names over the whole cluster: names never used, one name for two models."""
        detected: set[str] = set()
        models: dict[str, set[str]] = {}
        for inspected in self._inspected.values():
            for offer, name in zip(inspected.offers, inspected.names, strict=True):
                detected |= {offer.device.detected, clean(offer.device.full)}
                models.setdefault(name, set()).add(short_name(offer.device.full))
        for full in sorted({full for host in hosts for full in host.gpu_type_names}):
            if detected and clean(full) not in detected:
                self.tell("SLM020", "", full=full, known=", ".join(sorted(detected)))
        for name in sorted(models):
            if len(models[name]) > 1:
                self.tell("SLM021", "", name=name, models=", ".join(sorted(models[name])))


def _site_rules(site: Site, problems: list[Problem]) -> Release:
    """Return the rules of the site's Slurm version; an unknown one is told and gets the nearest or the strictest."""
    if site.version and not version_known(site.version):
        known = ", ".join(map(version_text, KNOWN))
        problems.append(make("SLM032", "", version=site.version, known=known))
        number = parse(site.version)
        return release(site.version if number and number > KNOWN[-1] else "")
    return release(site.version)


def _checked(site: Site, problems: list[Problem]) -> Site:
    """Return the site with unusable settings replaced by their defaults, each told."""
    changes: dict[str, Any] = {}
    if site.gpu_type_style not in (SHORT, FULL):
        fields = {"variable": "slurm_gpu_type_style", "given": repr(site.gpu_type_style)}
        problems.append(make("SLM035", "", **fields, reason=f"only {SHORT} and {FULL} are known", used=SHORT))
        changes["gpu_type_style"] = SHORT
    number = parse(site.version)
    reason = ""
    if site.gres_autodetect not in (OFF, "nvml", "nvidia"):
        reason = "only off, nvml and nvidia are known"
    elif site.gres_autodetect == "nvidia" and number and number < AUTODETECT_NVIDIA_SINCE:
        reason = f"Slurm {site.version} does not know AutoDetect=nvidia (24.11 and later do)"
    if reason:
        fields = {"variable": "slurm_gres_autodetect", "given": repr(site.gres_autodetect)}
        problems.append(make("SLM035", "", **fields, reason=reason, used=OFF))
        changes["gres_autodetect"] = OFF
    if not 0 <= site.reserve_percent < 100:
        fields = {"variable": "slurm_memory_reserve_percent", "given": repr(site.reserve_percent)}
        problems.append(make("SLM035", "", **fields, reason="a percentage is needed", used=2))
        changes["reserve_percent"] = 2
    return replace(site, **changes)


def _lines(nodes: Sequence[Node]) -> tuple[list[str], list[str]]:
    """Return NodeName and gres.conf lines: equal nodes share a line, lines are in the order of their first node."""
    by_line: dict[tuple[str, bool], list[Node]] = {}
    by_gres: dict[tuple[str, ...], list[str]] = {}
    ends: dict[int, str] = {}
    for node in nodes:
        end = ends.get(id(node.kind))
        if end is None:
            end = ends[id(node.kind)] = node.kind.line_end()
        by_line.setdefault((end, node.address is not None), []).append(node)
        if node.kind.gres_bodies:
            by_gres.setdefault(node.kind.gres_bodies, []).append(node.name)
    node_lines = []
    for (end, has_address), alike in by_line.items():
        folded = fold(node.name for node in alike)
        text = f"NodeName={folded}"
        if has_address:
            addresses = {node.name: node.address or "" for node in alike}
            text += f" NodeAddr={fold_addresses([addresses[name] for name in unfold(folded)])}"
        node_lines.append(f"{text} {end}")
    gres_lines = [
        f"NodeName={folded} {body}" for bodies, names in by_gres.items() for folded in (fold(names),) for body in bodies
    ]
    return node_lines, gres_lines


def derive(hosts: Iterable[Host], site: Site) -> Cluster:
    """Return the configuration of the cluster.

    A host that cannot be configured is left out with an error that names it; the others are not touched by it.
    """
    problems: list[Problem] = []
    site = _checked(site, problems)
    work = _Derivation(site, _site_rules(site, problems))
    ordered = sorted({host.name: host for host in hosts}.values(), key=lambda host: natural_key(host.name))
    nodes: list[Node] = []
    left_out: list[str] = []
    by_address: dict[str, str] = {}
    for host in ordered:
        address, wrong_address = base_address(host.base_address, host.ansible_host)
        if wrong_address:
            work.tell("SLM011", host.name, given=host.base_address)
        kind = work.kind(host)
        if kind is None or wrong_address:
            left_out.append(host.name)
            continue
        if address is not None and "Port" not in dict(kind.parameters):
            other = by_address.setdefault(address, host.name)
            if other != host.name:
                work.tell("SLM012", host.name, other=other, address=address)
        nodes.append(Node(host.name, address, kind))
    work.tell_about_types(ordered)
    problems += work.problems
    if not nodes:
        problems.append(make("SLM031", "", count=len(ordered)))
    site_partitions, partition_problems = partitions(
        {node.name: node.kind for node in nodes}, left_out, site.partitions, work.rules
    )
    problems += partition_problems
    node_lines, gres_lines = _lines(nodes)
    other_gres = {entry.split(":")[0] for node in nodes for entry in node.kind.other_gres}
    shared = other_gres.intersection(SHARING_MODES)
    if shared and not work.rules.mig_beside_sharing:
        mig = [node.name for node in nodes if MIG_FEATURE in node.kind.features]
        if mig:
            fields = {"modes": ", ".join(sorted(shared)), "nodes": fold(mig)}
            problems.append(make("SLM043", "", version=version_text(work.rules.number), **fields))
    skipped = set(site.skip_problems)
    return Cluster(
        nodes=tuple(nodes),
        partitions=tuple(site_partitions),
        node_lines=tuple(node_lines),
        gres_lines=tuple(gres_lines),
        partition_lines=tuple(partition.line() for partition in site_partitions),
        # Always gpu: changing GresTypes restarts every daemon, and the first GPU node should not do that.
        gres_types=("gpu", *sorted(other_gres - {"gpu"})),
        left_out=tuple(left_out),
        problems=tuple(
            sorted(
                (problem for problem in problems if problem.id not in skipped),
                key=lambda problem: (problem.severity != ERROR, natural_key(problem.host), problem.id, problem.message),
            )
        ),
    )
