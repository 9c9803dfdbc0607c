# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of CPU numbers as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import cpulist

NUMBERS = st.lists(st.integers(0, 400), max_size=60)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", []),
        ("\n", []),
        ("0", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("0-1,8", [0, 1, 8]),
        ("8,0-1", [8, 0, 1]),
        ("0-6:2,1-7:2", [0, 2, 4, 6, 1, 3, 5, 7]),
        (" 0-1, 4 ", [0, 1, 4]),
    ],
)
def test_parse_sequence(text: str, numbers: list[int]) -> None:
    assert cpulist.parse_sequence(text) == numbers


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "0-4:0", "1;2", "N/A", "0-99999999999", "²"])
def test_parse_says_which_part_is_wrong(text: str) -> None:
    with pytest.raises(cpulist.CpuListError) as caught:
        cpulist.parse_sequence("0-3," + text)
    assert caught.value.part == text


def test_parse_set_sorts_and_drops_repetitions() -> None:
    assert cpulist.parse_set("4,0-2,1") == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("mask", "numbers"),
    [
        ("0", []),
        ("00000101", [0, 8]),
        ("00000000,00001111", [0, 4, 8, 12]),
        ("0000,000000ff,ff000000,00000000", [*range(56, 72)]),
        ("1,00000000", [32]),
    ],
)
def test_parse_mask(mask: str, numbers: list[int]) -> None:
    assert cpulist.parse_mask(mask) == numbers


@pytest.mark.parametrize("text", ["zz", "f" * 100_000])
def test_parse_mask_refuses_other_text(text: str) -> None:
    with pytest.raises(cpulist.CpuListError):
        cpulist.parse_mask(text)


@pytest.mark.parametrize(
    ("numbers", "as_set", "as_sequence"),
    [
        ([], "", ""),
        ([5], "5", "5"),
        ([0, 1], "0-1", "0-1"),
        ([0, 8], "0,8", "0,8"),
        ([0, 8, 16], "0,8,16", "0-16:8"),
        ([0, 2, 4, 1, 3, 5], "0-5", "0-4:2,1-5:2"),
        ([3, 2, 1], "1-3", "3,2,1"),
        ([*range(56), *range(112, 168)], "0-55,112-167", "0-55,112-167"),
    ],
)
def test_format(numbers: list[int], as_set: str, as_sequence: str) -> None:
    assert cpulist.format_set(numbers) == as_set
    assert cpulist.format_sequence(numbers) == as_sequence


@given(NUMBERS)
def test_sequences_come_back_as_they_were(numbers: list[int]) -> None:
    assert cpulist.parse_sequence(cpulist.format_sequence(numbers)) == numbers


@given(NUMBERS)
def test_sets_come_back_and_have_no_strides(numbers: list[int]) -> None:
    text = cpulist.format_set(numbers)
    assert cpulist.parse_set(text) == sorted(set(numbers))
    assert ":" not in text


@given(st.sets(st.integers(0, 300)))
def test_masks_mean_the_same_as_lists(numbers: set[int]) -> None:
    digits = f"{sum(1 << number for number in numbers):x}"
    padded = digits.rjust(-(-len(digits) // 8) * 8, "0")
    mask = ",".join(padded[start : start + 8] for start in range(0, len(padded), 8))
    assert cpulist.parse_mask(mask) == sorted(numbers)
