# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparable form of Slurm's files."""

from __future__ import annotations

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import parse


def test_logical_lines() -> None:
    text = "# all of it\nA=1 # rest\n\nB=2 \\\n  C=3\n  D=a\\#b\nE=\\\n"
    assert parse.logical_lines(text) == ["A=1", "B=2    C=3", "D=a#b", "E="]


@pytest.mark.parametrize(
    ("line", "pairs", "rest"),
    [
        ("A=1", [("A", "1")], ""),
        ("A = 1  B= 2", [("A", "1"), ("B", "2")], ""),
        ('Reason="to be mended" State=DOWN', [("Reason", "to be mended"), ("State", "DOWN")], ""),
        ("Nodes+=n1", [("Nodes+", "n1")], ""),
        ("A=1 and more", [("A", "1")], "and more"),
        ("garbage", [], "garbage"),
        ("Gres=gpu:h100:8,gpu:1g.10gb:2", [("Gres", "gpu:h100:8,gpu:1g.10gb:2")], ""),
    ],
)
def test_pairs(line: str, pairs: list[tuple[str, str]], rest: str) -> None:
    assert parse.pairs(line) == (pairs, rest)


def test_slurm_conf() -> None:
    conf = parse.slurm_conf(
        """
        clustername=demo
        SlurmctldHost=a(10.0.0.1)
        SlurmctldHost=b
        NodeName=DEFAULT RealMemory=1000
        NodeName=n[1-2] NodeAddr=10.0.0.[1-2] Procs=4 Gres=gpu:b:1,gpu:a:1
        NodeName=n3 RealMemory=2000 NodeAddr=here
        PartitionName=DEFAULT MaxTime=60
        PartitionName=all Nodes=n3,n[1-2] Shared=NO
        what is this
        """
    )
    assert conf.parameters["clustername"] == ("clustername", "demo")
    assert conf.parameters["slurmctldhost"].text == "SlurmctldHost=a(10.0.0.1) SlurmctldHost=b"
    assert {name: {key: value.text for key, value in values.items()} for name, values in conf.nodes.items()} == {
        "n1": {"realmemory": "1000", "nodeaddr": "10.0.0.1", "cpus": "4", "gres": "gpu:a:1,gpu:b:1"},
        "n2": {"realmemory": "1000", "nodeaddr": "10.0.0.2", "cpus": "4", "gres": "gpu:a:1,gpu:b:1"},
        "n3": {"realmemory": "2000", "nodeaddr": "here"},
    }
    assert {key: value.text for key, value in conf.partitions["all"].items()} == {
        "maxtime": "60",
        "nodes": "n[1-3]",
        "oversubscribe": "NO",
    }
    assert conf.unparsed == ("what is this",)


def test_includes_are_read_where_they_are_known() -> None:
    conf = parse.slurm_conf("Include nodes.conf\ninclude /srv/more.conf\n", {"nodes.conf": "NodeName=n1\n"})
    assert list(conf.nodes) == ["n1"]
    assert conf.parameters["include"].text == "/srv/more.conf"


def test_a_file_that_includes_itself_ends() -> None:
    assert parse.slurm_conf("Include a.conf\n", {"a.conf": "Include a.conf\nA=1\n"}).parameters["a"].text == "1"
    assert parse.included("Include a.conf\n", {"a.conf": "Include a.conf\n"}) == ["a.conf"]


def test_gres_conf() -> None:
    conf = parse.gres_conf(
        "AutoDetect=off\n"
        "NodeName=n[1-2] Name=gpu Type=h100 File=/dev/nvidia[1,0] Cores=0-7 Flags=nvidia_gpu_env\n"
        "NodeName=n2 Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia4,/dev/nvidia-caps/nvidia-cap[1-2]\n"
        "NodeName=n3 Name=shard Count=8\n"
    )
    assert conf.nodes[""] == (parse.Device("", "", "", "", "", "", "", "off"),)
    h100 = [parse.Device("gpu", "h100", f"/dev/nvidia{n}", "", "0-7", "", "nvidia_gpu_env", "") for n in (1, 0)]
    mig = parse.Device("gpu", "1g.10gb", "/dev/nvidia4,/dev/nvidia-caps/nvidia-cap[1-2]", "", "", "", "", "")
    assert conf.nodes["n1"] == tuple(h100)
    assert conf.nodes["n2"] == (*h100, mig)
    assert conf.nodes["n3"][0].quantity == "8"


def test_topology_conf() -> None:
    tree = "SwitchName=root Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-2]\n"
    same = "# a tree\nSwitchName=s1 Nodes=n2,n1\nSwitchName=root Switches=s1,s2\n"
    assert parse.topology_conf(tree) == parse.topology_conf(same)
    blocks = "BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n2\n"
    turned = "BlockName=b2 Nodes=n2\nBlockName=b1 Nodes=n1\n"
    assert parse.topology_conf(blocks) != parse.topology_conf(turned)
