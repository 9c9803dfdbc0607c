# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's driver says: the XML of ``nvidia-smi -q -x`` and the files under /proc/driver/nvidia.

nvidia-smi writes words where a value cannot be had. Some only say that a card has no such thing (``N/A``), others
that the GPU is in trouble (``ERR!``, ``GPU is lost``). None of them ever becomes a value here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.pci import normalise

__all__ = [
    "Driver",
    "Fabric",
    "Health",
    "KernelGpu",
    "MigDevice",
    "Report",
    "ReportError",
    "SmiGpu",
    "gpu_type",
    "library_mismatch",
    "library_versions",
    "lost_gpus",
    "parse_report",
    "read_driver",
    "read_kernel_gpus",
]

_PROC = "/proc/driver/nvidia"
_NOTHING = re.compile(r"\[?(n/a|none|not supported|requested functionality has been deprecated|\?+|unknown)\]?", re.I)
_TROUBLE = re.compile(r"err!|unknown error|gpu is lost|gpu requires reset", re.I)
_GONE = re.compile(r"\[?gpu (is lost|requires reset)\]?", re.I)
_NO_HANDLE = re.compile(
    r"unable to determine the device handle for gpu\s*(?:\d+:\s+)?"
    r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d):\s*(.+)",
    re.I,
)
# A driver was seen to nest the clock tables wrongly; nothing in them is of use here.
_CLUTTER = re.compile(r"<supported_clocks>.*?</supported_clocks>|<processes>.*?</processes>", re.DOTALL)
_MISMATCH = re.compile(r"driver/library version mismatch", re.I)
_MISMATCH_STATUS = 18
_LIBRARY_FOLDERS = tuple(
    f"/usr/lib{folder}"
    for folder in (
        "64",
        "/x86_64-linux-gnu",
        "/aarch64-linux-gnu",
        "/x86_64-linux-gnu/nvidia/current",
        "/aarch64-linux-gnu/nvidia/current",
    )
)
_LIBRARY = re.compile(r"libcuda\.so\.(\d{3}\.\d+(?:\.\d+)?)")
_FIRST, _LAST = "<nvidia_smi_log", "</nvidia_smi_log>"


class ReportError(Exception):
    """The text is not a complete report."""


@dataclass(frozen=True)
class Fabric:
    """NVLink fabric of a GPU, as nvidia-smi spells it; None where the GPU has none."""

    cluster_uuid: str | None = None
    clique: int | None = None
    state: str | None = None
    status: str | None = None


@dataclass(frozen=True)
class MigDevice:
    """One MIG device: its index on the GPU, the ids of its GPU and compute instance, its memory in MiB."""

    index: int
    gpu_instance: int
    compute_instance: int
    memory_mib: int | None


@dataclass(frozen=True)
class Health:
    """What passes: state of the memory, the driver's verdict (as it spells it), and the PCIe link at this moment.

    ``state`` is the performance state (``P0`` works, ``P8`` rests); ``link_width_most`` is what the card could do.
    """

    remap_pending: bool = False
    remap_failed: bool = False
    recovery: str | None = None
    state: str | None = None
    link_gen: int | None = None
    link_width: int | None = None
    link_width_most: int | None = None


@dataclass(frozen=True)
class SmiGpu:
    """One GPU of the report. ``trouble`` holds the words with which nvidia-smi tells that the GPU is lost."""

    address: str
    product: str | None
    uuid: str | None
    minor: int | None
    memory_mib: int | None
    mig_mode: str | None
    mig_pending: str | None
    mig_devices: tuple[MigDevice, ...]
    fabric: Fabric
    trouble: str | None
    health: Health = Health()


@dataclass(frozen=True)
class Report:
    """The GPUs in nvidia-smi's order, how many there should be, and whether faulty XML had to be repaired."""

    driver: str | None
    attached: int | None
    gpus: tuple[SmiGpu, ...]
    repaired: bool


@dataclass(frozen=True)
class KernelGpu:
    """One GPU as the kernel module itself lists it."""

    product: str | None
    uuid: str | None
    minor: int | None


@dataclass(frozen=True)
class Driver:
    """Version and flavour (``open`` or ``closed``) of the loaded kernel module."""

    version: str | None
    flavour: str | None


def gpu_type(product: str | None) -> str | None:
    """Return the type that Slurm makes of a product name (gpu_common.c): lower case, each blank an underscore.

    >>> gpu_type("NVIDIA A100-SXM4-80GB")
    'nvidia_a100-sxm4-80gb'
    """
    return product.lower().replace(" ", "_") if product else None


def lost_gpus(text: str) -> dict[str, str]:
    """Return PCI address -> reason for the GPUs to which nvidia-smi says, outside its XML, that it has no handle."""
    lost = {}
    for match in _NO_HANDLE.finditer(text):
        try:
            lost[normalise(match[1])] = match[2].strip()
        except ValueError:
            continue
    return lost


def parse_report(text: str) -> Report:
    """Return what ``nvidia-smi -q -x`` reported; raises ReportError for anything that is not a complete report."""
    start, end = text.find(_FIRST), text.rfind(_LAST)
    if start < 0:
        raise ReportError("there is no XML in it")
    if end < 0:
        raise ReportError(f"the XML is cut off after {len(text)} characters")
    xml = text[start : end + len(_LAST)]
    repaired = False
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        try:
            root = ElementTree.fromstring(_CLUTTER.sub("", xml))
        except ElementTree.ParseError:
            raise ReportError(f"the XML is not well formed ({error})") from None
        repaired = True
    return Report(
        driver=_text(root, "driver_version"),
        attached=_number(_text(root, "attached_gpus")),
        gpus=tuple(_gpu(element) for element in root.findall("gpu")),
        repaired=repaired,
    )


def _gpu(element: ElementTree.Element) -> SmiGpu:
    named = element.get("id") or _text(element, "pci/pci_bus_id") or ""
    try:
        address = normalise(named)
    except ValueError:
        raise ReportError(f"a GPU has no PCI address but {named!r}") from None
    enabled = _text(element, "mig_mode/current_mig")
    return SmiGpu(
        address=address,
        product=_text(element, "product_name"),
        uuid=_text(element, "uuid"),
        minor=_number(_text(element, "minor_number")),
        memory_mib=_mebibytes(_text(element, "fb_memory_usage/total")),
        mig_mode=enabled.lower() if enabled else None,
        mig_pending=(_text(element, "mig_mode/pending_mig") or "").lower() or None,
        mig_devices=tuple(sorted((_mig(mig) for mig in element.findall("mig_devices/mig_device")), key=_mig_index)),
        fabric=_fabric(element),
        trouble=_trouble(element),
        health=_health(element),
    )


def _mig(element: ElementTree.Element) -> MigDevice:
    numbers = [_number(_text(element, tag)) for tag in ("index", "gpu_instance_id", "compute_instance_id")]
    index, gpu_instance, compute_instance = numbers
    if index is None or gpu_instance is None or compute_instance is None:
        raise ReportError("a MIG device lacks its index or one of its instance ids")
    return MigDevice(index, gpu_instance, compute_instance, _mebibytes(_text(element, "fb_memory_usage/total")))


def _mig_index(device: MigDevice) -> int:
    return device.index


def _fabric(element: ElementTree.Element) -> Fabric:
    return Fabric(
        cluster_uuid=_text(element, "fabric/clusterUuid"),
        clique=_number(_text(element, "fabric/cliqueId")),
        state=_text(element, "fabric/state"),
        status=_text(element, "fabric/status"),
    )


def _health(element: ElementTree.Element) -> Health:
    """Read remapped rows (Ampere and newer), retired pages (before) and the link; what is not there is well."""
    retired = ("retired_pages/pending_retirement", "retired_pages/pending_blacklist")
    link = "pci/pci_gpu_link_info"
    return Health(
        remap_pending=any(_yes(element, tag) for tag in ("remapped_rows/remapped_row_pending", *retired)),
        remap_failed=_yes(element, "remapped_rows/remapped_row_failure"),
        recovery=element.findtext("gpu_recovery_action", "").strip() or None,
        state=_text(element, "performance_state"),
        link_gen=_number(_text(element, f"{link}/pcie_gen/current_link_gen")),
        link_width=_lanes(_text(element, f"{link}/link_widths/current_link_width")),
        link_width_most=_lanes(_text(element, f"{link}/link_widths/max_link_width")),
    )


def _yes(element: ElementTree.Element, tag: str) -> bool:
    return (element.findtext(tag) or "").strip().lower() == "yes"


def _lanes(text: str | None) -> int | None:
    match = re.fullmatch(r"([0-9]{1,4})x", text or "")
    return int(match[1]) if match else None


def _trouble(element: ElementTree.Element) -> str | None:
    """Return nvidia-smi's words for a GPU that is lost, or None.

    "GPU is lost" is believed wherever it stands. "ERR!" and "Unknown Error" stand in healthy GPUs too (a fan without
    a sensor); there they count only where the GPU's identity or its memory should be.
    """
    identity = [
        element.findtext(tag) or "" for tag in ("product_name", "uuid", "minor_number", "fb_memory_usage/total")
    ]
    words = [text for text in identity if _TROUBLE.search(text)]
    words += [leaf.text for leaf in element.iter() if leaf.text and _GONE.fullmatch(leaf.text.strip())]
    return words[0].strip() if words else None


def _text(element: ElementTree.Element, tag: str) -> str | None:
    text = (element.findtext(tag) or "").strip()
    return None if not text or _NOTHING.fullmatch(text) or _TROUBLE.search(text) else text


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) else None


def _mebibytes(text: str | None) -> int | None:
    match = re.fullmatch(r"([0-9]{1,12}) Mi?B", text or "")
    return int(match[1]) if match else None


def read_kernel_gpus(evidence: Evidence) -> dict[str, KernelGpu]:
    """Return PCI address -> GPU as /proc/driver/nvidia/gpus lists them; empty without the driver."""
    gpus = {}
    for name in evidence.names(f"{_PROC}/gpus") or ():
        text = evidence.read(f"{_PROC}/gpus/{name}/information")
        if text is None:
            continue
        try:
            address = normalise(name)
        except ValueError:  # not made by the driver
            continue
        values = dict(re.findall(r"^([A-Za-z ]+?)\s*:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))
        uuid = values.get("GPU UUID", "")
        gpus[address] = KernelGpu(
            product=_known(values.get("Model", "")),
            uuid=uuid if uuid and "?" not in uuid else None,  # question marks stand for a GPU that does not answer
            minor=_number(values.get("Device Minor")),
        )
    return gpus


def _known(text: str) -> str | None:
    return None if not text or _NOTHING.fullmatch(text) or _TROUBLE.search(text) else text


def library_mismatch(status: int, output: str) -> bool:
    """Say whether nvidia-smi failed because its library and the loaded kernel module are of different versions."""
    return status == _MISMATCH_STATUS or bool(_MISMATCH.search(output))


def library_versions(evidence: Evidence) -> set[str]:
    """Return the versions of the installed libcuda, of those libraries that belong to the machine of the driver.

    The library of an evidence root that is not the driver's says nothing about it.
    """
    versions = set()
    for folder in _LIBRARY_FOLDERS:
        for name in evidence.names(folder) or ():
            match = _LIBRARY.fullmatch(name)
            path = f"{folder}/{name}"
            if match and evidence.root(path) == evidence.root(f"{_PROC}/version"):
                evidence.exists(path)
                versions.add(match[1])
    return versions


def read_driver(evidence: Evidence) -> Driver | None:
    """Return the loaded kernel module's version and flavour, or None where it is not loaded."""
    text = evidence.read(f"{_PROC}/version")
    if text is None:
        return None
    line = text.partition("\n")[0]
    version = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", line)
    return Driver(version[0] if version else None, "open" if "Open Kernel Module" in line else "closed")
