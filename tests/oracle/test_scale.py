# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real slurmctld with the files of 10,000 nodes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cases import ROOT


def test_ten_thousand_nodes(oracle: object, capsys: pytest.CaptureFixture[str]) -> None:
    """tests/bench/controller.py keeps its budget; its table is shown."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bench" / "controller.py")], capture_output=True, text=True, check=False
    )
    with capsys.disabled():
        print(f"\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
