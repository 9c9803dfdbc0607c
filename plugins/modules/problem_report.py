#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin problem_report, which does the work on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: problem_report
short_description: Show problems as readable text and fail if one of them is an error
version_added: 0.1.0
description:
  - Shows every problem of a list with its remedy, errors first, and fails if one of them has the severity C(error).
  - Runs on the control node; the host of the task is not contacted.
author: steelrack contributors (@steelrack)
options:
  problems:
    description:
      - The problems, as the filters and modules of this collection return them.
    type: list
    elements: dict
    required: true
  skip:
    description:
      - Ids of problems that are neither shown nor counted.
    type: list
    elements: str
    default: []
attributes:
  action:
    description: Has an action plugin that does all the work.
    support: full
  check_mode:
    description: Changes nothing, and says the same in check mode.
    support: full
"""

EXAMPLES = r"""
- name: Show what is wrong with the inventory
  steelrack.gpu_cluster.problem_report:
    problems: "{{ groups | steelrack.gpu_cluster.inventory_check(hostvars, role_path | dirname) }}"
    skip: "{{ slurm_skip_problems | default([]) }}"
"""

RETURN = r"""
msg:
  description: The text that was shown.
  type: str
  returned: always
"""
