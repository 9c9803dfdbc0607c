# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions: one of all nodes, one per GPU model, and what the operator adds or changes.

A GPU type partition holds the nodes with whole GPUs of a model (``h100``) or with MIG devices of it (``h100_mig``,
whatever their profiles: reshaping MIG must not delete a partition with its jobs). Each gets DefCpuPerGPU and
DefMemPerGPU from its smallest share, so that as many jobs of one GPU as a node has GPUs fit on any of its nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import (
    HostlistError,
    fold,
    natural_key,
    unfold,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.nodes import NodeKind
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.overrides import ValueTextError, value_text
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import (
    KNOWN,
    OLDEST,
    Release,
    version_text,
)

__all__ = ["Partition", "PartitionRules", "item_faults", "partitions"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._+-]")
_GPU_TYPE = "gpu_type:"
# Parameters of a PartitionName line (slurm.conf(5)) -> first release that knows them. Unknown ones stop every daemon.
PARTITION_PARAMETERS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("AllocNodes", "AllowAccounts", "AllowGroups", "AllowQos", "Alternate", "CpuBind"), OLDEST),
    **dict.fromkeys(("DefCpuPerGPU", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode", "DefaultTime"), OLDEST),
    **dict.fromkeys(("DenyAccounts", "DenyQos", "DisableRootJobs", "ExclusiveUser", "GraceTime", "Hidden"), OLDEST),
    **dict.fromkeys(("LLN", "MaxCPUsPerNode", "MaxMemPerCPU", "MaxMemPerNode", "MaxNodes", "MaxTime"), OLDEST),
    **dict.fromkeys(("MinNodes", "OverSubscribe", "OverTimeLimit", "PreemptMode", "PriorityJobFactor"), OLDEST),
    **dict.fromkeys(("PriorityTier", "QOS", "ReqResv", "ResumeTimeout", "RootOnly", "SelectTypeParameters"), OLDEST),
    **dict.fromkeys(("State", "SuspendTime", "SuspendTimeout", "TRESBillingWeights"), OLDEST),
    **dict.fromkeys(("MaxCPUsPerSocket", "PowerDownOnIdle"), (23, 2)),
    "ExclusiveTopo": (24, 5),
    "Topology": (25, 5),
}
_CANONICAL = {name.lower(): name for name in PARTITION_PARAMETERS}
_OWN_KEY = {"partitionname": "name", "nodes": "nodes", "default": "default"}
_STATES = ("UP", "DOWN", "DRAIN", "INACTIVE")
_ITEM_KEYS = frozenset({"name", "nodes", "default", "state", "parameters"})
# Exclude each other on one line.
_MEMORY_DEFAULTS = frozenset({"DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode"})


@dataclass(frozen=True)
class PartitionRules:
    """The site's wishes. ``groups``: inventory group -> hosts, for group names among the nodes of a partition."""

    items: Sequence[Mapping[str, Any]] = ()
    all_name: str = "all"
    by_gpu_type: bool = True
    def_per_gpu: bool = True
    groups: Mapping[str, Iterable[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Partition:
    """One PartitionName line. ``nodes`` is a folded host list; ``gpu_type`` is set for derived ones of a GPU model."""

    name: str
    nodes: str
    default: bool
    gpu_type: str | None
    parameters: tuple[tuple[str, str], ...]

    def line(self) -> str:
        """Return the line for slurm.conf."""
        parts = [f"PartitionName={self.name}", f"Nodes={self.nodes}" if self.nodes else 'Nodes=""']
        parts.append(f"Default={'YES' if self.default else 'NO'}")
        return " ".join([*parts, *(f"{name}={value}" for name, value in self.parameters)])


@dataclass
class _Draft:
    name: str
    nodes: frozenset[str]
    gpu_type: str | None = None
    default: bool | None = None
    parameters: dict[str, str] = field(default_factory=dict)


class _Chooser:
    """Turns the entries of ``nodes`` of an item into node names."""

    def __init__(
        self, kinds: Mapping[str, NodeKind], left_out: Iterable[str], groups: Mapping[str, Iterable[str]]
    ) -> None:
        self.nodes = frozenset(kinds)
        self.known = self.nodes | frozenset(left_out)
        self.groups = groups
        self.by_type: dict[str, set[str]] = {}
        for name, kind in kinds.items():
            for gpu_type in {*(gpu for gpu, _count in kind.gpus), *(family for family, _share in kind.shares)}:
                self.by_type.setdefault(gpu_type, set()).add(name)

    def choose(self, entries: Iterable[Any]) -> tuple[frozenset[str], list[str]]:
        """Return the nodes of all entries, and the entries or names that mean nothing here."""
        chosen: set[str] = set()
        unknown: list[str] = []
        for entry in entries:
            text = str(entry).strip()
            if text in self.known:
                chosen.add(text)
            elif text in self.groups:
                chosen.update(self.groups[text])
            elif text.startswith(_GPU_TYPE):
                nodes = self.by_type.get(text[len(_GPU_TYPE) :].strip(), set())
                chosen |= nodes
                unknown += [] if nodes else [text]
            else:
                try:
                    names = unfold(text)
                except HostlistError as exc:
                    unknown.append(f"{text} ({exc})")
                    continue
                chosen.update(names)
                unknown += [fold(set(names) - self.known)] if set(names) - self.known else []
        # Members of a group that are no nodes, and nodes that are left out, do not reach slurm.conf.
        return frozenset(chosen) & self.nodes, unknown


def _derived(kinds: Mapping[str, NodeKind], rules: PartitionRules) -> dict[str, _Draft]:
    drafts: dict[str, _Draft] = {}
    if rules.all_name:
        drafts[rules.all_name] = _Draft(rules.all_name, frozenset(kinds))
    if rules.by_gpu_type:
        families: dict[str, set[str]] = {}
        for name, kind in kinds.items():
            for family, _share in kind.shares:
                families.setdefault(family, set()).add(name)
        for family in sorted(families, key=natural_key):
            name = _NOT_IN_NAME.sub("_", family)
            if name in drafts:
                drafts[name].nodes |= families[family]
            else:
                drafts[name] = _Draft(name, frozenset(families[family]), gpu_type=family)
    return drafts


def _parameters(partition: str, given: Mapping[str, Any], release: Release, problems: list[Problem]) -> dict[str, str]:
    """Return the parameters under Slurm's spelling with their text; what the parser would refuse becomes a problem."""
    result: dict[str, str] = {}
    for key, value in given.items():
        name = str(key)
        known = _CANONICAL.get(name.lower())
        if value is None:
            continue
        if name.lower() in _OWN_KEY:
            reason = f"belongs into the key {_OWN_KEY[name.lower()]} of the item"
            problems.append(make("SLM029", "", partition=partition, parameter=name, reason=reason))
        elif known is None:
            reason = "is no parameter of a PartitionName line"
            problems.append(make("SLM029", "", partition=partition, parameter=name, reason=reason))
        elif release.number < PARTITION_PARAMETERS[known]:
            reason = f"Slurm knows from {version_text(PARTITION_PARAMETERS[known])} on only"
            problems.append(make("SLM029", "", partition=partition, parameter=name, reason=reason))
        elif known in result:
            reason = "is set twice, in two spellings"
            problems.append(make("SLM029", "", partition=partition, parameter=name, reason=reason))
        else:
            try:
                result[known] = value_text(value)
            except ValueTextError as exc:
                reason = f"has an unusable value: {exc}"
                problems.append(make("SLM029", "", partition=partition, parameter=name, reason=reason))
    return result


def _fault_of_item(item: Any) -> str:
    """Return what is wrong with the form of an item, as a sentence; ``""`` if it can be read."""
    if not isinstance(item, Mapping):
        return f"{item!r} is not a dictionary."
    name = item.get("name")
    if not isinstance(name, str) or not name:
        return f"an item without a name: {dict(item)!r}."
    unknown = sorted(str(key) for key in item if key not in _ITEM_KEYS)
    if unknown:
        return f"'{name}' has the unknown key {', '.join(unknown)}."
    if not isinstance(item.get("nodes"), (list, tuple, type(None))):
        return f"nodes of '{name}' is not a list."
    if not isinstance(item.get("parameters") or {}, Mapping):
        return f"parameters of '{name}' is not a dictionary."
    if not isinstance(item.get("default", False), (bool, type(None))):
        return f"default of '{name}' is neither true nor false."
    if item.get("state") is not None and str(item["state"]).upper() not in _STATES:
        return f"state of '{name}' is {item['state']!r}; {', '.join(_STATES)} are known."
    return ""


def item_faults(items: Iterable[Any]) -> list[Problem]:
    """Return what is wrong with the operator's items by themselves, whatever the nodes and the version of Slurm are."""
    problems: list[Problem] = []
    newest = Release(max(KNOWN), "", mig_by_name=True, mig_beside_sharing=True)
    for item in items:
        fault = _fault_of_item(item)
        if fault:
            problems.append(make("SLM030", "", detail=fault))
        elif _name_fault(item["name"]):
            problems.append(make("SLM026", "", partition=item["name"]))
        else:
            _parameters(item["name"], item.get("parameters") or {}, newest, problems)
    return problems


def _name_fault(name: str) -> bool:
    return not _NAME.fullmatch(name) or name.upper() == "DEFAULT"


def _apply_items(
    drafts: dict[str, _Draft], chooser: _Chooser, rules: PartitionRules, release: Release, problems: list[Problem]
) -> None:
    """Change and add partitions by the operator's items."""
    seen: set[str] = set()
    for item in rules.items:
        fault = _fault_of_item(item)
        if fault:
            problems.append(make("SLM030", "", detail=fault))
            continue
        name = str(item["name"])
        if _name_fault(name):
            problems.append(make("SLM026", "", partition=name))
            continue
        if name in seen:
            problems.append(make("SLM027", "", partition=name))
            continue
        seen.add(name)
        draft = drafts.setdefault(name, _Draft(name, chooser.nodes))
        if item.get("nodes") is not None:
            draft.nodes, unknown = chooser.choose(item["nodes"])
            problems += [make("SLM024", "", partition=name, given=given) for given in unknown]
        draft.default = item.get("default")
        draft.parameters.update(_parameters(name, item.get("parameters") or {}, release, problems))
        if item.get("state") is not None:
            draft.parameters["State"] = str(item["state"]).upper()


def _choose_default(drafts: Sequence[_Draft], problems: list[Problem]) -> str | None:
    """Return the one default: the marked one, else the first that is not marked as none."""
    marked = [draft.name for draft in drafts if draft.default]
    if len(marked) > 1:
        problems.append(make("SLM025", "", partitions=", ".join(marked)))
    if marked:
        return marked[0]
    free = [draft.name for draft in drafts if draft.default is None]
    if not free and drafts:
        problems.append(make("SLM046", "", partition=drafts[0].name))
        return drafts[0].name
    return free[0] if free else None


def _with_shares(draft: _Draft, kinds: Mapping[str, NodeKind]) -> dict[str, str]:
    """Return the parameters with DefCpuPerGPU and DefMemPerGPU added where the operator has not set a rival."""
    shares = [share for name in draft.nodes for family, share in kinds[name].shares if draft.gpu_type in (None, family)]
    result = dict(draft.parameters)
    if not shares:
        return result
    cpus = min(share.cpus for share in shares)
    if cpus > 0:
        result.setdefault("DefCpuPerGPU", str(cpus))
    if not _MEMORY_DEFAULTS & set(draft.parameters):
        result["DefMemPerGPU"] = str(min(share.memory_mib for share in shares))
    return result


def partitions(
    kinds: Mapping[str, NodeKind], left_out: Iterable[str], rules: PartitionRules, release: Release
) -> tuple[list[Partition], list[Problem]]:
    """Return the partitions over the nodes ``kinds`` and what is wrong with the operator's items.

    Order: all nodes, GPU types, then the operator's own in the order given. Exactly one is the default.
    """
    problems: list[Problem] = []
    if rules.all_name and _name_fault(rules.all_name):
        problems.append(make("SLM026", "", partition=rules.all_name))
        rules = PartitionRules(rules.items, "", rules.by_gpu_type, rules.def_per_gpu, rules.groups)
    drafts = _derived(kinds, rules)
    _apply_items(drafts, _Chooser(kinds, left_out, rules.groups), rules, release, problems)
    default = _choose_default(list(drafts.values()), problems)
    result = []
    for draft in drafts.values():
        if not draft.nodes and kinds:
            problems.append(make("SLM028", "", partition=draft.name))
        parameters = _with_shares(draft, kinds) if rules.def_per_gpu else draft.parameters
        parameters.setdefault("State", "UP")
        result.append(
            Partition(
                name=draft.name,
                nodes=fold(draft.nodes),
                default=draft.name == default,
                gpu_type=draft.gpu_type,
                parameters=tuple(sorted(parameters.items())),
            )
        )
    covered = frozenset().union(*(draft.nodes for draft in drafts.values()))
    if set(kinds) - covered:
        problems.append(make("SLM034", "", nodes=fold(set(kinds) - covered)))
    return result, problems
