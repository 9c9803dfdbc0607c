# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that check an inventory: thin adapters over plugin_utils/inventory_check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError, AnsibleFilterError, AnsibleUndefinedVariable
from jinja2 import Undefined, UndefinedError
from yaml import YAMLError

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils import inventory_check as checks
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.host_files import single_file


def inventory_check(
    groups: Mapping[str, list[str]], hostvars: Any, roles_dir: str, replaced: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Return the problems of the inventory behind ``groups`` and ``hostvars``."""
    try:
        specs = checks.load_specs(Path(roles_dir))
    except (OSError, YAMLError) as error:
        raise AnsibleFilterError(f"cannot read the argument specifications below {roles_dir}: {error}") from error
    prefixes = tuple(f"{role}_" for role in specs.roles)
    hosts = dict.fromkeys(host for members in groups.values() for host in members)
    site = checks.Site(
        groups={str(group): [str(host) for host in members] for group, members in groups.items()},
        variables={str(host): _variables(hostvars[host], prefixes) for host in hosts},
        specs=specs,
        replaced={str(name): str(text) for name, text in (replaced or {}).items()},
        single_files=_single_files({str(host): hostvars[host] for host in groups.get("slurm_node", ())}),
    )
    return checks.check(site)


def release_problems(facts: Mapping[str, Any], host: str, supported: Mapping[str, list[str]]) -> list[dict[str, str]]:
    """Return the problem of a host whose gathered facts show an operating system that is not supported."""
    distribution = str(facts.get("distribution", "an unknown system"))
    return checks.release_problems(host, distribution, str(facts.get("distribution_version", "")), supported)


def _single_files(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the nodes whose one file of variables lies where the record's folder belongs, with its path."""
    found = {}
    for host, variables in nodes.items():
        # The record elsewhere (hardware_record_dir) shadows nothing.
        folder = variables.get("inventory_dir")
        if folder and "hardware_record_dir" not in variables:
            path = single_file(Path(str(folder)) / "host_vars", host)
            if path:
                found[host] = str(path)
    return found


def _variables(hostvars: Mapping[str, Any], prefixes: tuple[str, ...]) -> dict[str, Any]:
    return {
        str(name): _value(hostvars, name)
        for name in hostvars
        if name in checks.READ or (prefixes and name.startswith(prefixes))
    }


def _value(hostvars: Mapping[str, Any], name: str) -> Any:
    """Return the templated value; a template that needs what is not known before a run is UNRESOLVED."""
    try:
        return _plain(hostvars[name])
    except (AnsibleError, UndefinedError) as error:
        # What a marker of Ansible stands for is the cause of its error; a variable that is not defined has none.
        fault = error if isinstance(error, AnsibleError) else error.__cause__
        if not isinstance(fault, AnsibleError) or isinstance(fault, AnsibleUndefinedVariable):
            return checks.UNRESOLVED
        return checks.Failed(str(fault).strip().splitlines()[0].rstrip("."))


def _plain(value: Any) -> Any:
    """Evaluate the lazy containers of the templating engine to the last leaf. Raises UndefinedError."""
    if isinstance(value, Undefined):
        str(value)  # raises what it stands for
        raise UndefinedError("needs a variable that is not known yet")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"inventory_check": inventory_check, "release_problems": release_problems}
