# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of nodes that share leaf switches, for topology/tree.

On a rail-optimised fabric every adapter of a node is on another leaf, so a node is on several. Slurm takes a node on
one leaf only. The unit that is near to itself is then the group of nodes whose sets of leaves overlap (a connected
component), and it becomes one leaf for Slurm. A missing cable or an adapter that nobody can name changes nothing in it.

The layers above the leaves are one virtual root: in a fat tree the spines are interchangeable, each node reaches each
other by all of them, and Slurm's work at start grows with the cube of the number of switches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import unique_names

__all__ = ["Leaf", "Tree", "tree"]

UNKNOWN = "unknown"
ROOT = "root"


@dataclass(frozen=True)
class Leaf:
    """A leaf for Slurm: its nodes in natural order and the real switches (names) that it stands for."""

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """Leaves in natural order under one root. ``homeless``: nodes of which nothing is known, on a leaf of their own."""

    root: str
    leaves: tuple[Leaf, ...]
    homeless: tuple[str, ...] = ()


class _Sets:
    """Disjoint sets of leaves, joined where a node is on two of them."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, item: str) -> str:
        """Return the representative of the set that ``item`` is in; a new item is a set of its own."""
        parent = self._parent.setdefault(item, item)
        while parent != item:
            grandparent = self._parent[parent]
            self._parent[item] = grandparent
            item, parent = parent, grandparent
        return item

    def join(self, one: str, other: str) -> None:
        """Make one set of two."""
        self._parent[self.root(one)] = self.root(other)


def tree(nodes: Iterable[str], switches: Mapping[str, Iterable[str]], names: Mapping[str, str]) -> Tree | None:
    """Return the tree of ``nodes``; None if nothing is known of any.

    ``switches``: node -> ids of the leaf switches it is on; ``names``: id -> name. A leaf is named after the first of
    its switches in natural order, so that a node that comes or goes, or another cable, does not rename it.
    """
    shown = unique_names(names)
    ordered = sorted(set(nodes), key=natural_key)
    sets = _Sets()
    first: dict[str, str] = {}
    for node in ordered:
        for switch in switches.get(node, ()):
            sets.join(switch, first.setdefault(node, switch))
    members: dict[str, list[str]] = {}
    homeless = []
    for node in ordered:
        if node in first:
            members.setdefault(sets.root(first[node]), []).append(node)
        else:
            homeless.append(node)
    if not members:
        return None
    ids: dict[str, set[str]] = {}
    for node in first:
        for switch in switches[node]:
            ids.setdefault(sets.root(switch), set()).add(switch)
    leaves = []
    for key, inside in members.items():
        real = sorted((shown[switch] for switch in ids[key]), key=natural_key)
        leaves.append(Leaf(real[0], tuple(inside), tuple(real)))
    leaves.sort(key=lambda leaf: natural_key(leaf.name))
    taken = {name for leaf in leaves for name in leaf.switches}
    if homeless:
        leaves.append(Leaf(_free(UNKNOWN, taken), tuple(homeless)))
    return Tree(_free(ROOT, taken | {UNKNOWN}), tuple(leaves), tuple(homeless))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name
