# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue: problems of the validation of a running cluster."""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import ERROR, WARNING, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="VAL001",
        severity=ERROR,
        title="Host does not answer",
        message="{host} cannot be reached: {detail}.",
        remedy="Check power, network and ssh of {host}; then run playbooks/validate.yml again.",
    ),
    Entry(
        id="VAL002",
        severity=ERROR,
        title="Unit not running",
        message="The unit {unit} of {host} is {state}. Last lines of its journal: {journal}",
        remedy="Read `journalctl -u {unit}` on {host}, mend the cause, then run playbooks/site.yml --limit {host}.",
    ),
    Entry(
        id="VAL003",
        severity=WARNING,
        title="Unit was restarted",
        message="systemd had to restart the unit {unit} of {host} {restarts} time(s) since it was started.",
        remedy="Read `journalctl -u {unit}` on {host} for the reason; `systemctl restart {unit}` sets the count back.",
    ),
    Entry(
        id="VAL004",
        severity=ERROR,
        title="Clock differs",
        message="The clock of {host} is at least {seconds} s {direction} of the control node's; munge refuses "
        "credentials of hosts whose clocks differ by minutes.",
        remedy="Check `chronyc tracking` on {host} (role node_base, node_base_time_servers).",
    ),
    Entry(
        id="VAL005",
        severity=ERROR,
        title="Slurm cannot be asked",
        message="No job could be tried from {host}: {detail}.",
        remedy="Check `scontrol ping` and `sacct` on {host} (a login host gets its configuration from sackd: "
        "`systemctl status sackd`), then slurmctld and slurmdbd on their hosts.",
    ),
    Entry(
        id="VAL006",
        severity=ERROR,
        title="Node unknown to slurmctld",
        message="{host} has a hardware record, but the running slurmctld does not know it.",
        remedy="Run playbooks/site.yml, which writes {host} into slurm.conf; playbooks/plan.yml shows the change.",
    ),
    Entry(
        id="VAL007",
        severity=WARNING,
        title="Node without a usable record",
        message="{host} is in the group slurm_node, but has no usable hardware record and is left out of the cluster.",
        remedy="Run playbooks/discover.yml --limit {host} when it can be reached, then playbooks/site.yml.",
    ),
    Entry(
        id="VAL008",
        severity=ERROR,
        title="Node out of service",
        message="{host} takes no jobs: state {state}, reason: {reason}.",
        remedy="Mend what the reason says, then `scontrol update NodeName={host} State=RESUME`. Where no reason is "
        "given, read the log of slurmd on {host}.",
    ),
    Entry(
        id="VAL009",
        severity=WARNING,
        title="Node not tested",
        message="{host} was not tested{what}: {reason}.",
        remedy="Nothing is known to be wrong. Run playbooks/validate.yml again when the node is free, or with a larger "
        "validate_cluster_timeout.",
    ),
    Entry(
        id="VAL010",
        severity=ERROR,
        title="Slurm has other values than the records",
        message="{host}: slurmctld has {name} {registered}, the hardware record gives {configured}.",
        remedy="Run playbooks/plan.yml to see the difference, then playbooks/site.yml to bring it into force.",
    ),
    Entry(
        id="VAL011",
        severity=ERROR,
        title="Job failed",
        message="The job on {host}{what} failed: {detail}.",
        remedy="Try by hand: `srun --nodelist={host}{options} hostname`. A complaint about user or account is mended "
        "with validate_cluster_user and validate_cluster_account.",
    ),
    Entry(
        id="VAL012",
        severity=ERROR,
        title="Job did not end",
        message="The job on {host}{what} started but did not end: {detail}.",
        remedy="Read the log of slurmd on {host}; `scontrol show node {host}` tells whether the node still answers.",
    ),
    Entry(
        id="VAL013",
        severity=ERROR,
        title="Wrong number of CPUs in a job",
        message="A job on {host} asked for {wanted} CPUs and could use {seen}.",
        remedy="Check ConstrainCores in cgroup.conf, TaskPlugin in slurm.conf, and the cgroup messages in slurmd's log "
        "on {host}.",
    ),
    Entry(
        id="VAL014",
        severity=ERROR,
        title="Wrong number of GPUs in a job",
        message="A job on {host} asked for one GPU{what} and got {seen} (CUDA_VISIBLE_DEVICES={visible}).",
        remedy="Compare gres.conf with `slurmd -G` on {host}; playbooks/site.yml writes gres.conf anew.",
    ),
    Entry(
        id="VAL015",
        severity=ERROR,
        title="Allocated GPU cannot be used",
        message="A job on {host} got a GPU{what} but could open none of its device files ({detail}).",
        remedy="Check mode and owner of /dev/nvidia* on {host} (0666), and that gres.conf names these very files.",
    ),
    Entry(
        id="VAL016",
        severity=ERROR,
        title="A job can use GPUs that it was not given",
        message="A job on {host} was given one GPU{what} and could open more than that: {files}.",
        remedy="Check ConstrainDevices=yes in cgroup.conf and the cgroup messages in the log of slurmd; until then "
        "jobs on this node can disturb each other.",
    ),
    Entry(
        id="VAL017",
        severity=ERROR,
        title="Device file missing",
        message="{files} of {host} did not exist when a job looked for them.",
        remedy="Check the NVIDIA driver on {host} (`nvidia-smi`, `nvidia-modprobe -u`), then restart slurmd there.",
    ),
    Entry(
        id="VAL018",
        severity=ERROR,
        title="Job not in accounting",
        message="Job {job} on {host} ran, but sacct does not have it.",
        remedy="Check slurmdbd and `sacctmgr show cluster` on the controller: the cluster has to be registered with "
        "its control host.",
    ),
    Entry(
        id="VAL019",
        severity=ERROR,
        title="Job recorded without its resources",
        message="Job {job} on {host} is in accounting as {state} with {recorded}; {missing} is missing.",
        remedy="Check AccountingStorageTRES in slurm.conf (gres/gpu and each gres/gpu:<type>); a change of it takes a "
        "restart of slurmctld.",
    ),
    Entry(
        id="VAL020",
        severity=WARNING,
        title="Node unknown to the inventory",
        message="slurmctld knows {host}, but the group slurm_node does not.",
        remedy="Add {host} to the inventory, or run playbooks/site.yml to take it out of slurm.conf.",
    ),
    Entry(
        id="VAL021",
        severity=ERROR,
        title="Node in no partition",
        message="{host} is in no partition, so no job can reach it.",
        remedy="Add {host} to a partition in slurm_partitions, or leave slurm_partition_all at its default.",
    ),
)
