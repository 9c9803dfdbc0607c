# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several jobs on one GPU: the GRES shard and mps (slurm_node_gpu_sharing).

A whole GPU is handed out either as it is or in equal parts, never both at a time; Slurm sees to that. The parts are
given with the files of their GPUs, because without files Slurm puts the remainder on the last GPU, and MIG devices
would be counted in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["MODES", "Sharing", "SharingError", "read", "share_body"]

MODES = ("shard", "mps")
# What Slurm's own documentation uses for mps: the parts of a GPU in percent.
MPS_PARTS = 100
# gres.h: counts are 64 bit; this only keeps a slip of the finger out.
MOST_PARTS = 1000


class SharingError(ValueError):
    """A value that cannot be used; the text is the end of a sentence."""


@dataclass(frozen=True)
class Sharing:
    """Into how many parts (``per_gpu``) each whole GPU of a node is divided, and as which GRES (``mode``)."""

    mode: str
    per_gpu: int


def read(given: Mapping[str, Any]) -> Sharing | None:
    """Return what slurm_node_gpu_sharing asks for, None for an empty one. Raises SharingError."""
    if not given:
        return None
    unknown = sorted(set(map(str, given)) - {"mode", "per_gpu"})
    if unknown:
        raise SharingError(f"it has the key {unknown[0]}; only mode and per_gpu are known")
    mode = given.get("mode")
    if mode not in MODES:
        raise SharingError(f"its mode is {mode!r}; shard and mps are known")
    parts = given.get("per_gpu")
    if parts is None and mode == "mps":
        parts = MPS_PARTS
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
        raise SharingError(f"its per_gpu is {parts!r}; a whole number from 1 to {MOST_PARTS} is needed")
    return Sharing(str(mode), parts)


def share_body(sharing: Sharing, minors: Sequence[int], autodetect: str) -> str:
    """Return the gres.conf line of the parts without its ``NodeName=...``.

    ``minors``: those of the whole GPUs, in PCI order. Count is divided evenly over the files; type and cores come from
    the GPU with the same file. ``autodetect`` must be the same on all lines of a node.
    """
    names = ",".join(map(str, _runs(minors)))
    files = f"/dev/nvidia{names}" if len(minors) == 1 else f"/dev/nvidia[{names}]"
    count = sharing.per_gpu * len(minors)
    return f"AutoDetect={autodetect} Name={sharing.mode} Count={count} File={files}"


def _runs(minors: Sequence[int]) -> list[str]:
    """Return the numbers in their order, neighbours that rise by one joined: 1, 2, 3, 0 as ``1-3`` and ``0``."""
    runs: list[list[int]] = []
    for minor in minors:
        if runs and minor == runs[-1][1] + 1:
            runs[-1][1] = minor
        else:
            runs.append([minor, minor])
    return [str(low) if low == high else f"{low}-{high}" for low, high in runs]
