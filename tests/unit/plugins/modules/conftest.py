# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run modules in this process, with stand-ins for the programs that they call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

RunModule = Callable[..., dict[str, Any]]
Program = Callable[[str, str], Path]


@pytest.fixture
def run_module(capsys: pytest.CaptureFixture[str]) -> RunModule:
    """Return a function that runs the ``main`` of a module with arguments and returns its result.

    ``_check`` and ``_diff`` stand for --check and --diff. A failed module returns its result too (``failed``).
    """

    def run(module: ModuleType, _check: bool = False, _diff: bool = False, **arguments: Any) -> dict[str, Any]:
        capsys.readouterr()
        control = {"_ansible_check_mode": _check, "_ansible_diff": _diff, "_ansible_remote_tmp": "/tmp"}
        with patch_module_args({**arguments, **control}), pytest.raises(SystemExit):
            module.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        return result

    return run


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a function that puts a shell script first in PATH; each script may write to the folder ``$LOG``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "log"
    log.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(log))

    def make(name: str, script: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return log / name

    return make
