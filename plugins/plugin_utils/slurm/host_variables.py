# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a host out of Ansible's ``hostvars``, without paying for what is not needed.

``hostvars[host][name]`` runs every text of the value through the template engine: 3 ms for one hardware record, half a
minute for ten thousand. A literal needs no template engine, and a record always is one, because detection writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["HostVariables", "plain"]

_TEMPLATE_MARKS = ("{{", "{%", "{#")


def plain(value: Any) -> Any:
    """Return a value of Ansible (lazy, tagged) as built-in types."""
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        # join() makes a plain str of a subclass, whatever its __str__ does.
        return "".join(("", value))
    return value


def _literal(value: Any) -> bool:
    """Say whether a raw value is what it looks like: no template and nothing encrypted anywhere in it."""
    if isinstance(value, str):
        return not any(mark in value for mark in _TEMPLATE_MARKS)
    if isinstance(value, Mapping):
        return all(_literal(key) and _literal(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_literal, value))
    return value is None or isinstance(value, (bool, int, float))


class HostVariables:
    """The variables of one host. ``hostvars``: Ansible's, or a plain dictionary of dictionaries."""

    def __init__(self, hostvars: Mapping[str, Any], host: str) -> None:
        self._hostvars = hostvars
        self._host = host
        self._raw: Mapping[str, Any] = {}
        if host in hostvars:
            self._raw = hostvars.raw_get(host) if hasattr(hostvars, "raw_get") else hostvars[host]

    def record(self) -> Any:
        """Return node_hardware as it lies in the inventory; None if it is not set."""
        return self.written("node_hardware")

    def written(self, name: str) -> Any:
        """Return a variable that this collection writes itself, as it lies in the inventory; None if it is not set."""
        value = self._raw.get(name)
        return value if value is None or isinstance(value, Mapping) else self.value(name)

    def value(self, name: str) -> Any:
        """Return a variable as built-in types, templates resolved; None if it is not set."""
        if name not in self._raw:
            return None
        value = self._raw[name]
        return plain(value if _literal(value) else self._hostvars[self._host][name])

    def text(self, name: str) -> str | None:
        """Return a variable as a text; None if it is not set, null or empty."""
        value = self.value(name)
        return None if value is None else str(value) or None
