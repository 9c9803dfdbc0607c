# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a node's place in the network, as it is kept beside the inventory.

The host variable ``node_fabric`` lists the cables of one node, found by InfiniBand's own discovery and by LLDP. Like
the hardware record it is an ordinary host variable, so that the configuration never waits for a node that is down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key

__all__ = [
    "FABRIC_SCHEMA",
    "FABRIC_VARIABLE",
    "INFINIBAND",
    "LLDP",
    "FabricError",
    "Link",
    "as_variable",
    "links_of",
    "safe_name",
    "unique_names",
]

FABRIC_SCHEMA = 1
FABRIC_VARIABLE = "node_fabric"
INFINIBAND = "infiniband"
LLDP = "lldp"

# switch_record.c holds a name in 64 bytes.
NAME_LIMIT = 63
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Words that Slurm's files give a meaning of their own where a name stands.
_RESERVED = frozenset({"all", "default"})


class FabricError(ValueError):
    """A ``node_fabric`` that does not have the form of schema 1."""


@dataclass(frozen=True)
class Link:
    """One cable from a node to a switch.

    ``id`` tells switches of the same name apart: a GUID (``0x`` and 16 digits) or an LLDP chassis id. ``adapter`` is
    the node's end (``mlx5_0``, ``eth2``), ``port`` the switch's, None if unknown. ``default_route``: the node's default
    route leaves by this cable.
    """

    adapter: str
    switch: str
    id: str
    port: str | None = None
    default_route: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is kept; ``default_route`` only where it holds."""
        kept: dict[str, Any] = {"adapter": self.adapter, "switch": self.switch, "id": self.id, "port": self.port}
        return {**kept, "default_route": True} if self.default_route else kept


def as_variable(host: str, infiniband: Iterable[Link], lldp: Iterable[Link]) -> dict[str, Any]:
    """Return the value of ``node_fabric``, in an order that does not depend on the order of discovery."""

    def ordered(links: Iterable[Link]) -> list[dict[str, Any]]:
        return [link.as_dict() for link in sorted(links, key=lambda link: (natural_key(link.adapter), link.id))]

    return {"schema": FABRIC_SCHEMA, "host": host, INFINIBAND: ordered(infiniband), LLDP: ordered(lldp)}


def links_of(fabric: Any, kind: str) -> tuple[Link, ...]:
    """Return the cables of one kind (``infiniband`` or ``lldp``) in a ``node_fabric``; None has none.

    Raises FabricError for another form.
    """
    if fabric is None:
        return ()
    if not isinstance(fabric, Mapping) or fabric.get("schema") != FABRIC_SCHEMA:
        raise FabricError(f"it is not of schema {FABRIC_SCHEMA}")
    try:
        return tuple(
            Link(
                adapter=_text(entry["adapter"]),
                switch=_text(entry["switch"]),
                id=_text(entry["id"]),
                port=None if entry.get("port") is None else _text(entry["port"]),
                default_route=bool(entry.get("default_route", False)),
            )
            for entry in fabric.get(kind) or ()
        )
    except (KeyError, TypeError, AttributeError) as exc:
        raise FabricError(f"an entry of {kind} is not a cable ({exc})") from exc


def _text(value: Any) -> str:
    """Return a plain text; join() makes one also of Ansible's tagged ones."""
    return "".join((value, "")) if isinstance(value, str) else str(value)


def safe_name(text: str) -> str:
    """Return ``text`` as a name that Slurm takes for a switch or a block.

    >>> safe_name("Rack 7 (left)"), safe_name("default")
    ('Rack_7_left', 'default_')
    """
    name = _UNSAFE.sub("_", text).strip("_")[:NAME_LIMIT] or "unnamed"
    return f"{name}_" if name.lower() in _RESERVED else name


def unique_names(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return id -> safe name; switches that share a name get the end of their id, so that no order matters.

    >>> unique_names({"0x00ab": "leaf", "0x00cd": "leaf", "0x00ef": "spine"})
    {'0x00ab': 'leaf_0x00ab', '0x00cd': 'leaf_0x00cd', '0x00ef': 'spine'}
    """
    by_name: dict[str, list[str]] = {}
    for key, text in wanted.items():
        by_name.setdefault(safe_name(text), []).append(key)
    names: dict[str, str] = {}
    for name, keys in by_name.items():
        for key in keys:
            tail = _UNSAFE.sub("_", key.replace(":", ""))[-16:]
            names[key] = name if len(keys) == 1 else f"{name[: NAME_LIMIT - 1 - len(tail)]}_{tail}"
    return {key: names[key] for key in wanted}
