# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that work on lists of problems: thin adapters over module_utils/problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import render, without


def problems_text(problems: Iterable[Mapping[str, str]], skip: Iterable[str] = ()) -> str:
    """Return the problems as text for people, without those whose id is skipped; "" if there are none."""
    return render(without(problems, skip))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"problems_text": problems_text}
