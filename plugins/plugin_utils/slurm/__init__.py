# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of machines in, Slurm configuration out: pure functions over frozen dataclasses.

Bottom up: :mod:`names` and :mod:`gpu_types` (text), :mod:`hardware` (a record, read once per distinct machine),
:mod:`versions` (what a Slurm version accepts), :mod:`gres` and :mod:`nodes` (lines of one machine), :mod:`overrides`
(what the operator sets against what the machine has), :mod:`partitions`, and :mod:`cluster`, which puts it together.
"""

from __future__ import annotations
