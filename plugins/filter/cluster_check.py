# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the validation of a running cluster: thin adapters over plugin_utils/cluster_check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.judge import Evidence, judge
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.report import report
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.cluster_check.requests import (
    node_requests,
    units_of,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import HostlistError


def validation_units(groups: Iterable[str]) -> list[str]:
    """Return the units that a host in these groups runs."""
    return units_of(groups)


def validation_requests(cluster: Mapping[str, Any], only: str | Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return what to ask of each node."""
    try:
        return node_requests(cluster, only)
    except HostlistError as error:
        raise AnsibleFilterError(f"validate_cluster_nodes: {error}") from error


def cluster_check(
    cluster: Mapping[str, Any],
    hosts: Mapping[str, Mapping[str, Any]],
    detected: Mapping[str, Mapping[str, Any]],
    records: Mapping[str, Mapping[str, Any]],
    jobs: Mapping[str, Any],
    requests: Iterable[Mapping[str, Any]] = (),
    submit_host: str = "",
    accounting: bool = True,
    clock_tolerance: float = 5.0,
    skip: Iterable[str] = (),
) -> dict[str, Any]:
    """Return ``problems`` (list of dictionaries) and ``text`` (the tables)."""
    evidence = Evidence(
        cluster=cluster,
        hosts=hosts,
        detected=detected,
        records=records,
        jobs=jobs,
        asked=frozenset(str(request["name"]) for request in requests),
        submit_host=submit_host,
        accounting=accounting,
        clock_tolerance=clock_tolerance,
    )
    skipped = set(skip)
    problems = [problem for problem in judge(evidence) if problem.id not in skipped]
    return {"problems": [problem.as_dict() for problem in problems], "text": report(evidence, problems)}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {
            "cluster_check": cluster_check,
            "validation_requests": validation_requests,
            "validation_units": validation_units,
        }
