# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that the roles' templates use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.site import (
    conf_lines,
    device_files,
    faulty_nodes,
    hosts_lines,
)


def hosts_block(addresses: Mapping[str, str | None], extra: Mapping[str, str] | None = None) -> str:
    """Return the managed block of /etc/hosts."""
    return "\n".join(hosts_lines(addresses, extra or {}))


def slurm_conf_lines(
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    denied: Iterable[str] = (),
    joined: Iterable[str] = (),
) -> list[str]:
    """Return ``Name=value`` lines of a Slurm configuration file."""
    try:
        return conf_lines(defaults, overrides or {}, denied, joined)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def gpu_device_files(record: Mapping[str, Any], excluded: Iterable[Any] = ()) -> list[str]:
    """Return the device files that must exist before slurmd starts."""
    try:
        return device_files(record, excluded)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


def discovered_problems(hosts: Iterable[str], hostvars: Mapping[str, Any]) -> dict[str, list[Mapping[str, str]]]:
    """Return what the discovery of this run found wrong, for each host that took part in it."""
    found = {host: hostvars[host].get("__discover_record") for host in hosts if host in hostvars}
    return {host: list(result["problems"]) for host, result in found.items() if result and "problems" in result}


class FilterModule:
    """The filters of this theme."""

    def filters(self) -> dict[str, Any]:
        return {
            "discovered_problems": discovered_problems,
            "faulty_nodes": faulty_nodes,
            "gpu_device_files": gpu_device_files,
            "hosts_block": hosts_block,
            "slurm_conf_lines": slurm_conf_lines,
        }
