# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the topology: Slurm's topology files out of what is known of the nodes, and faults of such a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.host_variables import HostVariables, plain
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.derive import (
    BLOCK,
    RACK,
    TREE,
    Host,
    Topology,
    Wish,
    derive,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import FABRIC_VARIABLE
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.faults import faults


def _host(name: str, variables: HostVariables, wish: Wish) -> Host:
    """Return a node with what the wishes need of its variables."""
    return Host(
        name=name,
        rack=variables.text("slurm_node_rack") or "",
        fabric=variables.written(FABRIC_VARIABLE) if TREE in wish.kinds and wish.source != RACK else None,
        record=variables.record() if BLOCK in wish.kinds else None,
    )


def _listed(value: Any) -> list[Any]:
    """Return a list setting; like the argument specification, take ``a,b`` for two items."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return list(value or [])


def _wish(settings: Mapping[str, Any]) -> Wish:
    given = plain(settings)
    try:
        return Wish(
            version=str(given.get("version") or ""),
            kinds=[str(kind) for kind in _listed(given.get("topology"))],
            source=str(given.get("source") or "rack"),
            adapters=[str(name) for name in _listed(given.get("adapters"))],
            block_sizes=[int(size) for size in _listed(given.get("block_sizes"))],
            file=str(given.get("file") or ""),
            text=str(given.get("text") or ""),
            skip_problems=[str(problem) for problem in _listed(given.get("skip_problems"))],
        )
    except (TypeError, ValueError, OverflowError) as exc:
        raise AnsibleFilterError(f"The settings of the topology (slurm_topology*) cannot be used: {exc}") from exc


def _as_dict(topology: Topology) -> dict[str, Any]:
    leaves = topology.tree.leaves if topology.tree else ()
    return {
        "files": dict(topology.files),
        "plugin": topology.plugin,
        "leaves": [{"name": leaf.name, "nodes": fold(leaf.nodes), "switches": list(leaf.switches)} for leaf in leaves],
        "blocks": [{"name": block.name, "nodes": fold(block.nodes)} for block in topology.blocks],
        "block_sizes": list(topology.block_sizes),
        "problems": [problem.as_dict() for problem in topology.problems],
    }


def slurm_topology(nodes: Iterable[str], hostvars: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the topology of the nodes of slurm.conf (see slurm_topology.yml for the form)."""
    wish = _wish(settings)
    if not wish.kinds and not wish.file:
        return _as_dict(Topology())
    return _as_dict(derive((_host(name, HostVariables(hostvars, name), wish) for name in map(plain, nodes)), wish))


def topology_faults(
    text: str, nodes: Iterable[str], version: str = "", name: str = "topology.conf"
) -> list[dict[str, str]]:
    """Return the problems of a topology file."""
    found = faults(str(plain(text)), map(plain, nodes), str(plain(version)), str(plain(name)))
    return [problem.as_dict() for problem in found]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"slurm_topology": slurm_topology, "topology_faults": topology_faults}
