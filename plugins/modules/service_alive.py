#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until a service really serves."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_alive
short_description: Wait until a service is up and stays up
version_added: "0.1.0"
description:
  - Waits until a systemd service is active, somebody listens on its port (if it has one), and its main process stays
    the same one for a while. A service that dies and is started again by systemd over and over is not alive.
  - Fails with the state of the unit, its number of restarts and the last lines of its journal.
  - Never starts or stops anything.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: full
    description: In check mode nothing is waited for and the result is C(skipped).
  diff_mode:
    support: none
    description: The module changes nothing.
  platform:
    support: full
    platforms: posix
    description: Machines with systemd.
options:
  name:
    description: Name of the systemd unit.
    type: str
    required: true
  port:
    description:
      - TCP port on which somebody must listen; without it only the unit is looked at.
      - The kernel's table is read and no connection is made, because Slurm's daemons log an error for each connection
        that says nothing.
    type: int
  settle:
    description:
      - For how many seconds unit, port and main process must stay as they are.
      - A service whose main process is older than that has shown it already.
    type: float
    default: 3
  timeout:
    description: After how many seconds to give up.
    type: float
    default: 60
seealso:
  - module: steelrack.gpu_cluster.service_stale
"""

EXAMPLES = r"""
- name: Wait for the controller
  steelrack.gpu_cluster.service_alive:
    name: slurmctld
    port: 6817
"""

RETURN = r"""
main_pid:
  description: Process id of the service.
  type: int
  returned: success
  sample: 1234
restarts:
  description: How often systemd has restarted the service by itself since it was last started on purpose.
  type: int
  returned: success
  sample: 0
waited:
  description: How long it took, in seconds.
  type: float
  returned: success
  sample: 3.1
"""

import time
from pathlib import Path
from typing import Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils import systemd

_POLL = 0.3  # seconds between two looks
_LISTEN = "0A"


def listens(port: int, root: Path = Path("/proc/net")) -> bool:
    """Return whether a process of this machine listens on TCP ``port``, on any address of IPv4 or IPv6.

    Source: https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt (addresses in hex, state 0A is LISTEN).
    """
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        table = root / name
        lines = table.read_text().splitlines()[1:] if table.exists() else []
        if any(fields[1].endswith(wanted) and fields[3] == _LISTEN for fields in map(str.split, lines)):
            return True
    return False


def age(unit: systemd.Unit, now: float) -> float:
    """Return for how many seconds the main process has run at ``now`` (epoch, seconds); 0 if that is unknown."""
    started = systemd.epoch(unit.started_us)
    return max(0.0, now - started) if started is not None and unit.active else 0.0


def wait(
    look: Callable[[], systemd.Unit],
    probe: Callable[[], bool],
    settle: float,
    timeout: float,
    already: Callable[[systemd.Unit], float] = lambda unit: 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[systemd.Unit, str]:
    """Watch a unit until it has been up without a break for ``settle`` seconds.

    ``look`` reads the unit, ``probe`` tells whether its port answers, ``already`` for how many seconds the main process
    of a unit has run when it is first seen. Returns the last state seen and why the service is not alive (empty:
    it is). Gives up early where waiting cannot help: the unit has failed, or has been down for longer than ``settle``
    seconds without systemd starting it.
    """
    end = clock() + timeout
    steady_since: float | None = None
    down_since: float | None = None
    identity: tuple[int, int] | None = None
    while True:
        unit = look()
        now = clock()
        if unit.active_state == "failed":
            return unit, "it has failed"
        down_since = (down_since or now) if unit.active_state == "inactive" else None
        if down_since is not None and now - down_since > settle:
            return unit, "it is not running and nothing starts it"
        answers = unit.active and not unit.busy and probe()
        if not answers or identity != (unit.main_pid, unit.restarts):
            steady_since = (now - already(unit) if identity is None else now) if answers else None
            identity = (unit.main_pid, unit.restarts)
        elif steady_since is None:
            steady_since = now
        if steady_since is not None and now - steady_since >= settle:
            return unit, ""
        if now >= end:
            return unit, _why_not(unit, answers, timeout)
        sleep(_POLL)


def _why_not(unit: systemd.Unit, answers: bool, timeout: float) -> str:
    if not unit.active:
        return f"it did not become active within {timeout:g} s"
    if not answers:
        return f"it is active but nobody listens on its port after {timeout:g} s"
    return f"its main process kept changing for {timeout:g} s"


def failure(unit: systemd.Unit, why: str, where: str, journal: str) -> str:
    """Return the message for the operator: what is wrong, the facts, the last words of the service, what to do."""
    return "\n".join(
        (
            f"Service {unit.name} is not alive: {why}.",
            f"State {unit.active_state} ({unit.sub_state}), result {unit.result or 'unknown'}, "
            f"restarted by systemd {unit.restarts} times, main process {unit.main_pid or 'none'}{where}.",
            f"Last lines of its journal:\n{journal}",
            f"What to do: find the first error or fatal line above (more with `journalctl -u {unit.name}` and in the "
            f"log file of the service), mend it, check with `systemctl restart {unit.name}`, then run the playbook "
            "again.",
        )
    )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "port": {"type": "int"},
            "settle": {"type": "float", "default": 3},
            "timeout": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(
            changed=False, skipped=True, msg="In check mode nothing was started, so nothing is waited for."
        )
    module.run_command_environ_update = {"LC_ALL": "C", "TZ": "UTC"}
    name, port = module.params["name"], module.params["port"]
    begin = time.monotonic()
    try:
        unit, why = wait(
            look=lambda: systemd.show(module.run_command, name),
            probe=lambda: port is None or listens(port),
            settle=module.params["settle"],
            timeout=module.params["timeout"],
            already=lambda unit: age(unit, time.time()),
        )
    except systemd.SystemdError as error:
        module.fail_json(msg=f"The state of service {name} cannot be read: {error}")
    if why:
        where = "" if port is None else f", port {port}"
        module.fail_json(msg=failure(unit, why, where, systemd.journal(module.run_command, name)))
    module.exit_json(
        changed=False, main_pid=unit.main_pid, restarts=unit.restarts, waited=round(time.monotonic() - begin, 2)
    )


if __name__ == "__main__":
    main()
