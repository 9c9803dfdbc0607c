# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of a whole cluster share: its hosts, its inventory, and a way to run its playbooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Run:
    """One finished run of a playbook."""

    status: int
    output: str

    def recap(self) -> dict[str, dict[str, int]]:
        """Return the counts of each host, for example ``{"cl-gpu1": {"ok": 12, "changed": 0, ...}}``."""
        lines = re.findall(r"^(\S+)\s+: (ok=.*)$", self.output, re.MULTILINE)
        return {
            host: {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", counts)} for host, counts in lines
        }

    def changed(self) -> dict[str, int]:
        """Return the hosts with changes. A run without a recap fails: it says nothing about changes."""
        recap = self.recap()
        assert recap, self.output
        return {host: counts["changed"] for host, counts in recap.items() if counts["changed"]}


@dataclass(frozen=True)
class Cluster:
    """The cluster under test; ``prefix`` is what its host names begin with."""

    inventory: Path
    prefix: str

    @property
    def controller(self) -> str:
        return f"{self.prefix}-ctl1"

    @property
    def login(self) -> str:
        return f"{self.prefix}-login1"

    @property
    def nodes(self) -> list[str]:
        return [f"{self.prefix}-gpu{number}" for number in (1, 2, 3)]

    def on(self, host: str, command: str, user: str = "root") -> str:
        """Return what ``command`` prints on ``host``; a failing command fails the test with its output."""
        done = subprocess.run(
            ["docker", "exec", "--user", user, host, "bash", "-c", command],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"{host}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def as_user(self, command: str) -> str:
        """Return what a command of the ordinary user prints on the login host."""
        return self.on(self.login, f"cd /home/demo && {command}", user="demo")

    def play(self, playbook: str, *arguments: str, timeout: int = 600) -> Run:
        """Run a playbook of the collection against the cluster's inventory."""
        # Molecule forces colours on its children, which would hide the counts of the recap.
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PY_COLORS"))}
        done = subprocess.run(
            ["ansible-playbook", str(ROOT / "playbooks" / playbook), f"--inventory={self.inventory}", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
            cwd=ROOT,
            env={**outside, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        )
        return Run(done.returncode, done.stdout)

    def starts(self, unit: str, hosts: list[str]) -> dict[str, str]:
        """Return what changes whenever systemd starts the unit anew.

        From 23.11 on the process id is no sign: a daemon that is reconfigured replaces itself by a new process.
        """
        return {host: self.on(host, f"systemctl show --value --property=InvocationID {unit}") for host in hosts}

    def node_state(self, node: str) -> str:
        return self.on(self.controller, f"sinfo --noheader --nodes={node} --partition=all --Format=StateComplete:60")

    def wait_for(self, what: str, check: Callable[[], bool], seconds: int = 60) -> None:
        deadline = time.monotonic() + seconds
        while not check():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(1)

    def wait_until_idle(self) -> None:
        self.wait_for(
            "every node idle",
            lambda: all(
                self.node_state(node).startswith("idle") and "*" not in self.node_state(node) for node in self.nodes
            ),
        )

    def tres_of(self, job_name: str) -> str:
        """Return AllocTRES of the last job of that name, once accounting has it as completed."""
        found: list[str] = []

        def recorded() -> bool:
            text = self.as_user(
                f"sacct --noheader --parsable2 --allocations --name={job_name} --format=State,AllocTRES"
            )
            found[:] = [line.split("|")[1] for line in text.splitlines() if line.startswith("COMPLETED")]
            return bool(found)

        self.wait_for(f"job {job_name} in sacct", recorded)
        return found[-1]


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    inventory = Path(request.config.option.ansible_inventory)
    variables: dict[str, Any] = yaml.safe_load((inventory / "group_vars" / "all.yml").read_text())
    return Cluster(inventory=inventory, prefix=variables["slurm_cluster_name"])


def extra(**variables: Any) -> tuple[str, str]:
    """Return the arguments that lay variables over the inventory for one run."""
    return "--extra-vars", json.dumps(variables)
