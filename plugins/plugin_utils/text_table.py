# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain-text tables that stay readable in a terminal of 100 columns.

>>> print(table(["node", "state"], [["gpu1", "idle"], ["login", "-"]]))
node   state
-----  -----
gpu1   idle
login  -
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["WIDTH", "table", "wrap"]

WIDTH = 100  # columns
_GAP = "  "
_NARROWEST = 8  # a column is not squeezed below this many characters


def _pieces(text: str) -> list[str]:
    """Split a text behind blanks and commas, where a line may be broken."""
    return re.findall(r"[^\s,]*[\s,]|[^\s,]+", text)


def wrap(text: str, width: int) -> list[str]:
    """Return ``text`` as lines of at most ``width`` characters, broken after blanks and commas.

    A piece that is longer than a line is cut where the line ends.
    """
    lines = [""]
    for piece in _pieces(text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines]


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of columns that together fit into ``width``; pieces are cut only where nothing else helps."""
    widths = [max(map(len, cells)) for cells in columns]
    longest = [max(len(piece.rstrip()) for cell in cells for piece in _pieces(cell) or [""]) for cells in columns]
    for _step in range(sum(widths) + len(_GAP) * (len(widths) - 1) - width):
        slack = [index for index, size in enumerate(widths) if size > max(longest[index], _NARROWEST)]
        candidates = slack or [index for index, size in enumerate(widths) if size > _NARROWEST]
        if not candidates:
            break
        widths[max(candidates, key=widths.__getitem__)] -= 1
    return widths


def table(header: Sequence[str], rows: Iterable[Sequence[str]], width: int = WIDTH) -> str:
    """Return a table without trailing blanks; wide columns are wrapped until it fits into ``width`` columns."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = _widths(list(zip(*cells, strict=True)), width)
    cells.insert(1, ["-" * column for column in widths])
    lines = []
    for row in cells:
        wrapped = [wrap(cell, column) for cell, column in zip(row, widths, strict=True)]
        for line in range(max(len(cell) for cell in wrapped)):
            parts = [cell[line] if line < len(cell) else "" for cell in wrapped]
            lines.append(_GAP.join(part.ljust(column) for part, column in zip(parts, widths, strict=True)).rstrip())
    return "\n".join(lines)
