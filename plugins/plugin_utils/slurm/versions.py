# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Slurm version accepts, as far as it changes the generated files."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "AUTODETECT_NVIDIA_SINCE",
    "KNOWN",
    "OLDEST",
    "Release",
    "parse",
    "release",
    "version_known",
    "version_text",
]

OLDEST = (22, 5)
AUTODETECT_NVIDIA_SINCE = (24, 11)
# Feature releases of Slurm that this collection knows; patch levels do not change the rules used here.
KNOWN = ((22, 5), (23, 2), (23, 11), (24, 5), (24, 11), (25, 5), (25, 11), (26, 5))

_VERSION = re.compile(r"\s*(?:slurm(?:-wlm)?\s+)?(?:[0-9]+:)?([0-9]{2})[.-]([0-9]{1,2})(?:[.\-+~].*)?")


@dataclass(frozen=True)
class Release:
    """The rules of one Slurm release.

    ``cores``: which Cores= slurmctld accepts for a GPU (gres.c ``_check_core_range_matches_sock``): ``any`` set of
    cores, ``sockets`` (a union of whole sockets), or ``socket`` (exactly one whole socket, or all cores).
    ``mig_by_name``: AutoDetect=nvml takes MIG profiles from their names, not from their sizes (gpu_nvml.c).
    ``mig_beside_sharing``: a MIG device stays one device where GresTypes has shard or mps; Slurm 22.05 then counts each
    of its three files as a GPU (tried with ``slurmd -G``: 22.05.8 does, 24.11.5 and 26.05 do not).
    """

    number: tuple[int, int]
    cores: str
    mig_by_name: bool
    mig_beside_sharing: bool


def parse(version: str) -> tuple[int, int] | None:
    """Return (year, month) of ``24.11``, ``24.11.5-4``, ``slurm-wlm 22.05.8``; None for anything else."""
    match = _VERSION.fullmatch(version)
    return (int(match[1]), int(match[2])) if match else None


def version_text(number: tuple[int, int]) -> str:
    """Return (22, 5) as ``22.05``."""
    return f"{number[0]:02d}.{number[1]:02d}"


def version_known(version: str) -> bool:
    """Say whether this collection knows the rules of that version."""
    return parse(version) in KNOWN


def release(version: str) -> Release:
    """Return the rules of ``version``; for an empty or unreadable one the strictest, which every release accepts."""
    number = parse(version)
    if number is None:
        return Release(OLDEST, "socket", mig_by_name=False, mig_beside_sharing=False)
    cores = "any" if number < (24, 11) else "sockets" if number < (25, 11) else "socket"
    new_mig = number >= (24, 11)
    return Release(number, cores, mig_by_name=new_mig, mig_beside_sharing=new_mig)
