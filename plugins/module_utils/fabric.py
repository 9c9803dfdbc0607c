# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node sees of the network: its LLDP neighbours, the interfaces of its default route, the InfiniBand fabric."""

from __future__ import annotations

from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import (
    COMMAND_MISSING,
    Evidence,
    command_file,
)
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.infiniband import read_adapters

__all__ = ["FabricReadError", "default_interfaces", "neighbours", "read_fabric"]

_LLDPCTL = ("lldpctl", "-f", "keyvalue")
_IBNETDISCOVER = ("ibnetdiscover",)
_PROGRAMS = ("/usr/sbin/ibnetdiscover", "/usr/bin/ibnetdiscover", f"/commands/{command_file(_IBNETDISCOVER)}")
_GATEWAY = 0x2  # RTF_GATEWAY of linux/route.h
_LOWEST = 8  # layers of interfaces (VLAN on bridge on bond ...) that are followed down


class FabricReadError(Exception):
    """The fabric was asked for and cannot be read."""


def neighbours(evidence: Evidence) -> dict[str, Any]:
    """Return ``lldp`` (text of lldpctl, None where lldpd does not answer), ``default_interfaces``, ``infiniband``.

    ``infiniband`` says whether the fabric could be read from this node: it has an active port and the program.
    """
    lldp = evidence.run(*_LLDPCTL)
    active = any(
        port["state"] == "active" and port["link_layer"] == "InfiniBand"
        for adapter in read_adapters(evidence)
        for port in adapter["ports"]
    )
    return {
        "lldp": None if lldp.status else lldp.output,
        "default_interfaces": default_interfaces(evidence),
        "infiniband": active and any(evidence.exists(path) for path in _PROGRAMS),
    }


def default_interfaces(evidence: Evidence) -> list[str]:
    """Return the ports by which the default route leaves: those below a bond, a bridge or a VLAN, too."""
    found = set()
    for line in (evidence.read("/proc/net/route") or "").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == fields[7] == "00000000" and int(fields[3], 16) & _GATEWAY:
            found.add(fields[0])
    todo = sorted(found)
    for _layer in range(_LOWEST):
        below = [
            name.split("lower_", 1)[1]
            for interface in todo
            for name in evidence.names(f"/sys/class/net/{interface}") or ()
            if name.startswith("lower_")
        ]
        todo = [name for name in below if name not in found]
        found.update(todo)
    return sorted(found)


def read_fabric(evidence: Evidence) -> str:
    """Return the output of ibnetdiscover. Raises FabricReadError with a reason for people."""
    command = evidence.run(*_IBNETDISCOVER)
    if command.status == COMMAND_MISSING:
        raise FabricReadError("ibnetdiscover is not installed (package infiniband-diags)")
    if command.status:
        raise FabricReadError(
            f"ibnetdiscover ended with status {command.status}; it needs an active InfiniBand port and root"
        )
    return command.output
