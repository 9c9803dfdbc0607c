# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playbooks of the collection on tiny inventories, on the control node alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
Play = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _needs_ansible_playbook() -> None:
    if shutil.which("ansible-playbook") is None:
        pytest.skip("ansible-playbook is not in PATH")


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Return a function that writes an inventory, runs playbooks on it and returns the finished process.

    Playbooks are named as they are in ``playbooks/``, or given as a list of plays. Nothing of the user's own Ansible
    settings counts.
    """

    def run(inventory: dict[str, Any], *playbooks: str | list[Any], options: tuple[str, ...] = ()) -> Any:
        (tmp_path / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        paths = []
        for number, playbook in enumerate(playbooks):
            if isinstance(playbook, str):
                paths.append(str(ROOT / "playbooks" / playbook))
            else:
                path = tmp_path / f"plays{number}.yml"
                path.write_text(yaml.safe_dump(playbook, sort_keys=False), encoding="utf-8")
                paths.append(str(path))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        return subprocess.run(
            ["ansible-playbook", "-i", str(tmp_path / "inventory.yml"), *options, *paths],
            cwd=ROOT,
            env={
                **kept,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_LOCAL_TEMP": str(tmp_path / "ansible-tmp"),
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
