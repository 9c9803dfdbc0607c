# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines that are put before the real Slurm: fixture bundles, public captures, made-up processors.

Each is evidence in the form of a bundle, so that detection and derivation are tested on the way, and beside it what the
description (not the detection) says: the devices in the order they must have, and the CPUs near to each.
"""

from __future__ import annotations

import bz2
import io
import re
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from slurm import MACHINES, Env, Machine, dump, synthetic
from sysfs import Processors, tree

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
CAPTURES = ROOT.parent / "shared" / "captures"
sys.path.insert(0, str(FIXTURES))

import make_bundles as parts  # noqa: E402  the fixtures are not a package

Tree = Mapping[str, bytes]
SMI = "commands/nvidia-smi_-q_-x"


@dataclass(frozen=True)
class Case:
    """One machine.

    ``layers``: evidence, first match wins. ``devices``: the device files of each thing a job can have, in PCI order.
    ``near``: the CPUs near to each of them, empty where unknown. ``refused``: the problem for which the derivation must
    leave the machine out. ``dumped``: the layer that hwloc reads, with the kind of dump; else ``env`` describes it.
    ``variables``: host variables of the operator. ``parts_per_gpu``: how many shards or MPS parts a whole GPU has.
    ``cluster``: which cluster the machine is a node of; shared GPUs have their own, because Slurm 22.05 takes the MIG
    devices of all nodes apart where any node shares.
    """

    name: str
    layers: tuple[Tree, ...]
    env: Env = field(default_factory=dict)
    devices: tuple[tuple[str, ...], ...] = ()
    near: tuple[str, ...] = ()
    refused: str = ""
    dumped: tuple[int, str] | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    parts_per_gpu: int = 0
    cluster: str = "all"

    def lay(self, folder: Path) -> list[str]:
        """Write the layers below ``folder`` and return their roots."""
        roots = []
        for number, layer in enumerate(self.layers):
            root = folder / str(number)
            for path, content in layer.items():
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            roots.append(str(root))
        return roots

    def machine(self, roots: Sequence[str]) -> Machine:
        """Return the machine as a slurmd sees it, the layers being laid out in ``roots``."""
        files = sorted({file for device in self.devices for file in device})
        if self.dumped is None:
            return Machine(self.env, files)
        layer, kind = self.dumped
        place = f"{MACHINES}/{self.name}"
        return Machine(dump(place, kind), files, {roots[layer]: place})


def encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    """Return texts as bytes."""
    return {path: text.encode() for path, text in files.items()}


def of_cpus(cpus: parts.Cpus) -> dict[str, str]:
    """Return the environment that makes hwloc see the processors of a bundle."""
    numbers = [
        cpus.cpu(socket, core, thread)
        for socket in range(cpus.sockets)
        for core in range(cpus.cores)
        for thread in range(cpus.threads)
    ]
    return synthetic(cpus.sockets, cpus.cores, cpus.threads, numbers)


def offered(machine: parts.Machine) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return devices and near CPUs of a described machine, in PCI order."""
    capabilities = dict(line.split(" ") for line in parts.capabilities(machine).splitlines())
    devices, near = [], []
    for gpu in sorted(machine.gpus, key=lambda gpu: gpu.pci):
        own = f"/dev/nvidia{gpu.minor}"
        for one in gpu.mig:
            access = [f"gpu{gpu.minor}/gi{one.gi}/access", f"gpu{gpu.minor}/gi{one.gi}/ci{one.ci}/access"]
            devices.append((own, *(f"/dev/nvidia-caps/nvidia-cap{capabilities[entry]}" for entry in access)))
            near.append(gpu.cpus)
        if not gpu.mig:
            devices.append((own,))
            near.append(gpu.cpus)
    return tuple(devices), tuple(near)


def described(
    name: str, cpus: parts.Cpus, machine: parts.Machine, files: Tree | None = None, refused: str = ""
) -> Case:
    """Return the case of a machine that the parts of the bundles describe; ``files`` lie over what they make."""
    devices, cores = offered(machine)
    return Case(
        name=name,
        layers=({**parts.cpu_files(cpus), **parts.machine_files(machine), **(files or {})},),
        env=of_cpus(cpus),
        devices=devices,
        near=cores,
        refused=refused,
    )


# --- Bundles -------------------------------------------------------------------------------------------------------

# bundle -> processors, GPUs, the problem for which it is refused
_BUNDLES: dict[str, tuple[parts.Cpus, parts.Machine, str]] = {
    "a100-4gpu-mig": (parts.DUAL, parts.a100(parts.A100_SPLIT), ""),
    "a100-device-cgroup": (parts.DUAL, parts.plain_a100(), ""),
    **dict.fromkeys(
        (
            "a100-fallen-off-without-xid",
            "a100-library-mismatch",
            "a100-narrow-link",
            "a100-recovery-action",
            "a100-row-remap",
            "a100-xid",
        ),
        (parts.DUAL, parts.plain_a100(), ""),
    ),
    "a100-hanging-nvidia-smi": (parts.DUAL, parts.plain_a100(), ""),
    "a100-mig-empty": (parts.DUAL, parts.a100(()), "SLM008"),
    "a100-no-handle": (parts.DUAL, parts.plain_a100(), ""),
    "cpu-2x56c-smt2": (parts.DUAL, parts.Machine(()), ""),
    "cpu-only-2x56c-smt2": (parts.DUAL, parts.Machine(()), ""),
    "gb200-tray": (parts.GB200_CPUS, parts.gb200(), ""),
    "gh200": (parts.GH200_CPUS, parts.gh200(), ""),
    "h100-lost-gpu": (parts.DUAL, parts.h100_lost(), ""),
    "hgx-h100-8gpu": (parts.DUAL, parts.hgx_h100(), ""),
    "k80-minors-out-of-order": (parts.K80_CPUS, parts.k80(), ""),
    "malformed-xml": (parts.DUAL, parts.plain_a100(), ""),
    "mixed-3090-a6000": (parts.DUAL, parts.mixed(), ""),
    "no-driver": (parts.DUAL, parts.Machine(()), "SLM006"),
    "rtx-audio-usb-functions": (parts.Cpus(1, 8, 2, memory_gib=64), parts.rtx_functions(), ""),
    "truncated-xml": (parts.DUAL, parts.plain_a100(), ""),
    "unreadable-xml": (parts.DUAL, parts.plain_a100(), ""),
    "v100-8gpu-mesh": (parts.V100_CPUS, parts.v100(), ""),
}


def bundles() -> list[Case]:
    """Return a case for every bundle that is described above."""
    cases = []
    for name, (cpus, machine, refused) in _BUNDLES.items():
        devices, near = offered(machine)
        # Bundles of GPUs alone are laid over the processors of one with both.
        layers = (parts.BUNDLES[name](), parts.cpu_files(parts.DUAL))
        cases.append(Case(name, layers, of_cpus(cpus), devices, near, refused))
    return cases


# --- Reports of nvidia-smi -------------------------------------------------------------------------------------------

# What the report says that a Slurm GPU cannot do without -> the problem of the derivation.
_REPORTS_REFUSED = {
    "a100-sxm4-40gb-mig-2inst": "SLM009",
    "gtx-1070-ti-dtd-v10-minimal": "SLM006",
    "rtx-2080-windows": "SLM006",
    "rtx-3080-windows-minor-na": "SLM006",
}
_GPU = re.compile(r'<gpu id="([0-9A-Fa-f:.]+)">.*?</gpu>', re.DOTALL)
_MINOR = re.compile(r"<minor_number>(\d+)</minor_number>")


def reports() -> list[Case]:
    """Return a case for every recorded ``nvidia-smi -q -x``, on a machine with two sockets."""
    cases = []
    for path in sorted(CAPTURES.glob("*.nvidia-smi-q.xml")):
        name = path.name.partition(".")[0]
        text = path.read_text()
        gpus = sorted((match[1].lower(), _MINOR.search(match[0])) for match in _GPU.finditer(text))
        bus: dict[str, str] = {}
        near = []
        for number, (address, _minor) in enumerate(gpus):
            # sysfs has four digits of the domain where nvidia-smi has eight.
            folder = f"sys/bus/pci/devices/{address[-12:]}"
            near.append(parts.NEAR[number * 2 // len(gpus)])
            bus |= {
                f"{folder}/vendor": "0x10de\n",
                f"{folder}/class": "0x030200\n",
                f"{folder}/numa_node": f"{number * 2 // len(gpus)}\n",
                f"{folder}/local_cpulist": near[-1] + "\n",
            }
        devices = tuple((f"/dev/nvidia{minor[1]}",) for _address, minor in gpus if minor)
        layers = ({SMI: path.read_bytes()}, encoded(bus), parts.cpu_files(parts.DUAL))
        refused = _REPORTS_REFUSED.get(name, "")
        cases.append(Case(f"q-{name}", layers, of_cpus(parts.DUAL), devices, tuple(near), refused))
    return cases


# --- Matrices of nvidia-smi ------------------------------------------------------------------------------------------

_A100_SXM = replace(parts.A100, mig_mode="Disabled")
_A100_PCIE = parts.Gpu("", 0, "NVIDIA A100 80GB PCIe", "20b5", 81920, mig_mode="Disabled")
_RTX_3090 = parts.Gpu("", 0, "NVIDIA GeForce RTX 3090", "2204", 24576, pci_class="030000")
_RTX_4090 = parts.Gpu("", 0, "NVIDIA GeForce RTX 4090", "2684", 24564, pci_class="030000")
_V100 = parts.Gpu("", 0, "Tesla V100-SXM2-32GB", "1db5", 32768)
_NPS4 = parts.Cpus(2, 64, 2, memory_gib=512, model="AMD EPYC 7742 64-Core Processor")
# Processors of each matrix, from its CPU numbers, and a GPU that fits.
_MATRICES: dict[str, tuple[parts.Cpus, parts.Gpu, str]] = {
    "1gpu-affinity-blank": (parts.Cpus(1, 8, 2, memory_gib=64), _RTX_4090, ""),
    "2gpu-phb-roce": (parts.Cpus(2, 14, 2, memory_gib=128), _A100_PCIE, ""),
    "8gpu-odd-last-cpu-missing": (parts.Cpus(2, 64, 2), _A100_SXM, "CPU002"),
    "a100-pcie-2gpu-both-on-numa1": (parts.Cpus(2, 28, 2), _A100_PCIE, ""),
    "a100-sxm-4gpu-wholly-on-numa1": (parts.Cpus(2, 32, 2), _A100_SXM, ""),
    "dgx-a100-8gpu-nps4": (_NPS4, _A100_SXM, ""),
    "job-cgroup-2gpu-blank-affinity": (parts.Cpus(2, 64, 1), _A100_PCIE, ""),
    "pcie-8gpu-all-sys": (parts.Cpus(2, 16, 2), _RTX_4090, ""),
    "rtx-3090-2gpu-nv4": (parts.Cpus(1, 12, 2, memory_gib=128), _RTX_3090, ""),
    "v100-sxm2-8gpu-hybrid-cube-mesh": (parts.Cpus(2, 24, 2), _V100, ""),
}
_ROW = re.compile(r"^GPU(\d+)\s")
_AFFINITY = re.compile(r"(?<=\s)\d+-\d+(?:,\d+-\d+)*(?=\s|$)")


def _without_last_cpu(cpus: parts.Cpus) -> dict[str, bytes]:
    """Return the files of processors of which the last CPU is offline."""
    last = cpus.sockets * cpus.cores * cpus.threads - 1
    ends = (f"-{last}\n".encode(), f",{last}\n".encode(), f"{last}\n".encode())
    files = {}
    for path, content in parts.cpu_files(cpus).items():
        if content.endswith(ends[0]) and not path.endswith("present"):
            content = content[: -len(ends[0])] + f"-{last - 1}\n".encode()
        elif content.endswith(ends[1]):
            content = content[: -len(ends[1])] + b"\n"
        files[path] = content
    return files


def _quarters(cpus: parts.Cpus) -> dict[str, bytes]:
    """Return NUMA nodes of a quarter socket each, over those of the processors."""
    files = {}
    size = cpus.cores // 4
    for number in range(cpus.sockets * 4):
        first = number * size
        second = first + cpus.sockets * cpus.cores
        folder = f"sys/devices/system/node/node{number}"
        files[f"{folder}/cpulist"] = f"{first}-{first + size - 1},{second}-{second + size - 1}\n"
        files[f"{folder}/meminfo"] = f"Node {number} MemTotal:       {cpus.memory_gib << 18} kB\n"
    return encoded(files)


def matrices() -> list[Case]:
    """Return a case for every recorded ``nvidia-smi topo -m``."""
    cases = []
    for path in sorted(CAPTURES.glob("*.topo-m.txt")):
        name = path.name.partition(".")[0]
        cpus, model, refused = _MATRICES[name]
        rows = [line for line in path.read_text().splitlines() if _ROW.match(line)]
        near = [match[0] if (match := _AFFINITY.search(row)) else "" for row in rows]
        gpus = tuple(
            replace(model, pci=f"0000:{0x11 + number:02x}:00.0", minor=number, cpus=cores, numa=0 if cores else -1)
            for number, cores in enumerate(near)
        )
        machine = parts.Machine(gpus, topo=path.read_text())
        over: dict[str, bytes] = {}
        if name == "8gpu-odd-last-cpu-missing":
            over = _without_last_cpu(cpus)
        elif name == "dgx-a100-8gpu-nps4":
            over = _quarters(cpus)
        cases.append(described(f"topo-{name}", cpus, machine, over, refused))
    return cases


# --- What else describes a machine -----------------------------------------------------------------------------------


def _on(gpu: parts.Gpu, products: Sequence[str], cpus: str) -> tuple[parts.Gpu, ...]:
    return tuple(
        replace(gpu, pci=f"0000:{0x21 + number:02x}:00.0", minor=number, product=product, cpus=cpus, numa=0)
        for number, product in enumerate(products)
    )


def others() -> list[Case]:
    """Return cases made after captures that are no evidence in the detection's sense but describe a machine."""
    cases = []
    # name, address and order of five cards, two models in turn
    text = (CAPTURES / "mixed-gtx1060-gtx1080ti-5gpu.nvidia-smi-query.csv").read_text()
    rows = [line.split(", ") for line in text.splitlines()[1:]]
    card = parts.Gpu("", 0, "", "1c03", 6144, pci_class="030000")
    gpus = tuple(
        replace(card, pci=f"0000:{int(bus, 16):02x}:00.0", minor=int(index), product=product)
        for product, bus, index, _uuid in rows
    )
    cases.append(described("csv-mixed-5gpu", parts.Cpus(1, 8, 2, memory_gib=32), parts.Machine(gpus)))
    # compute instances that share a GPU instance
    text = (CAPTURES / "h100-mig-compute-instances.nvidia-smi-L.txt").read_text()
    profiles = re.findall(r"MIG\s+(\S+)\s+Device", text)
    instances = tuple(
        parts.Mig(
            profile, 1 if profile.startswith("1c.") else 7 + number, number if profile.startswith("1c.") else 0, 9
        )
        for number, profile in enumerate(profiles)
    )
    whole, cut = parts.on_dual(replace(parts.H100, mig_mode="Enabled"), ("1b", "43"))
    machine = parts.Machine((replace(whole, mig_mode="Disabled"), replace(cut, mig=instances)))
    cases.append(described("mig-compute-instances", parts.DUAL, machine))
    # full GPUs and slices of one model side by side: fourteen small ones on two GPUs
    slices = tuple(parts.Mig("1g.10gb", 7 + number, 0, 9856) for number in range(7))
    gpus = parts.on_dual(parts.A100, ("0f", "10", "48", "4d", "88", "8e", "c1", "cd"))
    gpus = tuple(replace(gpu, mig_mode="Enabled", mig=slices) if gpu.minor in (4, 5) else gpu for gpu in gpus)
    cases.append(described("mig-14x1g10gb", parts.DUAL, parts.Machine(gpus)))
    # slurmd's own answers on five machines
    text = (CAPTURES / "slurmd-C-collection.txt").read_text()
    for words in (dict(re.findall(r"(\w+)=(\S+)", line)) for line in text.splitlines() if line.startswith("Node")):
        cpus = parts.Cpus(
            int(words["SocketsPerBoard"]), int(words["CoresPerSocket"]), int(words["ThreadsPerCore"]),
            memory_gib=max(1, int(words["RealMemory"]) // 1024 // int(words["SocketsPerBoard"])),
        )  # fmt: skip
        products: list[str] = []
        if "Gres" in words:
            _name, kind, count = words["Gres"].split(":")
            products = [kind.upper().replace("_", " ")] * int(count)
        gpus = _on(parts.A100, products, cpus=f"0-{cpus.sockets * cpus.cores * cpus.threads - 1}")
        cases.append(described(f"c-{words['NodeName']}", cpus, parts.Machine(gpus)))
    # bridges between cards of two models in turn
    gpus = parts.mixed().gpus
    gpus = tuple(replace(gpus[at], pci=gpus[new].pci, minor=new) for new, at in enumerate((0, 2, 1, 3)))
    cells = [["NV4" if abs(row - column) == 2 else "SYS" for column in range(4)] for row in range(4)]
    topo = parts.topo_matrix(cells, [gpu.cpus for gpu in gpus], [gpu.numa for gpu in gpus])
    cases.append(described("bridges-of-two-models-in-turn", parts.DUAL, parts.Machine(gpus, topo=topo)))
    return cases


# --- Dumps of processors ---------------------------------------------------------------------------------------------

# The problem for which detection refuses the machine.
_DUMPS_REFUSED = {"linux-16em64t-4s2c2t-offlines": "CPU002", "linux-20em64t-hybrid-1p6c2t+2ca4co1t": "CPU004"}


def unpack(path: Path) -> dict[str, bytes]:
    """Return the files of a dump, links resolved inside it, without the folder around it."""
    with tarfile.open(fileobj=io.BytesIO(bz2.decompress(path.read_bytes()))) as archive:
        files = {}
        for member in archive:
            if member.isreg():
                stream = archive.extractfile(member)
                assert stream is not None
                files[member.name.removeprefix("./").partition("/")[2]] = stream.read()
        return files


def _two_gpus(near: Sequence[str]) -> parts.Machine:
    return parts.Machine(
        tuple(
            replace(parts.H100, pci=f"0000:{0x1B + number:02x}:00.0", minor=number, cpus=cores)
            for number, cores in enumerate(near)
        )
    )


def _of_node(files: Tree, node: str) -> str:
    text = files.get(f"sys/devices/system/node/{node}/cpulist", b"").decode().strip()
    return text or _of_mask(files[f"sys/devices/system/node/{node}/cpumap"].decode())


def _of_mask(text: str) -> str:
    value = int(text.strip().replace(",", ""), 16)
    return ",".join(str(bit) for bit in range(value.bit_length()) if value >> bit & 1)


def dumps() -> list[Case]:
    """Return a case for every dump of hwloc with two GPUs in it, near to the first and the last NUMA node with CPUs."""
    cases = []
    for path in sorted((CAPTURES / "hwloc").glob("linux-*.tar.bz2")):
        name = path.name.removesuffix(".tar.bz2")
        files = unpack(path)
        nodes = sorted(
            {match[1] for file in files if (match := re.match(r"sys/devices/system/node/(node\d+)/", file))},
            key=lambda node: int(node[4:]),
        )
        near = [text for node in nodes if (text := _of_node(files, node))] or ["0"]
        machine = _two_gpus([near[0], near[-1]])
        devices, cores = offered(machine)
        cases.append(
            Case(
                name.replace("+", "-"),
                (parts.machine_files(machine), files),
                devices=devices,
                near=cores,
                refused=_DUMPS_REFUSED.get(name, ""),
                dumped=(1, "linux"),
            )
        )
    return cases


# Dumps of cpuid registers hold no sysfs: a bundle of the same processors is the evidence, hwloc reads the registers.
_REGISTERS = {
    "x86-AMD-19h-Zen3-2xEpyc-7763": parts.Cpus(2, 64, 1, memory_gib=512),
    "x86-AMD-19h-Zen4-2xEpyc-9654": parts.Cpus(2, 96, 2, memory_gib=768),
    "x86-Intel-CascadeLake-2xXeon6230": parts.Cpus(2, 20, 2, memory_gib=192, interleaved=True),
}


def registers() -> list[Case]:
    """Return a case for every dump of cpuid registers, with a GPU at each socket."""
    cases = []
    for name, cpus in _REGISTERS.items():
        firsts = [[cpus.cpu(socket, core, 0) for core in range(cpus.cores)] for socket in (0, 1)]
        gpus = _two_gpus([",".join(map(str, numbers)) for numbers in firsts])
        devices, near = offered(gpus)
        layers = (
            {**parts.cpu_files(cpus), **parts.machine_files(gpus)},
            unpack(CAPTURES / "hwloc" / f"{name}.tar.bz2"),
        )
        cases.append(Case(name.lower(), layers, devices=devices, near=near, dumped=(1, "x86")))
    return cases


# Made-up processors: what orders of cores there can be.
MADE_UP = {
    "one-core": Processors(1, cores=1),
    "flat": Processors(2, cores=8, threads=2),
    "pairs": Processors(2, cores=8, threads=2, numbering="pairs"),
    "alternating-sockets": Processors(2, cores=6, threads=2, numbering="sockets"),
    "nps4": Processors(2, nodes=4, caches=2, cores=2, threads=2),
    "alternating-nodes": Processors(2, nodes=2, caches=2, cores=3, threads=2, numbering="nodes"),
    "caches": Processors(1, caches=4, cores=4, threads=1),
    "caches-pairs": Processors(2, caches=3, cores=3, threads=2, numbering="pairs"),
    "shuffled": Processors(2, nodes=2, caches=2, cores=2, threads=2, numbering="shuffled"),
    "shuffled-big": Processors(4, nodes=1, caches=2, cores=8, threads=1, numbering="shuffled"),
    "smt4": Processors(2, cores=4, threads=4),
    "eight-sockets": Processors(8, cores=1),
    "memory-of-one-node": Processors(2, nodes=2, cores=2, threads=2, memories=((1,), (3,))),
    "memory-of-two-nodes": Processors(2, nodes=4, cores=2, threads=2, memories=((0, 2), (5, 7))),
    "memory-of-all-nodes": Processors(1, nodes=4, cores=2, memories=((0, 1, 2, 3),)),
    "memory-by-firmware": Processors(2, nodes=4, cores=2, threads=2, memories=((1, 3), (4, 6)), initiators="access0"),
    "memory-by-newer-firmware": Processors(1, nodes=4, cores=2, memories=((1, 3),), initiators="access1"),
    "three-sockets": Processors(3, nodes=2, cores=2, threads=2, numbering="nodes"),
}


def made_up() -> list[Case]:
    """Return a case for every made-up processor with two GPUs, near to its first and last NUMA node."""
    cases = []
    for name, processors in MADE_UP.items():
        machine = _two_gpus([",".join(map(str, processors.near[at])) for at in (0, -1)])
        devices, near = offered(machine)
        layers = (parts.machine_files(machine), encoded(tree(processors)))
        cases.append(Case(f"cpu-{name}", layers, devices=devices, near=near, dumped=(1, "linux")))
    return cases


# Captures from which no node can be made.
LEFT_OUT = {
    "8gpu-10core-slices.gres.conf": "an output; the real Slurm must refuse it (test_controls)",
    "a100-mig-14x1g10gb.gres.conf": "an output; the machine is the case mig-14x1g10gb",
    "deepops-thread-ids.gres.conf": "an output; the real Slurm must refuse it (test_controls)",
    "four-gpu-site.gres.conf": "an output, and nothing of the machines but the number of GPUs",
    "gb200-nodes.slurm.conf": "an output; the machine is the bundle gb200-tray",
    "dgx-superpod-real.topology.conf": "an output",
    "dgx-superpod-bad.ibnetdiscover.txt": "a fabric, no node",
    "dgx-superpod-rail-optimised-ndr.ibnetdiscover.txt": "a fabric, no node",
    "edr-small.ibnetdiscover-p.txt": "a fabric, no node",
    "a10-1gpu-kvm.lspci-nn.txt": "a PCI bus without processors, driver and minor numbers",
    "gb200-tray.lspci.txt": "a PCI bus without processors, driver and minor numbers",
    "hgx-h100-4gpu-part.lspci-vvv.txt": "a PCI bus without processors, driver and minor numbers",
    "hgx-h100-all-active.ibstat.txt": "adapters, no GPU and no processor",
    "a100-mig-3x2g10gb.nvidia-smi-mig-lgi.txt": "instance ids without profiles and device files",
    "gh200-9-numa-nodes.lscpu.txt": "processors only; the machine is the bundle gh200",
    "dgx-a100-2x7742-nps4.lscpu.txt": "processors only; the machine is the case topo-dgx-a100-8gpu-nps4",
    "hgx-h100-8gpu-driver535.nvidia-smi-q.txt": "text in the place of XML, which detection refuses (GPU007)",
    "hgx-h100-8gpu-driver550.nvidia-smi.txt": "a table for people, without minor numbers",
    "hgx-h100-truncated-1of8.nvidia-smi-q.txt": "text in the place of XML, cut off",
    "rtx-4090-8gpu.nvidia-smi-q.txt": "text in the place of XML, which detection refuses (GPU007)",
    "rtx-4090-err-fan.nvidia-smi.txt": "a table for people, without minor numbers",
    "SOURCES.md": "says where the captures come from",
}
_USED = (
    r".*\.nvidia-smi-q\.xml|.*\.topo-m\.txt|hwloc/linux-.*|hwloc/x86-.*|slurmd-C-collection\.txt"
    r"|h100-mig-compute-instances\.nvidia-smi-L\.txt|mixed-gtx1060-gtx1080ti-5gpu\.nvidia-smi-query\.csv"
)


def unaccounted() -> list[str]:
    """Return bundles and captures that are neither used nor left out with a reason, or are named and not there."""
    bundles_missing = sorted(set(parts.BUNDLES) ^ set(_BUNDLES))
    if bundles_missing or not CAPTURES.is_dir():
        return bundles_missing
    present = {str(path.relative_to(CAPTURES)) for path in CAPTURES.rglob("*") if path.is_file()}
    return sorted({name for name in present if not re.fullmatch(_USED, name)} ^ set(LEFT_OUT))


def with_settings() -> list[Case]:
    """Return machines on which the operator shares GPUs or leaves some out."""
    shard = {"slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 4}}
    mps = {"slurm_node_gpu_sharing": {"mode": "mps"}}
    bridged = parts.v100()
    cases = [
        *(
            replace(described(f"shard-{name}", cpus, machine), cluster="shard", variables=shard, parts_per_gpu=4)
            for name, cpus, machine in (
                ("8gpu", parts.DUAL, parts.hgx_h100()),
                ("out-of-order", parts.K80_CPUS, parts.k80()),
                ("two-models", parts.DUAL, parts.mixed()),
                ("bridged", parts.V100_CPUS, bridged),
            )
        ),
        replace(described("mps-4gpu", parts.DUAL, parts.plain_a100()), cluster="mps", variables=mps, parts_per_gpu=100),
    ]
    for name, cpus, machine, excluded in (
        ("excluded-first", parts.DUAL, parts.hgx_h100(), (0,)),
        ("excluded-middle", parts.DUAL, parts.hgx_h100(), (3, 4)),
        ("excluded-out-of-order", parts.K80_CPUS, parts.k80(), (1,)),
        ("excluded-bridged", parts.V100_CPUS, bridged, (2,)),
        ("excluded-all", parts.DUAL, parts.mixed(), (0, 1, 2, 3)),
    ):
        case = described(name, cpus, machine)
        kept = [at for at, device in enumerate(case.devices) if int(device[0][len("/dev/nvidia") :]) not in excluded]
        cases.append(
            replace(
                case,
                variables={"slurm_node_gpu_exclude": list(excluded)},
                devices=tuple(case.devices[at] for at in kept),
                near=tuple(case.near[at] for at in kept),
            )
        )
    return cases


SOURCES: tuple[Callable[[], list[Case]], ...] = (bundles, made_up, with_settings)
OF_CAPTURES: tuple[Callable[[], list[Case]], ...] = (reports, matrices, others, dumps, registers)


def every_case() -> list[Case]:
    """Return all cases, those of captures where the captures are laid beside the checkout."""
    sources = SOURCES + (OF_CAPTURES if CAPTURES.is_dir() else ())
    return [case for source in sources for case in source()]
