# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand: what ``ibnetdiscover`` prints, joined to nodes by the GUIDs of their adapters.

Descriptions of adapters are not to be trusted: on a real fabric of 120 nodes one in eight carried the factory's text or
the name of an installer image, because nobody had restarted the service that sets it. GUIDs are in the records.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link

__all__ = ["Adapter", "Fabric", "Joined", "Port", "adapters_of", "join", "parse"]

# Full form: a block per switch with one line a port. The port may be followed by a subport of a split cable.
_SWITCH = re.compile(r'^Switch\s+\d+\s+"S-([0-9a-fA-F]+)"\s*#\s*"([^"]*)"')
_OTHER = re.compile(r"^(?:Ca|Rt)\s")
_PORT = re.compile(r'^\[(\d+)\](?:\[[^]]*\])?\s+"H-([0-9a-fA-F]+)"\[\d+\](?:\(([0-9a-fA-F]+)\))?\s*#\s*"([^"]*)"')
# Short form (-p): one line a port, both ends; the texts are in quotes in newer versions only.
_PAIR = re.compile(
    r"^(CA|SW)\s+\d+\s+(\d+)\s+0x([0-9a-fA-F]+)\s+\d+x\s.*?\s-\s+(CA|SW)\s+\d+\s+(\d+)\s+0x([0-9a-fA-F]+)\s+\((.*)\)\s*$"
)
# Managed switches describe themselves as `MF0;name:model/U1`; the others by their maker alone.
_MANAGED = re.compile(r"^MF\d+;([^:]+)(?::.*)?$")
_MAKER = re.compile(r"Mellanox Technologies|NVIDIA Corp", re.IGNORECASE)
# The part of a switch that computes reductions (SHARP) looks like an adapter.
_AGGREGATION = re.compile(r"Aggregation Node", re.IGNORECASE)
# `gpu001 mlx5_0`, `gpu001 HCA-1`, or the name alone.
_DESCRIPTION = re.compile(r"^(\S+)(?:\s+(\S+))?$")


@dataclass(frozen=True)
class Port:
    """The far end of a cable at a switch. GUIDs as ``0x`` and 16 digits; the short form has the port's only."""

    switch: str
    switch_port: int
    node_guid: str | None
    port_guid: str | None
    description: str


@dataclass(frozen=True)
class Fabric:
    """Names of switches by GUID, and the adapters on them."""

    switches: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True)
class Adapter:
    """An adapter of a node: its name there and all its GUIDs."""

    host: str
    name: str
    guids: tuple[str, ...]


@dataclass(frozen=True)
class Joined:
    """Cables of each node. ``by_name``: nodes of which at least one cable is known by its description only."""

    links: Mapping[str, tuple[Link, ...]]
    by_name: tuple[str, ...] = ()


def parse(text: str) -> Fabric:
    """Return the fabric that one or more outputs of ``ibnetdiscover`` (with or without ``-p``) describe.

    Lines of any other kind are passed over; an empty fabric tells that there was nothing of use.
    """
    switches: dict[str, str] = {}
    ports: dict[tuple[str, int], Port] = {}
    current: str | None = None
    for line in text.splitlines():
        switch = _SWITCH.match(line)
        if switch:
            current = _guid(switch[1])
            switches[current] = _switch_name(switch[2], current)
        elif _OTHER.match(line):
            current = None
        elif current is not None:
            port = _PORT.match(line)
            if port:
                found = Port(current, int(port[1]), _guid(port[2]), _guid(port[3]) if port[3] else None, port[4])
                ports[(current, found.switch_port)] = found
        for guid, name, ends in _pair(line):
            switches.setdefault(guid, name)
            for end in ends:
                ports.setdefault((guid, end.switch_port), end)
    kept = tuple(port for port in ports.values() if not _AGGREGATION.search(port.description))
    return Fabric(switches, kept)


def _pair(line: str) -> Iterator[tuple[str, str, list[Port]]]:
    """Yield (GUID, name, adapters on it) of each switch at the ends of a line in the short form."""
    match = _PAIR.match(line)
    if match is None:
        return
    near, near_port, near_guid, far, far_port, far_guid, texts = match.groups()
    near_text, far_text = _both(texts)
    ends = [(near, int(near_port), _guid(near_guid), near_text), (far, int(far_port), _guid(far_guid), far_text)]
    for here, there in (ends, ends[::-1]):
        if here[0] == "SW":
            adapters = [Port(here[2], here[1], None, there[2], there[3])] if there[0] == "CA" else []
            yield here[2], _switch_name(here[3], here[2]), adapters


def _both(texts: str) -> tuple[str, str]:
    near, _dash, far = texts.partition("' - '" if "' - '" in texts else " - ")
    return near.strip().strip("'").strip(), far.strip().strip("'").strip()


def _guid(digits: str) -> str:
    return f"0x{digits.lower().removeprefix('0x').rjust(16, '0')}"


def _switch_name(description: str, guid: str) -> str:
    managed = _MANAGED.match(description.strip())
    name = managed[1].strip() if managed else description.strip()
    return f"ib-{guid[2:]}" if not name or _MAKER.search(name) else name


def adapters_of(host: str, record: Mapping[str, Any]) -> list[Adapter]:
    """Return the adapters with a GUID that a hardware record has. Raises KeyError and TypeError for another form."""
    adapters = []
    for hca in record["fabric"]["hcas"]:
        guids = [hca.get("guid"), *(port.get("guid") for port in hca.get("ports") or ())]
        known = tuple(dict.fromkeys(_guid(guid) for guid in guids if guid))
        if known:
            adapters.append(Adapter(host, str(hca["name"]), known))
    return adapters


def join(fabric: Fabric, adapters: Iterable[Adapter], hosts: Collection[str]) -> Joined:
    """Return the cables of the ``hosts``.

    A GUID decides. Only where no record has the GUID, the description counts, if it begins with the name of one of the
    hosts. A GUID that two records claim decides nothing.
    """
    owners: dict[str, Adapter | None] = {}
    for adapter in adapters:
        for guid in adapter.guids:
            owners[guid] = None if guid in owners and owners[guid] != adapter else adapter
    by_lower = {host.lower(): host for host in hosts}
    links: dict[str, set[Link]] = {}
    by_name: set[str] = set()
    for port in fabric.ports:
        owner = next((found for guid in (port.port_guid, port.node_guid) if guid and (found := owners.get(guid))), None)
        host, name = (owner.host, owner.name) if owner else _described(port.description, by_lower)
        if host is None:
            continue
        if owner is None:
            by_name.add(host)
        link = Link(name, fabric.switches[port.switch], port.switch, str(port.switch_port))
        links.setdefault(host, set()).add(link)
    return Joined({host: tuple(found) for host, found in links.items()}, tuple(sorted(by_name)))


def _described(description: str, by_lower: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the host that a description names, if it is one of ours, and the adapter."""
    match = _DESCRIPTION.match(description.strip())
    if match is None:
        return None, ""
    name = match[1].lower()
    return by_lower.get(name) or by_lower.get(name.split(".", 1)[0]), match[2] or "unknown"
