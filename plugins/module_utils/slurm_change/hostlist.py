# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host lists as they stand in Slurm's files: ``n[001-003,010],login1``.

Only what change control needs: expand a list to names, fold names to a short list for people. Standard library only,
because this code also runs on the controller. Source of the rules: common/hostlist.c of Slurm.
"""

from __future__ import annotations

import re
from typing import Iterable

_LIMIT = 65536  # hosts in one list, Slurm's own limit
_SPLIT_NUMBER = re.compile(r"^(.*?)(\d+)$")
_RANGE = re.compile(r"^(\d+)(?:-(\d+))?$")


def expand(text: str) -> list[str]:
    """Return the names of the host list ``text`` in its order.

    Numbers are padded to the width of the low bound as it is written; several brackets in one name are allowed, the
    last one varies fastest. Raises ValueError for a list that Slurm would refuse, or one of more than 65536 names.
    """
    names: list[str] = []
    for part in _parts(text):
        names.extend(_expand_one(part))
        if len(names) > _LIMIT:
            raise ValueError(f"more than {_LIMIT} hosts in {text[:80]!r}")
    return names


def fold(names: Iterable[str]) -> str:
    """Return ``names`` as a host list, sorted, with runs of the trailing number in brackets; no name twice."""
    groups: dict[tuple[str, int], list[int]] = {}
    for name in set(names):
        match = _SPLIT_NUMBER.match(name)
        # 10 may continue 9 (both unpadded) but never 09: the width counts only where there is padding.
        prefix, digits = match.groups() if match else (name, "")
        width = len(digits) if digits.startswith("0") or not digits else 0
        groups.setdefault((prefix, width if digits else -1), []).append(int(digits or 0))
    _join_padded(groups)
    return ",".join(_fold_group(key, sorted(numbers)) for key, numbers in sorted(groups.items()))


def _join_padded(groups: dict[tuple[str, int], list[int]]) -> None:
    """Move numbers without padding to the padded group in which they have the same width: 010 continues 009."""
    for (prefix, width), padded in sorted(groups.items()):
        plain = groups.get((prefix, 0))
        if width <= 0 or plain is None:
            continue
        same = [number for number in plain if len(str(number)) == width]
        if same:
            padded.extend(same)
            left = [number for number in plain if len(str(number)) != width]
            groups[(prefix, 0)] = left
    for key in [key for key, numbers in groups.items() if not numbers]:
        del groups[key]


def _fold_group(key: tuple[str, int], numbers: list[int]) -> str:
    prefix, width = key
    if width < 0:
        return prefix
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in runs]
    return prefix + (texts[0] if len(numbers) == 1 else f"[{','.join(texts)}]")


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise ValueError(f"unbalanced brackets in {text[:80]!r}")
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    if depth:
        raise ValueError(f"unbalanced brackets in {text[:80]!r}")
    parts.append(current)
    return [part.strip() for part in parts if part.strip()]


def _expand_one(part: str) -> list[str]:
    names = [""]
    for piece in re.split(r"(\[[^\]]*\])", part):
        if not piece:
            continue
        choices = _numbers(piece[1:-1], part) if piece.startswith("[") else [piece]
        if len(names) * len(choices) > _LIMIT:
            raise ValueError(f"more than {_LIMIT} hosts in {part[:80]!r}")
        names = [name + choice for name in names for choice in choices]
    return names


def _numbers(ranges: str, part: str) -> list[str]:
    numbers: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.match(text.strip())
        if match is None:
            raise ValueError(f"bad range {text!r} in {part[:80]!r}")
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low) or int(high) - int(low) >= _LIMIT:
            raise ValueError(f"bad range {text!r} in {part[:80]!r}")
        numbers.extend(f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1))
    return numbers
