# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One kind of node: everything of its configuration but name and address.

Two steps, each done once per distinct input: :func:`inspect` reads the GPUs of a machine, :func:`specify` adds memory,
overrides and features.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gpu_types import (
    FULL,
    Device,
    autodetect_names,
    clean,
    memory_feature,
    short_name,
    type_fault,
    type_names,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gres import (
    Fault,
    Layout,
    Offer,
    detected_cores_fit,
    faults,
    gres_bodies,
    offers,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.hardware import Machine
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.overrides import Finding, finding, settle
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import MODES as SHARING_MODES
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.sharing import Sharing, share_body
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import Release, version_text

__all__ = ["MIG_FEATURE", "OFF", "Inspected", "NodeKind", "Share", "inspect", "real_memory", "specify"]

_GIB = 1024
_SMALL_STEP = 64
_FEATURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]*")
# What drivers older than the card call it.
_UNNAMED_CARD = "graphics_device"
MIG_SUFFIX = "_mig"
MIG_FEATURE = "mig"
OFF = "off"


@dataclass(frozen=True)
class Share:
    """The fair part of a node that goes with one GPU of a family: CPUs, and memory in MiB."""

    cpus: int
    memory_mib: int


@dataclass(frozen=True)
class Inspected:
    """The GPUs of a machine under the operator's type names.

    ``families``: the GPU type partition of each offer: the model, or the model with ``_mig`` for its MIG devices.
    ``autodetect``: the AutoDetect= of the node. ``sharing``: into how many parts its whole GPUs are divided.
    """

    machine: Machine
    faults: tuple[Fault, ...]
    offers: tuple[Offer, ...]
    names: tuple[str, ...]
    families: tuple[str, ...]
    findings: tuple[Finding, ...]
    autodetect: str
    sharing: Sharing | None = None

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """Return (type, count), types in order of their first device."""
        return tuple(Counter(self.names).items())


@dataclass(frozen=True)
class NodeKind:
    """Everything about a node but its name and address. ``shares``: the fair part of one GPU, by family."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    cpus: int
    real_memory: int
    mem_spec_limit: int | None
    gres: str
    gpus: tuple[tuple[str, int], ...]
    features: tuple[str, ...]
    device_files: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    other_gres: tuple[str, ...]
    gres_bodies: tuple[str, ...]
    shares: tuple[tuple[str, Share], ...]
    findings: tuple[Finding, ...]

    def line_end(self) -> str:
        """Return the NodeName line behind name and address."""
        parts = [
            f"CPUs={self.cpus}",
            f"Sockets={self.sockets}",
            f"CoresPerSocket={self.cores_per_socket}",
            f"ThreadsPerCore={self.threads_per_core}",
            f"RealMemory={self.real_memory}",
        ]
        if self.mem_spec_limit is not None:
            parts.append(f"MemSpecLimit={self.mem_spec_limit}")
        if self.gres:
            parts.append(f"Gres={self.gres}")
        if self.features:
            parts.append(f"Feature={','.join(self.features)}")
        parts += [f"{name}={value}" for name, value in self.parameters]
        if "State" not in dict(self.parameters):
            parts.append("State=UNKNOWN")
        return " ".join(parts)


def real_memory(memory_mib: int, percent: int, minimum_mib: int) -> int:
    """Return the RealMemory for a node of ``memory_mib``: less the reserve, rounded down to a full GiB.

    The reserve is ``percent`` of the memory or ``minimum_mib``, whichever is more, but never over half of the memory.
    So the result changes only where the memory crosses a step of 1 GiB, and a node registers as long as it reports no
    less than its recorded memory without the reserve. Below 1 GiB (toy machines) the step is 64 MiB.
    """
    reserve = max(-(-memory_mib * percent // 100), minimum_mib)
    usable = max(memory_mib - reserve, memory_mib // 2)
    step = _GIB if usable >= _GIB else _SMALL_STEP if usable >= _SMALL_STEP else 1
    return max(usable // step * step, 1)


def _detection_fault(machine: Machine, devices: Sequence[Device], mode: str, fewer: bool, release: Release) -> str:
    """Return why AutoDetect=``mode`` cannot describe the machine, as the end of a sentence; ``""`` if it can.

    ``fewer``: the operator leaves GPUs out.
    """
    profiles = [device.profile for device in devices if device.profile is not None]
    if fewer:
        return "Slurm would choose by itself which GPUs are left out"
    if mode == "nvidia" and profiles:
        return "AutoDetect=nvidia knows no MIG devices"
    if mode == "nvml" and not release.mig_by_name and any("c." in profile or "+" in profile for profile in profiles):
        return f"Slurm {version_text(release.number)} cannot tell the MIG profiles {', '.join(sorted(set(profiles)))}"
    layout = Layout(machine.sockets or 0, machine.cores_per_socket or 0, machine.threads_per_core or 0)
    if not detected_cores_fit(machine, layout, release, mode):
        return "the cores that Slurm finds near to the GPUs are no whole sockets, and it would refuse the node"
    return ""


def inspect(
    machine: Machine,
    given_names: Mapping[str, str],
    style: str,
    autodetect: str = OFF,
    *,
    release: Release,
    sharing: Sharing | None = None,
    fewer: bool = False,
) -> Inspected:
    """Name the GPUs of a machine. ``given_names``: the operator's type names by full type.

    With ``autodetect`` names are ones that Slurm's own detection keeps (see :func:`autodetect_names`). A machine that
    it would describe wrongly keeps explicit lines, with a finding that tells why. ``fewer``: GPUs were left out.
    """
    found = [
        finding("SLM019", full=full, detail=type_fault(name)) for full, name in given_names.items() if type_fault(name)
    ]
    usable = {clean(full): name for full, name in given_names.items() if not type_fault(name)}
    wrong = faults(machine)
    if wrong:
        return Inspected(machine, tuple(wrong), (), (), (), tuple(found), OFF)
    offered = offers(machine)
    devices = [offer.device for offer in offered]
    names = type_names(devices, style, usable)
    detects = autodetect != OFF and bool(devices or fewer)
    if detects:
        reason = _detection_fault(machine, devices, autodetect, fewer, release)
        if reason:
            found.append(finding("SLM042", mode=autodetect, reason=reason))
            detects = False
        else:
            names = autodetect_names(devices, names)
    if sharing and any(device.profile is not None for device in devices):
        found.append(finding("SLM041", given=sharing.mode, reason="MIG devices of the node are divided already"))
        sharing = None
    elif sharing and not devices:
        sharing = None
    families = []
    for device in devices:
        full = clean(device.full)
        model = usable.get(full) or (full if style == FULL else short_name(device.full))
        families.append(model if device.profile is None else model + MIG_SUFFIX)
    unnamed = {device.full for device in devices if clean(device.full) == _UNNAMED_CARD} - set(usable)
    found += [finding("SLM022", full=full) for full in sorted(unnamed)]
    return Inspected(
        machine,
        (),
        tuple(offered),
        tuple(names),
        tuple(families),
        tuple(found),
        autodetect if detects else OFF,
        sharing,
    )


def _shares(inspected: Inspected, cpus: int, threads: int, memory_mib: int) -> dict[str, Share]:
    """Return the fair part of one GPU by family: the node is divided by its GPUs, a GPU by its MIG devices.

    CPUs are rounded down to whole cores of ``threads`` each, because jobs get whole cores. A node with fewer CPUs than
    GPUs has a share of none: a job that takes all its GPUs must not be asked for more CPUs than there are.
    """
    devices_of_gpu = Counter(offer.gpu for offer in inspected.offers)
    shares: dict[str, Share] = {}
    for offer, family in zip(inspected.offers, inspected.families, strict=True):
        parts = len(devices_of_gpu) * devices_of_gpu[offer.gpu]
        share_cpus = cpus // parts
        if share_cpus >= threads:
            share_cpus -= share_cpus % threads
        share = Share(share_cpus, max(memory_mib // parts, 1))
        before = shares.get(family, share)
        shares[family] = Share(min(before.cpus, share.cpus), min(before.memory_mib, share.memory_mib))
    return shares


def _features(
    inspected: Inspected, extra: Iterable[str], from_parameters: Iterable[str], rack: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Return the features: GPU models, model and memory, number of GPUs, MIG, rack, then the operator's own."""
    features: list[str] = []
    for offer in inspected.offers:
        gpu = inspected.machine.gpus[offer.gpu]
        features.append(short_name(offer.device.full))
        features.append(memory_feature(offer.device.full, gpu.memory_mib) or "")
    if inspected.offers:
        features.append(f"{len({offer.gpu for offer in inspected.offers})}gpu")
    if any(offer.device.profile for offer in inspected.offers):
        features.append(MIG_FEATURE)
    features = [feature for feature in features if _FEATURE.fullmatch(feature)]
    found = []
    for variable, values in (
        ("slurm_node_rack", [f"rack-{rack}"] if rack else []),
        ("slurm_node_features", extra),
        ("slurm_node_parameters", from_parameters),
    ):
        for value in values:
            if _FEATURE.fullmatch(value):
                features.append(value)
            else:
                found.append(finding("SLM023", given=value, variable=variable))
    return tuple(dict.fromkeys(features)), found


def specify(
    inspected: Inspected,
    memory_mib: int,
    parameters: Mapping[str, Any],
    extra_features: Sequence[str],
    rack: str,
    release: Release,
    reserve: tuple[int, int],
) -> NodeKind:
    """Return the node kind. ``reserve``: percent and MiB kept from ``memory_mib`` (see :func:`real_memory`)."""
    machine = inspected.machine
    settled = settle(parameters, machine, memory_mib, real_memory(memory_mib, *reserve), inspected.counts, release)
    layout = settled.layout
    features, feature_findings = _features(inspected, extra_features, settled.features, rack)
    # CPUs may be set to the number of cores; a core then counts as one CPU.
    cores = layout.sockets * layout.cores_per_socket
    threads = layout.threads_per_core if settled.cpus > cores else 1
    shares = _shares(
        inspected,
        settled.cpus - settled.spare_cores * threads,
        threads,
        settled.real_memory - (settled.mem_spec_limit or 0),
    )
    gres = [f"gpu:{name}:{count}" for name, count in settled.gpu_counts]
    whole = settled.gpu_counts == inspected.counts
    bodies: tuple[str, ...]
    if inspected.autodetect != OFF:
        # File, Cores and Links beside AutoDetect would be checked against the detected ones, down to equality.
        bodies = (f"AutoDetect={inspected.autodetect}",)
    else:
        bodies = gres_bodies(machine, inspected.offers, inspected.names, layout, release, with_links=whole)
    other_gres, share_findings = settled.other_gres, []
    sharing = inspected.sharing
    if sharing:
        own = [entry for entry in other_gres if entry.split(":")[0] in SHARING_MODES]
        if own or not whole:
            reason = f"slurm_node_parameters sets Gres to {','.join([*gres, *own])} as well"
            share_findings.append(finding("SLM041", given=sharing.mode, reason=reason))
        else:
            minors = [machine.gpus[offer.gpu].minor or 0 for offer in inspected.offers]
            bodies += (share_body(sharing, minors, inspected.autodetect),)
            other_gres = (f"{sharing.mode}:{sharing.per_gpu * len(minors)}", *other_gres)
    files = {file for offer in inspected.offers for file in offer.files}
    return NodeKind(
        sockets=layout.sockets,
        cores_per_socket=layout.cores_per_socket,
        threads_per_core=layout.threads_per_core,
        cpus=settled.cpus,
        real_memory=settled.real_memory,
        mem_spec_limit=settled.mem_spec_limit,
        gres=",".join([*gres, *other_gres]),
        gpus=settled.gpu_counts,
        features=features,
        device_files=tuple(sorted(files, key=natural_key)),
        parameters=settled.parameters,
        other_gres=other_gres,
        gres_bodies=bodies,
        shares=tuple(shares.items()),
        findings=(*inspected.findings, *settled.findings, *share_findings, *feature_findings),
    )
