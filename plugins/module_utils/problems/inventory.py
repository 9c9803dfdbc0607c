# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue: problems of the inventory and its variables."""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import ERROR, WARNING, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="INV001",
        severity=ERROR,
        title="No controller",
        message="The group slurm_controller has no host, so there is nothing that could run slurmctld.",
        remedy="Put one host into the group slurm_controller of the inventory.",
    ),
    Entry(
        id="INV002",
        severity=ERROR,
        title="Host names that differ only in case",
        message="The hosts {names} differ only in case; the network sees one host, Slurm sees several.",
        remedy="Keep one spelling, best in lower case, in every group and in host_vars.",
    ),
    Entry(
        id="INV003",
        severity=ERROR,
        title="Node name that Slurm cannot take",
        message="{host} is in the group slurm_node, but its inventory name cannot name a node. {fault}.",
        remedy="Rename {host} in the inventory (lower-case letters, digits, `-`); ansible_host can keep its address.",
    ),
    Entry(
        id="INV004",
        severity=ERROR,
        title="Host name too long",
        message="The name {host} has {length} characters; names of up to {limit} work everywhere (DNS, munge, ssh).",
        remedy="Shorten the inventory name of {host}; the long name can stay in ansible_host.",
    ),
    Entry(
        id="INV005",
        severity=ERROR,
        title="One address for several hosts",
        message="node_base_address is {address} for {names}.",
        remedy="Give each of these hosts its own node_base_address in its host_vars.",
    ),
    Entry(
        id="INV006",
        severity=ERROR,
        title="Partition of unknown nodes",
        message="slurm_partitions: the partition {partition} names {unknown}, which is neither a host of the group "
        "slurm_node nor a group of the inventory.{hint}",
        remedy="Correct `nodes` of the partition {partition} in slurm_partitions, or add the hosts to slurm_node.",
    ),
    Entry(
        id="INV007",
        severity=ERROR,
        title="Several default partitions",
        message="slurm_partitions: {partitions} all say `default: true`, but a cluster has one default partition.",
        remedy="Leave `default: true` at one item of slurm_partitions.",
    ),
    Entry(
        id="INV008",
        severity=ERROR,
        title="Accounting without a database",
        message="{host} is in the group slurm_dbd, but the group mariadb is empty and slurm_dbd_storage_host not set.",
        remedy="Put a host into the group mariadb, or name your own database server in slurm_dbd_storage_host.",
    ),
    Entry(
        id="INV009",
        severity=WARNING,
        title="Host without a role",
        message="No role is applied to {names} (groups: {groups}).{hint}",
        remedy="Put the host into a group such as slurm_node or slurm_login, or take it out of this inventory.",
    ),
    Entry(
        id="INV010",
        severity=ERROR,
        title="Hardware record of an unknown form",
        message="node_hardware of {host} has schema {schema}; this release reads schema {supported}.",
        remedy="Move host_vars/{host}/hardware.yml away and run playbooks/discover.yml --limit {host}, "
        "or use the release of the collection that wrote it.",
    ),
    Entry(
        id="INV011",
        severity=ERROR,
        title="Hardware record of another host",
        message="node_hardware of {host} was taken on {other}; it was probably copied from there.",
        remedy="Remove host_vars/{host}/hardware.yml and run playbooks/discover.yml --limit {host}.",
    ),
    Entry(
        id="INV012",
        severity=WARNING,
        title="Node without a hardware record",
        message="There is no hardware record (node_hardware) of {names} yet. It is made in this run; a node that "
        "cannot be reached is left out of the cluster.",
        remedy="Nothing to do for new nodes. For a node that is down, run playbooks/discover.yml --limit <node> later.",
    ),
    Entry(
        id="INV013",
        severity=WARNING,
        title="Unknown variable",
        message="No role knows the variable {variable} (set for {names}), so it has no effect.{hint}",
        remedy="Correct the name of {variable}, or give a variable of your own another prefix.",
    ),
    Entry(
        id="INV014",
        severity=ERROR,
        title="Variable that no longer exists",
        message="The variable {variable} (set for {names}) no longer exists and would be ignored.",
        remedy="{replacement}",
    ),
    Entry(
        id="INV015",
        severity=ERROR,
        title="Variable of the wrong type or value",
        message="The variable {variable} of {names} is wrong: {fault}.",
        remedy="Correct {variable} (it has to be {wanted}); see `ansible-doc -t role steelrack.gpu_cluster.{role}`.",
    ),
    Entry(
        id="INV016",
        severity=ERROR,
        title="Required variable missing",
        message="The variable {variable}, which the role {role} requires, is not set for {names}.",
        remedy="Set {variable} in the group_vars; see `ansible-doc -t role steelrack.gpu_cluster.{role}`.",
    ),
    Entry(
        id="INV017",
        severity=ERROR,
        title="Cluster name missing or not usable",
        message="slurm_cluster_name {fault}.",
        remedy="Set slurm_cluster_name in group_vars/all: lower-case letters, digits, `_` and `-`, a letter or digit "
        "first, at most {limit} characters.",
    ),
    Entry(
        id="INV018",
        severity=ERROR,
        title="Unknown id in slurm_skip_problems",
        message="slurm_skip_problems contains {unknown}, which is not the id of a problem.{hint}",
        remedy="Correct the id in slurm_skip_problems; docs/problems.md lists all of them.",
    ),
    Entry(
        id="INV019",
        severity=ERROR,
        title="Cluster-wide variable with several values",
        message="{variable} has different values on hosts of one cluster: {values}.",
        remedy="Set {variable} once, in group_vars/all, and remove the other places.",
    ),
    Entry(
        id="INV020",
        severity=ERROR,
        title="Operating system not supported",
        message="{host} runs {release}; supported are {supported}.",
        remedy="Install a supported release on {host}, or take it out of the inventory.",
    ),
    Entry(
        id="INV021",
        severity=ERROR,
        title="Partition listed twice",
        message="slurm_partitions has {count} items named {partition}.",
        remedy="Merge the items named {partition} in slurm_partitions into one.",
    ),
    Entry(
        id="INV022",
        severity=ERROR,
        title="Address that is not an IP address",
        message="node_base_address of {host} is {address!r}, which is not an IPv4 or IPv6 address.",
        remedy="Write the address of {host} on the cluster network into node_base_address, or remove the variable.",
    ),
    Entry(
        id="INV023",
        severity=WARNING,
        title="No compute nodes",
        message="The group slurm_node has no host, so the cluster cannot run jobs.{hint}",
        remedy="Put the compute nodes into the group slurm_node of the inventory.",
    ),
    Entry(
        id="INV024",
        severity=ERROR,
        title="File of host variables that would be shadowed",
        message="The variables of {host} are in {path}. Its hardware record needs the folder {folder}, and beside a "
        "folder of that name Ansible does not read the file.",
        remedy="Make the folder and move the file into it: mkdir {folder} && mv {path} {folder}/main.yml",
    ),
    Entry(
        id="INV025",
        severity=ERROR,
        title="Hardware record that cannot be read",
        message="The hardware record of {host} does not have the form of its schema: {fault}{more}.",
        remedy="Undo edits made by hand in host_vars/{host}/hardware.yml, or move the file away and run "
        "playbooks/discover.yml --limit {host}.",
    ),
    Entry(
        id="INV026",
        severity=ERROR,
        title="Variable whose template fails",
        message="The value of {variable} ({names}) cannot be made{detail}.",
        remedy="Correct the template in {variable}. If it is right once the run has begun, add INV026 to "
        "slurm_skip_problems.",
    ),
    Entry(
        id="INV027",
        severity=ERROR,
        title="Parameter that cannot be written",
        message="{variable} of {names} has an entry that cannot be used. {fault}.",
        remedy="Correct or remove the entry in {variable}.",
    ),
    Entry(
        id="INV028",
        severity=ERROR,
        title="Version of Slurm that cannot be read",
        message="slurm_version is {version}, which is no version of Slurm.",
        remedy='Write it like "24.11", in quotes, or remove slurm_version to use that of the distribution.',
    ),
    Entry(
        id="INV029",
        severity=ERROR,
        title="Topology file that is not there",
        message="slurm_topology_file is {path}, which {fault} on the machine where Ansible runs.",
        remedy="Write the absolute path of the file into slurm_topology_file, or remove it.",
    ),
    Entry(
        id="INV030",
        severity=ERROR,
        title="GPU to leave out that is not in the record",
        message="slurm_node_gpu_exclude of {host} names {entry!r}, which is no GPU of its hardware record ({known}).",
        remedy="Name the GPU by its PCI address in quotes, its UUID or its minor number, or remove the entry.",
    ),
    Entry(
        id="INV031",
        severity=ERROR,
        title="GPU sharing that cannot be used",
        message="slurm_node_gpu_sharing of {host} cannot be used: {reason}.",
        remedy="Set it to something like {{mode: shard, per_gpu: 4}} or {{mode: mps}}, or remove it.",
    ),
    Entry(
        id="INV032",
        severity=WARNING,
        title="Memory is not divided among jobs",
        message="slurm_settings sets SelectTypeParameters to {given}, so jobs are given no memory of their own: one "
        "job can take all of it, and what slurm_memory_reserve_percent and MemSpecLimit keep back is not kept.",
        remedy="Use CR_Core_Memory or CR_CPU_Memory, or remove the setting.",
    ),
    Entry(
        id="INV033",
        severity=ERROR,
        title="Host name that Slurm's files cannot hold",
        message="The inventory name {host} has characters that no host name has.",
        remedy="Rename {host} in the inventory (letters, digits, `-`, `.`); ansible_host can keep its address.",
    ),
)
