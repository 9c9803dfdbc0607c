# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the text output of scontrol, squeue and sacct, the same for Slurm 22.05 to 26.05.

JSON is no alternative: 22.05 has it only with plugins that not every installation has.

>>> sorted(flags("IDLE*+DRAIN+PLANNED"))
['DRAIN', 'IDLE', 'NOT_RESPONDING', 'PLANNED']
>>> tres("cpu=2,mem=200M,node=1,billing=2,gres/gpu=1,gres/gpu:h100=1")["gres/gpu:h100"]
'1'
"""

from __future__ import annotations

import re
from typing import Any, Iterable

# Suffixes of compact states: sinfo(1), NODE STATE CODES.
_SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWERING_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
# The names that sinfo shortens or that changed between releases, by the name used here.
_ALIASES = {
    "ALLOC": "ALLOCATED",
    "COMP": "COMPLETING",
    "DRAINED": "DRAIN",
    "DRAINING": "DRAIN",
    "DRNG": "DRAIN",
    "FAILING": "FAIL",
    "INVAL": "INVALID",
    "INVALID_REG": "INVALID",
    "MAINT": "MAINTENANCE",
    "MIX": "MIXED",
    "NO_RESPOND": "NOT_RESPONDING",
    "PLND": "PLANNED",
    "POWER_DOWN": "POWERED_DOWN",
    "POWERING_DOWN": "POWERING_DOWN",
    "REBOOT": "REBOOT_ISSUED",
    "RESV": "RESERVED",
    "UNK": "UNKNOWN",
}
# Every field of --oneliner output starts with a blank and a capitalised word and "=", also where values hold blanks.
_FIELD = re.compile(r"(?:^| )([A-Z][A-Za-z]*)=(.*?)(?= [A-Z][A-Za-z]*=|\s*$)")
_BY = re.compile(r" \[[^\[\]\s]+@[^\[\]\s]+\]$")
_NULL = ("(null)", "N/A", "none")


def flags(state: str) -> frozenset[str]:
    """Return the parts of a node's state, in scontrol's long form or sinfo's short one, as upper-case names."""
    found: set[str] = set()
    for part in state.upper().split("+"):
        name = part.rstrip("".join(_SUFFIXES))
        found.update(_SUFFIXES[suffix] for suffix in part[len(name) :])
        if name:
            found.add(_ALIASES.get(name, name))
    return frozenset(found)


def tres(text: str) -> dict[str, str]:
    """Return a TRES list such as ``cpu=2,gres/gpu:h100=1`` as a dictionary of texts."""
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def gres(text: str) -> dict[str, int]:
    """Return type -> count of the GPUs of a Gres field: ``gpu:h100:8(S:0-1),gpu:a100:2(S:0,1)``; no type is ``""``."""
    counts: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        pieces = part.strip().split(":")
        if pieces[0] == "gpu" and len(pieces) > 1 and pieces[-1].isdigit():
            name = ":".join(pieces[1:-1])
            counts[name] = counts.get(name, 0) + int(pieces[-1])
    return counts


def nodes(output: str) -> dict[str, dict[str, Any]]:
    """Return what ``scontrol show node --oneliner`` says of every node, by name.

    Numbers are int (None where they are missing); ``reason`` has no user and time; ``flags`` is sorted.
    """
    return {node["name"]: node for node in (_node(line) for line in output.splitlines()) if node["name"]}


def _node(line: str) -> dict[str, Any]:
    fields = {name: value.strip() for name, value in _FIELD.findall(line)}
    allocated = tres(fields.get("AllocTRES", ""))
    return {
        "name": fields.get("NodeName", ""),
        "state": fields.get("State", ""),
        "flags": sorted(flags(fields.get("State", ""))),
        "reason": _BY.sub("", _text(fields, "Reason")),
        "sockets": _number(fields, "Sockets"),
        "cores_per_socket": _number(fields, "CoresPerSocket"),
        "threads_per_core": _number(fields, "ThreadsPerCore"),
        "cpus": _number(fields, "CPUTot"),
        "cpus_allocated": _number(fields, "CPUAlloc") or 0,
        "real_memory": _number(fields, "RealMemory"),
        "gpus": gres(_text(fields, "Gres")),
        "gpus_allocated": int(allocated.get("gres/gpu", "0")) if allocated.get("gres/gpu", "0").isdigit() else 0,
        "partitions": [name for name in _text(fields, "Partitions").split(",") if name],
        "version": _text(fields, "Version"),
    }


def _text(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "")
    return "" if value in _NULL else value


def _number(fields: dict[str, str], name: str) -> Any:
    value = fields.get(name, "")
    return int(value) if value.isdigit() else None


def rows(output: str, names: list[str], separator: str = "|") -> list[dict[str, str]]:
    """Return the lines of parsable output as dictionaries; the last column may contain the separator."""
    return [
        dict(zip(names, line.split(separator, len(names) - 1)))
        for line in output.splitlines()
        if line.count(separator) >= len(names) - 1
    ]


# A node with one of these takes no job until somebody acts.
_OUT = ("INVALID", "DOWN", "DRAIN", "FAIL", "ERROR", "NOT_RESPONDING", "UNKNOWN", "FUTURE")
# A node with one of these takes no ordinary job at present, on purpose.
_SET_ASIDE = (
    "MAINTENANCE",
    "RESERVED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
)
READY = "ready"
OUT = "out"
SET_ASIDE = "set aside"


def standing(state_flags: Iterable[str]) -> str:
    """Return whether a node with these flags can be tested: ready (also if busy), out of service, or set aside."""
    found = frozenset(state_flags)
    if found.intersection(_OUT):
        return OUT
    return SET_ASIDE if found.intersection(_SET_ASIDE) else READY
