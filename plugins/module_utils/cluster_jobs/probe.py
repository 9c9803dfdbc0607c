# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that runs inside a job and says what the job may use.

It goes to the node as the standard input of ``python3 -``, so nothing has to be installed or shared there. A device
file is only opened and closed. Allowed means that it opens, or that the driver behind it refuses (no driver, GPU lost,
busy); the device cgroup refuses with EPERM.
"""

from __future__ import annotations

import json
from typing import Any, Iterable

MARK = "STEELRACK-PROBE "

_SCRIPT = """
import errno, json, os, sys, time
def attempt(path):
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "ok"
print(%(mark)r + json.dumps({
    "job": os.environ.get("SLURM_JOB_ID"),
    "node": os.environ.get("SLURMD_NODENAME"),
    "time": time.time(),
    "cpus": len(os.sched_getaffinity(0)),
    "cpus_allocated": os.environ.get("SLURM_CPUS_ON_NODE"),
    "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
    "devices": {path: attempt(path) for path in %(files)r},
}))
"""


def script(files: Iterable[str]) -> str:
    """Return the Python script that tries to open ``files`` and prints one marked line of JSON."""
    return _SCRIPT % {"mark": MARK, "files": list(files)}


def answer(output: str) -> dict[str, Any] | None:
    """Return what the script printed, None if it did not; lines of a task prolog around it do not matter."""
    for line in output.splitlines():
        if line.startswith(MARK):
            try:
                found = json.loads(line[len(MARK) :])
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None
