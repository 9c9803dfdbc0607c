# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Derived topologies before a real slurmctld: it must start without complaint and show the leaves that were derived."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest
from cases import ROOT
from slurm import RELEASES, Files, Slurm, faults

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster
from ansible_collections.steelrack.gpu_cluster.plugins.filter.topology import slurm_topology

sys.path.append(str(ROOT / "tests" / "bench"))

from derive import SITE, hostvars

RACK = 9  # nodes
NODES = 4 * RACK
PATIENCE = 30  # seconds


def machines() -> dict[str, dict[str, Any]]:
    """Return the variables of four racks of nodes, each rack one NVLink domain."""
    found = {}
    for index, (name, variables) in enumerate(hostvars(NODES).items()):
        rack = index // RACK
        record = copy.deepcopy(variables["node_hardware"])
        for gpu in record["gpus"]:
            gpu["fabric"] = {
                "cluster_uuid": f"7a1c0000-0000-4000-8000-00000000000{rack + 1}",
                "clique": 1,
                "state": "Completed",
                "status": "Success",
            }
        found[name] = {**variables, "node_hardware": record, "slurm_node_rack": f"r{rack + 1}"}
    return found


def kinds_of(slurm: Slurm) -> list[list[str]]:
    """Return what a release can be given: block from 24.11 on here, both at once from 25.05 on."""
    return {"22.05": [["tree"]], "24.11": [["tree"], ["block"]], "26.05": [["tree"], ["block"], ["tree", "block"]]}[
        slurm.series
    ]


def start(slurm: Slurm, topology: dict[str, Any], variables: dict[str, Any]) -> Any:
    result = slurm_cluster(list(variables), variables, {**SITE, "version": slurm.version, "groups": {}})
    files = Files.of(result)
    plugin = f"TopologyPlugin={topology['plugin']}\n" if topology["plugin"] else ""
    with_topology = Files(plugin + files.slurm, files.gres, tuple(topology["files"].items()))
    return slurm.register(with_topology, {}, {}, timeout=PATIENCE, asks=["scontrol show topology"])


CASES = [
    pytest.param(slurm, kinds, id=f"{slurm.series}-{'+'.join(kinds)}")
    for slurm in RELEASES
    for kinds in kinds_of(slurm)
]


@pytest.mark.parametrize(("slurm", "kinds"), CASES)
def test_slurmctld_takes_the_derived_topology(oracle: object, slurm: Slurm, kinds: list[str]) -> None:
    slurm.make()
    variables = machines()
    topology = slurm_topology(
        list(variables), variables, {"version": slurm.version, "topology": kinds, "source": "rack"}
    )
    assert [problem for problem in topology["problems"] if problem["severity"] == "error"] == []
    found = start(slurm, topology, variables)
    assert found.serves, found.logs["slurmctld"]
    assert faults(found.logs["slurmctld"]) == []
    shown = "".join(found.asks)
    for group in (topology["leaves"] if "tree" in kinds else []) + (topology["blocks"] if "block" in kinds else []):
        if kinds == ["tree", "block"] and group in topology["blocks"]:
            continue  # scontrol shows the topology that is the default of the cluster
        assert f"{group['name']} " in shown
        assert f"Nodes={group['nodes']}" in shown


@pytest.mark.parametrize("slurm", [pytest.param(slurm, id=slurm.series) for slurm in RELEASES])
def test_the_tier_notices_a_topology_that_slurmctld_refuses(oracle: object, slurm: Slurm) -> None:
    """A switch that is named twice ends slurmctld (topology_tree.c)."""
    slurm.make()
    variables = machines()
    names = list(variables)
    text = f"SwitchName=s1 Nodes={names[0]}\nSwitchName=s1 Nodes={names[1]}\n"
    found = start(slurm, {"plugin": "topology/tree", "files": {"topology.conf": text}}, variables)
    assert not found.serves
