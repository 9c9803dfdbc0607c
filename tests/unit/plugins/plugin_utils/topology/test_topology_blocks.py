# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLink domains as blocks: which GPUs count, names, order, sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.blocks import (
    Domain,
    Placed,
    blocks,
    domain_of,
    sizes,
    sizes_fault,
)

UUID = "7da5eb48-5ac5-4bb2-8b3c-0c1d5f6f4a01"
ZERO = "00000000-0000-0000-0000-000000000000"


def gpu(uuid: str | None, clique: int | None, state: str | None = "Completed", status: str | None = "Success") -> Any:
    """Return the part of a record's GPU that counts."""
    return {"fabric": {"cluster_uuid": uuid, "clique": clique, "state": state, "status": status}}


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        pytest.param([gpu(UUID, 1)] * 4, [Domain(UUID, 1)], id="NVL72"),
        pytest.param([gpu(UUID.upper(), 32766)] * 4, [Domain(UUID, 32766)], id="default partition"),
        pytest.param([gpu(ZERO, 0)] * 8, [], id="HGX: NVSwitch inside one node"),
        pytest.param([gpu(None, None, None, None)] * 8, [], id="no fabric"),
        pytest.param([gpu(UUID, 1, "In Progress", None)] * 4, [], id="fabric waits"),
        pytest.param([gpu(UUID, 1, "Completed", "Failure")] * 4, [], id="fabric failed"),
        pytest.param([gpu(UUID, 1)] * 3 + [gpu(None, None, None, None)], [Domain(UUID, 1)], id="one lost GPU"),
        pytest.param([gpu(UUID, 1), gpu(UUID, 2)], [Domain(UUID, 1), Domain(UUID, 2)], id="they disagree"),
        pytest.param([], [], id="no GPU"),
    ],
)
def test_domain_of_a_record(gpus: list[Any], expected: list[Domain]) -> None:
    assert list(domain_of({"gpus": gpus})) == expected


def placed(**nodes: tuple[str, int, str]) -> dict[str, Placed]:
    """Return nodes by (cluster, clique, rack)."""
    return {name: Placed((Domain(cluster, clique),), rack) for name, (cluster, clique, rack) in nodes.items()}


def named(nodes: dict[str, Placed]) -> list[tuple[str, tuple[str, ...]]]:
    """Return names and nodes of the blocks."""
    return [(block.name, block.nodes) for block in blocks(nodes, nodes)]


def test_named_after_the_rack() -> None:
    nodes = placed(a2=("z", 1, "r10"), a1=("z", 1, "r10"), b1=("y", 1, "r9"))
    assert named(nodes) == [("r9", ("b1",)), ("r10", ("a1", "a2"))]


def test_partitioned_rack_is_named_by_clique() -> None:
    nodes = placed(a1=("z", 1, "r1"), a2=("z", 2, "r1"))
    assert named(nodes) == [("r1-1", ("a1",)), ("r1-2", ("a2",))]


def test_digest_where_racks_do_not_tell() -> None:
    """Two racks in one domain, two domains with one clique in one rack, and no rack at all."""
    nodes = placed(a1=("z", 1, "r1"), a2=("z", 1, "r2"), b1=("y", 1, "r3"), c1=("x", 1, "r3"), d1=("w", 1, ""))
    found = named(nodes)
    assert [members for _name, members in found] == [("a1", "a2"), ("d1",), ("b1",), ("c1",)]
    assert all(name.startswith("nvl-") for name, _members in found)
    assert len({name for name, _members in found}) == 4


def test_a_new_uuid_after_service_keeps_name_and_order() -> None:
    before = placed(a1=("z", 1, "r1"), b1=("y", 1, "r2"))
    after = placed(a1=("a", 7, "r1"), b1=("y", 1, "r2"))
    assert named(before) == named(after)


def test_order_without_racks_is_that_of_first_nodes() -> None:
    nodes = placed(n1=("z", 1, ""), n2=("a", 1, ""), n10=("m", 1, ""), n3=("a", 1, ""))
    assert [members for _name, members in named(nodes)] == [("n1",), ("n2", "n3"), ("n10",)]


def test_node_in_two_domains_is_in_no_block() -> None:
    nodes = {"n1": Placed((Domain("a", 1), Domain("b", 1))), "n2": Placed((Domain("a", 1),)), "n3": Placed()}
    assert [members for _name, members in named(nodes)] == [("n2",)]


@pytest.mark.parametrize(
    ("lengths", "wanted", "partial", "expected", "fault"),
    [
        ([18, 17], [], False, (17,), ""),
        ([18, 17], [], True, (18,), ""),
        ([18, 18], [36, 18], False, (18, 36), ""),
        ([18, 17], [18], True, (18,), ""),
        ([18, 17], [18], False, (17,), "smallest block has 17"),
        ([18, 18], [18, 54], False, (18,), "power of two"),
        ([18, 18], [0], True, (18,), "above zero"),
    ],
)
def test_sizes(lengths: list[int], wanted: list[int], partial: bool, expected: tuple[int, ...], fault: str) -> None:
    found, why = sizes(lengths, wanted, partial)
    assert found == expected
    assert (fault in why) if fault else (why == "")


@pytest.mark.parametrize(
    ("wanted", "good"), [([3], True), ([3, 3], True), ([3, 6, 24], True), ([6, 3], False), ([3, 9], False), ([], False)]
)
def test_sizes_in_the_order_of_a_file(wanted: list[int], good: bool) -> None:
    """As slurmctld 24.11 and 26.05 take them."""
    assert (sizes_fault(wanted) == "") is good


def test_capture_of_a_gb200_tray(captures: Path) -> None:
    root = ElementTree.parse(captures / "gb200-nvl72-tray-4gpu.nvidia-smi-q.xml").getroot()
    gpus = [
        gpu(*(fabric.findtext(key) for key in ("clusterUuid", "cliqueId", "state", "status")))
        for fabric in root.iter("fabric")
    ]
    assert domain_of({"gpus": gpus}) == (Domain("00000001-0000-0000-0000-000000000001", 2),)
