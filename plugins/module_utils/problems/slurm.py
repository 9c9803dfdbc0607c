# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue: problems of derivation (from SLM001), change control (from SLM050) and topology (from SLM070)."""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import ERROR, WARNING, Entry

_REDISCOVER = "Run the playbook steelrack.gpu_cluster.discover with --limit {host}"

DERIVATION_ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SLM001",
        ERROR,
        "Node without a hardware record",
        "{host} is in the group slurm_node but has no hardware record (node_hardware); it is left out of Slurm.",
        _REDISCOVER + ", or take the host out of the group slurm_node.",
    ),
    Entry(
        "SLM002",
        ERROR,
        "Hardware record of an unknown schema",
        "The hardware record of {host} has schema {schema}, this version reads schema {known}; the node is left out.",
        _REDISCOVER + " to write the record anew, or use the version of the collection that wrote it.",
    ),
    Entry(
        "SLM003",
        ERROR,
        "Hardware record that cannot be read",
        "The hardware record of {host} cannot be used: {detail}; the node is left out.",
        "Undo edits made by hand in the record, or move the file away and run the playbook discover again.",
    ),
    Entry(
        "SLM004",
        ERROR,
        "CPU layout not usable",
        "The hardware record of {host} has no usable {detail}; the node is left out of Slurm.",
        "See the other problems of {host} for the cause; repair it and run the playbook discover again.",
    ),
    Entry(
        "SLM005",
        ERROR,
        "Node name that Slurm cannot take",
        "{detail} The node is left out.",
        "Rename the host in the inventory; the node's own host name follows.",
    ),
    Entry(
        "SLM006",
        ERROR,
        "GPU without a device file",
        "GPU {pci} of {host} has no minor number, so no device file can be named for it; the node is left out.",
        "Look for the GPU in the kernel log (driver loaded, GPU not lost, no passthrough), then run discover again.",
    ),
    Entry(
        "SLM007",
        ERROR,
        "GPU of unknown type",
        "GPU {pci} of {host} has no product name in the hardware record; the node is left out.",
        "Check that the NVIDIA driver works on {host} (nvidia-smi -L lists every GPU), then run discover again.",
    ),
    Entry(
        "SLM008",
        ERROR,
        "MIG enabled without instances",
        "GPU {pci} of {host} has MIG enabled but no MIG instance, so no job could use it; the node is left out.",
        "Create instances (nvidia-smi mig -cgi ... -C) or switch MIG off (nvidia-smi -i {pci} -mig 0), then run "
        "discover again and accept the new state.",
    ),
    Entry(
        "SLM009",
        ERROR,
        "MIG instance without device files",
        "The MIG instance {detail} of GPU {pci} on {host} has no capability device files; the node is left out.",
        "Check /proc/driver/nvidia-caps/mig-minors on {host} (module option nv_cap_enable_devfs=1), then run discover "
        "again.",
    ),
    Entry(
        "SLM010",
        ERROR,
        "Device files that do not identify one GPU",
        "The GPUs of {host} do not have device files of their own: GPU {pci} has {detail}; the node is left out.",
        "Undo edits made by hand in the record and run discover again; slices of one GPU have files of their own.",
    ),
    Entry(
        "SLM011",
        ERROR,
        "Address that is none",
        "node_base_address of {host} is '{given}', which is no IP address; the node is left out.",
        "Set node_base_address of {host} to its IP address on the cluster network, or remove it to use ansible_host.",
    ),
    Entry(
        "SLM012",
        WARNING,
        "Two nodes with one address",
        "{host} and {other} have the same address {address}; Slurm would reach only one of them.",
        "Give each node its own node_base_address.",
    ),
    Entry(
        "SLM013",
        ERROR,
        "Node parameter that Slurm does not know",
        "slurm_node_parameters of {host} has {parameter}, which {reason}; it is not written.",
        "Correct or remove {parameter} in slurm_node_parameters.",
    ),
    Entry(
        "SLM014",
        ERROR,
        "Node parameter with an unusable value",
        "slurm_node_parameters of {host} sets {parameter} to {given}, but {reason}; it is not written.",
        "Correct {parameter} in slurm_node_parameters.",
    ),
    Entry(
        "SLM015",
        ERROR,
        "Override that asks for more than the hardware has",
        "slurm_node_parameters of {host} sets {parameter}={given}, the hardware has {detected}: Slurm would refuse the "
        "node, so the detected value is used.",
        "Lower or remove {parameter}; if the hardware was changed, run discover again and accept the new state.",
    ),
    Entry(
        "SLM016",
        WARNING,
        "Override that differs from the hardware",
        "slurm_node_parameters of {host} sets {parameter}={given}, the hardware has {detected}; {effect}.",
        "If that is meant, add SLM016 to slurm_skip_problems; else remove {parameter}.",
    ),
    Entry(
        "SLM017",
        WARNING,
        "RealMemory without a margin",
        "slurm_node_parameters of {host} sets RealMemory={given}, the hardware has {detected}: the memory a node "
        "reports varies by some MiB between boots, and one MiB less than configured drains the node.",
        "Stay at 99 % of the memory or below, or remove RealMemory to have it derived.",
    ),
    Entry(
        "SLM018",
        WARNING,
        "Sockets finer than the hardware",
        "slurm_node_parameters of {host} sets {parameter}={given}, the hardware has {detected}; this is right only "
        "with numa_node_as_socket or l3cache_as_socket in SlurmdParameters.",
        "Set slurm_settings.SlurmdParameters accordingly, or remove {parameter}.",
    ),
    Entry(
        "SLM019",
        ERROR,
        "GPU type name that cannot be used",
        "slurm_node_gpu_type_names of {host} is wrong for {full}: {detail} The derived name is used.",
        "Choose a name of lower-case letters, digits, '_', '-' and '.' that has a letter, like h100.",
    ),
    Entry(
        "SLM020",
        WARNING,
        "GPU type name that is never used",
        "slurm_node_gpu_type_names names '{full}', but no GPU of the cluster has that type (there are: {known}).",
        "Use one of the full types that are there, or remove the entry.",
    ),
    Entry(
        "SLM021",
        WARNING,
        "One GPU type name for different models",
        "The GPU type name '{name}' stands for different models: {models}. Jobs cannot tell them apart.",
        "Give them names of their own in slurm_node_gpu_type_names.",
    ),
    Entry(
        "SLM022",
        WARNING,
        "Driver does not know the GPU",
        "A GPU of {host} is called '{full}', the name that a driver gives to a card newer than itself.",
        "Install a newer NVIDIA driver on {host} and run discover again; until then name the type in "
        "slurm_node_gpu_type_names.",
    ),
    Entry(
        "SLM023",
        ERROR,
        "Feature that Slurm cannot take",
        "The feature '{given}' of {host} ({variable}) has characters that no --constraint can hold; it is not written.",
        "Use letters, digits and . _ - + / in features and rack names.",
    ),
    Entry(
        "SLM024",
        ERROR,
        "Partition names an unknown node",
        "Partition '{partition}' names '{given}', which is no node, inventory group or GPU type of this cluster.",
        "Correct nodes of that item in slurm_partitions, or add the host to the group slurm_node.",
    ),
    Entry(
        "SLM025",
        ERROR,
        "More than one default partition",
        "The partitions {partitions} are all marked as default; Slurm has exactly one.",
        "Keep default: true on one item of slurm_partitions.",
    ),
    Entry(
        "SLM026",
        ERROR,
        "Partition name that cannot be used",
        "{partition!r} cannot name a partition.",
        "Use letters, digits and . _ - in partition names, beginning with a letter or digit; DEFAULT is reserved.",
    ),
    Entry(
        "SLM027",
        ERROR,
        "Partition listed twice",
        "Partition '{partition}' is listed more than once in slurm_partitions; the first item is used.",
        "Merge the items of that name.",
    ),
    Entry(
        "SLM028",
        WARNING,
        "Partition without nodes",
        "Partition '{partition}' has no node at present; it is written without nodes, so that its jobs stay queued.",
        "Add nodes to it, or remove it once its queue is empty.",
    ),
    Entry(
        "SLM029",
        ERROR,
        "Partition parameter that cannot be used",
        "Partition '{partition}' has the parameter {parameter}, which {reason}; it is not written.",
        "Correct or remove {parameter} in slurm_partitions.",
    ),
    Entry(
        "SLM030",
        ERROR,
        "Partition item that cannot be read",
        "An item of slurm_partitions cannot be used: {detail}",
        "An item has name and, optional, nodes (a list), default (true or false), state and parameters (a dictionary).",
    ),
    Entry(
        "SLM031",
        ERROR,
        "No usable node",
        "None of the {count} hosts in the group slurm_node can be configured, so there is no cluster to build.",
        "Usually the nodes have no record yet: run `ansible-playbook steelrack.gpu_cluster.discover -i <inventory>`. "
        "Otherwise see the problems of the single hosts.",
    ),
    Entry(
        "SLM032",
        WARNING,
        "Slurm version without known rules",
        "The Slurm version '{version}' is not known to this collection (known: {known}); the strictest rules are used.",
        "Use a known version, or a newer version of the collection.",
    ),
    Entry(
        "SLM033",
        WARNING,
        "Hardware record of another host",
        "The hardware record of {host} was taken on '{recorded}'.",
        _REDISCOVER + "; a copied record hides differences between machines.",
    ),
    Entry(
        "SLM034",
        WARNING,
        "Node in no partition",
        "{nodes} can get no job, because no partition has them.",
        "Set slurm_partition_all, or add the nodes to an item of slurm_partitions.",
    ),
    Entry(
        "SLM035",
        ERROR,
        "Site setting that cannot be used",
        "{variable} is {given}, but {reason}; {used} is used.",
        "Correct {variable} in group_vars/all.",
    ),
    Entry(
        "SLM040",
        ERROR,
        "GPU to leave out that is not there",
        "slurm_node_gpu_exclude of {host} names '{entry}', which is no GPU of its hardware record ({known}); "
        "nothing is left out for it.",
        "Name the GPU by its PCI address in quotes, its UUID or its minor number, or remove the entry.",
    ),
    Entry(
        "SLM041",
        ERROR,
        "GPU sharing that cannot be used",
        "slurm_node_gpu_sharing of {host} ({given}) is not used: {reason}.",
        "Set it to something like {{mode: shard, per_gpu: 4}} on nodes with whole GPUs only, or remove it.",
    ),
    Entry(
        "SLM042",
        WARNING,
        "Node without AutoDetect",
        "slurm_gres_autodetect is {mode}, but {host} is described by explicit device lines: {reason}.",
        "Nothing has to be done: explicit lines describe the node rightly. To be rid of this line, set "
        "slurm_gres_autodetect to off or add SLM042 to slurm_skip_problems.",
    ),
    Entry(
        "SLM043",
        ERROR,
        "GPU sharing in a cluster with MIG",
        "The cluster has both MIG devices ({nodes}) and {modes}: as soon as GresTypes has {modes}, Slurm {version} "
        "counts each device file of a MIG device as a GPU of its own and refuses these nodes.",
        "Use Slurm 24.11 or newer (and tell it by slurm_version), or remove slurm_node_gpu_sharing, or switch MIG off.",
    ),
    Entry(
        "SLM044",
        ERROR,
        "Plugin of AutoDetect missing",
        "slurm_gres_autodetect is {mode}, but slurmd on {host} has no {plugin} (looked in {folders}): it would find no "
        "GPU, or not start.",
        "{remedy}, or set slurm_gres_autodetect to off.",
    ),
    Entry(
        "SLM045",
        ERROR,
        "NVML library of AutoDetect missing",
        "slurm_gres_autodetect is nvml, but {host} has no {library}{detail}: slurmd would find no GPU.",
        "Install the package of {library} that belongs to the driver on {host} (libnvidia-ml1 on Debian and Ubuntu), "
        "or set slurm_gres_autodetect to off.",
    ),
    Entry(
        "SLM046",
        WARNING,
        "No partition may be the default",
        "All partitions say `default: false`, but a cluster has one default partition; {partition} is taken.",
        "Say `default: true` at one item of slurm_partitions.",
    ),
)

CHANGE_ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SLM050",
        ERROR,
        "Slurm refuses the new configuration",
        "slurmctld refuses the new configuration files, so none of them was put in place: {detail}",
        "Correct the variable behind the line that slurmctld names (slurm_settings, slurm_partitions, "
        "slurm_node_parameters or a hardware record) and run the playbook again; the cluster goes on with the old "
        "files.",
    ),
    Entry(
        "SLM051",
        WARNING,
        "Slurm reports an error in the new configuration",
        "slurmctld takes the new configuration files but reports: {detail}",
        "Look the line up in the manual of the parameter that it names; slurmctld goes on without what it cannot use.",
    ),
    Entry(
        "SLM052",
        WARNING,
        "Trial of the new configuration not finished",
        "slurmctld, started with the new configuration files on trial, neither served nor ended within {seconds} s.",
        "Give it more time with check_timeout; on a large cluster a start takes longer.",
    ),
    Entry(
        "SLM053",
        WARNING,
        "New configuration not tried",
        "The new configuration files were not tried before they were put in place: {detail}.",
        "Watch the start of slurmctld; if it does not come up, the files before the change can be put back with "
        "slurm_config and state rolled_back.",
    ),
    Entry(
        "SLM054",
        WARNING,
        "Controller not named in slurm.conf",
        "slurm.conf names {names} as SlurmctldHost, but this host calls itself {hostname}; slurmctld may not start.",
        "Give the host the name that the inventory has for it, or correct SlurmctldHost.",
    ),
    Entry(
        "SLM055",
        WARNING,
        "Program of slurm.conf missing",
        "{parameter} in slurm.conf is {path}, which is not a program on this host.",
        "Install the program before a job needs it, or correct {parameter} in slurm_settings.",
    ),
    Entry(
        "SLM056",
        ERROR,
        "No earlier configuration to go back to",
        "The configuration of Slurm cannot be rolled back: there was none before this change.",
        "Correct the new configuration and run the playbook again.",
    ),
)

# What a file says that Slurm does not start with is an error; what it only warns of, or does not notice, a warning.
TOPOLOGY_ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SLM070",
        WARNING,
        "Nothing known of the topology",
        "slurm_topology asks for a {kind} topology, but {reason}; it is not written.",
        "{how}",
    ),
    Entry(
        "SLM071",
        WARNING,
        "Nodes without a place in the topology",
        "The place of {nodes} in the topology is not known (source: {source}), so it is {where}.",
        "{how}",
    ),
    Entry(
        "SLM072",
        ERROR,
        "GPUs of one node in several NVLink domains",
        "The GPUs of {host} are in different NVLink domains: {domains}; the node is in no block.",
        "Look at Fabric in nvidia-smi -q on {host} and at the fabric manager of its rack, then run discover.",
    ),
    Entry(
        "SLM073",
        WARNING,
        "Cables joined by name only",
        "The hardware records have no GUID for some InfiniBand adapters that call themselves {nodes}; their names were "
        "believed.",
        "Run the playbook steelrack.gpu_cluster.discover for these nodes, then discover_fabric again.",
    ),
    Entry(
        "SLM074",
        WARNING,
        "Nodes not seen on the fabric",
        "The fabric shows no cable of {nodes}, whose records have an active InfiniBand port; what was known stays.",
        "Check the subnet manager and the cables of these nodes, then run discover_fabric again.",
    ),
    Entry(
        "SLM075",
        ERROR,
        "Place in the fabric that cannot be read",
        "node_fabric of {host} cannot be used: {detail}.",
        "Remove host_vars/{host}/fabric.yml and run the playbook steelrack.gpu_cluster.discover_fabric.",
    ),
    Entry(
        "SLM076",
        ERROR,
        "Topology file without content",
        "{file} has no switch and no block; Slurm does not start with it, or goes on without a topology.",
        "Write the switches or blocks into it, or remove slurm_topology_file.",
    ),
    Entry(
        "SLM077",
        ERROR,
        "Topology file that Slurm cannot read",
        "{file}, {where}: {detail}.",
        "Write lines of SwitchName, Nodes and Switches, or BlockName, Nodes and BlockSizes (topology.conf(5)), or a "
        "list of topologies (topology.yaml(5)).",
    ),
    Entry(
        "SLM078",
        ERROR,
        "Switch or block defined twice",
        "{file}: the {what} {name} is defined at {first} and again at {second}.",
        "Merge the two, or give one another name.",
    ),
    Entry(
        "SLM079",
        ERROR,
        "Host list in a topology file that cannot be read",
        "{file}, {where} ({name}): {detail}.",
        "Write names and ranges like gpu[001-064]; nothing may follow the last bracket.",
    ),
    Entry(
        "SLM080",
        ERROR,
        "Switch or block of no form",
        "{file}, {where}: {name} {what}.",
        "Give a leaf switch or a block Nodes, and a switch above others Switches; never both.",
    ),
    Entry(
        "SLM081",
        ERROR,
        "Unknown switch below a switch",
        "{file}, {where}: {name} has {child} below it, which is no other switch of the file.",
        "Correct the name, or add a line for that switch.",
    ),
    Entry(
        "SLM082",
        ERROR,
        "Switches in a loop or too deep",
        "{file}: the switches {names} {what}.",
        "Make it a tree: every switch below exactly one other, with one at the top; write the lower ones first.",
    ),
    Entry(
        "SLM083",
        ERROR,
        "Block sizes that Slurm does not take",
        "{file}, {where}: BlockSizes cannot be used, because {detail}.",
        "Begin with the smallest number of nodes in a block; further sizes are that number times a power of two.",
    ),
    Entry(
        "SLM084",
        WARNING,
        "Unknown node in a topology file",
        "{file}, {where}: {name} names {nodes}, which slurm.conf does not have.",
        "Correct the names, or take them out.",
    ),
    Entry(
        "SLM085",
        WARNING,
        "Node in several places of the topology",
        "{file}: {nodes} are on {places}; Slurm takes a node to be on one only.",
        "Name every node once; on a rail-optimised fabric make one leaf of the switches that a group of nodes shares.",
    ),
    Entry(
        "SLM086",
        WARNING,
        "Node without a place in a topology file",
        "{file}: {nodes} are on no {what}; jobs cannot use them together with others.",
        "Add them to the {what} that they are on.",
    ),
    Entry(
        "SLM087",
        WARNING,
        "No switch over all nodes",
        "{file}: no switch reaches all nodes (at the top: {tops}); a job cannot have nodes of two parts.",
        "Add one switch with Switches= naming all that are at the top.",
    ),
    Entry(
        "SLM088",
        WARNING,
        "Switch below several switches",
        "{file}: the switch {name} is below {parents}; topology/tree wants a tree.",
        "Replace interchangeable spines by one switch over all leaves.",
    ),
)

ENTRIES: tuple[Entry, ...] = (*DERIVATION_ENTRIES, *CHANGE_ENTRIES, *TOPOLOGY_ENTRIES)
