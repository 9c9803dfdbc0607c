# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Direct NVLinks, from the matrix that nvidia-smi prints."""

from __future__ import annotations

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import nvlink

TAIL = "\tCPU Affinity\tNUMA Affinity"


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("No devices were found\n", {}, id="no devices"),
        pytest.param(
            f"\tGPU0\tGPU1{TAIL}\nGPU0\t X \tNV4\t0-23\t0\nGPU1\tNV4\t X \t0-23\t0\n", {(0, 1): 4, (1, 0): 4}, id="tabs"
        ),
        pytest.param(
            f"\t\x1b[4mGPU0\tGPU1{TAIL}\tGPU NUMA ID\x1b[0m\n"
            "GPU0\t X \tNV12\t0-23\t0\t\tN/A\nGPU1\tNV12\t X \t0-23\t0\t\tN/A\n",
            {(0, 1): 12, (1, 0): 12},
            id="underlined heading, three columns at the end",
        ),
        pytest.param(
            "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\n"
            "GPU0     X      NV2     SYS     0-63    0\nGPU1    NV2      X      NODE            1\n"
            "NIC0    SYS     NODE     X\n",
            {(0, 1): 2, (1, 0): 2},
            id="blanks, a missing cell",
        ),
        pytest.param(
            f"\tGPU0\tmlx5_0\tGPU1{TAIL}\nGPU0\tX\tPIX\tNV1\t0-3\t0\nmlx5_0\tPIX\tX\tSYS\t\t\nGPU1\tNV1\tSYS\tX\t0-3\t0\n",
            {(0, 1): 1, (1, 0): 1},
            id="columns go by their names",
        ),
        pytest.param(
            f"\tGPU0\tGPU5{TAIL}\nGPU0\tX\tNV4\t\nGPU5\tNV4\tX\t\n", {(0, 5): 4, (5, 0): 4}, id="numbers missing"
        ),
        pytest.param("GPU0\tCPU Affinity\nGPU0\tX\n", {}, id="heading without its tab"),
    ],
)
def test_parse_matrix(text: str, matrix: dict[tuple[int, int], int]) -> None:
    assert nvlink.parse_matrix(text) == matrix


@pytest.mark.parametrize(
    ("matrix", "links"),
    [
        ({}, []),
        ({(0, 1): 4, (1, 0): 4}, [(0, 1, 4)]),
        ({(0, 1): 4, (1, 0): 2}, []),
        ({(0, 1): 4}, []),
        ({(row, column): 12 for row in range(4) for column in range(4) if row != column}, []),
        (
            {(row, column): 4 for row in range(3) for column in range(3) if row != column},
            [(0, 1, 4), (0, 2, 4), (1, 2, 4)],
        ),
    ],
)
def test_direct_links(matrix: dict[tuple[int, int], int], links: list[tuple[int, int, int]]) -> None:
    assert nvlink.direct_links(matrix) == links
