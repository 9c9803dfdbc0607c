#!/usr/bin/python
# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one small job on every node of a running cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_validation_jobs
short_description: Run small jobs on the nodes of a running cluster and say what each of them saw
version_added: 0.1.0
description:
  - Runs one job on every node, and one for every GPU type of a node, each with one core and at most one GPU.
  - From inside the job every device file of the node is opened once, so that it shows which GPUs the job can use.
  - All jobs are run by one task on a host that submits jobs, with O(at_once) of them in the queue at the same time.
  - A job that does not start before O(timeout) is withdrawn and counts as not tested. Nothing else is changed.
  - Nodes that are down, drained or set aside get no job.
author:
  - steelrack contributors (@steelrack)
attributes:
  check_mode:
    support: none
    description: Is skipped, because jobs would really run.
options:
  nodes:
    description: The nodes to test.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the node.
        type: str
        required: true
      cpus:
        description: Number of CPUs that a job asks for; the threads of one core.
        type: int
        default: 1
      gpu_types:
        description: GPU types that the node offers; an empty name asks for a GPU of any type.
        type: list
        elements: str
        default: []
      files:
        description: Device files of all GPUs of the node.
        type: list
        elements: str
        default: []
  partition:
    description: Partition to use where a node is in it; another one of the node's partitions is used elsewhere.
    type: str
    default: ""
  user:
    description: Ordinary user that the jobs belong to. Has to exist on this host and on the nodes.
    type: str
    default: nobody
  account:
    description: Account of the jobs where accounting demands one.
    type: str
    default: ""
  timeout:
    description: Time for all jobs together, in seconds.
    type: int
    default: 120
  at_once:
    description: Number of jobs in the queue at the same time.
    type: int
    default: 32
  memory_mib:
    description: Memory that a job asks for, in MiB.
    type: int
    default: 100
  accounting_wait:
    description: Time in seconds to wait until accounting has all jobs; V(0) where there is no accounting.
    type: int
    default: 30
"""

EXAMPLES = r"""
- name: Try two nodes
  steelrack.gpu_cluster.slurm_validation_jobs:
    nodes:
      - name: gpu001
        cpus: 2
        gpu_types: [h100]
        files: [/dev/nvidia0, /dev/nvidia1]
      - name: cpu001
        cpus: 2
    user: alice
"""

RETURN = r"""
nodes:
  description: All nodes as slurmctld knows them, by name, with state, reason, sizes, GPUs and partitions.
  type: dict
  returned: success
jobs:
  description:
    - The jobs. C(status) is V(done), V(failed), V(busy) (did not start in time) or V(hung) (started and did not end).
    - C(seen) is what the job saw, C(accounted) what accounting recorded of it, each V(null) where there is nothing.
  type: list
  elements: dict
  returned: success
error:
  description: Why Slurm could not be asked, empty if it could. The task does not fail, so that a report can name it.
  type: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import engine, text


def partition_of(node: dict[str, Any], wanted: str) -> str:
    """Return the partition to use for a node as slurmctld knows it, "" if it is in none."""
    if wanted in node["partitions"]:
        return wanted
    return node["partitions"][0] if node["partitions"] else ""


def jobs_for(wanted: list[dict[str, Any]], registered: dict[str, dict[str, Any]], partition: str) -> list[engine.Job]:
    """Return the jobs for the nodes that can be tested, those on nodes with free CPUs and GPUs first."""
    jobs = []
    for request in wanted:
        node = registered.get(request["name"])
        if node is None or not node["partitions"] or text.standing(node["flags"]) != text.READY:
            continue
        for gpu_type in request["gpu_types"] or [None]:
            jobs.append(
                engine.Job(
                    node=request["name"],
                    partition=partition_of(node, partition),
                    cpus=request["cpus"],
                    gpu_type=gpu_type,
                    files=tuple(request["files"]),
                )
            )

    def load(job: engine.Job) -> float:
        node = registered[job.node]
        gpus = sum(node["gpus"].values())
        shares = (node["cpus_allocated"] / (node["cpus"] or 1), node["gpus_allocated"] / gpus if gpus else 0.0)
        return float(max(shares))

    return sorted(jobs, key=load)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "cpus": {"type": "int", "default": 1},
                    "gpu_types": {"type": "list", "elements": "str", "default": []},
                    "files": {"type": "list", "elements": "str", "default": []},
                },
            },
            "partition": {"type": "str", "default": ""},
            "user": {"type": "str", "default": "nobody"},
            "account": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 120},
            "at_once": {"type": "int", "default": 32},
            "memory_mib": {"type": "int", "default": 100},
            "accounting_wait": {"type": "int", "default": 30},
        },
    )
    options = engine.Options(
        **{name: module.params[name] for name in ("user", "account", "timeout", "at_once", "memory_mib")}
    )
    slurm = engine.Slurm(options)
    try:
        registered = slurm.nodes()
        jobs = jobs_for(module.params["nodes"], registered, module.params["partition"])
        outcomes = engine.run(slurm, jobs, module.params["accounting_wait"])
    except engine.SlurmError as error:
        module.exit_json(changed=False, nodes={}, jobs=[], error=str(error))
    module.exit_json(changed=False, nodes=registered, jobs=[outcome.as_dict() for outcome in outcomes], error="")


if __name__ == "__main__":
    main()
