#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name, which does the work on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_record
short_description: Keep the switches of every node beside the inventory
version_added: 0.1.0
description:
  - Joins what M(steelrack.gpu_cluster.fabric_info) read to the nodes and keeps it as the host variable C(node_fabric),
    in one file for each node. InfiniBand adapters are joined by their GUIDs, which are in the hardware records
    (C(node_hardware)); the text with which an adapter describes itself counts only where no record has its GUID.
  - What is not seen stays as it was, so that a node that is down keeps its place. Remove its file to forget it.
  - Files are replaced in one step, and only where something changes.
author:
  - steelrack contributors (@steelrack)
options:
  dir:
    description: Folder on the control node, usually C(host_vars) beside the inventory. The files are
      C(<dir>/<node>/fabric.yml).
    type: path
    required: true
  nodes:
    description: The nodes, by their inventory names.
    type: list
    elements: str
    required: true
  infiniband:
    description: What C(ibnetdiscover) printed (with or without C(-p)); of several fabrics one after the other.
    type: str
    default: ""
  lldp:
    description: For each node that was asked, a dictionary with C(lldp) and C(default_interfaces) as
      M(steelrack.gpu_cluster.fabric_info) returns them.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Says what it would do and writes nothing.
    support: full
  diff_mode:
    description: Shows the difference of each file.
    support: full
  platform:
    description: Runs on the control node; needs no connection to a node.
    support: full
    platforms: posix
seealso:
  - plugin: steelrack.gpu_cluster.slurm_topology
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Keep what a saved output of ibnetdiscover tells
  steelrack.gpu_cluster.fabric_record:
    dir: "{{ inventory_dir }}/host_vars"
    nodes: "{{ groups['slurm_node'] }}"
    infiniband: "{{ lookup('ansible.builtin.file', 'ibnetdiscover.txt') }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: Nodes whose file changes.
  returned: success
  type: list
  elements: str
problems:
  description: What is wrong, in the form that M(steelrack.gpu_cluster.node_hardware_info) returns problems.
  returned: success
  type: list
  elements: dict
"""
