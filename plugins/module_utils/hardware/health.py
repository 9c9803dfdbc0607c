# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node that shows all of its hardware may also be trusted with jobs.

These findings pass: a reset, a reboot or a repair ends them. So they are no part of the record; they are told beside
it, and a healthy node's record never changes because of them.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import kernel_log, nvidia, pci
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import Problem, make

__all__ = ["NEED_ATTENTION", "NEED_REPAIR", "NEED_RESET", "examine"]

# After NVIDIA's catalogue of Xids: code -> what it says. A GPU with one of these gives wrong answers or none at all.
NEED_RESET: Mapping[int, str] = {
    46: "GPU stopped processing",
    48: "double bit ECC error",
    62: "internal micro-controller halt",
    64: "row remapping failed to be recorded",
    74: "NVLink error",
    95: "uncontained ECC error",
    109: "context switch timeout",
    110: "security fault",
    119: "GSP RPC timeout",
    120: "GSP error",
    136: "link training failed",
    140: "unrecovered ECC error",
    143: "GPU initialisation failed",
    155: "NVLink software error",
    156: "resource retirement",
    158: "GPU fatal timeout",
}
NEED_REPAIR: Mapping[int, tuple[str, str]] = {
    54: ("auxiliary power not connected", "Check the power cables of the GPU in {host}"),
    78: ("vGPU start error", "Update driver and firmware of {host}"),
    79: ("GPU has fallen off the bus", "Power-cycle {host}; if it comes back, have the GPU and its seat checked"),
    167: ("PCIe fatal timeout", "Power-cycle {host}; if it comes back, have the GPU and its seat checked"),
    168: ("reduced memory capacity", "Have the GPU of {host} replaced"),
}
# Worth a look, but jobs may go on. Everything else is either the application's own fault (13, 31, 43, 45, ...) or of
# no consequence, and is not told; a code that is in no list is younger than this table and is told.
NEED_ATTENTION: Mapping[int, str] = {
    63: "memory row remapped",
    92: "many single bit ECC errors",
    94: "contained ECC error",
    **dict.fromkeys(range(144, 151), "NVLink 5 error"),
    151: "virtual machine needs a restart",
}
_OF_NO_CONSEQUENCE = frozenset(
    {
        *(8, 11, 13, 14, 25, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45, 60, 66, 67, 68, 69, 70, 71, 72, 75, 76, 77, 80),
        *(82, 83, 84, 85, 86, 88, 89, 93, 96, 97, 98, 99, *range(100, 108), 121, *range(126, 136), 137, 139, 141),
        *(152, 153, 157, 160, 161, kernel_log.RECOVERY),
    }
)
_RESTING = ("none", "n/a")
_WORKING = "P0"  # the only state in which a link runs at full speed
_PEERS_FOR_A_VERDICT = 3  # of two cards one may well sit in the narrower slot of a workstation
_NARROW = 4  # a link with a fourth of the card's lanes, or less, is no design of a server


def examine(evidence: Evidence, host: str) -> list[Problem]:
    """Return what is wrong with the health of the node's GPUs; nothing for a node without any."""
    bus = pci.read_bus(evidence)
    if not (bus and bus.gpus) and not nvidia.read_kernel_gpus(evidence):
        return []
    command = evidence.run("nvidia-smi", "-q", "-x")
    try:
        gpus: Sequence[nvidia.SmiGpu] = nvidia.parse_report(command.output).gpus
    except nvidia.ReportError:  # a problem of the record already
        gpus = ()
    log = kernel_log.read(evidence)
    return [
        *_memory(host, gpus),
        *_recovery(host, gpus, log),
        *_links(host, gpus),
        *_xids(host, log),
        *_sxids(host, log),
        *_library(evidence, host, gpus),
    ]


def _memory(host: str, gpus: Sequence[nvidia.SmiGpu]) -> Iterator[Problem]:
    for gpu in gpus:
        if gpu.health.remap_failed:
            yield make("GPU034", host, pci=gpu.address)
        elif gpu.health.remap_pending:
            yield make("GPU033", host, pci=gpu.address)


def _recovery(host: str, gpus: Sequence[nvidia.SmiGpu], log: kernel_log.Log) -> Iterator[Problem]:
    """The driver's own verdict; nvidia-smi has it from release 570 on, the kernel log as Xid 154."""
    told = {gpu.address: gpu.health.recovery for gpu in gpus if gpu.health.recovery}
    for address, action in {**log.recovery, **told}.items():
        if action.lower() not in _RESTING:
            yield make("GPU035", host, pci=address, action=action)


def _links(host: str, gpus: Sequence[nvidia.SmiGpu]) -> Iterator[Problem]:
    """Compare each link with those of the node's other GPUs of that model.

    A GPU at rest lowers the speed of its link, some also its width; so only what holds under load is judged. What the
    card could do at most is no measure: many slots are narrower than their cards by design.
    """
    by_model: dict[str | None, list[nvidia.SmiGpu]] = {}
    for gpu in gpus:
        by_model.setdefault(gpu.product, []).append(gpu)
    for alike in by_model.values():
        awake = [gpu for gpu in alike if gpu.health.state == _WORKING]
        for what, unit, values in (
            ("width", "lanes", {gpu.address: gpu.health.link_width for gpu in awake}),
            ("speed", "(PCIe generation)", {gpu.address: gpu.health.link_gen for gpu in awake}),
        ):
            usual = _usual([value for value in values.values() if value is not None])
            for address, value in values.items():
                if usual is not None and value is not None and value < usual:
                    yield make("GPU030", host, pci=address, what=what, value=value, usual=usual, unit=unit)
        for gpu in awake:
            width, most = gpu.health.link_width, gpu.health.link_width_most
            if width and most and width * _NARROW <= most:
                yield make("GPU031", host, pci=gpu.address, width=width, most=most)


def _usual(values: Sequence[int]) -> int | None:
    """Return the value of more than half of the GPUs, None where there are too few to tell."""
    if len(values) <= _PEERS_FOR_A_VERDICT:
        return None
    common = max(set(values), key=values.count)
    return common if values.count(common) * 2 > len(values) else None


def _xids(host: str, log: kernel_log.Log) -> Iterator[Problem]:
    for event in log.xids:
        fields = {"pci": event.address or "(unknown)", "xid": event.code, "when": _when(event)}
        if event.code in NEED_REPAIR:
            meaning, remedy = NEED_REPAIR[event.code]
            yield make("GPU037", host, meaning=meaning, action=remedy.format(host=host), **fields)
        elif event.code in NEED_RESET:
            yield make("GPU036", host, meaning=NEED_RESET[event.code], **fields)
        elif event.code not in _OF_NO_CONSEQUENCE:
            meaning = NEED_ATTENTION.get(event.code, "unknown to this version of the collection")
            yield make("GPU038", host, meaning=meaning, **fields)


def _sxids(host: str, log: kernel_log.Log) -> Iterator[Problem]:
    for event in log.sxids:
        if event.text.lower().startswith("fatal"):
            yield make("GPU039", host, switch=event.address, sxid=event.code, when=_when(event))


def _when(event: kernel_log.Event) -> str:
    """Return how often and when, in words that stay the same as long as nothing new happens."""
    often = "once" if event.count == 1 else f"{event.count} times, last"
    return often if event.last is None else f"{often} {event.last} s after boot"


def _library(evidence: Evidence, host: str, gpus: Sequence[nvidia.SmiGpu]) -> Iterator[Problem]:
    """Compare the driver's libraries with the loaded module; nvidia-smi itself fails where its own differs (GPU016)."""
    driver = nvidia.read_driver(evidence)
    versions = nvidia.library_versions(evidence)
    if gpus and driver and driver.version and versions and driver.version not in versions:
        yield make("GPU017", host, module=driver.version, library=", ".join(sorted(versions)))
