# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of playbooks/explain.yml: thin adapters over plugin_utils/explain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.explain import explain_text, explained


def explain(
    cluster: Mapping[str, Any], health: Iterable[Mapping[str, str]] = (), form: str = "text"
) -> str | dict[str, Any]:
    """Return what was derived, as text or as data."""
    return explained(cluster, health) if form == "data" else explain_text(cluster, health)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"explain": explain}
