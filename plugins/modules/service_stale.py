#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell whether a service runs with what its files say now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_stale
short_description: Tell whether a service still runs with older files
version_added: "0.1.0"
description:
  - Compares the start of a systemd service with the time of change of the files that it reads at its start.
  - Reports C(changed) when the service does not run or is older than one of them; it never starts or stops anything.
    Use it with C(notify), so that an interrupted play is made good by the next one.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: full
    description: The module only reads. In check mode a unit that does not exist yet counts as stale instead of failing.
  diff_mode:
    support: none
    description: There is nothing to show but the reason.
  platform:
    support: full
    platforms: posix
    description: Machines with systemd.
options:
  name:
    description: Name of the systemd unit.
    type: str
    required: true
  files:
    description:
      - Files that the service reads at its start.
      - A file that does not exist is passed over.
    type: list
    elements: path
    default: []
  since:
    description:
      - Moment before which the service must not have been started, in seconds since the epoch.
      - Meant for a change made on another machine, for example RV(steelrack.gpu_cluster.slurm_config#module:since).
    type: float
seealso:
  - module: steelrack.gpu_cluster.service_alive
"""

EXAMPLES = r"""
- name: Notice a slurmd that started before its configuration changed
  steelrack.gpu_cluster.service_stale:
    name: slurmd
    files:
      - /etc/default/slurmd
    since: "{{ hostvars['ctl1'].slurm_config_result.since }}"
  notify: Restart slurmd
"""

RETURN = r"""
active:
  description: Whether the service runs.
  type: bool
  returned: always
  sample: true
started_at:
  description: Start of the main process in seconds since the epoch; null if it never ran.
  type: float
  returned: always
  sample: 1796067104.123456
reason:
  description: Why the service is stale; empty if it is not.
  type: str
  returned: always
  sample: slurmd started before /etc/default/slurmd changed
"""

import os
from typing import Iterable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils import systemd


def newest(files: Iterable[str]) -> tuple[int, str] | None:
    """Return (time of change in microseconds since the epoch, path) of the newest existing file, None without one."""
    times = []
    for path in files:
        try:
            times.append((os.stat(path).st_mtime_ns // 1000, path))
        except FileNotFoundError:
            continue
    return max(times) if times else None


def stale_reason(unit: systemd.Unit, files: Iterable[str], since: float | None) -> str:
    """Return why ``unit`` must be started again, or an empty string. ``since`` is in seconds since the epoch."""
    if not unit.active:
        return f"{unit.name} does not run ({unit.active_state})"
    if unit.started_us is None:
        return f"systemd does not know when {unit.name} started"
    last = newest(files)
    if last is not None and last[0] > unit.started_us:
        return f"{unit.name} started before {last[1]} changed"
    if since is not None and int(since * 1_000_000) > unit.started_us:
        return f"{unit.name} started before the last change that needs its restart"
    return ""


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "files": {"type": "list", "elements": "path", "default": []},
            "since": {"type": "float"},
        },
        supports_check_mode=True,
    )
    module.run_command_environ_update = {"LC_ALL": "C", "TZ": "UTC"}
    name = module.params["name"]
    try:
        unit = systemd.show(module.run_command, name)
    except systemd.SystemdError as error:
        module.fail_json(msg=f"The state of service {name} cannot be read: {error}")
    if not unit.known and not module.check_mode:
        module.fail_json(
            msg=f"systemd has no usable unit {name} (load state {unit.load_state or 'unknown'}): "
            "install its package, or unmask or mend the unit file, and run again."
        )
    if unit.known:
        reason = stale_reason(unit, module.params["files"], module.params["since"])
    else:
        reason = f"{name} is not installed yet"
    module.exit_json(changed=bool(reason), active=unit.active, started_at=systemd.epoch(unit.started_us), reason=reason)


if __name__ == "__main__":
    main()
