# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand and RoCE adapters: their GUIDs, by which fabric data is joined to nodes, and the state of their ports."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

__all__ = ["read_adapters"]

_CLASS = "/sys/class/infiniband"


def read_adapters(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the record's list of adapters, mlx5_2 before mlx5_10."""
    names = sorted(evidence.names(_CLASS) or (), key=_natural)
    return [
        {
            "name": name,
            "guid": _guid(evidence.read(f"{_CLASS}/{name}/node_guid")),
            "ports": [
                _port(evidence, f"{_CLASS}/{name}/ports/{number}", int(number))
                for number in sorted(evidence.names(f"{_CLASS}/{name}/ports") or (), key=_natural)
                if re.fullmatch("[0-9]{1,6}", number)
            ],
        }
        for name in names
    ]


def _port(evidence: Evidence, folder: str, number: int) -> dict[str, Any]:
    link_layer = evidence.read(f"{folder}/link_layer") or None
    state = re.fullmatch(r"\d+: (\w+)", evidence.read(f"{folder}/state") or "")
    # Only on InfiniBand is the second half of the first GID the port's GUID; on Ethernet it is made of an address.
    gid = evidence.read(f"{folder}/gids/0") if link_layer == "InfiniBand" else None
    return {
        "port": number,
        "guid": _guid(gid[-19:]) if gid else None,
        "state": state[1].lower() if state else None,
        "link_layer": link_layer,
        "rate_gbps": _rate(evidence.read(f"{folder}/rate")),
        "leaf": None,
    }


def _guid(text: str | None) -> str | None:
    """Return a GUID such as ``a088:c203:0083:1594`` as 0x and 16 digits; all zeros mean that there is none."""
    digits = (text or "").replace(":", "").lower()
    return f"0x{digits}" if re.fullmatch(r"[0-9a-f]{16}", digits) and digits.strip("0") else None


def _rate(text: str | None) -> int | float | None:
    match = re.match(r"([0-9]{1,6})(\.[0-9]+)? Gb/sec", text or "")
    if match is None:
        return None
    return float(match[1] + match[2]) if match[2] else int(match[1])


def _natural(name: str) -> list[int | str]:
    return [int(part) if position % 2 else part for position, part in enumerate(re.split("([0-9]{1,9})", name))]
