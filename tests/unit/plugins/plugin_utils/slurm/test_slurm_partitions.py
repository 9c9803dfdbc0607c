# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions: derived, changed and added."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    derived,
    gpu,
    hgx,
    ids,
    mig,
    record,
)

A100 = "nvidia_a100-sxm4-80gb"


def site_of(*items: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return site settings with these items of slurm_partitions and no derived shares."""
    return {"partitions": list(items), "def_per_gpu": False, **settings}


def names_and_nodes(result: dict[str, Any]) -> dict[str, str]:
    """Return the nodes of each partition, in order."""
    return {partition["name"]: partition["nodes"] for partition in result["partitions"]}


def defaults(result: dict[str, Any]) -> list[str]:
    """Return the default partitions, of which there must be one."""
    return [partition["name"] for partition in result["partitions"] if partition["default"]]


THREE = (hgx("n1"), hgx("n2", A100), record("n3"))


def test_d_935_one_for_all_and_one_for_each_model() -> None:
    """D#935."""
    result = derived(*THREE)
    assert result["problems"] == []
    assert names_and_nodes(result) == {"all": "n[1-3]", "a100": "n2", "h100": "n1"}
    assert [partition["gpu_type"] for partition in result["partitions"]] == [None, "a100", "h100"]
    # R#149: exactly one default although nobody marked one.
    assert defaults(result) == ["all"]
    assert [line.count("Default=YES") for line in result["partition_lines"]] == [1, 0, 0]


def test_memory_variants_share_a_partition() -> None:
    result = derived(hgx("n1", "nvidia_a100-sxm4-40gb"), hgx("n2", A100))
    assert names_and_nodes(result) == {"all": "n[1-2]", "a100": "n[1-2]"}


def test_mig_devices_have_the_partition_of_their_model() -> None:
    """Whatever the profiles: reshaping MIG must not delete a partition with its jobs."""
    split = record("n1", [gpu(1, 0), gpu(2, 1, instances=[mig("1g.10gb", 1, (3, 4)), mig("3g.40gb", 1, (5, 6))])])
    result = derived(split, hgx("n2"), site={"def_per_gpu": False})
    assert names_and_nodes(result) == {"all": "n[1-2]", "h100": "n[1-2]", "h100_mig": "n1"}


@pytest.mark.parametrize(
    ("site", "partitions"),
    [
        ({"partition_all": ""}, ["a100", "h100"]),
        ({"partition_all": "batch"}, ["batch", "a100", "h100"]),
        ({"partitions_by_gpu_type": False}, ["all"]),
        ({"gpu_type_style": "full"}, ["all", "nvidia_a100-sxm4-80gb", "nvidia_h100_80gb_hbm3"]),
    ],
)
def test_site_settings(site: dict[str, Any], partitions: list[str]) -> None:
    result = derived(*THREE[:2], site=site)
    assert list(names_and_nodes(result)) == partitions
    assert defaults(result) == partitions[:1]
    assert ids(result) == []


def test_node_in_no_partition() -> None:
    assert ids(derived(*THREE, site={"partition_all": ""})) == ["SLM034"]


@pytest.mark.parametrize(
    ("nodes", "chosen"),
    [
        pytest.param(["n1"], "n1", id="host"),
        pytest.param(["n[1-2]"], "n[1-2]", id="host list"),
        pytest.param(["n1,n3"], "n[1,3]", id="comma list"),
        pytest.param(["rack1"], "n[2-3]", id="group"),
        pytest.param(["gpu_type:a100"], "n2", id="GPU type"),
        pytest.param(["n1", "gpu_type:a100", "n1"], "n[1-2]", id="several"),
        pytest.param(None, "n[1-3]", id="not given: all nodes"),
    ],
)
def test_nodes_of_an_added_partition(nodes: list[str] | None, chosen: str) -> None:
    item = {"name": "mine", "parameters": {"MaxTime": "1:00:00"}}
    if nodes is not None:
        item["nodes"] = nodes
    result = derived(*THREE, site=site_of(item, groups={"rack1": ["n2", "n3", "login1"]}))
    assert ids(result) == []
    assert names_and_nodes(result)["mine"] == chosen
    assert result["partition_lines"][-1] == f"PartitionName=mine Nodes={chosen} Default=NO MaxTime=1:00:00 State=UP"


def test_a_derived_partition_is_changed_in_place() -> None:
    result = derived(
        *THREE, site=site_of({"name": "h100", "default": True, "state": "drain", "parameters": {"qos": "x"}})
    )
    assert list(names_and_nodes(result)) == ["all", "a100", "h100"]
    assert result["partition_lines"][2] == "PartitionName=h100 Nodes=n1 Default=YES QOS=x State=DRAIN"
    assert defaults(result) == ["h100"]


@pytest.mark.parametrize(
    ("items", "default"),
    [
        ([], "all"),
        ([{"name": "all", "default": False}], "a100"),
        ([{"name": name, "default": False} for name in ("all", "a100", "h100")], "all"),
        ([{"name": "x", "default": True}], "x"),
    ],
)
def test_exactly_one_default(items: list[dict[str, Any]], default: str) -> None:
    assert defaults(derived(*THREE, site=site_of(*items))) == [default]


@pytest.mark.parametrize(
    ("items", "problem", "part"),
    [
        pytest.param([{"name": "x", "nodes": ["n9"]}], "SLM024", "'n9'", id="unknown host"),
        pytest.param([{"name": "x", "nodes": ["n[1-4]"]}], "SLM024", "'n4'", id="unknown in a host list"),
        pytest.param([{"name": "x", "nodes": ["n[2-1]"]}], "SLM024", "descending", id="bad host list"),
        pytest.param(
            [{"name": "x", "nodes": ["n1", "gpu_type:b200"]}], "SLM024", "gpu_type:b200", id="unknown GPU type"
        ),
        pytest.param(
            [{"name": "x", "default": True}, {"name": "y", "default": True}], "SLM025", "x, y", id="two defaults"
        ),
        pytest.param([{"name": "a b"}], "SLM026", "'a b'", id="name with a blank"),
        pytest.param([{"name": "a\n"}], "SLM026", r"'a\n'", id="name with a line break"),
        pytest.param([{"name": "x", "state": "up\nNodeName=y"}], "SLM030", "state", id="state that is none"),
        pytest.param(
            [{"name": "x", "parameters": {"MaxTime": 1, "maxtime": 2}}], "SLM029", "twice", id="parameter twice"
        ),
        pytest.param([{"name": "DEFAULT"}], "SLM026", "DEFAULT", id="reserved name"),
        pytest.param([{"name": "x"}, {"name": "x"}], "SLM027", "'x'", id="name twice"),
        pytest.param([{"name": "x", "parameters": {"MaxTiem": 1}}], "SLM029", "MaxTiem", id="misspelt parameter"),
        pytest.param([{"name": "x", "parameters": {"Topology": "t"}}], "SLM029", "25.05", id="newer than Slurm"),
        pytest.param([{"name": "x", "parameters": {"Nodes": "n1"}}], "SLM029", "key nodes", id="nodes as parameter"),
        pytest.param([{"name": "x", "parameters": {"MaxTime": "a#b"}}], "SLM029", "MaxTime", id="unusable value"),
        pytest.param(["x"], "SLM030", "'x'", id="no dictionary"),
        pytest.param([{"nodes": ["n1"]}], "SLM030", "without a name", id="no name"),
        pytest.param([{"name": "x", "nodes": "n1"}], "SLM030", "not a list", id="nodes no list"),
        pytest.param([{"name": "x", "nodes": False}], "SLM030", "not a list", id="nodes false"),
        pytest.param([{"name": "x", "parameters": ["a"]}], "SLM030", "not a dictionary", id="parameters no dictionary"),
        pytest.param([{"name": "x", "default": "maybe"}], "SLM030", "neither", id="default no boolean"),
        pytest.param([{"name": "x", "node": ["n1"]}], "SLM030", "unknown key node", id="misspelt key"),
    ],
)
def test_wrong_items(items: list[Any], problem: str, part: str) -> None:
    """One error for the whole cluster, before anything is changed, and still a configuration that Slurm reads."""
    result = derived(*THREE, site=site_of(*items))
    assert problem in ids(result)
    found = next(one for one in result["problems"] if one["id"] == problem)
    assert (found["host"], found["severity"]) == ("", "error")
    assert part in found["message"]
    assert len(defaults(result)) == 1


def test_no_partition_may_be_the_default() -> None:
    items = [{"name": line.split()[0].split("=")[1], "default": False} for line in derived(*THREE)["partition_lines"]]
    result = derived(*THREE, site=site_of(*items))
    assert ids(result) == ["SLM046"]
    assert len(defaults(result)) == 1


def test_partition_of_nodes_that_are_left_out() -> None:
    """The node is known and its problem is told already; the partition stays, so that its queue does."""
    hostvars_site = site_of({"name": "x", "nodes": ["n2"]})
    result = derived(hgx("n1"), {**hgx("n2"), "schema": 99}, site=hostvars_site)
    assert ids(result) == ["SLM002", "SLM028"]
    assert 'PartitionName=x Nodes="" Default=NO State=UP' in result["partition_lines"]


@pytest.mark.parametrize(
    ("machines", "shares"),
    [
        pytest.param([hgx("n1")], {"all": (28, 252800), "h100": (28, 252800)}, id="an eighth of the node"),
        pytest.param(
            [hgx("n1"), hgx("n2", memory_mib=1031000)],
            {"all": (28, 126208), "h100": (28, 126208)},
            id="the smallest share counts",
        ),
        pytest.param(
            [
                hgx("n1"),
                record("n2", [gpu(1, 0, A100)], sockets=1, cores=16, threads=1, memory_mib=65536),
                record("n3"),
            ],
            {"all": (16, 63488), "a100": (16, 63488), "h100": (28, 252800)},
            id="nodes without GPUs do not count",
        ),
        pytest.param(
            [record("n1", [gpu(1, 0), gpu(2, 1, instances=[mig("1g.10gb", 1, (at, at + 9)) for at in range(7)])])],
            {"all": (16, 144457), "h100": (112, 1011200), "h100_mig": (16, 144457)},
            id="a GPU's share is divided by its MIG devices",
        ),
        pytest.param(
            [record("n1", [gpu(at, at) for at in range(8)], sockets=1, cores=2, memory_mib=16384)],
            {"all": (None, 1920), "h100": (None, 1920)},
            id="fewer cores than GPUs",
        ),
    ],
)
def test_shares(machines: list[dict[str, Any]], shares: dict[str, tuple[int | None, int]]) -> None:
    """A node with fewer cores than GPUs has no CPU share: a job with all its GPUs must still fit on it."""
    result = derived(*machines)
    found = {
        one["name"]: tuple(
            int(one["parameters"][key]) if key in one["parameters"] else None
            for key in ("DefCpuPerGPU", "DefMemPerGPU")
        )
        for one in result["partitions"]
    }
    assert found == shares


def test_shares_leave_reserved_cores_and_memory_out() -> None:
    """GoogleCloudPlatform/cluster-toolkit#3300, BB#1119: what is reserved cannot be a default."""
    plain = derived(hgx())["partitions"][0]["parameters"]
    reserved = derived(hgx(), slurm_node_parameters={"MemSpecLimit": 80000, "CoreSpecCount": 8})
    assert plain["DefMemPerGPU"] == "252800"
    assert reserved["partitions"][0]["parameters"]["DefMemPerGPU"] == "242800"
    assert reserved["partitions"][0]["parameters"]["DefCpuPerGPU"] == "26"


def test_shares_of_cores_as_cpus() -> None:
    assert derived(hgx(), slurm_node_parameters={"CPUs": 112})["partitions"][0]["parameters"]["DefCpuPerGPU"] == "14"


@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        ({"DefMemPerCPU": 1000}, {"DefCpuPerGPU", "DefMemPerCPU"}),
        ({"DefMemPerNode": 1000}, {"DefCpuPerGPU", "DefMemPerNode"}),
        ({"DefCpuPerGPU": 2}, {"DefCpuPerGPU", "DefMemPerGPU"}),
    ],
)
def test_shares_give_way(parameters: dict[str, Any], left: set[str]) -> None:
    result = derived(hgx(), site={"partitions": [{"name": "all", "parameters": parameters}]})
    found = result["partitions"][0]["parameters"]
    assert set(found) == left | {"State"}
    assert all(found[name] == str(value) for name, value in parameters.items())


def test_no_shares_by_wish_or_without_gpus() -> None:
    assert "Def" not in "".join(derived(hgx(), site={"def_per_gpu": False})["partition_lines"]).replace("Default", "")
    assert derived(record("n1"))["partitions"][0]["parameters"] == {"State": "UP"}


def test_r_113_156_empty_group() -> None:
    """R#113 R#156."""
    result = derived()
    assert ids(result) == ["SLM031"]
    assert result["node_lines"] == result["gres_lines"] == []
    assert result["partition_lines"] == ['PartitionName=all Nodes="" Default=YES State=UP']
