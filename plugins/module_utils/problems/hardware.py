# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue: problems of detection of a node's hardware.

CPU, MEM, PCI, GPU, MIG and FAB tell what a node shows of itself, ids from 010 (GPU: 020) on what differs from its
stored record, REC what is wrong with the stored record.
"""

from __future__ import annotations

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems.entry import ERROR, WARNING, Entry

_ACCEPT = (
    "Repair the node; or, if the change is meant, accept it with "
    "`ansible-playbook steelrack.gpu_cluster.discover -e hardware_accept={host}`."
)

_GO_ON = (
    "To use the node as it is until its next reboot, run "
    "`ansible-playbook steelrack.gpu_cluster.discover -e hardware_accept={host}`."
)

_CPU = (
    Entry(
        "CPU001",
        ERROR,
        "CPU topology unreadable",
        "The CPU topology of {host} cannot be read: {detail}.",
        "Mount sysfs at /sys on {host}; inside a container use one that shows the machine's /sys/devices/system/cpu.",
    ),
    Entry(
        "CPU002",
        ERROR,
        "Offline CPUs break the CPU layout",
        "The CPUs {offline} of {host} are offline, and what is left is not an even number of cores per socket with "
        "CPU numbers from 0 on; slurmd would describe and bind it wrongly.",
        "Bring them online (`chcpu -e {offline}`), or switch hyper-threading or the cores off in the firmware.",
    ),
    Entry(
        "CPU003",
        ERROR,
        "Sockets have different numbers of cores",
        "{host} has {cores} cores on {sockets} sockets, not the same number on each; Slurm cannot describe that.",
        "Enable the same number of cores on all sockets in the firmware of {host}.",
    ),
    Entry(
        "CPU004",
        ERROR,
        "Cores of different kinds",
        "{host} has cores of different kinds ({threads} threads a core); Slurm's versions count them differently.",
        "Disable the efficiency cores in the firmware of {host}.",
    ),
    Entry(
        "CPU005",
        WARNING,
        "Gaps in the CPU numbers",
        "The CPUs of {host} are numbered {online}, with gaps; slurmd's map of CPUs to cores breaks there, so GPUs are "
        "not bound to cores.",
        "Enable the missing processors in the firmware of {host} if binding matters.",
    ),
    Entry(
        "CPU006",
        WARNING,
        "Offline CPUs",
        "The CPUs {offline} of {host} are offline and not counted.",
        "Bring them online (`chcpu -e {offline}`) if jobs shall use them.",
    ),
    Entry(
        "CPU010",
        ERROR,
        "CPU layout differs from the record",
        "The CPUs of {host} are laid out as {found}, its record says {stored}.",
        _ACCEPT,
    ),
)

_MEMORY = (
    Entry(
        "MEM001",
        ERROR,
        "Memory size unreadable",
        "The memory size of {host} cannot be read from /sys/devices/system/node or /proc/meminfo.",
        "Mount sysfs and procfs on {host}.",
    ),
    Entry(
        "MEM010",
        ERROR,
        "Less memory than in the record",
        "{host} has {found} MiB of memory, its record says {stored} MiB.",
        _ACCEPT,
    ),
)

_PCI = (
    Entry(
        "PCI001",
        WARNING,
        "PCI bus unreadable",
        "/sys/bus/pci/devices of {host} cannot be read, so the number of its GPUs cannot be checked.",
        "Mount sysfs at /sys on {host}.",
    ),
)

_GPU = (
    Entry(
        "GPU001",
        ERROR,
        "GPUs without driver",
        "{host} has {count} NVIDIA GPUs on its PCI bus, but the NVIDIA kernel module is not loaded.",
        "Install the driver on {host}, load it (`modprobe nvidia`) and discover again.",
    ),
    Entry(
        "GPU002",
        ERROR,
        "nvidia-smi finds no devices",
        "nvidia-smi finds no devices on {host}, but the PCI bus shows {count} NVIDIA GPUs.",
        "Connect as root outside of any job (a device cgroup hides GPUs from a session inside a job), and look for "
        "errors of the driver with `dmesg | grep -i nvrm`.",
    ),
    Entry(
        "GPU003",
        ERROR,
        "GPU lost",
        "GPU {pci} of {host} does not answer: {detail}.",
        "Drain the node and reset it (power cycle); if the GPU stays lost, have it replaced.",
    ),
    Entry(
        "GPU004",
        ERROR,
        "nvidia-smi missing",
        "{host} has NVIDIA GPUs and a loaded driver, but no nvidia-smi; memory and MIG state stay unknown.",
        "Install the package of nvidia-smi that belongs to the driver on {host}.",
    ),
    Entry(
        "GPU005",
        ERROR,
        "nvidia-smi hangs",
        "nvidia-smi on {host} did not answer in time and was stopped.",
        "Look for Xid errors with `dmesg | grep -i xid` on {host} and reboot it.",
    ),
    Entry(
        "GPU006",
        ERROR,
        "nvidia-smi fails",
        "nvidia-smi on {host} ended with status {status} and no report: {detail}.",
        "Run `nvidia-smi` on {host}; after a driver update without a reboot, reboot the node.",
    ),
    Entry(
        "GPU007",
        ERROR,
        "nvidia-smi's report is broken",
        "The report of `nvidia-smi -q -x` on {host} cannot be used: {detail}.",
        "Run `nvidia-smi -q -x` on {host} by hand; if it breaks off there too, reboot the node.",
    ),
    Entry(
        "GPU008",
        ERROR,
        "nvidia-smi's report lacks GPUs",
        "nvidia-smi on {host} says that {attached} GPUs are attached but reports only {shown}.",
        "Run `nvidia-smi -q -x` on {host} by hand; look for Xid errors with `dmesg | grep -i xid`.",
    ),
    Entry(
        "GPU009",
        ERROR,
        "GPU without minor number",
        "GPU {pci} of {host} has no minor number, hence no device file /dev/nvidiaN that Slurm could hand out.",
        "Run the node with Linux on the metal or in a virtual machine with passthrough; Windows and WSL cannot serve.",
    ),
    Entry(
        "GPU010",
        ERROR,
        "GPU unknown to the driver",
        "GPU {pci} of {host} is on the PCI bus, but nvidia-smi does not report it.",
        "Look for errors of the driver with `dmesg | grep -i nvrm` on {host}: the GPU may be lost, bound to another "
        "driver (vfio), or too new or too old for this one.",
    ),
    Entry(
        "GPU011",
        WARNING,
        "GPU not on the PCI bus",
        "The driver of {host} reports GPU {pci}, which the PCI bus does not show.",
        "Discover the node on the host itself, not inside a container that hides its PCI bus.",
    ),
    Entry(
        "GPU012",
        ERROR,
        "Driver and nvidia-smi disagree",
        "For GPU {pci} of {host}, nvidia-smi gives {field} {smi} and the kernel module {kernel}.",
        "Reboot {host}: the driver was probably updated while its old kernel module stayed loaded.",
    ),
    Entry(
        "GPU013",
        WARNING,
        "GPU model unknown to the driver",
        "The driver of {host} does not know the model of GPU {pci} and calls it Graphics Device.",
        "Install a newer driver on {host} before the GPU gets its Slurm type from that name.",
    ),
    Entry(
        "GPU014",
        WARNING,
        "nvidia-smi's report is faulty XML",
        "The report of `nvidia-smi -q -x` on {host} is not well-formed XML; all needed values could be read.",
        "Update the driver of {host} at the next opportunity.",
    ),
    Entry(
        "GPU015",
        ERROR,
        "GPU without model name",
        "The driver of {host} gives no product name for GPU {pci}, so it has no Slurm type.",
        "Run `nvidia-smi -q` on {host}; reboot the node or update its driver.",
    ),
    Entry(
        "GPU016",
        ERROR,
        "Driver and library versions differ",
        "nvidia-smi on {host} reports a driver/library version mismatch: the loaded kernel module is {module}, the "
        "libraries on disk are of another version, so no job can use a GPU.",
        "Reboot {host} so that it loads the module of the installed driver.",
    ),
    Entry(
        "GPU017",
        ERROR,
        "CUDA library of another driver version",
        "The kernel module on {host} is of version {module}, its libcuda of {library}; CUDA programs will fail.",
        "Install the libraries of the same version as the module, or reboot {host} after a driver update.",
    ),
    Entry(
        "GPU020",
        ERROR,
        "Fewer GPUs than in the record",
        "{host} shows {found} GPUs, its record has {stored}; missing: {missing}.",
        _ACCEPT,
    ),
    Entry(
        "GPU021",
        ERROR,
        "More GPUs than in the record",
        "{host} shows {found} GPUs, its record has {stored}; new: {new}.",
        _ACCEPT,
    ),
    Entry(
        "GPU022",
        ERROR,
        "Other GPU model than in the record",
        "GPU {pci} of {host} is of type {found}, its record says {stored}.",
        _ACCEPT,
    ),
    Entry(
        "GPU023",
        ERROR,
        "GPUs at other places than in the record",
        "The GPUs of {host} are at the PCI addresses {found}, its record has {stored}.",
        _ACCEPT,
    ),
)

_HEALTH = (
    Entry(
        "GPU030",
        ERROR,
        "PCIe link below that of its peers",
        "The PCIe link of GPU {pci} in {host} has {what} {value}, those of most GPUs of its model there have {usual} "
        "{unit}.",
        "Power-cycle {host}; if it stays, have the seat, riser or cable of the GPU checked. " + _GO_ON,
    ),
    Entry(
        "GPU031",
        WARNING,
        "Narrow PCIe link",
        "The PCIe link of GPU {pci} in {host} has {width} of the card's {most} lanes.",
        "Check the slot and the seat of the GPU.",
    ),
    Entry(
        "GPU033",
        ERROR,
        "Memory repair of a GPU is pending",
        "GPU {pci} of {host} has found bad memory and replaces it at its next reset.",
        "Let its jobs end and reset it (`nvidia-smi -r -i {pci}`), or reboot {host}. " + _GO_ON,
    ),
    Entry(
        "GPU034",
        ERROR,
        "Memory repair of a GPU failed",
        "GPU {pci} of {host} has bad memory that it cannot replace any more.",
        "Have the GPU replaced; until then leave it out with slurm_node_gpu_exclude.",
    ),
    Entry(
        "GPU035",
        ERROR,
        "Driver asks for a recovery",
        "The driver of {host} wants this recovery of GPU {pci}: {action}.",
        "Let the jobs end and do so: reset the GPU (`nvidia-smi -r -i {pci}`) or reboot {host}. " + _GO_ON,
    ),
    Entry(
        "GPU036",
        ERROR,
        "GPU error that needs a reset",
        "Xid {xid} ({meaning}) at GPU {pci} of {host} since boot: {when}.",
        "Let its jobs end and reboot {host}; or reset it (`nvidia-smi -r -i {pci}`) and say so. " + _GO_ON,
    ),
    Entry(
        "GPU037",
        ERROR,
        "GPU error that needs a repair",
        "Xid {xid} ({meaning}) at GPU {pci} of {host} since boot: {when}.",
        "{action}. " + _GO_ON,
    ),
    Entry(
        "GPU038",
        WARNING,
        "GPU error to keep an eye on",
        "Xid {xid} ({meaning}) at GPU {pci} of {host} since boot: {when}.",
        "Look the code up in NVIDIA's catalogue of Xid errors and see whether it comes back.",
    ),
    Entry(
        "GPU039",
        ERROR,
        "Fatal NVSwitch error",
        "SXid {sxid} (fatal) at NVSwitch {switch} of {host} since boot: {when}.",
        "Let the jobs end and reboot {host}; if it comes back, have the baseboard checked. " + _GO_ON,
    ),
)

_MIG = (
    Entry(
        "MIG001",
        ERROR,
        "MIG enabled without instances",
        "GPU {pci} of {host} is in MIG mode but has no instances; no job could use it.",
        "Create the instances (`nvidia-smi mig -cgi ... -C`) or switch MIG off (`nvidia-smi -i {pci} -mig 0`).",
    ),
    Entry(
        "MIG002",
        ERROR,
        "MIG profiles unknown",
        "GPU {pci} of {host} has {count} MIG instances, but `nvidia-smi -L` names {named}; their profiles are unknown.",
        "Run `nvidia-smi -L` as root on {host}, outside of any job, and discover again.",
    ),
    Entry(
        "MIG003",
        ERROR,
        "MIG device files unknown",
        "The device files of MIG instances on GPU {pci} of {host} are not in /proc/driver/nvidia-caps/mig-minors.",
        "Load the driver's capability support (`nvidia-modprobe -u -c 0`) on {host} and discover again.",
    ),
    Entry(
        "MIG004",
        WARNING,
        "MIG mode about to change",
        "GPU {pci} of {host} has MIG {mode}, and {pending} after its next reset.",
        "Reset the GPU or reboot {host}, then discover again.",
    ),
    Entry(
        "MIG010",
        ERROR,
        "Other MIG instances than in the record",
        "GPU {pci} of {host} has the MIG instances {found}, its record says {stored}.",
        "Create the recorded instances again (they do not survive a reboot by themselves). " + _ACCEPT,
    ),
)

_FABRIC = (
    Entry(
        "FAB001",
        WARNING,
        "NVLink fabric not ready",
        "The NVLink fabric of {host} is in state {state} (status {status}) at the GPUs {gpus}; CUDA fails until it is "
        "ready.",
        "Start nvidia-fabricmanager in exactly the driver's version on {host} and look at its log.",
    ),
    Entry(
        "FAB010",
        ERROR,
        "Fewer network adapters than in the record",
        "{host} lacks the InfiniBand or RoCE adapters {missing} of its record.",
        _ACCEPT,
    ),
)

_RECORD = (
    Entry(
        "REC001",
        ERROR,
        "Unknown schema of a stored record",
        "The stored record of {host} has schema {stored}; this version of the collection writes and reads {known}.",
        "Use the version of the collection that wrote the record, or take it anew with "
        "`ansible-playbook steelrack.gpu_cluster.discover -e hardware_accept={host}`.",
    ),
    Entry(
        "REC002",
        ERROR,
        "Stored record unusable",
        "The file {path} of {host} does not hold a record of hardware: {detail}.",
        "Restore the file from version control, or remove it and discover the node again.",
    ),
    Entry(
        "REC003",
        ERROR,
        "Stored record of another host",
        "The file {path} of {host} holds the record of {other}.",
        "Remove the file, which was probably copied, and discover {host} again.",
    ),
)

ENTRIES: tuple[Entry, ...] = (*_CPU, *_MEMORY, *_PCI, *_GPU, *_HEALTH, *_MIG, *_FABRIC, *_RECORD)
