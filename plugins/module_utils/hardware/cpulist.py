# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of CPU numbers as text.

Two forms share one syntax. A *set* is what the kernel prints (``0-55,112-167``). A *sequence* keeps its order and may
have strides (``0-110:2,1-111:2``), because position carries meaning in the map from abstract cores to CPUs.

>>> format_set([3, 0, 1, 2, 8])
'0-3,8'
>>> format_sequence([0, 2, 4, 6, 1, 3, 5, 7])
'0-6:2,1-7:2'
>>> parse_sequence("0-6:2,1-3")
[0, 2, 4, 6, 1, 2, 3]
"""

from __future__ import annotations

import re
from typing import Iterable, Sequence

__all__ = ["CpuListError", "format_sequence", "format_set", "parse_mask", "parse_sequence", "parse_set"]

_RUN = re.compile(r"(\d+)(?:-(\d+)(?::([1-9]\d*))?)?", re.ASCII)
_MOST = 1 << 16  # CPUs; Linux takes 8192 at most
_LONGEST_PART = 40  # characters
_SHORTEST_STRIDE = 3  # elements; "0-8:8" is no better than "0,8"


class CpuListError(ValueError):
    """The text is no CPU list; ``part`` is the faulty piece of it."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part!r} is not a CPU list")
        self.part = part


def parse_sequence(text: str) -> list[int]:
    """Return the numbers of ``text`` in the order in which it names them; blank text gives an empty list."""
    numbers: list[int] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _RUN.fullmatch(part) if len(part) <= _LONGEST_PART else None
        if match is None:
            raise CpuListError(part[:_LONGEST_PART])
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or last >= _MOST:
            raise CpuListError(part)
        numbers.extend(range(first, last + 1, step))
    return numbers


def parse_set(text: str) -> list[int]:
    """Return the numbers of ``text`` ascending and each once."""
    return sorted(set(parse_sequence(text)))


def parse_mask(text: str) -> list[int]:
    """Return the numbers of the bits that are set in a kernel mask: comma-separated groups of 32 bits in hex."""
    digits = "".join(group.strip().rjust(8, "0") for group in text.strip().split(","))
    if len(digits) * 4 > _MOST:
        raise CpuListError(f"{text[:20]}...")
    try:
        mask = int(digits, 16)
    except ValueError:
        raise CpuListError(text) from None
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def format_set(numbers: Iterable[int]) -> str:
    """Return ``numbers`` as ascending ranges without strides, the only form that Slurm takes for Cores."""
    return _format(sorted(set(numbers)), strides=False)


def format_sequence(numbers: Sequence[int]) -> str:
    """Return ``numbers`` in their own order, run-length coded; the inverse of :func:`parse_sequence`."""
    return _format(numbers, strides=True)


def _format(numbers: Sequence[int], strides: bool) -> str:
    parts = []
    start = 0
    while start < len(numbers):
        end = _end_of_run(numbers, start, strides)
        first, last = numbers[start], numbers[end]
        step = (last - first) // (end - start) if end > start else 0
        if end == start:
            parts.append(str(first))
        elif step == 1:
            parts.append(f"{first}-{last}")
        else:
            parts.append(f"{first}-{last}:{step}")
        start = end + 1
    return ",".join(parts)


def _end_of_run(numbers: Sequence[int], start: int, strides: bool) -> int:
    """Return the index of the last element of the arithmetic run that begins at index ``start``."""
    if start + 1 == len(numbers):
        return start
    step = numbers[start + 1] - numbers[start]
    if step < 1 or (step > 1 and not strides):
        return start
    end = start + 1
    while end + 1 < len(numbers) and numbers[end + 1] - numbers[end] == step:
        end += 1
    return end if step == 1 or end - start + 1 >= _SHORTEST_STRIDE else start
