# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole of it: nodes with what is known of them and the wishes of the site in, files and problems out.

Same input, same bytes: the order of hosts and of cables plays no part. Work goes linearly with the number of nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import ERROR, Problem, make
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold, natural_key
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import parse as parse_version
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import version_text
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology import files
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.blocks import (
    Block,
    Placed,
    blocks,
    domain_of,
    sizes,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import (
    INFINIBAND,
    LLDP,
    FabricError,
    Link,
    links_of,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.faults import faults, kind_of
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.tree import Tree, tree

__all__ = ["BLOCK", "KINDS", "RACK", "SOURCES", "TREE", "Host", "Topology", "Wish", "derive"]

TREE = "tree"
BLOCK = "block"
KINDS = (TREE, BLOCK)
RACK = "rack"
SOURCES = (RACK, INFINIBAND, LLDP)

BLOCK_SINCE = (24, 5)
YAML_SINCE = (25, 5)  # also: several topologies, and blocks smaller than the base size
CONF = "topology.conf"
YAML = "topology.yaml"
_SHOWN = 200  # characters of a host list in a message

_REMEDIES = {
    RACK: "Set slurm_node_rack in the host_vars of the nodes.",
    INFINIBAND: "Run the playbook steelrack.gpu_cluster.discover_fabric with a node that has ibnetdiscover.",
    LLDP: "Run lldpd on the nodes and then the playbook steelrack.gpu_cluster.discover_fabric.",
    BLOCK: "Run the playbook steelrack.gpu_cluster.discover again once the GPUs' fabric is up (nvidia-smi -q, Fabric).",
}


@dataclass(frozen=True)
class Host:
    """A node with what counts here: its rack, its ``node_fabric`` and its hardware record (None where not known)."""

    name: str
    rack: str = ""
    fabric: Any = None
    record: Any = None


@dataclass(frozen=True)
class Wish:
    """What the site wants.

    ``kinds``: ``tree``, ``block``; the first is the default of the cluster. ``source`` of the leaves: ``rack``,
    ``infiniband`` or ``lldp``. ``adapters``: names of those that count, all if empty. ``block_sizes``: instead of the
    derived one. ``file``: name of a file written by hand that is used instead, ``text`` its content.
    """

    version: str = ""
    kinds: Sequence[str] = ()
    source: str = RACK
    adapters: Collection[str] = ()
    block_sizes: Sequence[int] = ()
    file: str = ""
    text: str = ""
    skip_problems: Collection[str] = ()


@dataclass(frozen=True)
class Topology:
    """``files`` (name -> text; empty: none) for the controller, ``plugin``: TopologyPlugin, empty if it is not set."""

    files: Mapping[str, str] = field(default_factory=dict)
    plugin: str = ""
    tree: Tree | None = None
    blocks: tuple[Block, ...] = ()
    block_sizes: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()


def derive(hosts: Iterable[Host], wish: Wish) -> Topology:
    """Return the topology of the hosts, which must be the nodes of slurm.conf.

    A kind of which nothing is known gives no file, because Slurm does not start with an empty one.
    """
    if wish.file:
        found = _by_hand(hosts, wish)
    elif wish.kinds:
        found = _Derivation(wish).topology(sorted(hosts, key=lambda host: natural_key(host.name)))
    else:
        return Topology()
    kept = [problem for problem in found.problems if problem.id not in wish.skip_problems]
    kept.sort(key=lambda problem: (problem.severity != ERROR, natural_key(problem.host), problem.id, problem.message))
    return Topology(found.files, found.plugin, found.tree, found.blocks, found.block_sizes, tuple(kept))


def _by_hand(hosts: Iterable[Host], wish: Wish) -> Topology:
    """Return the file of the site with everything that is wrong with it."""
    name = YAML if wish.file.endswith((".yaml", ".yml")) else CONF
    shown = wish.file.rsplit("/", 1)[-1]
    number = parse_version(wish.version)
    problems = list(faults(wish.text, [host.name for host in hosts], wish.version, shown))
    kind = kind_of(wish.text) if name == CONF else ""
    reason = ""
    if name == YAML and number and number < YAML_SINCE:
        reason = f"Slurm {wish.version} reads topology.conf only ({version_text(YAML_SINCE)} and later read YAML)"
    elif kind == BLOCK and number and number < BLOCK_SINCE:
        reason = f"Slurm {wish.version} has no topology/block of this form ({version_text(BLOCK_SINCE)} and later have)"
    if reason:
        fields = {"variable": "slurm_topology_file", "given": shown, "reason": reason, "used": "no topology"}
        return Topology(problems=(*problems, make("SLM035", "", **fields)))
    return Topology({name: wish.text}, f"topology/{kind}" if kind else "", problems=tuple(problems))


class _Derivation:
    """One run: the wishes, and the problems found so far."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.number = parse_version(wish.version)
        self.problems: list[Problem] = []

    def topology(self, hosts: Sequence[Host]) -> Topology:
        """Return the topology of the hosts, which come in natural order."""
        kinds = self._kinds()
        found_tree = self._tree(hosts) if TREE in kinds else None
        found_blocks, block_sizes = self._blocks(hosts) if BLOCK in kinds else ((), ())
        present = [kind for kind in kinds if (found_tree if kind == TREE else found_blocks)]
        texts: dict[str, str] = {}
        plugin = ""
        if present and self._yaml:
            texts[YAML] = files.yaml_file(present, found_tree, found_blocks, block_sizes)
        elif present:
            plugin = f"topology/{present[0]}"
            conf = files.tree_conf(found_tree) if found_tree else files.block_conf(found_blocks, block_sizes)
            texts[CONF] = conf
        return Topology(texts, plugin, found_tree, found_blocks, block_sizes, tuple(self.problems))

    @property
    def _yaml(self) -> bool:
        return self.number is not None and self.number >= YAML_SINCE

    def _refused(self, variable: str, given: str, reason: str, used: str) -> None:
        self.problems.append(make("SLM035", "", variable=variable, given=given, reason=reason, used=used))

    def _kinds(self) -> list[str]:
        """Return the kinds that can be written for this version."""
        kinds = list(dict.fromkeys(kind for kind in self.wish.kinds if kind in KINDS))
        wrong = sorted({kind for kind in self.wish.kinds if kind not in KINDS})
        if wrong:
            self._refused("slurm_topology", repr(wrong), f"only {' and '.join(KINDS)} are known", "the rest")
        if BLOCK in kinds and (self.number is None or self.number < BLOCK_SINCE):
            reason = f"topology/block needs Slurm {version_text(BLOCK_SINCE)} or later (slurm_version)"
            kinds.remove(BLOCK)
            self._refused("slurm_topology", BLOCK, reason, " ".join(kinds) or "no topology")
        if len(kinds) > 1 and not self._yaml:
            reason = f"Slurm before {version_text(YAML_SINCE)} has one topology"
            self._refused("slurm_topology", " ".join(kinds), reason, kinds[0])
            kinds = kinds[:1]
        return kinds

    def _tree(self, hosts: Sequence[Host]) -> Tree | None:
        source = self.wish.source
        if source not in SOURCES:
            known = ", ".join(SOURCES)
            self._refused("slurm_topology_source", repr(source), f"only {known} are known", RACK)
            source = RACK
        if source == RACK:
            switches: dict[str, list[str]] = {host.name: [host.rack] for host in hosts if host.rack}
            names = {host.rack: host.rack for host in hosts if host.rack}
        else:
            cables = self._cables(hosts, source)
            switches = {node: [link.id for link in links] for node, links in cables.items()}
            names = _switch_names(cables)
        found = tree([host.name for host in hosts], switches, names)
        if found is None:
            what = {RACK: "racks", INFINIBAND: "InfiniBand cables", LLDP: "LLDP neighbours"}[source]
            self._nothing(TREE, f"no node has {what} that are known", _REMEDIES[source])
        elif found.homeless:
            where = f"on the leaf {found.leaves[-1].name} of the tree"
            self._without(found.homeless, source, where, _REMEDIES[source])
        return found

    def _cables(self, hosts: Sequence[Host], source: str) -> dict[str, list[Link]]:
        """Return the cables that count. Those of the default route count only if nobody has another."""
        chosen = set(self.wish.adapters)
        cables: dict[str, list[Link]] = {}
        for host in hosts:
            try:
                links = links_of(host.fabric, source)
            except FabricError as exc:
                self.problems.append(make("SLM075", host.name, detail=str(exc)))
                continue
            cables[host.name] = [link for link in links if not chosen or link.adapter in chosen]
        if not chosen:
            others = {
                node: [link for link in links if not link.default_route] for node, links in cables.items() if links
            }
            cables = others if any(others.values()) else cables
        return {node: links for node, links in cables.items() if links}

    def _blocks(self, hosts: Sequence[Host]) -> tuple[tuple[Block, ...], tuple[int, ...]]:
        placed = {}
        for host in hosts:
            try:
                domains = domain_of(host.record) if host.record else ()
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # such a record is a problem of the derivation of nodes
            placed[host.name] = Placed(domains, host.rack)
            if len(domains) > 1:
                shown = ", ".join(sorted(f"{domain.cluster} clique {domain.clique}" for domain in domains))
                self.problems.append(make("SLM072", host.name, domains=shown))
        found = blocks([host.name for host in hosts], placed)
        if not found:
            self._nothing(BLOCK, "no node has GPUs in an NVLink domain of several nodes", _REMEDIES[BLOCK])
            return (), ()
        inside = {node for block in found for node in block.nodes}
        outside = [host.name for host in hosts if host.name not in inside]
        if outside:
            self._without(outside, "NVLink domain", "in no block", _REMEDIES[BLOCK])
        lengths = [len(block.nodes) for block in found]
        block_sizes, fault = sizes(lengths, self.wish.block_sizes, self._yaml)
        if fault:
            given = ",".join(map(str, self.wish.block_sizes))
            self._refused("slurm_topology_block_sizes", given, fault, ",".join(map(str, block_sizes)))
        return found, block_sizes

    def _nothing(self, kind: str, reason: str, remedy: str) -> None:
        self.problems.append(make("SLM070", "", kind=kind, reason=reason, how=remedy))

    def _without(self, nodes: Sequence[str], source: str, where: str, remedy: str) -> None:
        self.problems.append(make("SLM071", "", nodes=_shown(nodes), source=source, where=where, how=remedy))


def _switch_names(cables: Mapping[str, Iterable[Link]]) -> dict[str, str]:
    """Return id -> name of all switches; of a switch that was renamed between two discoveries, always the same one."""
    names: dict[str, str] = {}
    for links in cables.values():
        for link in links:
            names[link.id] = min(names.get(link.id, link.switch), link.switch)
    return names


def _shown(nodes: Sequence[str]) -> str:
    text = fold(nodes)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(nodes)} nodes)"
