# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory plugin: groups of hosts by the hardware that their records describe."""

from __future__ import annotations

DOCUMENTATION = r"""
name: hardware
short_description: Groups of hosts by their hardware records
version_added: 0.1.0
author:
  - steelrack contributors (@steelrack)
description:
  - Adds groups to the hosts that other inventory sources define, by what their hardware records (the host variable
    C(node_hardware)), their switches (C(node_fabric)) and their rack (C(slurm_node_rack)) say. Defines no host itself.
  - The variables may come from anywhere, C(host_vars/<host>/hardware.yml) as the playbook
    C(steelrack.gpu_cluster.discover) writes it, C(group_vars), or another source. A host without a record gets no
    group.
  - The name of its configuration file ends in C(.steelrack.yml) or C(.steelrack.yaml). In an inventory folder, whose
    files are read in the order of their names, it must come after the files that define the hosts, for example
    C(records.steelrack.yml) after C(hosts.yml).
  - "Groups are named: C(gpu_<type>) (C(gpu_h100)), C(gpus_<count>) (C(gpus_8)), C(mig) and C(mig_<profile>)
    (C(mig_1g_10gb)), C(rack_<rack>), C(switch_<switch>), C(nvlink_<domain>) and C(has_problem). Characters that group
    names cannot have become C(_)."
  - "Expressions in O(compose), O(groups) and O(keyed_groups) see the variables of the host and in addition
    C(hardware), with the keys C(gpu_types), C(gpu_count), C(mig), C(mig_profiles), C(rack), C(switches),
    C(nvlink_domain), C(problems) (ids), C(has_error), C(cpus) and C(memory_mib)."
extends_documentation_fragment:
  - ansible.builtin.constructed
options:
  plugin:
    description: Tells Ansible that the file is for this plugin.
    type: str
    required: true
    choices: [steelrack.gpu_cluster.hardware]
  group_by:
    description: What groups are made by.
    type: list
    elements: str
    choices: [gpu_type, gpu_count, mig, rack, switch, nvlink, problem]
    default: [gpu_type, gpu_count, mig, rack, switch, nvlink, problem]
  group_prefix:
    description: Text before the name of every one of these groups.
    type: str
    default: ""
  use_vars_plugins:
    description:
      - Whether to read C(host_vars) and C(group_vars), where the records usually are. Without it only variables in the
        inventory sources themselves count.
    type: bool
    default: true
seealso:
  - module: steelrack.gpu_cluster.node_hardware_info
"""

EXAMPLES = r"""
# inventory/records.steelrack.yml beside inventory/hosts.yml: all groups
plugin: steelrack.gpu_cluster.hardware

---
# only by model and rack, and groups of our own
plugin: steelrack.gpu_cluster.hardware
group_by: [gpu_type, rack]
groups:
  big_memory: hardware.memory_mib > 1000000
  needs_care: hardware.has_error
keyed_groups:
  - prefix: cpus
    key: hardware.cpus | string
compose:
  gpus_in_node: hardware.gpu_count
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.inventory.helpers import get_group_vars
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.utils.vars import combine_vars
from ansible.vars.plugins import get_vars_from_inventory_sources

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.hardware_groups import (
    RecordFormError,
    Summary,
    domains,
    group_names,
    summary,
)

_ENDINGS = (".steelrack.yml", ".steelrack.yaml")


class InventoryModule(BaseInventoryPlugin, Constructable):
    """The inventory plugin ``hardware``."""

    NAME = "steelrack.gpu_cluster.hardware"

    def verify_file(self, path: str) -> bool:
        """Say whether the file is for this plugin, by its name."""
        return bool(super().verify_file(path)) and path.endswith(_ENDINGS)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the groups to ``inventory``."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        self._group_variables: dict[tuple[str, ...], Any] = {}
        variables = {str(name): self._variables(host) for name, host in inventory.hosts.items()}
        records = {name: found["node_hardware"] for name, found in variables.items() if found.get("node_hardware")}
        racks = {name: self._rack(variables[name]) for name in records}
        nvlink = domains(records, racks)
        for name, record in records.items():
            try:
                found = summary(record, variables[name].get("node_fabric"), racks[name], nvlink.get(name, ""))
            except RecordFormError as error:
                self._complain(f"{name} gets no hardware groups: {error}; run the playbook discover for it again.")
                continue
            self._add(name, found, variables[name])

    def _add(self, host: str, found: Summary, variables: Mapping[str, Any]) -> None:
        """Put a host into its groups, the built-in and the configured ones."""
        for group in group_names(found, self.get_option("group_by"), self.get_option("group_prefix")):
            self.inventory.add_child(self.inventory.add_group(group), host)
        strict = self.get_option("strict")
        options = {name: self.get_option(name) for name in ("compose", "groups", "keyed_groups")}
        if not any(options.values()):
            return
        seen = {**variables, "inventory_hostname": host, "hardware": found.as_dict()}
        self._set_composite_vars(options["compose"], seen, host, strict=strict)
        # Composed variables are variables of the host now, and the groups may be made by them.
        seen = combine_vars(seen, self.inventory.get_host(host).get_vars())
        self._add_host_to_composed_groups(options["groups"], seen, host, strict=strict, fetch_hostvars=False)
        self._add_host_to_keyed_groups(options["keyed_groups"], seen, host, strict=strict, fetch_hostvars=False)

    def _variables(self, host: Any) -> Mapping[str, Any]:
        """Return the variables of a host and its groups; equal groups are merged once."""
        groups = host.get_groups()
        key = tuple(sorted(group.name for group in groups))
        if key not in self._group_variables:
            self._group_variables[key] = combine_vars(get_group_vars(groups), self._from_files(groups))
        own = combine_vars(host.get_vars(), self._from_files([host]))
        merged: Mapping[str, Any] = combine_vars(self._group_variables[key], own)
        return merged

    def _from_files(self, entities: list[Any]) -> Any:
        """Return what the variable plugins know; the loader keeps each file, so that Ansible does not read it again."""
        if not self.get_option("use_vars_plugins"):
            return {}
        return get_vars_from_inventory_sources(self.loader, self.inventory.processed_sources, entities, "all")

    def _rack(self, variables: Mapping[str, Any]) -> str:
        """Return the rack; a template in it is resolved."""
        value = variables.get("slurm_node_rack") or ""
        if isinstance(value, str) and "{{" in value:
            self.templar.available_variables = variables
            value = self.templar.template(value)
        return str(value)

    def _complain(self, message: str) -> None:
        if self.get_option("strict"):
            raise AnsibleParserError(message)
        self.display.warning(message)
