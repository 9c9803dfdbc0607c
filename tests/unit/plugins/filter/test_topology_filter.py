# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters slurm_topology and topology_faults."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.filter.topology import slurm_topology, topology_faults
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import hgx

NODES = ["n2", "n1"]
HOSTVARS: dict[str, Any] = {
    "n1": {"node_hardware": hgx("n1"), "slurm_node_rack": "r1"},
    "n2": {"node_hardware": hgx("n2"), "slurm_node_rack": 2},
}
NOTHING: dict[str, Any] = {"files": {}, "plugin": "", "leaves": [], "blocks": [], "block_sizes": [], "problems": []}


def test_default_is_nothing() -> None:
    assert slurm_topology(NODES, {}, {}) == NOTHING
    assert slurm_topology(NODES, HOSTVARS, {"topology": [], "file": "", "version": "24.11"}) == NOTHING


@pytest.mark.parametrize("topology", ["tree", ["tree"]])
def test_result(topology: Any) -> None:
    result = slurm_topology(NODES, HOSTVARS, {"topology": topology, "version": "24.11"})
    assert list(result["files"]) == ["topology.conf"]
    assert result["plugin"] == "topology/tree"
    assert result["leaves"] == [
        {"name": "2", "nodes": "n2", "switches": ["2"]},
        {"name": "r1", "nodes": "n1", "switches": ["r1"]},
    ]
    assert result["problems"] == []


def test_nodes_in_domains() -> None:
    assert slurm_topology(NODES, HOSTVARS, {"topology": "block", "version": "24.11"})["problems"][0]["id"] == "SLM070"


def test_settings_of_a_wrong_type() -> None:
    with pytest.raises(AnsibleFilterError, match="slurm_topology"):
        slurm_topology(NODES, HOSTVARS, {"topology": "block", "block_sizes": ["many"]})


def test_faults() -> None:
    assert topology_faults("SwitchName=a Nodes=n[1-2]\n", NODES, "24.11") == []
    assert [problem["id"] for problem in topology_faults("SwitchName=a Nodes=n1\n", NODES)] == ["SLM086"]
    assert [problem["id"] for problem in topology_faults("7", NODES, "25.05", "topology.yaml")] == ["SLM077"]
