# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node names and host lists as Slurm writes and reads them.

Only the trailing number of a name is ever folded, because Slurm accepts nothing after the last bracket, and a bracket
never mixes widths: ``n1`` and ``n01`` are different nodes.

>>> fold(["gpu010", "gpu001", "gpu002", "login"])
'gpu[001-002,010],login'
>>> unfold("gpu[001-002,010],login")
['gpu001', 'gpu002', 'gpu010', 'login']
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

try:
    from ClusterShell.RangeSet import RangeSet
except ImportError:  # told where it is needed; documentation and argument checks work without it
    RangeSet = None

__all__ = ["HostlistError", "fold", "fold_addresses", "is_address", "name_fault", "natural_key", "unfold"]

# A label of a host name (RFC 1123) has 63 characters at most, and Linux takes host names of up to 64.
NAME_LIMIT = 63
# hostlist.c: a trailing number above 2**25 is not seen as a number, and one range holds 65,536 hosts at most.
NUMBER_LIMIT = 1 << 25
RANGE_LIMIT = 65536
# Words that slurm.conf gives a meaning of its own where a node name stands.
RESERVED = frozenset({"all", "default", "localhost"})

_TRAILING_NUMBER = re.compile(r"^(.*?)([0-9]+)$", re.DOTALL)
_DIGITS = re.compile(r"([0-9]{1,18})")  # Python refuses to read numbers of thousands of digits
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_FORBIDDEN = re.compile(r"[^a-z0-9_-]")


class HostlistError(ValueError):
    """A host list that Slurm would refuse; ``part`` is the piece at fault."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"host list part '{part}' {reason}")
        self.part = part


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Return a sort key that counts in numbers: n2 before n10. The name itself decides between n1 and n01."""
    pieces = _DIGITS.split(name)
    return tuple(int(piece) if position % 2 else piece for position, piece in enumerate(pieces)), name


def name_fault(name: str) -> str:
    """Return what is wrong with ``name`` as the name of a node, as one sentence; ``""`` if Slurm takes it.

    A node's name is its inventory name and its host name at once, so the rules of both hold. Slurm compares names with
    case, host name lookups do not: upper case is refused instead of being a surprise later. Names with dots (fully
    qualified ones) are refused because slurmd looks for its short host name in slurm.conf.
    """
    if not name:
        return "The node name is empty."
    if name.lower() in RESERVED:
        return f"The node name '{name}' has a meaning of its own in slurm.conf and cannot name a node."
    if name != name.lower():
        return (
            f"The node name '{name}' has upper-case letters, which Slurm tells from lower-case ones while name lookups "
            f"do not; write '{name.lower()}'."
        )
    if "." in name and not is_address(name):
        return (
            f"The node name '{name}' has a domain; use the short name '{name.split('.')[0]}' in the inventory and put "
            "the full name or the address into ansible_host."
        )
    if re.fullmatch("[0-9]+", name):
        return f"The node name '{name}' is a number, which name lookups take for an address; put letters before it."
    wrong = sorted(set(_FORBIDDEN.findall(name)))
    if wrong:
        return f"The node name '{name}' has characters that Slurm does not take: {' '.join(wrong)}"
    if name[0] in "-_" or name[-1] in "-_":
        return f"The node name '{name}' must begin and end with a letter or a digit."
    if len(name) > NAME_LIMIT:
        return f"The node name '{name}' has {len(name)} characters; a host name has {NAME_LIMIT} at most."
    return ""


def _foldable(name: str) -> tuple[str, str] | None:
    """Split a name into prefix and trailing number if Slurm sees that number as one."""
    match = _TRAILING_NUMBER.match(name)
    if not match or len(match[2]) > len(str(NUMBER_LIMIT)) or int(match[2]) > NUMBER_LIMIT:
        return None
    return match[1], match[2]


def fold(names: Iterable[str]) -> str:
    """Return the host list of ``names`` (any order, repetitions dropped) that Slurm reads back as the same set.

    The order of the list is natural: by the first name of each bracket.
    """
    singles: list[str] = []
    by_prefix: dict[str, list[str]] = {}
    for name in set(names):
        split = _foldable(name)
        if split is None:
            singles.append(name)
        else:
            by_prefix.setdefault(split[0], []).append(split[1])
    pieces = [(natural_key(name), name) for name in singles]
    for prefix, numbers in by_prefix.items():
        padded = {len(number) for number in numbers if number[0] == "0" and len(number) > 1}
        by_width: dict[int, list[str]] = {}
        for number in numbers:
            by_width.setdefault(len(number) if len(number) in padded else 0, []).append(number)
        for same_width in by_width.values():
            first = min(same_width, key=int)
            pieces.append((natural_key(prefix + first), prefix + _bracket(same_width)))
    return ",".join(text for _key, text in sorted(pieces))


def _bracket(numbers: Sequence[str]) -> str:
    """Return the numbers (one width, or none padded) as a bracket, or bare if there is only one."""
    if len(numbers) == 1:
        return numbers[0]
    if RangeSet is None:
        raise ImportError(
            "The Python library ClusterShell is missing on the control node; install it into Ansible's environment: "
            "pip install -r requirements.txt of this collection, or pip install ClusterShell."
        )
    ranges = []
    for part in RangeSet.fromlist(numbers).contiguous():
        low, high = part[0], part[-1]
        ranges.append(low if low == high else f"{low}-{high}")
    return f"[{','.join(ranges)}]"


def _split(text: str) -> list[str]:
    """Split a host list at the commas outside brackets."""
    parts = [""]
    depth = 0
    for character in text:
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth:
        raise HostlistError(text, "has a bracket that is not closed")
    return [part.strip() for part in parts if part.strip()]


def _numbers(part: str, bracket: str) -> list[str]:
    """Return the numbers of one bracket as text; the low bound of each range gives the width (hostlist.c)."""
    numbers: list[str] = []
    for piece in bracket.split(","):
        match = _RANGE.fullmatch(piece.strip())
        if not match:
            raise HostlistError(part, f"has '{piece}' where a number or a range of numbers belongs")
        low, high = match[1], match[2] or match[1]
        count = int(high) - int(low) + 1
        if count < 1:
            raise HostlistError(part, f"has the descending range '{piece}'")
        if count > RANGE_LIMIT:
            raise HostlistError(part, f"has a range of more than {RANGE_LIMIT} hosts")
        numbers += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return numbers


def unfold(text: str) -> list[str]:
    """Return the names of a host list in the order in which Slurm reads them, the last bracket varying fastest.

    Raises HostlistError where Slurm would not read it: text after the last bracket, descending or empty ranges.
    """
    names: list[str] = []
    for part in _split(text):
        pieces = _BRACKETS.split(part)
        if any("[" in piece or "]" in piece for piece in pieces[::2]):
            raise HostlistError(part, "has brackets that do not match")
        if len(pieces) > 1 and pieces[-1]:
            raise HostlistError(part, "has text after the last bracket")
        expanded = [""]
        for position, piece in enumerate(pieces):
            tails = _numbers(part, piece) if position % 2 else [piece]
            if len(expanded) * len(tails) > RANGE_LIMIT:
                raise HostlistError(part, f"stands for more than {RANGE_LIMIT} hosts")
            expanded = [head + tail for head in expanded for tail in tails]
        names += expanded
    return names


def is_address(text: str) -> bool:
    """Say whether ``text`` is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def fold_addresses(addresses: Sequence[str]) -> str:
    """Return the addresses, in their order, as a host list: runs of IPv4 addresses that count up by one are folded.

    Slurm pairs NodeName and NodeAddr by position, so the order is never changed.
    """
    runs: list[tuple[str, int, int]] = []
    for address in addresses:
        head, dot, tail = address.rpartition(".")
        last = int(tail) if dot and tail.isdecimal() else -1
        if last >= 0 and runs and runs[-1][0] == head and runs[-1][2] + 1 == last:
            runs[-1] = (head, runs[-1][1], last)
        else:
            runs.append((head if last >= 0 else address, last, last))
    pieces = []
    for head, low, high in runs:
        if low < 0:
            pieces.append(head)
        else:
            pieces.append(f"{head}.{low}" if low == high else f"{head}.[{low}-{high}]")
    return ",".join(pieces)
