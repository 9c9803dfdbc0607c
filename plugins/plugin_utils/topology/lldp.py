# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLDP: the switches that a node sees at its Ethernet ports, from ``lldpctl -f keyvalue``, ``json`` or ``json0``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import Link

__all__ = ["LldpError", "parse"]

_KEY_VALUE = re.compile(r"^lldp\.(.+?)\.((?:chassis|port)\.[^=]+|via|rid)=(.*)$")
# How a chassis or port may be named, best first.
_CHASSIS_IDS = ("mac", "ifname", "ip", "local", "ifalias")
_PORT_IDS = ("ifname", "mac", "local", "ifalias", "descr")
_SWITCHING = frozenset({"Bridge", "Router"})


class LldpError(ValueError):
    """A text that ``lldpctl`` did not print."""


def parse(text: str, default_interfaces: Collection[str] = ()) -> tuple[Link, ...]:
    """Return the switches at the ports of a node.

    ``default_interfaces``: interfaces by which the default route leaves. Neighbours that say that they neither bridge
    nor route (other hosts, phones, the management controller behind a shared port) are left out.
    Raises LldpError for a text of another form.
    """
    stripped = text.strip()
    if not stripped:
        return ()
    neighbours = _from_json(stripped) if stripped.startswith(("{", "[")) else _from_key_values(stripped)
    links = []
    for interface, chassis, port, capabilities in neighbours:
        if capabilities and not any(on for name, on in capabilities.items() if name in _SWITCHING):
            continue
        identity = next((chassis[kind] for kind in (*_CHASSIS_IDS, "name") if chassis.get(kind)), None)
        if identity is None:
            continue
        links.append(
            Link(
                adapter=interface,
                switch=chassis.get("name") or identity,
                id=identity,
                port=next((port[kind] for kind in _PORT_IDS if port.get(kind)), None),
                default_route=interface in default_interfaces,
            )
        )
    return tuple(dict.fromkeys(links))


_Neighbour = tuple[str, dict[str, str], dict[str, str], dict[str, bool]]


def _from_key_values(text: str) -> Iterator[_Neighbour]:
    found: list[_Neighbour] = []
    latest: dict[str, _Neighbour] = {}
    for line in text.splitlines():
        match = _KEY_VALUE.match(line)
        if match is None:
            continue  # the continued line of a description
        interface, key, value = match.groups()
        if key == "via" or interface not in latest:  # each neighbour of a port begins with how it was heard
            latest[interface] = (interface, {}, {}, {})
            found.append(latest[interface])
        _name, chassis, port, capabilities = latest[interface]
        what, _dot, rest = key.partition(".")
        if rest.endswith(".enabled"):
            capabilities[rest.removesuffix(".enabled")] = value == "on"
        elif what == "chassis":
            chassis.setdefault(rest, value)
        elif what == "port":
            port.setdefault(rest, value)
    if not found:
        raise LldpError("it has no line that begins with lldp.<interface>.")
    yield from found


def _from_json(text: str) -> Iterator[_Neighbour]:
    try:
        content = json.loads(text)
        for interface, entry in _interfaces(content):
            chassis = _first(entry.get("chassis"))
            name = _value(chassis.get("name"))
            if not ({"id", "name", "descr", "capability"} & set(chassis)) and len(chassis) == 1:
                # -f json: the name of the chassis is a key, unless it has none
                ((name, chassis),) = chassis.items()
                chassis = _first(chassis)
            port = _first(entry.get("port"))
            capabilities = {
                str(item.get("type")): bool(item.get("enabled")) for item in _listed(chassis.get("capability"))
            }
            texts = {"name": name, **_identity(chassis)}
            yield interface, texts, {**_identity(port), "descr": _value(port.get("descr"))}, capabilities
    except (ValueError, TypeError, AttributeError, KeyError) as exc:
        raise LldpError(f"it is not the JSON of lldpctl ({exc})") from exc


def _interfaces(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in _listed(content["lldp"]):
        for item in _listed(part.get("interface")):
            if isinstance(item.get("name"), str):  # json0
                yield item["name"], item
            else:
                for name, entries in item.items():
                    for entry in _listed(entries):
                        yield str(name), entry


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _first(value: Any) -> Mapping[str, Any]:
    return next(iter(_listed(value)), {})


def _value(value: Any) -> str:
    """Return the text of ``x``, ``{value: x}`` or ``[{value: x}]``."""
    first = next(iter(_listed(value)), "")
    return str(first.get("value", "")) if isinstance(first, Mapping) else str(first)


def _identity(entry: Mapping[str, Any]) -> dict[str, str]:
    identity = _first(entry.get("id"))
    return {str(identity["type"]): str(identity["value"])} if identity else {}
