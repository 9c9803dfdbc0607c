# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host lists of change control."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change import hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[001-003,010]", ["n001", "n002", "n003", "n010"]),
        ("n[1-03]", ["n1", "n2", "n3"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("a1,b[2-3] , c", ["a1", "b2", "b3", "c"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("10.0.0.[1-2]", ["10.0.0.1", "10.0.0.2"]),
        ("/dev/nvidia[0,2-3]", ["/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia3"]),
        ("n1,n1", ["n1", "n1"]),
        ("", []),
    ],
)
def test_expand(text: str, names: list[str]) -> None:
    assert hostlist.expand(text) == names


@pytest.mark.parametrize("text", ["n[3-1]", "n[1-2", "n1]", "n[a-b]", "n[]", "n[1-99999999]", "n[[1]]", "n[0-9]" * 6])
def test_expand_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="in '"):
        hostlist.expand(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n3", "n1", "n2"], "n[1-3]"),
        (["n9", "n10"], "n[9-10]"),
        (["n09", "n10"], "n[09-10]"),
        (["n1", "n01"], "n1,n01"),
        (["n008", "n009", "n010"], "n[008-010]"),
        (["n1", "n1"], "n1"),
        (["login", "ctl1", "n1", "n3"], "ctl1,login,n[1,3]"),
        (["n0", "n1"], "n[0-1]"),
        ([], ""),
    ],
)
def test_fold(names: list[str], text: str) -> None:
    assert hostlist.fold(names) == text


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.from_regex(r"[a-z]{1,2}(0{0,2}[0-9]{1,3})?", fullmatch=True), max_size=30))
def test_fold_keeps_every_name(names: list[str]) -> None:
    folded = hostlist.fold(names)
    assert sorted(hostlist.expand(folded)) == sorted(set(names))
