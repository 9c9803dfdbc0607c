# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node names and host lists."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import (
    HostlistError,
    fold,
    fold_addresses,
    name_fault,
    natural_key,
    unfold,
)


def test_number_of_thousands_of_digits() -> None:
    name = "n" + "9" * 5000
    assert fold([name, "n1"]) == f"n1,{name}"
    assert unfold(name) == [name]


@pytest.mark.parametrize("name", ["gpu001", "n1", "a", "node-a", "rack_1-n2", "1u4", "g" * 63])
def test_name_that_slurm_takes(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "part"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("GPU01", "write 'gpu01'", id="difx#63 upper case"),
        pytest.param("a" * 64, "64 characters", id="S#415 64 characters"),
        pytest.param("gpu01.cluster.example.org", "short name 'gpu01'", id="S#415 domain"),
        pytest.param("123", "is a number", id="number that would be an address"),
        pytest.param("gpu[01-02]", "[ ]", id="brackets"),
        pytest.param("gpu01,gpu02", ",", id="comma"),
        pytest.param("gpu 1", "characters", id="blank"),
        pytest.param("gpu#1", "#", id="comment"),
        pytest.param("gpü1", "ü", id="not ascii"),
        pytest.param("-gpu1", "begin and end", id="option"),
        pytest.param("gpu1-", "begin and end", id="dash at the end"),
        pytest.param("default", "meaning of its own", id="default"),
        pytest.param("ALL", "meaning of its own", id="all"),
        pytest.param("localhost", "meaning of its own", id="localhost"),
    ],
)
def test_name_that_slurm_refuses(name: str, part: str) -> None:
    fault = name_fault(name)
    assert part in fault
    assert "\n" not in fault


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        pytest.param([], "", id="R#113 R#156 none"),
        pytest.param(["gpu1"], "gpu1", id="one"),
        pytest.param(["n2", "n10", "n1", "n3"], "n[1-3,10]", id="natural order"),
        pytest.param(
            ["compute-001", "compute-002", "compute-10", "node1", "node02", "node02"],
            "compute-[001-002],compute-10,node1,node02",
            id="R#143 widths and repetitions",
        ),
        pytest.param(["n9", "n10", "n11"], "n[9-11]", id="without padding"),
        pytest.param(["n09", "n10", "n11"], "n[09-11]", id="with padding"),
        pytest.param(["n9", "n09", "n10"], "n[09-10],n9", id="never two widths in a bracket"),
        pytest.param(["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1", id="last number only"),
        pytest.param(["gpu1a", "gpu2a"], "gpu1a,gpu2a", id="letter at the end"),
        pytest.param(["n33554432", "n33554433"], "n33554432,n33554433", id="number too big for Slurm"),
        pytest.param(["n0", "n00", "n1"], "n[0-1],n00", id="zeros"),
        pytest.param(["1", "2"], "[1-2]", id="only digits"),
    ],
)
def test_fold(names: list[str], folded: str) -> None:
    assert fold(names) == folded
    assert fold(reversed(names)) == folded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n[1-03]", ["n1", "n2", "n3"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("n[1-2,01-02]", ["n1", "n2", "n01", "n02"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        (" a , b,c[1,3] ", ["a", "b", "c1", "c3"]),
        ("n[2,0,1]", ["n2", "n0", "n1"]),
    ],
)
def test_unfold(text: str, names: list[str]) -> None:
    assert unfold(text) == names


@pytest.mark.parametrize(
    "text",
    ["n[1-2].example.com", "n[1-2]-gpu", "n[2-1]", "n[a-b]", "n[1", "n1]", "n[]", "n[-1]", "n[[1]]", "n[0-65536]"],
)
def test_unfold_refuses(text: str) -> None:
    with pytest.raises(HostlistError):
        unfold(text)


NAMES = st.from_regex(r"[a-z]{1,3}(-|[0-9]{1,2}[a-z])?([0-9]{1,9})?", fullmatch=True)


@given(st.lists(NAMES, max_size=60))
def test_unfolding_undoes_folding(names: list[str]) -> None:
    result = unfold(fold(names))
    assert len(result) == len(set(result))
    assert set(result) == set(names)


@given(st.lists(NAMES, max_size=30), st.randoms())
def test_folding_does_not_depend_on_the_order(names: list[str], random: object) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(shuffled) == fold(names)


def test_natural_order() -> None:
    names = ["n10", "n2", "n1", "n01", "a", "n2b", "10", "9"]
    assert sorted(names, key=natural_key) == ["9", "10", "a", "n01", "n1", "n2", "n2b", "n10"]


@pytest.mark.parametrize(
    ("addresses", "folded"),
    [
        ([], ""),
        (["10.0.0.7"], "10.0.0.7"),
        (["10.0.0.1", "10.0.0.2", "10.0.0.3"], "10.0.0.[1-3]"),
        (["10.0.0.1", "10.0.0.3", "10.0.0.2"], "10.0.0.1,10.0.0.3,10.0.0.2"),
        (["10.0.0.254", "10.0.0.255", "10.0.1.0"], "10.0.0.[254-255],10.0.1.0"),
        (["fd00::1", "fd00::2"], "fd00::1,fd00::2"),
    ],
)
def test_fold_addresses(addresses: list[str], folded: str) -> None:
    assert fold_addresses(addresses) == folded


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 255)), max_size=40))
def test_addresses_keep_their_order(numbers: list[tuple[int, int]]) -> None:
    addresses = [f"10.0.{net}.{host}" for net, host in numbers]
    assert unfold(fold_addresses(addresses)) == addresses


def test_ten_thousand_names_are_quick() -> None:
    names = [f"gpu{number:05d}" for number in range(10000)]
    start = time.perf_counter()
    assert unfold(fold(names)) == names
    assert time.perf_counter() - start < 2  # 0.07 s on a machine at rest
