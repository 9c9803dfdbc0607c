# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPUs of a record an operator names."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out

GPUS = [
    {"pci": "00000000:1b:00.0", "uuid": "GPU-5f1d2c3b-0001-4a6e-9d10-3c8e00000001", "minor": 1},
    {"pci": "00000008:16:00.0", "uuid": None, "minor": 0},
    {"pci": "00000009:01:00.0", "uuid": "GPU-00000000-0001-4a6e-9d10-3c8e00000001", "minor": None},
]


@pytest.mark.parametrize(
    ("entry", "positions"),
    [
        ("0000:1B:00.0", {0}),
        ("1b:00.0", {0}),
        ("00000008:16:00.0", {1}),
        ("GPU-5F1D2C3B-0001-4A6E-9D10-3C8E00000001", {0}),
        (1, {0}),
        ("0", {1}),
        (" 1 ", {0}),
    ],
)
def test_spellings(entry: Any, positions: set[int]) -> None:
    assert left_out(GPUS, [entry]) == (positions, [])


@pytest.mark.parametrize("entry", ["00:1c.0", "GPU-", "", 7, "None", 960.0, True, None, ["1"], "1b:00.1"])
def test_what_names_no_gpu(entry: Any) -> None:
    """YAML reads 0000:16:00.0 without quotes as 960.0."""
    assert left_out(GPUS, [entry]) == (frozenset(), [str(entry)])


def test_several() -> None:
    assert left_out(GPUS, [0, "1b:00.0", "x", 1]) == ({0, 1}, ["x"])
    assert left_out([], []) == (frozenset(), [])
