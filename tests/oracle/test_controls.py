# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong files must be found wrong, and what a version accepts is what the derivation believes of it."""

from __future__ import annotations

import re

from conftest import Oracle
from controls import Control
from slurm import Slurm


def test_control(oracle: Oracle, slurm: Slurm, control: Control) -> None:
    accepted, said = oracle.ask_control(slurm, control).result()
    message = control.expected[slurm.series]
    assert accepted is (not message), said
    assert re.search(message, said), said
