# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out what a change of Slurm's configuration files takes: nothing, ``scontrol reconfigure`` or restarts."""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.slurm_change.classify import (
    Change,
    Reason,
    classify,
)

__all__ = ["Change", "Reason", "classify"]
