#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell whether the units of a host run and what its clock says."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_host_info
short_description: Tell whether systemd units of a host run and what its clock says
version_added: 0.1.0
description:
  - Reads the state of units and the clock; changes nothing.
author:
  - steelrack contributors (@steelrack)
attributes:
  action:
    support: full
    description: Has an action plugin that notes the clock of the control node before and after.
  check_mode:
    support: full
    description: Changes nothing and says the same in check mode.
options:
  units:
    description: Names of the units.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Look at slurmd
  steelrack.gpu_cluster.cluster_host_info:
    units: [munge, slurmd]
"""

RETURN = r"""
units:
  description:
    - By name, C(active), C(state) (text), C(restarts) (how often systemd restarted it) and C(journal), the last lines
      of a unit that does not run.
  type: dict
  returned: success
time:
  description: The clock of the host, in seconds since the epoch.
  type: float
  returned: success
control_before:
  description: The clock of the control node before the host was asked, in seconds since the epoch.
  type: float
  returned: success
control_after:
  description: The clock of the control node after the host answered, in seconds since the epoch.
  type: float
  returned: success
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils import systemd

_JOURNAL_LINES = 5


def look(run: systemd.Run, name: str) -> dict[str, Any]:
    """Return what there is to know of one unit."""
    unit = systemd.show(run, name)
    state = "not installed" if not unit.known else f"{unit.active_state} ({unit.sub_state})"
    return {
        "active": unit.known and unit.active,
        "state": state,
        "restarts": unit.restarts,
        "journal": "" if unit.active else systemd.journal(run, name, _JOURNAL_LINES),
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"units": {"type": "list", "elements": "str", "required": True}}, supports_check_mode=True
    )
    module.run_command_environ_update = {"LC_ALL": "C", "TZ": "UTC"}
    try:
        units = {name: look(module.run_command, name) for name in module.params["units"]}
    except systemd.SystemdError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, units=units, time=time.time())


if __name__ == "__main__":
    main()
