# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be derived from one machine, as text for people and as data for a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import render

__all__ = ["explain_text", "explained"]

Problems = Iterable[Mapping[str, str]]


def explain_text(cluster: Mapping[str, Any], health: Problems = ()) -> str:
    """Return the lines for slurm.conf and gres.conf and everything that is wrong.

    ``cluster`` is the result of the filter slurm_cluster, ``health`` what node_hardware_info tells beside the record.
    """
    parts = {
        "slurm.conf": "\n".join([*cluster["node_lines"], *cluster["partition_lines"]]) or "no node can be configured",
        "gres.conf": "\n".join(cluster["gres_lines"]) or "no GPU",
        "problems": render(cluster["problems"]) or "none",
        "health at the time of the bundle": render(health) or "nothing found",
    }
    return "\n\n".join(f"{title.upper()}\n{body}" for title, body in parts.items())


def explained(cluster: Mapping[str, Any], health: Problems = ()) -> dict[str, Any]:
    """Return the same as a dictionary of plain lists, problems by their ids alone."""
    return {
        "node_lines": list(cluster["node_lines"]),
        "gres_lines": list(cluster["gres_lines"]),
        "problems": [str(problem["id"]) for problem in cluster["problems"]],
        "health": [str(problem["id"]) for problem in health],
    }
