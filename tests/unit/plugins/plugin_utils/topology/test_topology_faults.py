# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of topology files. What is an error here, slurmctld 22.05, 24.11 or 26.05 refused when it was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.faults import faults, kind_of

NODES = [f"n{number}" for number in range(1, 7)]
GOOD = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=root Switches=a,b\n"
BLOCKS = "BlockName=a Nodes=n[1-3]\nBlockName=b Nodes=n[4-6]\n"


def chain(levels: int, upwards: bool) -> str:
    """Return switches one below the other, written from the lowest (upwards) or from the highest."""
    lines = [f"SwitchName=s{at} Switches=s{at - 1}" for at in range(1, levels + 1)]
    lines = ["SwitchName=s0 Nodes=n[1-6]", *lines]
    return "\n".join(lines if upwards else lines[::-1])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.lower().replace("switchname=root", "SWITCHNAME=root"),
        "# a comment\nSwitchName=a \\\n  Nodes=n[1-6] LinkSpeed=1 # the only one\n\n",
        'SwitchName="a" Nodes="n[1-6]"\n',
        chain(40, upwards=True),
        chain(21, upwards=False),
        BLOCKS,
        BLOCKS + "BlockSizes=3,6\n",
        BLOCKS + "BlockSizes=1\n",
    ],
)
def test_without_fault(text: str) -> None:
    assert faults(text, NODES, "24.11") == []


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        pytest.param("# nothing\n", ["SLM076"], "no switch", id="empty"),
        pytest.param(GOOD + "hello\n", ["SLM077"], "line 4: 'hello'", id="junk"),
        pytest.param("SwitchName=a Nodes=n[1-6] Foo=1\n", ["SLM077", "SLM076"], "foo", id="unknown key"),
        pytest.param("BlockName=a Nodes=n[1-6] Switches=b\n", ["SLM077", "SLM076"], "switches", id="key of the other"),
        pytest.param(f"SwitchName={'x' * 64} Nodes=n[1-6]\n", ["SLM077"], "64 characters", id="long name"),
        pytest.param(
            GOOD + "BlockName=c Nodes=n1\n",
            ["SLM077", "SLM085"],
            "cannot be in one topology",
            id="blocks beside switches",
        ),
        pytest.param(GOOD + "SwitchName=a Switches=root\n", ["SLM078"], "line 1 and again at line 4", id="duplicate"),
        pytest.param(BLOCKS + "BlockName=a Nodes=\n", ["SLM077"], "not understood", id="key without value"),
        pytest.param(
            "SwitchName=a Nodes=n[1-3\nSwitchName=b Nodes=n[4-6]\n", ["SLM079", "SLM086"], "bracket", id="[O]"
        ),
        pytest.param("SwitchName=a Nodes=n[1-6]x\n", ["SLM079", "SLM086"], "after the last", id="text after bracket"),
        pytest.param("SwitchName=a Nodes=n[6-1]\n", ["SLM079", "SLM086"], "descending", id="descending"),
        pytest.param(
            "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6] Switches=a\n", ["SLM080"], "both", id="both"
        ),
        pytest.param("SwitchName=a Nodes=n[1-6]\nSwitchName=b\n", ["SLM080"], "neither", id="neither"),
        pytest.param(BLOCKS + "BlockName=c\n", ["SLM080"], "no nodes", id="block without nodes"),
        pytest.param(GOOD.replace("a,b", "a,b,zz"), ["SLM081"], "root has zz", id="unknown switch"),
        pytest.param(GOOD.replace("a,b", "a,b,root"), ["SLM081"], "itself", id="below itself"),
        pytest.param(
            "SwitchName=a Nodes=n[1-6]\nSwitchName=b Switches=a,c\nSwitchName=c Switches=b\n",
            ["SLM082"],
            "b,c are below themselves",
            id="loop",
        ),
        pytest.param(chain(22, upwards=False), ["SLM082"], "levels", id="too deep"),
        pytest.param(BLOCKS + "BlockSizes=3,9\n", ["SLM083"], "power of two", id="odd size"),
        pytest.param(BLOCKS + "BlockSizes=6,3\n", ["SLM083"], "power of two", id="sizes fall"),
        pytest.param(BLOCKS + "BlockSizes=0\n", ["SLM083"], "above zero", id="zero"),
        pytest.param(BLOCKS + "BlockSizes=many\n", ["SLM083"], "not a list of numbers", id="no number"),
        pytest.param(BLOCKS + "BlockSizes=3\nBlockSizes=1\n", ["SLM083"], "given again", id="sizes twice"),
        pytest.param(BLOCKS + "BlockSizes=4\n", ["SLM083"], "fewer than 4", id="blocks below the base"),
        pytest.param(
            "BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[5-6]\n", ["SLM083"], "fewer than 4", id="below the first"
        ),
        pytest.param(GOOD.replace("n[4-6]", "n[4-9]"), ["SLM084"], "b names n[7-9]", id="unknown node"),
        pytest.param("SwitchName=a Nodes=ALL\n", ["SLM084", "SLM086"], "names ALL", id="ALL is no node here"),
        pytest.param(GOOD.replace("n[1-3]", "n[1-4]"), ["SLM085"], "n4 are on a and b", id="two leaves"),
        pytest.param(GOOD.replace("n[1-3]", "n[1-3],n1"), ["SLM085"], "a twice", id="twice on one leaf"),
        pytest.param(GOOD.replace("n[4-6]", "n4"), ["SLM086"], "n[5-6] are on no switch", id="on none"),
        pytest.param(BLOCKS.replace("n[4-6]", "n[4-5],n7"), ["SLM084", "SLM086"], "n6 are on no block", id="no block"),
        pytest.param(GOOD.rsplit("\n", 2)[0], ["SLM087"], "at the top: a,b", id="no root"),
        pytest.param(
            GOOD + "SwitchName=other Switches=a,b\nSwitchName=top Switches=root,other\n",
            ["SLM088", "SLM088"],
            "a is below root and other",
            id="two spines",
        ),
    ],
)
def test_fault(text: str, expected: list[str], words: str) -> None:
    found = faults(text, NODES, "24.11")
    assert sorted(problem.id for problem in found) == sorted(expected)
    assert words in " ".join(problem.message for problem in found)


def test_all_faults_at_once() -> None:
    text = "SwitchName=a Nodes=n[1-4],x\nSwitchName=a Nodes=n4\nSwitchName=b Switches=zz Nodes=n5\njunk\n"
    assert {problem.id for problem in faults(text, NODES, "24.11")} == {
        *("SLM077", "SLM078", "SLM080", "SLM081", "SLM084", "SLM085", "SLM086", "SLM087"),
    }


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        ("BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[5-6]\nBlockSizes=4\n", "25.05", []),
        ("BlockName=a Nodes=n[1-6]\nBlockName=b\nBlockSizes=6\n", "25.05", []),
        ("BlockName=a Nodes=n[1-6]\nBlockName=b\nBlockSizes=6\n", "", ["SLM080"]),
        ("SwitchName=a Nodes=n[1-6]\nSwitchName=b\nSwitchName=r Switches=a,b\n", "26.05", []),
        ("SwitchName=a Nodes=n[1-6]\nSwitchName=b\nSwitchName=r Switches=a,b\n", "25.05", ["SLM080"]),
    ],
)
def test_what_depends_on_the_version(text: str, version: str, expected: list[str]) -> None:
    assert [problem.id for problem in faults(text, NODES, version)] == expected


TREE = '  tree:\n    switches:\n      - {switch: a, nodes: "n[1-6]"}\n'
BLOCK = '  block:\n    block_sizes: [3]\n    blocks: [{block: a, nodes: "n[1-3]"}, {block: b, nodes: "n[4-6]"}]\n'


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        pytest.param(f"- topology: t\n  cluster_default: true\n{TREE}- topology: b\n{BLOCK}", [], "", id="both kinds"),
        pytest.param("- topology: f\n  cluster_default: true\n  flat: true\n", [], "", id="flat"),
        pytest.param("- {topology: [", ["SLM077"], "line 1", id="no YAML"),
        pytest.param("", ["SLM076"], "no switch", id="empty"),
        pytest.param("[]", ["SLM076"], "no switch", id="empty list"),
        pytest.param("topology: t\n", ["SLM077"], "not a list", id="no list"),
        pytest.param("- 7\n", ["SLM077", "SLM077"], "name is missing", id="number"),
        pytest.param(f"- cluster_default: true\n  topology: t\n{TREE}", ["SLM077"], "first key", id="order of keys"),
        pytest.param("- topology: t\n", ["SLM077"], "one of tree", id="no kind"),
        pytest.param(f"- topology: t\n{TREE}{BLOCK}", ["SLM077"], "only one", id="two kinds"),
        pytest.param("- topology: t\n  tree: {}\n", ["SLM077"], "no list 'switches'", id="no switches"),
        pytest.param("- topology: t\n  tree: {switches: []}\n", ["SLM076"], "no switch", id="none"),
        pytest.param("- topology: t\n  block: {blocks: [x]}\n", ["SLM077"], "'block' with its name", id="no block"),
        pytest.param(f"- topology: t\n{TREE}- topology: t\n{TREE}", ["SLM077"], "same name", id="one name twice"),
        pytest.param(
            f"- topology: t\n  cluster_default: true\n{TREE}- topology: u\n  cluster_default: true\n{TREE}",
            ["SLM077"],
            "true for 2",
            id="two defaults",
        ),
        pytest.param(f"- topology: t\n{TREE}".replace("1-6", "1-9"), ["SLM084"], "switch 1: a names n[7-9]", id="node"),
        pytest.param(f"- topology: t\n{BLOCK}".replace("[3]", "5x"), ["SLM083"], "block_sizes", id="sizes"),
    ],
)
def test_topology_yaml(text: str, expected: list[str], words: str) -> None:
    found = faults(text, NODES, "25.05", "topology.yaml")
    assert [problem.id for problem in found] == expected
    assert words in " ".join(problem.message for problem in found)


def test_order_of_keys_does_not_matter_later() -> None:
    assert faults(f"- cluster_default: true\n  topology: t\n{TREE}", NODES, "26.05", "topology.yaml") == []


@pytest.mark.parametrize(("text", "kind"), [(GOOD, "tree"), (BLOCKS, "block"), ("BlockSizes=3\n", ""), ("", "")])
def test_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_captured_topology_of_a_real_site(captures: Path) -> None:
    """No root, a list that lost its prefix, one node on two leaves and one on none, and all of it unnoticed."""
    text = (captures / "dgx-superpod-real.topology.conf").read_text()
    found = faults(text, [f"gpu-n{number:03d}" for number in range(1, 81)], "24.11")
    assert [(problem.id, problem.severity) for problem in found] == [
        ("SLM084", "warning"),
        ("SLM085", "warning"),
        ("SLM086", "warning"),
        ("SLM087", "warning"),
    ]
    assert "n[019-020]" in found[0].message
    assert "gpu-n051 are on s2 and s4" in found[1].message
    assert "gpu-n[019-020,059]" in found[2].message


@pytest.mark.parametrize("text", ["- 2026-13-45", "[" * 3000], ids=["date that is none", "nested too deeply"])
def test_yaml_that_its_reader_cannot_take(text: str) -> None:
    assert [problem.id for problem in faults(text, ["n1"], "25.05", "topology.yaml")] == ["SLM077"]
