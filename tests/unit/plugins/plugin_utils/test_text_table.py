# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables: nothing is lost, nothing is wider than the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.text_table import table, wrap

TEXT = st.text(alphabet="ab,[] -:", max_size=60)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, [""]),
        ("short", 10, ["short"]),
        ("one two three", 8, ["one two", "three"]),
        ("gpu:h100:8,gpu:a100:2", 12, ["gpu:h100:8,", "gpu:a100:2"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


@given(text=TEXT, width=st.integers(min_value=1, max_value=30))
def test_wrap_keeps_every_character_but_blanks(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(rows=st.lists(st.lists(TEXT, min_size=3, max_size=3), max_size=5))
def test_table_fits_and_has_no_trailing_blanks(rows: list[list[str]]) -> None:
    for line in table(["a", "b", "c"], rows).splitlines():
        assert len(line) <= 100
        assert line == line.rstrip()


def test_columns_are_aligned() -> None:
    text = table(["node", "gres"], [["gpu[001-064]", "gpu:h100:8"], ["login", "-"]])
    assert text.splitlines() == [
        "node          gres",
        "------------  ----------",
        "gpu[001-064]  gpu:h100:8",
        "login         -",
    ]
