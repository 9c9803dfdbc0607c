# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses on the cluster network: the one place of the rule.

>>> cluster_addresses(["gpu1", "gpu2"], {"gpu1": {"ansible_host": "10.0.0.1"}, "gpu2": {}})
{'gpu1': '10.0.0.1', 'gpu2': None}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.host_variables import HostVariables, plain
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import is_address

__all__ = ["base_address", "cluster_addresses"]


def base_address(given: str | None, ansible_host: str | None) -> tuple[str | None, bool]:
    """Return a host's address on the cluster network, and whether the given one is wrong.

    The one rule: node_base_address; without it ansible_host if that is an IP address (but not the loopback one, which
    says only how Ansible gets there); else None, and name lookup serves.
    """
    if given:
        return (given, False) if is_address(given) else (None, True)
    if ansible_host and is_address(ansible_host) and not ansible_host.startswith("127.") and ansible_host != "::1":
        return ansible_host, False
    return None, False


def cluster_addresses(hosts: Iterable[str], hostvars: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the address of each host on the cluster network; None where name lookup has to serve."""
    result = {}
    for host in map(plain, hosts):
        variables = HostVariables(hostvars, host)
        result[host] = base_address(variables.text("node_base_address"), variables.text("ansible_host"))[0]
    return result
