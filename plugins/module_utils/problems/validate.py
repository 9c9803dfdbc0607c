# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue: problems of the validation of a running cluster."""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
