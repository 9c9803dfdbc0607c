# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of one machine as gres.conf lines.

Explicit device lines, because they work with every Slurm build; each begins with NodeName, so that one file serves all
nodes. slurmd puts the devices of one type together, types in the order of slurm.conf's Gres, and keeps the order of the
lines only within a type. So lines come in that order here too: by type, the GPUs of a type in PCI order, which is the
order of CUDA's numbering. GPUs are merged into one line only where type and cores are equal, minor numbers rise, and no
line has Links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gpu_types import Device
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.hardware import Gpu, Machine
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import Release

__all__ = [
    "Fault",
    "Layout",
    "Offer",
    "accepted_cores",
    "cores_text",
    "detected_cores_fit",
    "faults",
    "gres_bodies",
    "offers",
]

# gres.h MAX_GRES_BITMAP: devices of one GRES on one node.
DEVICE_LIMIT = 1024
# Since 21.08; without it the variables of three other vendors would be set in every job.
FLAGS = "nvidia_gpu_env"


@dataclass(frozen=True)
class Layout:
    """The CPU layout that slurm.conf states for the node."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int


@dataclass(frozen=True)
class Offer:
    """One thing a job can ask for: a whole GPU or one MIG device of it. ``gpu``: position in the machine's GPUs."""

    gpu: int
    device: Device
    files: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """Why no valid line can be written: the id of the problem and the fields of its wording."""

    id: str
    pci: str
    detail: str


def _type_of(machine: Machine, gpu: Gpu) -> str | None:
    """Return the full type of a GPU; of one that no longer answers, that of its twins by PCI device id."""
    if gpu.type is not None:
        return gpu.type
    twins = {other.type for other in machine.gpus if other.type and gpu.device_id and other.device_id == gpu.device_id}
    return twins.pop() if len(twins) == 1 else None


def faults(machine: Machine) -> list[Fault]:
    """Return what keeps the machine's GPUs from being described; empty if valid lines can be written.

    A GPU is never left out silently: a count that shrinks without anybody saying so is worse than a missing node.
    """
    found = []
    seen: dict[str, str] = {}
    for gpu in machine.gpus:
        if gpu.minor is None:
            found.append(Fault("SLM006", gpu.pci, "no minor number"))
            continue
        if _type_of(machine, gpu) is None:
            found.append(Fault("SLM007", gpu.pci, "no product name"))
        if gpu.mig == "enabled" and not gpu.instances:
            found.append(Fault("SLM008", gpu.pci, "MIG without instances"))
        for instance in gpu.instances if gpu.mig == "enabled" else ():
            if len(instance.files) < 2 or not instance.profile:
                found.append(Fault("SLM009", gpu.pci, instance.profile or "a MIG device without a profile"))
        # The GPU's own file is shared by its MIG devices and must still belong to one GPU only.
        own = f"/dev/nvidia{gpu.minor}"
        if own in seen:
            found.append(Fault("SLM010", gpu.pci, f"{own}, which GPU {seen[own]} has too"))
        seen[own] = gpu.pci
    if not found:
        all_files = [offer.files for offer in offers(machine)]
        if len(set(all_files)) != len(all_files):
            found.append(Fault("SLM010", "", "the same files for two MIG devices"))
        if len(all_files) > DEVICE_LIMIT:
            found.append(Fault("SLM010", "", f"more than {DEVICE_LIMIT} devices, the most that Slurm takes"))
    return found


def offers(machine: Machine) -> list[Offer]:
    """Return what the machine offers, in PCI order and within a GPU in MIG index order. The machine has no faults."""
    result = []
    for position, gpu in enumerate(machine.gpus):
        full = _type_of(machine, gpu) or ""
        if gpu.mig == "enabled":
            result += [Offer(position, Device(full, instance.profile), instance.files) for instance in gpu.instances]
        else:
            result.append(Offer(position, Device(full), (f"/dev/nvidia{gpu.minor}",)))
    return result


def cores_text(cores: Iterable[int]) -> str:
    """Return core ids as Slurm writes them: ``0-55,112``."""
    ranges: list[list[int]] = []
    for core in sorted(cores):
        if ranges and ranges[-1][1] + 1 == core:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def accepted_cores(machine: Machine, layout: Layout, release: Release) -> list[str] | None:
    """Return the Cores= of every GPU, or None if they must not be given.

    They are given for all GPUs of a node or for none. They are left out when one is unknown, when every GPU is near to
    every core, and when slurm.conf states another number of cores or threads than the hardware has (core ids would then
    mean something else). From 24.11 on a node whose Cores do not follow socket boundaries is refused: there a set is
    widened to the whole sockets it touches, from 25.11 on to all cores if it touches several.
    """
    total = layout.sockets * layout.cores_per_socket
    if total != machine.cores or layout.threads_per_core != machine.threads_per_core:
        return None
    everything = frozenset(range(total))
    result: list[frozenset[int]] = []
    for gpu in machine.gpus:
        if not gpu.cores or not gpu.cores <= everything:
            return None
        result.append(gpu.cores)
    if release.cores != "any":
        result = [_whole_sockets(cores, layout, single=release.cores == "socket") for cores in result]
    if all(cores == everything for cores in result):
        return None
    return [cores_text(cores) for cores in result]


def detected_cores_fit(machine: Machine, layout: Layout, release: Release, mode: str) -> bool:
    """Say whether slurmctld takes the cores that AutoDetect finds near to each GPU; they cannot be widened there.

    They are found wrongly where slurm.conf states other cores or threads than the hardware has. For a GPU of which the
    kernel names no near CPUs, ``mode`` nvidia takes core 0, nvml none.
    """
    total = layout.sockets * layout.cores_per_socket
    if total != machine.cores or layout.threads_per_core != machine.threads_per_core:
        return False
    if release.cores == "any":
        return True
    single = release.cores == "socket"
    return all(
        gpu.cores == _whole_sockets(gpu.cores, layout, single) if gpu.cores else mode == "nvml" for gpu in machine.gpus
    )


def _whole_sockets(cores: frozenset[int], layout: Layout, single: bool) -> frozenset[int]:
    """Widen a set of cores to whole sockets; with ``single`` to all cores if that is more than one socket."""
    size = layout.cores_per_socket
    touched = {core // size for core in cores}
    if single and len(touched) > 1:
        touched = set(range(layout.sockets))
    return frozenset(core for socket in touched for core in range(socket * size, (socket + 1) * size))


def _links(machine: Machine, order: Sequence[int]) -> dict[int, str] | None:
    """Return the Links= of every GPU, or None without direct links (through an NVSwitch every pair counts as 0).

    ``order``: the GPUs as Slurm has them, which is the order of the numbers in Links. With MIG there would be fewer
    numbers than devices.
    """
    if not machine.links or any(gpu.mig == "enabled" for gpu in machine.gpus):
        return None
    counts = {pair: links for a, b, links in machine.links for pair in ((a, b), (b, a))}
    return {
        row: ",".join("-1" if row == column else str(counts.get((row, column), 0)) for column in order) for row in order
    }


def _file_text(files: Sequence[str]) -> str:
    """Return device files of whole GPUs, in rising minor order, as one File= value."""
    minors = [int(file[len("/dev/nvidia") :]) for file in files]
    return f"/dev/nvidia{minors[0]}" if len(minors) == 1 else f"/dev/nvidia[{cores_text(minors)}]"


def gres_bodies(
    machine: Machine,
    offered: Sequence[Offer],
    names: Sequence[str],
    layout: Layout,
    release: Release,
    with_links: bool = True,
) -> tuple[str, ...]:
    """Return the gres.conf lines of a machine without their ``NodeName=...``, by type and in PCI order.

    ``names``: the type of each of ``offered``; types come in the order of their first GPU. ``with_links`` is
    false where slurm.conf has fewer GPUs than the machine, because slurmctld refuses a node with more numbers in Links
    than GPUs. Lines stay apart wherever merging could change the order of devices.
    """
    cores = accepted_cores(machine, layout, release)
    position = {name: at for at, name in enumerate(dict.fromkeys(names))}
    by_type = sorted(zip(offered, names, strict=True), key=lambda pair: position[pair[1]])
    links = _links(machine, [offer.gpu for offer, _name in by_type]) if with_links else None
    lines: list[str] = []
    run: list[Offer] = []
    run_key: tuple[str, str] | None = None

    def text(name: str, files: str, near: str, linked: str = "") -> str:
        parts = ["AutoDetect=off", "Name=gpu", f"Type={name}", files]
        if near:
            parts.append(f"Cores={near}")
        if linked:
            parts.append(f"Links={linked}")
        return " ".join([*parts, f"Flags={FLAGS}"])

    def close() -> None:
        if run and run_key:
            lines.append(text(run_key[0], "File=" + _file_text([offer.files[0] for offer in run]), run_key[1]))
            run.clear()

    for offer, name in by_type:
        near = cores[offer.gpu] if cores else ""
        if offer.device.profile is not None:
            close()
            lines.append(text(name, "MultipleFiles=" + ",".join(offer.files), near))
        elif links:
            lines.append(text(name, f"File={offer.files[0]}", near, links[offer.gpu]))
        else:
            rising = not run or natural_key(run[-1].files[0]) < natural_key(offer.files[0])
            if run_key != (name, near) or not rising:
                close()
            run_key = (name, near)
            run.append(offer)
    close()
    return tuple(lines)
