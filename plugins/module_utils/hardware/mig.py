# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG: names and UUIDs of the devices, and the device files that open them.

The XML of nvidia-smi has the ids of the instances but neither their profile names nor their UUIDs; ``nvidia-smi -L``
has those, in the order of the MIG index. The numbers of the capability files come from the driver's own table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Tuple

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.nvidia import SmiGpu
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make

__all__ = ["MigName", "describe", "parse_capabilities", "parse_list"]

_CAPABILITIES = "/proc/driver/nvidia-caps/mig-minors"
_GPU_LINE = re.compile(r"GPU \d+: .*\(UUID: (GPU-[^)]+)\)")
_MIG_LINE = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d{1,9}): \(UUID: (MIG-[^)]+)\)", re.ASCII)
_CAPABILITY = re.compile(r"gpu(\d{1,9})/gi(\d{1,9})(?:/ci(\d{1,9}))?/access (\d{1,9})\b", re.ASCII)

Capabilities = Mapping[Tuple[int, ...], int]


@dataclass(frozen=True)
class MigName:
    """Profile (``1g.10gb``, ``1c.3g.40gb``, ``1g.10gb+me``) and UUID of a MIG device."""

    profile: str
    uuid: str


def parse_list(text: str) -> dict[str, dict[int, MigName]]:
    """Return GPU UUID -> MIG index -> name, from the text of ``nvidia-smi -L``."""
    gpus: dict[str, dict[int, MigName]] = {}
    devices: dict[int, MigName] = {}
    for line in text.splitlines():
        gpu = _GPU_LINE.match(line)
        device = _MIG_LINE.match(line)
        if gpu:
            devices = gpus.setdefault(gpu[1], {})
        elif device:
            devices[int(device[2])] = MigName(device[1], device[3])
        else:  # for example a GPU whose handle cannot be determined: what follows is not its predecessor's
            devices = {}
    return gpus


def parse_capabilities(text: str) -> dict[tuple[int, ...], int]:
    """Return (minor, GPU instance) and (minor, GPU instance, compute instance) -> number of the capability file."""
    return {
        tuple(int(part) for part in match.groups()[:3] if part is not None): int(match[4])
        for match in _CAPABILITY.finditer(text)
    }


def describe(
    evidence: Evidence, host: str, gpu: SmiGpu, minor: int | None, names: Mapping[str, Mapping[int, MigName]]
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the record's ``mig`` section of one GPU and the problems with it.

    ``minor`` is the GPU's minor number, ``names`` the result of :func:`parse_list`.
    """
    if gpu.mig_mode != "enabled":
        return {"mode": gpu.mig_mode, "instances": []}, _pending(host, gpu)
    if not gpu.mig_devices:
        return {"mode": "enabled", "instances": []}, [make("MIG001", host, pci=gpu.address), *_pending(host, gpu)]
    named = names.get(gpu.uuid or "", {})
    capabilities = parse_capabilities(evidence.read(_CAPABILITIES) or "")
    instances: list[dict[str, Any]] = []
    for device in gpu.mig_devices:
        name = named.get(device.index)
        instances.append(
            {
                "profile": name.profile if name else None,
                "gi": device.gpu_instance,
                "ci": device.compute_instance,
                "uuid": name.uuid if name else None,
                "memory_mib": device.memory_mib,
                "files": _files(minor, (device.gpu_instance, device.compute_instance), capabilities),
            }
        )
    problems = _pending(host, gpu)
    if sorted(named) != [device.index for device in gpu.mig_devices]:
        problems.append(make("MIG002", host, pci=gpu.address, count=len(gpu.mig_devices), named=len(named)))
    if not all(instance["files"] for instance in instances):
        problems.append(make("MIG003", host, pci=gpu.address))
    return {"mode": "enabled", "instances": instances}, problems


def _files(minor: int | None, ids: tuple[int, int], capabilities: Capabilities) -> list[str]:
    """Return the device files of one instance: its GPU, its GPU instance, its compute instance; empty if unknown."""
    if minor is None:
        return []
    numbers = [capabilities.get((minor, *ids[:depth])) for depth in (1, 2)]
    if None in numbers:
        return []
    return [f"/dev/nvidia{minor}"] + [f"/dev/nvidia-caps/nvidia-cap{number}" for number in numbers]


def _pending(host: str, gpu: SmiGpu) -> list[Problem]:
    """Return a warning when the mode changes at the next reset: Slurm goes by the mode now in force."""
    if gpu.mig_pending in (None, gpu.mig_mode):
        return []
    return [make("MIG004", host, pci=gpu.address, mode=gpu.mig_mode, pending=gpu.mig_pending)]
