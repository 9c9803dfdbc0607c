# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's kernel modules logged since the last boot: Xid errors, lost GPUs, NVSwitch errors.

The driver reports in three forms, of which the second has no number::

    NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
    NVRM: The NVIDIA GPU 0000:b3:00.0
    NVRM: (PCI ID: 10de:26b5) installed in this system has
    NVRM: fallen off the bus and is not responding to commands.
    nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up

What to do about an Xid is NVIDIA's own catalogue of them (docs.nvidia.com/deploy/xid-errors).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import (
    COMMAND_MISSING,
    Evidence,
)
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.pci import normalise

__all__ = ["FALLEN", "RECOVERY", "Event", "Log", "parse", "read"]

FALLEN = 79
RECOVERY = 154  # the driver's own verdict, in words

# The journal first: it holds the whole boot, and inside a container it does not show the host's log.
_JOURNAL = ("journalctl", "--dmesg", "--boot", "--output=short-monotonic", "--no-hostname", "--no-pager", "--quiet")
_RING = ("dmesg",)
_OURS = re.compile(r"NVRM|SXid")

_TIME = re.compile(r"^\[\s*([0-9]{1,12})\.[0-9]+\]")
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-f:.]+)\): ([0-9]{1,9})\b,?\s*(.*)", re.I)
_SXID = re.compile(r"SXid \((?:PCI:)?([0-9a-f:.]+)\): ([0-9]{1,9}),\s*(.*)", re.I)
_FALLEN = re.compile(r"NVRM:.*fallen off the bus", re.I)
_NAMED = re.compile(
    r"NVRM: (?:The NVIDIA GPU|GPU(?: at PCI:)?) ?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?)", re.I
)
_VERDICT = re.compile(r"changed from .* to 0x[0-9a-f]+ \(([^)]*)\)", re.I)


@dataclass(frozen=True)
class Event:
    """All lines about one code of one GPU or switch: how many, when the last was (seconds after boot, None if unknown)
    and what it said behind the code."""

    address: str
    code: int
    count: int
    last: int | None
    text: str


@dataclass(frozen=True)
class Log:
    """Xid events of GPUs and SXid events of switches by address and code.

    ``recovery``: PCI address -> the driver's last verdict (Xid 154), ``None`` in its words when all is well again.
    """

    xids: tuple[Event, ...]
    sxids: tuple[Event, ...]
    recovery: dict[str, str]


def read(evidence: Evidence) -> Log:
    """Return what the kernel logged since boot; nothing where neither journal nor ring buffer can be read."""
    command = evidence.run(*_JOURNAL, keep=_OURS)
    if command.status == COMMAND_MISSING:
        command = evidence.run(*_RING, keep=_OURS)
    return parse(command.output.splitlines())


def parse(lines: Iterable[str]) -> Log:
    """Return the events in the lines, in their order."""
    xids: dict[tuple[str, int], Event] = {}
    sxids: dict[tuple[str, int], Event] = {}
    recovery: dict[str, str] = {}
    named = ""
    for line in lines:
        xid, sxid, name = _XID.search(line), _SXID.search(line), _NAMED.search(line)
        named = _address(name[1]) if name else named
        if xid:
            address, code = _address(xid[1]), int(xid[2])
            _count(xids, address, code, _time(line), xid[3])
            verdict = _VERDICT.search(xid[3]) if code == RECOVERY else None
            if verdict:
                recovery[address] = verdict[1].strip()
                if recovery[address].lower() == "none":  # the GPU was reset; what came before is over
                    for settled in [key for key in xids if key[0] == address]:
                        del xids[settled]
        elif sxid:
            _count(sxids, _address(sxid[1]), int(sxid[2]), _time(line), sxid[3])
        elif _FALLEN.search(line) and (named, FALLEN) not in xids:
            _count(xids, named, FALLEN, _time(line), "GPU has fallen off the bus")
    return Log(tuple(xids.values()), tuple(sxids.values()), recovery)


def _count(events: dict[tuple[str, int], Event], address: str, code: int, time: int | None, text: str) -> None:
    """Add one line to the events."""
    before = events.get((address, code))
    events[address, code] = Event(address, code, (before.count if before else 0) + 1, time, text.strip())


def _time(line: str) -> int | None:
    match = _TIME.match(line)
    return int(match[1]) if match else None


def _address(text: str) -> str:
    """Return a normalised PCI address; the log leaves the function out, which is 0."""
    try:
        return normalise(text if "." in text else f"{text}.0")
    except ValueError:
        return text
