# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter that makes the report of playbooks/plan.yml: a thin adapter over plugin_utils/plan_report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.plan_report import plan_text


def plan_report(
    cluster: Mapping[str, Any],
    new: Mapping[str, str],
    old: Mapping[str, str],
    change: Mapping[str, Any],
    notes: Iterable[str] = (),
) -> str:
    """Return the report as text."""
    return plan_text(cluster, new, old, change, notes)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"plan_report": plan_report}
