#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name, which does the work on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hardware_record
short_description: Keep the record of a node's hardware beside the inventory
version_added: 0.1.0
description:
  - Holds the record that M(steelrack.gpu_cluster.node_hardware_info) has just taken against the stored one.
  - A node without a stored record gets one. What moves in ordinary life is taken over. The file is replaced in one step
    and only when its record changes.
  - When the evidence contradicts the stored record (a GPU missing, lost, added or of another model, less memory,
    another CPU layout, other MIG instances, a network adapter gone), or comes with an error that the record does not
    know, the stored record stays and the contradictions are returned as problems.
  - Changes of memory below 1 GiB or 1 % (the larger of the two) are no change.
author:
  - steelrack contributors (@steelrack)
options:
  path:
    description: File on the control node, usually C(host_vars/<node>/hardware.yml) beside the inventory. It holds the
      one variable C(node_hardware). Its folder is made when missing.
    type: path
    required: true
  evidence:
    description: The record just taken, the value C(node_hardware) of M(steelrack.gpu_cluster.node_hardware_info).
    type: dict
    required: true
  accept:
    description: Take the evidence as the new record, whatever the stored one says, and the present findings of health
      as known.
    type: bool
    default: false
  health:
    description:
      - What passes with a reset or a repair, the value C(health) of M(steelrack.gpu_cluster.node_hardware_info).
      - It is no part of the record. Only what was accepted (O(accept)) is kept in it, as a warning, for as long as it
        is found again unchanged; a new event is an error again.
    type: list
    elements: dict
    default: []
  excluded:
    description: GPUs that are not handed out, by PCI address, UUID or minor number. Their problems are warnings.
    type: list
    elements: raw
    default: []
attributes:
  check_mode:
    description: Says what it would do and writes nothing.
    support: full
  diff_mode:
    description: Shows the difference of the file.
    support: full
  platform:
    description: Runs on the control node; needs no connection to the node.
    support: full
    platforms: posix
"""

EXAMPLES = r"""
- name: Keep the record of the node
  steelrack.gpu_cluster.hardware_record:
    path: "{{ inventory_dir }}/host_vars/{{ inventory_hostname }}/hardware.yml"
    evidence: "{{ hardware.node_hardware }}"
    health: "{{ hardware.health }}"
"""

RETURN = r"""
record:
  description: The record that is in force, in the form that M(steelrack.gpu_cluster.node_hardware_info) returns.
    V(null) when the stored one cannot be used.
  returned: success
  type: dict
problems:
  description: What is wrong with the node or with its stored record, in the form that
    M(steelrack.gpu_cluster.node_hardware_info) returns problems. Empty means healthy.
  returned: success
  type: list
  elements: dict
ansible_facts:
  description: The record in force as a fact.
  returned: when there is a record in force
  type: dict
  contains:
    node_hardware:
      description: The same as RV(record).
      type: dict
"""
