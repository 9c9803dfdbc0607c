# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs that the operator leaves out (slurm_node_gpu_exclude): which ones of a record are meant.

An entry is a PCI address in any of its spellings, a UUID, or a minor number (the N of /dev/nvidiaN). The PCI address is
the one that also finds a GPU which no longer answers.

>>> left_out([{"pci": "00000000:1b:00.0", "uuid": "GPU-1", "minor": 3}], ["1B:00.0"])
(frozenset({0}), [])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.pci import normalise

__all__ = ["left_out"]


def left_out(gpus: Sequence[Mapping[str, Any]], entries: Iterable[Any]) -> tuple[frozenset[int], list[str]]:
    """Return (positions in ``gpus`` that the entries name, entries that name none of them).

    ``gpus``: the GPUs of a record. An entry that is neither text nor whole number names nothing (YAML reads an address
    like 0000:16:00.0 without quotes as a number).
    """
    positions: set[int] = set()
    unknown: list[str] = []
    for entry in entries:
        found = {position for position, gpu in enumerate(gpus) if _names(entry, gpu)}
        positions |= found
        if not found:
            unknown.append(str(entry))
    return frozenset(positions), unknown


def _names(entry: Any, gpu: Mapping[str, Any]) -> bool:
    """Say whether an entry names this GPU."""
    if isinstance(entry, bool) or not isinstance(entry, (int, str)):
        return False
    text = str(entry).strip().lower()
    if text.isdecimal():
        return gpu["minor"] is not None and int(text) == gpu["minor"]
    try:
        return bool(normalise(text) == gpu["pci"])
    except ValueError:
        return bool(text) and text == str(gpu["uuid"] or "").lower()
