# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one small job on every node of a running cluster and collect what each of them saw.

``text`` reads the output of Slurm's commands, ``probe`` is the script inside a job, ``engine`` queues the jobs.
"""
