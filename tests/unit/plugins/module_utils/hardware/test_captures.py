# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public captures of real machines: what detection makes of each.

Every file of the folder is in one of the tables below; a capture that is in none fails the test.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import mig, nvlink
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take

Record = Mapping[str, Any]

SMI = "commands/nvidia-smi_-q_-x"
ZEROS = "00000000-0000-0000-0000-000000000000"
RACK = "00000001-0000-0000-0000-000000000001"


def gpus(kind: str, memory: int, *addresses: str) -> list[tuple[str, int | None, str, int | None]]:
    """Return (PCI address, minor number, type, memory) for equal GPUs with minor numbers in PCI order."""
    return [(f"00000000:{address}.0", minor, kind, memory) for minor, address in enumerate(addresses)]


def windows(kind: str, memory: int, address: str) -> list[tuple[str, int | None, str, int | None]]:
    """Return one GPU without minor number."""
    return [(f"00000000:{address}.0", None, kind, memory)]


# file -> (driver, GPUs, problems)
REPORTS: dict[str, tuple[str | None, list[tuple[str, int | None, str, int | None]], list[str]]] = {
    "a100-sxm4-40gb-1gpu-vm": ("570.148.08", gpus("nvidia_a100-sxm4-40gb", 40960, "06:00"), []),
    # The report alone names neither profiles nor device files.
    "a100-sxm4-40gb-mig-2inst": ("510.47.03", gpus("nvidia_a100-sxm4-40gb", 40960, "00:04"), ["MIG002", "MIG003"]),
    "a10g-1gpu": ("515.105.01", gpus("nvidia_a10g", 23028, "00:1e"), []),
    "gb200-nvl72-tray-4gpu": ("580.173.02", gpus("nvidia_gb200", 189471, "29:00", "3f:00", "9c:00", "b2:00"), []),
    "gtx-1070-6attached-2shown-dtd-v9": (
        "384.66",
        [("00000000:01:00.0", 0, "geforce_gtx_1070", 8112), ("00000000:03:00.0", 1, "geforce_gtx_1070", 8114)],
        ["GPU008"],
    ),
    "gtx-1070-ti-dtd-v10-minimal": (None, windows("geforce_gtx_1070_ti", 4096, "01:00"), ["GPU009"]),
    "hgx-h100-8gpu": (
        "580.105.08",
        gpus(
            "nvidia_h100_80gb_hbm3", 81559, *(f"{bus}:00" for bus in ("53", "64", "75", "86", "97", "a8", "b9", "ca"))
        ),
        [],
    ),
    "mock-gb200-2gpu-one-lost": (
        "580.65.06",
        [("00000000:0a:00.0", 0, "nvidia_gb200", 196608), ("00000000:0b:00.0", 1, "nvidia_gb200", None)],
        ["GPU003"],
    ),
    "p100-pcie": ("510.47.03", gpus("tesla_p100-pcie-16gb", 16384, "00:04"), []),
    "quadro-p2000-dtd-v12": ("525.125.06", gpus("quadro_p2000", 5120, "17:00"), []),
    "quadro-p400-driver418": ("418.43", gpus("quadro_p400", 1998, "43:00"), []),
    "rtx-2080-windows": ("516.59", windows("nvidia_geforce_rtx_2080", 8192, "0a:00"), ["GPU009"]),
    "rtx-3060-driver570": ("570.124.04", gpus("nvidia_geforce_rtx_3060", 12288, "2d:00"), []),
    "rtx-3060-laptop": ("515.65.01", gpus("nvidia_geforce_rtx_3060_laptop_gpu", 6144, "01:00"), []),
    "rtx-3080-windows-minor-na": ("536.40", windows("nvidia_geforce_rtx_3080", 10240, "04:00"), ["GPU009"]),
    "rtx-3090-dtd-v12": ("525.147.05", gpus("nvidia_geforce_rtx_3090", 24576, "00:10"), []),
    "rtx-4000-sff-ada-dtd-v13": ("595.84", gpus("nvidia_rtx_4000_sff_ada_generation", 20475, "06:00"), []),
    "rtx-4090-driver535": ("535.86.05", gpus("nvidia_geforce_rtx_4090", 24564, "84:00"), []),
    "t4-1gpu-driver515": ("515.105.01", gpus("tesla_t4", 15360, "00:1e"), []),
}

FABRICS: dict[str, dict[str, Any]] = {
    "gb200-nvl72-tray-4gpu": {"cluster_uuid": RACK, "clique": 2, "state": "Completed", "status": "Success"},
    "hgx-h100-8gpu": {"cluster_uuid": ZEROS, "clique": 0, "state": "Completed", "status": "Success"},
}

# Text in the place of XML, whole or cut off.
TEXTS = (
    "hgx-h100-8gpu-driver535.nvidia-smi-q.txt",
    "hgx-h100-8gpu-driver550.nvidia-smi.txt",
    "hgx-h100-truncated-1of8.nvidia-smi-q.txt",
    "rtx-4090-8gpu.nvidia-smi-q.txt",
    "rtx-4090-err-fan.nvidia-smi.txt",
)

LISTS: dict[str, list[str]] = {
    "h100-mig-compute-instances.nvidia-smi-L.txt": ["1c.3g.40gb"] * 3 + ["1g.10gb"] * 2,
}

# Direct links; through a switch there are none, although the matrix says NV12.
MATRICES: dict[str, list[tuple[int, int, int]]] = {
    "1gpu-affinity-blank": [],
    "2gpu-phb-roce": [],
    "8gpu-odd-last-cpu-missing": [],
    "a100-pcie-2gpu-both-on-numa1": [],
    "a100-sxm-4gpu-wholly-on-numa1": [],
    "dgx-a100-8gpu-nps4": [],
    "job-cgroup-2gpu-blank-affinity": [],
    "pcie-8gpu-all-sys": [],
    "rtx-3090-2gpu-nv4": [(0, 1, 4)],
    "v100-sxm2-8gpu-hybrid-cube-mesh": [
        (0, 1, 1), (0, 2, 2), (0, 3, 1), (0, 7, 2), (1, 2, 1), (1, 3, 2), (1, 6, 2), (2, 3, 2),
        (2, 5, 1), (3, 4, 1), (4, 5, 2), (4, 6, 2), (4, 7, 1), (5, 6, 1), (5, 7, 2), (6, 7, 1),
    ],
}  # fmt: skip

# Sockets, cores, threads as slurmd itself found them (SOURCES.md), or refused with a problem; the first thread slot.
MACHINES: dict[str, tuple[tuple[int, int, int] | None, list[str], str | None]] = {
    # slurmd computes 4 sockets of one core from 12 CPUs, and is wrong.
    "linux-16em64t-4s2c2t-offlines": (None, ["CPU002"], None),
    # Slurm 22.05 takes 14 cores, 24.11 only the six fast ones.
    "linux-20em64t-hybrid-1p6c2t+2ca4co1t": (None, ["CPU004"], None),
    "linux-32amd64-4s2n4c-cgroup2": ((4, 8, 1), [], "0-31"),
    # Memory node 2 is nearest to the nodes 0 and 1, and hwloc puts their cores in front of the others.
    "linux-fakeheterocpunuma": ((2, 6, 2), [], "0,2,8,10,4,6,12-22:2"),
    "linux-nvidiagpunumanodes": ((2, 4, 4), ["CPU005"], "0-12:4,88-100:4"),
}

UNUSED: dict[str, str] = {
    "8gpu-10core-slices.gres.conf": "gres.conf is an output",
    "a10-1gpu-kvm.lspci-nn.txt": "lspci is not asked: sysfs has vendor, class and function as numbers",
    "a100-mig-14x1g10gb.gres.conf": "gres.conf is an output",
    "a100-mig-3x2g10gb.nvidia-smi-mig-lgi.txt": "instance ids come from the report, profiles from nvidia-smi -L",
    "deepops-thread-ids.gres.conf": "gres.conf is an output",
    "dgx-a100-2x7742-nps4.lscpu.txt": "lscpu is not asked: sysfs has the topology",
    "dgx-superpod-bad.ibnetdiscover.txt": "the fabric is looked at from the control node, not by detection",
    "dgx-superpod-rail-optimised-ndr.ibnetdiscover.txt": "the fabric is looked at from the control node",
    "dgx-superpod-real.topology.conf": "topology.conf is an output",
    "edr-small.ibnetdiscover-p.txt": "the fabric is looked at from the control node",
    "four-gpu-site.gres.conf": "gres.conf is an output",
    "gb200-nodes.slurm.conf": "slurm.conf is an output",
    "gb200-tray.lspci.txt": "lspci is not asked: sysfs has vendor, class and function as numbers",
    "gh200-9-numa-nodes.lscpu.txt": "lscpu is not asked: sysfs has the NUMA nodes",
    "hgx-h100-4gpu-part.lspci-vvv.txt": "lspci is not asked: sysfs has vendor, class and function as numbers",
    "hgx-h100-all-active.ibstat.txt": "ibstat is not asked: sysfs has GUIDs and port states",
    "hwloc/x86-AMD-19h-Zen3-2xEpyc-7763.tar.bz2": "a dump of cpuid registers, there is no sysfs in it",
    "hwloc/x86-AMD-19h-Zen4-2xEpyc-9654.tar.bz2": "a dump of cpuid registers, there is no sysfs in it",
    "hwloc/x86-Intel-CascadeLake-2xXeon6230.tar.bz2": "a dump of cpuid registers, there is no sysfs in it",
    "mixed-gtx1060-gtx1080ti-5gpu.nvidia-smi-query.csv": "the query format is not asked: it has no minor numbers",
    "slurmd-C-collection.txt": "slurmd's own answer, not evidence",
}


def test_every_capture_is_in_a_table(captures: Path) -> None:
    table = (
        {f"{name}.nvidia-smi-q.xml" for name in REPORTS}
        | {f"{name}.topo-m.txt" for name in MATRICES}
        | {f"hwloc/{name}.tar.bz2" for name in MACHINES}
        | {*TEXTS, *LISTS, *UNUSED}
    )
    present = {str(path.relative_to(captures)) for path in captures.rglob("*") if path.is_file()}
    assert table == present - {"SOURCES.md"}


@pytest.mark.parametrize("name", REPORTS)
def test_report(captures: Path, name: str, record_of: Callable[..., Record]) -> None:
    driver, expected, problems = REPORTS[name]
    record = record_of({SMI: (captures / f"{name}.nvidia-smi-q.xml").read_bytes()})
    assert record["nvidia"]["driver"] == driver
    assert [(gpu["pci"], gpu["minor"], gpu["type"], gpu["memory_mib"]) for gpu in record["gpus"]] == expected
    assert [problem["id"] for problem in record["problems"] if problem["id"][:3] in ("GPU", "MIG", "FAB")] == problems
    healthy = [gpu for gpu in record["gpus"] if gpu["problem"] is None]
    if name in FABRICS:
        assert [gpu["fabric"] for gpu in healthy] == [FABRICS[name]] * len(expected)
    assert record["nvlinks"] == []


def test_mig_instances_of_the_report(captures: Path, record_of: Callable[..., Record]) -> None:
    record = record_of({SMI: (captures / "a100-sxm4-40gb-mig-2inst.nvidia-smi-q.xml").read_bytes()})
    assert [
        (entry["gi"], entry["ci"], entry["memory_mib"], entry["profile"])
        for entry in record["gpus"][0]["mig"]["instances"]
    ] == [(1, 0, 19968, None), (2, 0, 19968, None)]


@pytest.mark.parametrize("name", TEXTS)
def test_text_in_the_place_of_a_report(captures: Path, bundles_dir: Path, name: str, lay: Callable[..., str]) -> None:
    root = lay({SMI: (captures / name).read_bytes()})
    record = take(Evidence([root, str(bundles_dir / "a100-device-cgroup")]), "gpu001", "")
    assert [gpu["problem"] for gpu in record["gpus"]] == ["GPU007"] * 4
    assert "there is no XML in it" in next(
        problem["message"] for problem in record["problems"] if problem["id"] == "GPU007"
    )


@pytest.mark.parametrize("name", LISTS)
def test_list_of_mig_devices(captures: Path, name: str) -> None:
    devices = next(iter(mig.parse_list((captures / name).read_text()).values()))
    assert [devices[index].profile for index in range(len(devices))] == LISTS[name]


@pytest.mark.parametrize("name", MATRICES)
def test_matrix(captures: Path, name: str) -> None:
    text = (captures / f"{name}.topo-m.txt").read_text()
    assert nvlink.direct_links(nvlink.parse_matrix(text)) == MATRICES[name]


@pytest.mark.parametrize("name", MACHINES)
def test_machine(captures: Path, name: str, tmp_path: Path) -> None:
    expected, problems, first_slot = MACHINES[name]
    with tarfile.open(captures / "hwloc" / f"{name}.tar.bz2") as archive:
        members = [member for member in archive if member.isdir() or member.isreg()]
        archive.extractall(tmp_path, members, filter="data")
    (root,) = tmp_path.iterdir()
    record = take(Evidence([str(root)]), "gpu001", "")
    cpu = record["cpu"]
    layout = (cpu["sockets"], cpu["cores_per_socket"], cpu["threads_per_core"])
    assert layout == (expected or (None, None, None))
    assert [problem["id"] for problem in record["problems"] if problem["id"].startswith("CPU")] == problems
    assert (cpu["core_map"] or [None])[0] == first_slot
    assert record["memory_mib"] > 0
