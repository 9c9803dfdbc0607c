# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any set of machines before the real Slurm: a few of the clusters that the unit tests draw by the hundred.

The number is set by STEELRACK_ORACLE_EXAMPLES; the same ones are drawn every time.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from conftest import Oracle
from hypothesis import HealthCheck, given, settings
from slurm import PATIENCE, Files, Machine, Slurm, faults, synthetic

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import gpu, record
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.test_slurm_cluster import clusters

EXAMPLES = int(os.environ.get("STEELRACK_ORACLE_EXAMPLES", "4"))


def registered(slurm: Slurm, records: list[dict[str, Any]], asks: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """Return what is derived from records, and how machines like them register."""
    addresses = {one["host"]: f"10.1.0.{at + 1}" for at, one in enumerate(records)}
    hostvars = {one["host"]: {"node_hardware": one, "ansible_host": addresses[one["host"]]} for one in records}
    result = slurm_cluster(list(hostvars), hostvars, {"version": slurm.version})
    machines = {}
    for node in result["nodes"]:
        layout = (node["sockets"], node["cores_per_socket"], node["threads_per_core"])
        machines[node["name"]] = Machine(synthetic(*layout), node["device_files"])
    return result, slurm.register(Files.of(result).small(), machines, addresses, PATIENCE, asks)


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(cluster=clusters())
def test_any_cluster_registers(oracle: Oracle, slurm: Slurm, cluster: list[dict[str, Any]]) -> None:
    result, registration = registered(slurm, cluster)
    assert registration.serves
    assert [line for log in registration.logs.values() for line in faults(log)] == []
    assert set(registration.nodes) == {one["host"] for one in cluster}
    for node in result["nodes"]:
        found = registration.nodes[node["name"]]
        assert (found["State"], found["Reason"]) == ("IDLE", "")
        assert re.sub(r"\(S:[-\d,]+\)", "", found["Gres"]) == (node["gres"] or "(null)")


def test_a_job_gets_cards_with_a_bridge(oracle: Oracle, slurm: Slurm) -> None:
    """Two models in turn on the bus, each card bridged to its next but one: Links count by Slurm's own order.

    ``--gpus`` is the one option for which all versions look at the links.
    """
    models = ["nvidia_geforce_rtx_3090", "nvidia_rtx_a6000"] * 4
    bridges = [{"a": first, "b": first + 4, "links": 4} for first in range(4)]
    machine = record("n1", [gpu(at, at, model) for at, model in enumerate(models)], nvlinks=bridges)
    asks = (
        "salloc --no-shell -n1 --gpus=rtx_3090:2",
        "salloc --no-shell -n1 --gpus=rtx_a6000:2",
        "scontrol show job -d",
    )
    _result, registration = registered(slurm, [machine], asks)
    jobs = [word for word in shlex.split(registration.asks[-1]) if "IDX" in word]
    assert jobs == ["GRES=gpu:rtx_3090:2(IDX:0,2)", "GRES=gpu:rtx_a6000:2(IDX:4,6)"]
