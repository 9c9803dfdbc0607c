# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to ask of each node, from its derived configuration and its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import HostlistError, fold, unfold

__all__ = ["node_requests", "units_of"]

_UNITS = {
    "mariadb": ("mariadb",),
    "slurm_controller": ("munge", "slurmctld"),
    "slurm_dbd": ("munge", "slurmdbd"),
    "slurm_login": ("munge",),
    "slurm_node": ("munge", "slurmd"),
}


def units_of(groups: Iterable[str]) -> list[str]:
    """Return the units that a host in these groups runs, each once."""
    return list(dict.fromkeys(unit for group in groups for unit in _UNITS.get(group, ())))


def node_requests(cluster: Mapping[str, Any], only: str | Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return what the module slurm_validation_jobs takes as ``nodes``.

    ``cluster`` is the result of the filter slurm_cluster; ``only`` are host lists, none means all nodes. A job asks for
    one core, as all its threads go together.
    Raises HostlistError, also for a name that is no node of the cluster.
    """
    wanted = {name for text in ([only] if isinstance(only, str) else only) for name in unfold(text)}
    unknown = wanted.difference(node["name"] for node in cluster["nodes"])
    if unknown:
        raise HostlistError(fold(unknown), "names no node of the cluster")
    return [
        {
            "name": node["name"],
            "cpus": node["threads_per_core"] or 1,
            "gpu_types": list(node["gpus"]),
            "files": list(node["device_files"]),
        }
        for node in cluster["nodes"]
        if not wanted or node["name"] in wanted
    ]
