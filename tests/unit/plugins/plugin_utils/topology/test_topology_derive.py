# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees and the whole derivation: groups by leaf sets, files by version, what cannot be written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.derive import (
    Host,
    Topology,
    Wish,
    derive,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link, as_variable
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.faults import faults
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.infiniband import adapters_of, join, parse
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.tree import tree

CLUSTER = "7da5eb48-5ac5-4bb2-8b3c-0c1d5f6f4a01"


def ib(*switches: str) -> list[Link]:
    """Return a cable to each switch; the id is the name."""
    return [Link(f"mlx5_{at}", name, name, str(at)) for at, name in enumerate(switches)]


def on(name: str, *switches: str, **changes: Any) -> Host:
    """Return a node with InfiniBand cables to these switches."""
    return Host(name, fabric=as_variable(name, ib(*switches), ()), **changes)


def nvl(name: str, cluster: str, clique: int = 1, rack: str = "") -> Host:
    """Return a node whose GPUs are in an NVLink domain."""
    fabric = {"cluster_uuid": cluster, "clique": clique, "state": "Completed", "status": "Success"}
    return Host(name, rack=rack, record={"gpus": [{"fabric": fabric}] * 4})


def body(topology: Topology) -> list[str]:
    """Return the lines of the file without its head."""
    (text,) = topology.files.values()
    return text.splitlines()[1:]


def ids(topology: Topology) -> list[str]:
    """Return the ids of the problems."""
    return [problem.id for problem in topology.problems]


IB = Wish("24.11", ["tree"], "infiniband")
RACK = Wish("24.11", ["tree"])


def test_nothing_wanted_nothing_written() -> None:
    assert derive([Host("n1", rack="r1")], Wish("24.11")) == Topology()


def test_rack_as_leaf() -> None:
    found = derive([Host("n10", rack="r 2"), Host("n2", rack="r1"), Host("n1", rack="r1")], RACK)
    assert body(found) == ["SwitchName=r1 Nodes=n[1-2]", "SwitchName=r_2 Nodes=n10", "SwitchName=root Switches=r1,r_2"]
    assert found.plugin == "topology/tree"
    assert found.problems == ()


def test_rail_optimised_fabric_is_grouped() -> None:
    """Every node is on all leaves of its group, but for an adapter that nobody could name."""
    hosts = [on("n1", "l1", "l2"), on("n2", "l2"), on("n3", "l3", "l4"), on("n4", "l4", "l3")]
    found = derive(hosts, IB)
    assert body(found) == [
        "SwitchName=l1 Nodes=n[1-2]",
        "SwitchName=l3 Nodes=n[3-4]",
        "SwitchName=root Switches=l[1,3]",
    ]
    assert found.tree is not None
    assert [leaf.switches for leaf in found.tree.leaves] == [("l1", "l2"), ("l3", "l4")]


def test_every_node_is_on_a_leaf() -> None:
    found = derive([on("n1", "l1"), Host("login1"), Host("cpu1")], IB)
    assert body(found) == [
        "SwitchName=l1 Nodes=n1",
        "SwitchName=unknown Nodes=cpu1,login1",
        "SwitchName=root Switches=l1,unknown",
    ]
    assert ids(found) == ["SLM071"]
    assert "cpu1,login1" in found.problems[0].message
    assert "discover_fabric" in found.problems[0].remedy


@pytest.mark.parametrize("source", ["rack", "infiniband", "lldp"])
def test_nothing_known_nothing_written(source: str) -> None:
    found = derive([Host("n1"), Host("n2")], Wish("24.11", ["tree"], source))
    assert (dict(found.files), found.plugin, ids(found)) == ({}, "", ["SLM070"])


def test_names_that_are_taken() -> None:
    found = derive([on("n1", "root"), on("n2", "unknown"), Host("n3")], IB)
    assert body(found) == [
        "SwitchName=root Nodes=n1",
        "SwitchName=unknown Nodes=n2",
        "SwitchName=unknown_ Nodes=n3",
        "SwitchName=root_ Switches=root,unknown,unknown_",
    ]


def test_switches_that_share_a_name_stay_apart() -> None:
    hosts = [
        Host("n1", fabric=as_variable("n1", [Link("mlx5_0", "leaf", "0x01")], ())),
        Host("n2", fabric=as_variable("n2", [Link("mlx5_0", "leaf", "0x02")], ())),
    ]
    assert body(derive(hosts, IB))[:2] == ["SwitchName=leaf_0x01 Nodes=n1", "SwitchName=leaf_0x02 Nodes=n2"]


def test_chosen_adapters() -> None:
    """Storage adapters on one switch would join all groups."""
    hosts = [on("n1", "l1", "storage"), on("n2", "l2", "storage")]
    assert len(body(derive(hosts, IB))) == 2
    assert body(derive(hosts, Wish("24.11", ["tree"], "infiniband", adapters=["mlx5_0"])))[:2] == [
        "SwitchName=l1 Nodes=n1",
        "SwitchName=l2 Nodes=n2",
    ]


def lldp(name: str, *links: Link) -> Host:
    """Return a node with these LLDP neighbours."""
    return Host(name, fabric=as_variable(name, (), links))


def test_management_switch_does_not_count_beside_others() -> None:
    wish = Wish("24.11", ["tree"], "lldp")
    mgmt = Link("eth0", "mgmt", "m", default_route=True)
    hosts = [lldp("n1", mgmt, Link("eth2", "l1", "1")), lldp("n2", mgmt, Link("eth2", "l2", "2")), lldp("n3", mgmt)]
    found = derive(hosts, wish)
    assert body(found)[:3] == ["SwitchName=l1 Nodes=n1", "SwitchName=l2 Nodes=n2", "SwitchName=unknown Nodes=n3"]
    assert body(derive([lldp("n1", mgmt), lldp("n2", mgmt)], wish))[0] == "SwitchName=mgmt Nodes=n[1-2]"


def test_unusable_fabric_is_told() -> None:
    found = derive(
        [on("n1", "l1"), Host("n2", fabric={"schema": 2}), Host("n3", fabric={"schema": 1, "infiniband": [7]})], IB
    )
    assert [(problem.id, problem.host) for problem in found.problems] == [
        ("SLM075", "n2"),
        ("SLM075", "n3"),
        ("SLM071", ""),
    ]


# --- versions -------------------------------------------------------------------------------------------------------

RACKS = [nvl("n1", "a", rack="r1"), nvl("n2", "a", rack="r1"), nvl("n3", "b", rack="r2")]


@pytest.mark.parametrize(
    ("version", "kinds", "files", "plugin", "problems"),
    [
        ("22.05", ["tree"], ["topology.conf"], "topology/tree", []),
        ("24.11", ["block"], ["topology.conf"], "topology/block", []),
        ("23.11", ["block"], [], "", ["SLM035"]),
        ("23.11", ["block", "tree"], ["topology.conf"], "topology/tree", ["SLM035"]),
        ("", ["block"], [], "", ["SLM035"]),
        ("24.11", ["block", "tree"], ["topology.conf"], "topology/block", ["SLM035"]),
        ("25.05", ["tree"], ["topology.yaml"], "", []),
        ("26.05", ["block", "tree"], ["topology.yaml"], "", []),
        ("24.11", ["ring"], [], "", ["SLM035"]),
    ],
)
def test_file_by_version(version: str, kinds: list[str], files: list[str], plugin: str, problems: list[str]) -> None:
    found = derive(RACKS, Wish(version, kinds))
    assert (list(found.files), found.plugin, ids(found)) == (files, plugin, problems)


def test_blocks_before_25_05() -> None:
    assert body(derive(RACKS, Wish("24.11", ["block"]))) == [
        "BlockName=r1 Nodes=n[1-2]",
        "BlockName=r2 Nodes=n3",
        "BlockSizes=1",
    ]


def test_yaml() -> None:
    """Both kinds as data; the name is the first key; names that look like numbers stay texts."""
    hosts = [*RACKS, Host("n4", rack="0123")]
    (text,) = derive(hosts, Wish("25.11", ["block", "tree"])).files.values()
    content = yaml.safe_load(text)
    assert content == [
        {
            "topology": "block",
            "cluster_default": True,
            "block": {
                "block_sizes": [2],
                "blocks": [{"block": "r1", "nodes": "n[1-2]"}, {"block": "r2", "nodes": "n3"}],
            },
        },
        {
            "topology": "tree",
            "cluster_default": False,
            "tree": {
                "switches": [
                    {"switch": "root", "children": "0123,r[1-2]"},
                    {"switch": "0123", "nodes": "n4"},
                    {"switch": "r1", "nodes": "n[1-2]"},
                    {"switch": "r2", "nodes": "n3"},
                ]
            },
        },
    ]
    assert [next(iter(item)) for item in content] == ["topology", "topology"]


def test_a_kind_without_data_leaves_the_other() -> None:
    found = derive([Host("n1", rack="r1")], Wish("25.05", ["block", "tree"]))
    assert [item["topology"] for item in yaml.safe_load(found.files["topology.yaml"])] == ["tree"]
    assert ids(found) == ["SLM070"]


def test_gpus_that_disagree() -> None:
    fabrics = [{"cluster_uuid": "a", "clique": n, "state": "Completed", "status": "Success"} for n in (1, 2)]
    odd = Host("n9", record={"gpus": [{"fabric": fabric} for fabric in fabrics]})
    found = derive([*RACKS, odd], Wish("25.05", ["block"]))
    assert [(problem.id, problem.host) for problem in found.problems] == [("SLM072", "n9"), ("SLM071", "")]


def test_block_sizes_of_the_site() -> None:
    found = derive(RACKS, Wish("25.05", ["block"], block_sizes=[18, 36]))
    assert (found.block_sizes, ids(found)) == ((18, 36), [])
    refused = derive(RACKS, Wish("24.11", ["block"], block_sizes=[2]))
    assert (refused.block_sizes, ids(refused)) == ((1,), ["SLM035"])


def test_unknown_source() -> None:
    found = derive([Host("n1", rack="r1")], Wish("24.11", ["tree"], "guess"))
    assert (ids(found), found.plugin) == (["SLM035"], "topology/tree")


def test_records_of_another_form_are_left_to_the_derivation_of_nodes() -> None:
    hosts = [*RACKS, Host("n8", record={"schema": 1}), Host("n9", record=["x"])]
    assert ids(derive(hosts, Wish("24.11", ["block"]))) == ["SLM071"]


def test_skipped_problems() -> None:
    assert derive([Host("n1")], Wish("24.11", ["tree"], skip_problems=["SLM070"])).problems == ()


# --- a file written by hand -----------------------------------------------------------------------------------------


def test_file_by_hand_is_used_as_it_is() -> None:
    text = "SwitchName=s1 Nodes=n[1-2]\n"
    found = derive([Host("n1"), Host("n2")], Wish("24.11", ["block"], file="/site/topo.conf", text=text))
    assert (dict(found.files), found.plugin, ids(found)) == ({"topology.conf": text}, "topology/tree", [])


def test_faults_of_a_file_by_hand_are_told() -> None:
    found = derive(
        [Host("n1")], Wish("24.11", file="topology.conf", text="SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n1\n")
    )
    assert ids(found) == ["SLM078", "SLM085"]


@pytest.mark.parametrize(
    ("version", "file", "text"),
    [
        ("24.11", "t.yaml", '- topology: t\n  tree:\n    switches:\n      - {switch: s, nodes: "n1"}\n'),
        ("22.05", "t.conf", "BlockName=b Nodes=n1\nBlockSizes=1\n"),
    ],
)
def test_file_by_hand_that_the_version_cannot_read(version: str, file: str, text: str) -> None:
    found = derive([Host("n1")], Wish(version, file=file, text=text))
    assert (dict(found.files), ids(found)) == ({}, ["SLM035"])


# --- properties -----------------------------------------------------------------------------------------------------

LEAVES = st.dictionaries(
    st.integers(1, 30).map(lambda n: f"n{n}"),
    st.lists(st.integers(1, 9).map(lambda n: f"l{n}"), max_size=4, unique=True),
    min_size=1,
    max_size=20,
)


@given(LEAVES, st.randoms(use_true_random=False))
def test_any_fabric_gives_a_file_without_faults(cables: dict[str, list[str]], order: random.Random) -> None:
    hosts = [on(name, *switches) for name, switches in cables.items()]
    shuffled = [on(name, *order.sample(switches, len(switches))) for name, switches in cables.items()]
    order.shuffle(shuffled)
    found = derive(hosts, IB)
    assert dict(derive(shuffled, IB).files) == dict(found.files)
    for text in found.files.values():
        assert faults(text, cables, "24.11") == []
    for name, text in derive(hosts, Wish("26.05", ["tree"], "infiniband")).files.items():
        assert faults(text, cables, "26.05", name) == []


@given(LEAVES)
def test_nodes_share_a_leaf_if_and_only_if_a_chain_of_switches_joins_them(cables: dict[str, list[str]]) -> None:
    found = tree(cables, cables, {name: name for switches in cables.values() for name in switches})
    if found is None:
        assert not any(cables.values())
        return
    for leaf in found.leaves:
        reached = set(cables[leaf.nodes[0]])
        for _step in cables:
            reached |= {switch for switches in cables.values() if reached & set(switches) for switch in switches}
        members = {node for node, switches in cables.items() if reached & set(switches)}
        assert members == set(leaf.nodes) or set(leaf.nodes) == set(found.homeless)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(0, 3)), min_size=1, max_size=20))
def test_any_domains_give_blocks_without_faults(where: list[tuple[int, int, int]]) -> None:
    hosts = [
        nvl(f"n{at}", f"{CLUSTER[:-1]}{cluster}", clique, f"r{rack}" if rack else "")
        for at, (cluster, clique, rack) in enumerate(where)
    ]
    names = [host.name for host in hosts]
    for version in ("24.11", "26.05"):
        found = derive(hosts, Wish(version, ["block"]))
        for name, text in found.files.items():
            assert faults(text, names, version, name) == []
        assert sorted(node for block in found.blocks for node in block.nodes) == sorted(names)


def test_a_new_node_changes_only_its_leaf() -> None:
    hosts = [on(f"n{at}", f"l{at % 3}") for at in range(9)]
    before, after = (body(derive(nodes, IB)) for nodes in (hosts, [*hosts, on("n9", "l0")]))
    assert [new for old, new in zip(before, after, strict=True) if old != new] == ["SwitchName=l0 Nodes=n[0,3,6,9]"]


# --- the large capture ----------------------------------------------------------------------------------------------


def test_large_fabric_has_eight_groups(captures: Path) -> None:
    """By name 119 nodes on 31 leaves; by GUID the same groups, although no adapter has its right name any more."""
    text = (captures / "dgx-superpod-rail-optimised-ndr.ibnetdiscover.txt").read_text()
    fabric = parse(text)
    names = {port.description.split()[0] for port in fabric.ports if port.description.startswith("gpu-")}
    by_name = join(fabric, [], names)
    found = derive([on_fabric(name, by_name.links[name]) for name in names], IB)
    assert found.tree is not None
    assert [len(leaf.nodes) for leaf in found.tree.leaves] == [10, 11, 18, 17, 18, 15, 16, 14]
    assert found.tree.leaves[3].switches == tuple(f"A09-IBLEAF-0{rail}-04" for rail in range(1, 5))
    assert faults(found.files["topology.conf"], names, "24.11") == []

    guids: dict[str, list[str | None]] = {}
    for port in fabric.ports:
        guids.setdefault(port.description.split()[0], []).append(port.node_guid)
    adapters = [
        adapter
        for name in names
        for adapter in adapters_of(name, {"fabric": {"hcas": [{"name": "mlx5_0", "guid": one} for one in guids[name]]}})
    ]
    scrambled = parse("\n".join(line.replace('"gpu-', '"localhost-') for line in text.splitlines()))
    by_guid = join(scrambled, adapters, names)
    assert by_guid.by_name == ()
    same = derive([on_fabric(name, by_guid.links[name]) for name in names], IB)
    assert same.files == found.files


def on_fabric(name: str, links: tuple[Link, ...]) -> Host:
    """Return a node with these InfiniBand cables."""
    return Host(name, fabric=as_variable(name, links, ()))
