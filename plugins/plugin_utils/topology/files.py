# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree or blocks as Slurm's files: topology.conf, and topology.yaml for Slurm 25.05 and later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.blocks import Block
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.tree import Tree

__all__ = ["block_conf", "tree_conf", "yaml_file"]

_HEAD = "# Ansible managed: derived from the fabric, the hardware records and the racks of the nodes."


def tree_conf(tree: Tree) -> str:
    """Return a topology.conf for topology/tree."""
    lines = [f"SwitchName={leaf.name} Nodes={fold(leaf.nodes)}" for leaf in tree.leaves]
    root = f"SwitchName={tree.root} Switches={_children(tree)}"
    return "\n".join([_HEAD, *lines, root, ""])


def block_conf(blocks: Sequence[Block], sizes: Iterable[int]) -> str:
    """Return a topology.conf for topology/block."""
    lines = [f"BlockName={block.name} Nodes={fold(block.nodes)}" for block in blocks]
    return "\n".join([_HEAD, *lines, f"BlockSizes={','.join(map(str, sizes))}", ""])


def yaml_file(kinds: Iterable[str], tree: Tree | None, blocks: Sequence[Block], sizes: Iterable[int]) -> str:
    """Return a topology.yaml with a topology named ``tree`` and one named ``block``, the first kind as the default.

    Slurm wants ``topology`` as the first key of each.
    """
    lines = [_HEAD, "---"]
    for position, kind in enumerate(kinds):
        lines += [f"- topology: {kind}", f"  cluster_default: {'false' if position else 'true'}"]
        if kind == "tree" and tree is not None:
            lines += ["  tree:", "    switches:"]
            lines += [f"      - switch: {_text(tree.root)}", f"        children: {_text(_children(tree))}"]
            for leaf in tree.leaves:
                lines += [f"      - switch: {_text(leaf.name)}", f"        nodes: {_text(fold(leaf.nodes))}"]
        elif kind == "block":
            lines += ["  block:", "    block_sizes:", *(f"      - {size}" for size in sizes), "    blocks:"]
            for block in blocks:
                lines += [f"      - block: {_text(block.name)}", f"        nodes: {_text(fold(block.nodes))}"]
    return "\n".join([*lines, ""])


def _children(tree: Tree) -> str:
    return fold(leaf.name for leaf in tree.leaves)


def _text(text: str) -> str:
    """Return a YAML string; quoted, because names like 0123 or 1e3 are numbers otherwise."""
    return json.dumps(text)
