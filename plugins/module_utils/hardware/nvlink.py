# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLinks that join two GPUs of a node directly.

Slurm's Links count only lanes whose other end is a GPU. ``nvidia-smi topo -m`` prints ``NV12`` between any two GPUs
that can reach each other over NVLink, through an NVSwitch too; so its numbers are used only where no switch is.
"""

from __future__ import annotations

import re

__all__ = ["direct_links", "parse_matrix"]

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # the heading is underlined, in a pipe too
_COLUMN = re.compile(r"\t|\s{2,}")
_MOST_LINKS = 18  # of any GPU up to Blackwell; more in one row can only be a switch counted again and again


def parse_matrix(text: str) -> dict[tuple[int, int], int]:
    """Return (row, column) -> number of bonded NVLinks between GPUs, both as nvidia-smi's indexes.

    Cells are found by the names in the heading, since the columns after the GPUs differ between driver versions.
    """
    lines = [line for line in _ESCAPE.sub("", text).splitlines() if line.strip()]
    if not lines:
        return {}
    heading = [cell.strip() for cell in _COLUMN.split(lines[0].strip())]
    links = {}
    for line in lines[1:]:
        label, _separator, rest = line.strip().partition("\t" if "\t" in line else " ")
        if not re.fullmatch(r"GPU[0-9]{1,6}", label):
            continue
        cells = [cell.strip() for cell in (rest.split("\t") if "\t" in line else rest.split())]
        for name, cell in zip(heading, cells):
            bond = re.fullmatch(r"NV([0-9]{1,6})", cell)
            if bond and re.fullmatch(r"GPU[0-9]{1,6}", name):
                links[int(label[3:]), int(name[3:])] = int(bond[1])
    return links


def direct_links(matrix: dict[tuple[int, int], int]) -> list[tuple[int, int, int]]:
    """Return (a, b, links) with a < b, ascending, for those pairs of which both ends tell the same.

    An empty list when a row has more links than any GPU: then they lead through a switch that the bus does not show.
    """
    totals: dict[int, int] = {}
    for (row, _column), links in matrix.items():
        totals[row] = totals.get(row, 0) + links
    if any(total > _MOST_LINKS for total in totals.values()):
        return []
    return [
        (first, second, links)
        for (first, second), links in sorted(matrix.items())
        if first < second and matrix.get((second, first)) == links
    ]
