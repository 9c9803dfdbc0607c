# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of nvidia-smi and the driver's own files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import nvidia
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

GOOD = {
    "product_name": "NVIDIA A100-SXM4-80GB",
    "uuid": "GPU-1",
    "minor_number": "4",
    "mig": "Disabled",
    "total": "81920 MiB",
    "state": "N/A",
    "fan": "30 %",
}


def xml(*gpus: dict[str, str], attached: int | None = None) -> str:
    """Return a report with GPUs that have these values instead of :data:`GOOD`."""
    elements = "".join(
        f'<gpu id="00000000:{index + 1:02X}:00.0"><product_name>{gpu["product_name"]}</product_name>'
        f"<mig_mode><current_mig>{gpu['mig']}</current_mig><pending_mig>{gpu['mig']}</pending_mig></mig_mode>"
        f"<mig_devices>{gpu.get('devices', 'None')}</mig_devices><uuid>{gpu['uuid']}</uuid>"
        f"<minor_number>{gpu['minor_number']}</minor_number><fan_speed>{gpu['fan']}</fan_speed>"
        f"<fb_memory_usage><total>{gpu['total']}</total></fb_memory_usage>"
        f"<fabric><state>{gpu['state']}</state><status>{gpu['state']}</status><cliqueId>{gpu['state']}</cliqueId>"
        f"<clusterUuid>{gpu['state']}</clusterUuid></fabric></gpu>"
        for index, gpu in enumerate(GOOD | gpu for gpu in gpus)
    )
    count = len(gpus) if attached is None else attached
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>'
        f"<driver_version>580.126.20</driver_version><attached_gpus>{count}</attached_gpus>{elements}</nvidia_smi_log>\n"
    )


def only(text: str) -> nvidia.SmiGpu:
    """Return the only GPU of a report."""
    (gpu,) = nvidia.parse_report(text).gpus
    return gpu


@pytest.mark.parametrize(
    ("product", "slurm_type"),
    [
        ("NVIDIA A100-SXM4-80GB", "nvidia_a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "nvidia_a100_80gb_pcie"),
        ("NVIDIA H100 80GB HBM3", "nvidia_h100_80gb_hbm3"),
        ("NVIDIA GH200 480GB", "nvidia_gh200_480gb"),
        ("Quadro RTX 6000/8000", "quadro_rtx_6000/8000"),
        ("GRID A100D-40C", "grid_a100d-40c"),
        ("Brand New 9000+ Card", "brand_new_9000+_card"),
        (None, None),
    ],
)
def test_type(product: str | None, slurm_type: str | None) -> None:
    assert nvidia.gpu_type(product) == slurm_type


def test_a_sound_report() -> None:
    report = nvidia.parse_report(xml({}))
    assert (report.driver, report.attached, report.repaired) == ("580.126.20", 1, False)
    assert only(xml({})) == nvidia.SmiGpu(
        address="00000000:01:00.0",
        product="NVIDIA A100-SXM4-80GB",
        uuid="GPU-1",
        minor=4,
        memory_mib=81920,
        mig_mode="disabled",
        mig_pending="disabled",
        mig_devices=(),
        fabric=nvidia.Fabric(),
        trouble=None,
    )


@pytest.mark.parametrize(
    "word", ["N/A", "[N/A]", "Requested functionality has been deprecated", "Not Supported", "None", "", "Unknown"]
)
def test_words_for_nothing_are_no_value(word: str) -> None:
    gpu = only(xml({"minor_number": word, "total": word, "mig": word, "product_name": word, "uuid": word}))
    assert (gpu.minor, gpu.memory_mib, gpu.mig_mode, gpu.product, gpu.uuid) == (None,) * 5
    assert gpu.trouble is None


@pytest.mark.parametrize("word", ["ERR!", "Unknown Error", "[Unknown Error]", "GPU is lost", "GPU requires reset"])
@pytest.mark.parametrize("field", ["product_name", "uuid", "minor_number", "total"])
def test_words_for_trouble_are_no_value_and_tell_that_the_gpu_is_lost(word: str, field: str) -> None:
    gpu = only(xml({field: word}))
    values = {"product_name": gpu.product, "uuid": gpu.uuid, "minor_number": gpu.minor, "total": gpu.memory_mib}
    assert values[field] is None
    assert gpu.trouble == word


@pytest.mark.parametrize(("word", "lost"), [("ERR!", False), ("Unknown Error", False), ("GPU is lost", True)])
def test_only_a_lost_gpu_is_lost_because_of_its_fan(word: str, lost: bool) -> None:
    assert (only(xml({"fan": word})).trouble is not None) is lost


def test_fabric() -> None:
    text = xml({}).replace("<cliqueId>N/A", "<cliqueId>3").replace("<clusterUuid>N/A", "<clusterUuid>abc")
    text = text.replace("<state>N/A", "<state>Completed").replace("<status>N/A", "<status>Success")
    assert only(text).fabric == nvidia.Fabric("abc", 3, "Completed", "Success")


def test_mig_devices_in_the_order_of_their_index() -> None:
    devices = "".join(
        f"<mig_device><index>{index}</index><gpu_instance_id>{gi}</gpu_instance_id>"
        f"<compute_instance_id>{ci}</compute_instance_id><fb_memory_usage><total>{memory}</total></fb_memory_usage>"
        "</mig_device>"
        for index, gi, ci, memory in ((1, 7, 0, "N/A"), (0, 2, 1, "40192 MiB"))
    )
    gpu = only(xml({"mig": "Enabled", "devices": devices}))
    assert gpu.mig_devices == (nvidia.MigDevice(0, 2, 1, 40192), nvidia.MigDevice(1, 7, 0, None))


def test_attached_gpus_that_are_not_reported() -> None:
    report = nvidia.parse_report(xml({}, attached=8))
    assert (report.attached, len(report.gpus)) == (8, 1)


def test_warnings_around_the_report_do_no_harm() -> None:
    text = "WARNING: something\n" + xml({}) + "WARNING: infoROM is corrupted at gpu 00000000:01:00.0\n"
    assert len(nvidia.parse_report(text).gpus) == 1


def test_wrongly_nested_clock_tables_are_tolerated() -> None:
    clocks = "<supported_clocks><supported_mem_clock><value>1</supported_mem_clock></value></supported_clocks></gpu>"
    report = nvidia.parse_report(xml({}, {}).replace("</gpu>", clocks))
    assert (report.repaired, [gpu.minor for gpu in report.gpus]) == (True, [4, 4])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no XML"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "no XML"),
        ("==============NVSMI LOG==============\nAttached GPUs : 8\n", "no XML"),
        (xml({}, {})[:-30], "cut off"),
        (xml({}).replace("</uuid>", "</uid>"), "not well formed"),
        (xml({}).replace("00000000:01:00.0", "N/A"), "no PCI address"),
        (xml({"devices": "<mig_device><index>0</index></mig_device>"}), "MIG device lacks"),
    ],
)
def test_reports_that_cannot_be_used(text: str, words: str) -> None:
    with pytest.raises(nvidia.ReportError, match=words):
        nvidia.parse_report(text)


@given(st.integers(0, len(xml({}, {})) - 20))
def test_no_cut_gives_a_report_with_fewer_gpus(length: int) -> None:
    with pytest.raises(nvidia.ReportError):
        nvidia.parse_report(xml({}, {})[:length])


@given(st.text())
def test_any_text_is_a_report_or_a_report_error(text: str) -> None:
    with contextlib.suppress(nvidia.ReportError):
        nvidia.parse_report(text)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (
            "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
            {"00000000:0b:00.0": "Unknown Error"},
        ),
        (
            "Unable to determine the device handle for GPU1: 0008:01:00.0: GPU is lost.  Reboot the system",
            {"00000008:01:00.0": "GPU is lost.  Reboot the system"},
        ),
        (
            "GPU 0: A\nUnable to determine the device handle for gpu 00000000:3B:00.0: Unknown Error\nGPU 2: B",
            {"00000000:3b:00.0": "Unknown Error"},
        ),
        ("No devices were found", {}),
    ],
)
def test_gpus_without_handle(text: str, lost: dict[str, str]) -> None:
    assert nvidia.lost_gpus(text) == lost


@pytest.mark.parametrize(
    ("line", "driver"),
    [
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build  (root@host)",
            nvidia.Driver("580.126.20", "open"),
        ),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Feb 27 2024\nGCC version: 12.2.0",
            nvidia.Driver("535.161.08", "closed"),
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.43  Sun", nvidia.Driver("418.43", "closed")),
        ("NVRM version: unreadable", nvidia.Driver(None, "closed")),
    ],
)
def test_driver(evidence: Callable[..., Evidence], line: str, driver: nvidia.Driver) -> None:
    assert nvidia.read_driver(evidence({"proc/driver/nvidia/version": line})) == driver


def test_no_driver(evidence: Callable[..., Evidence]) -> None:
    assert nvidia.read_driver(evidence({})) is None
    assert nvidia.read_kernel_gpus(evidence({})) == {}


def test_gpus_of_the_kernel_module(evidence: Callable[..., Evidence]) -> None:
    base = "proc/driver/nvidia/gpus"
    found = nvidia.read_kernel_gpus(
        evidence(
            {
                f"{base}/0000:1b:00.0/information": "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 371\n"
                "GPU UUID: \t GPU-1\nVideo BIOS: \t 96.00\nBus Location: \t 0000:1b:00.0\nDevice Minor: \t 3\n",
                f"{base}/0000:43:00.0/information": "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-"
                "????????????\nDevice Minor: \t 1\n",
                f"{base}/0000:52:00.0/registry": "",
            }
        )
    )
    assert found == {
        "00000000:1b:00.0": nvidia.KernelGpu("NVIDIA H100 80GB HBM3", "GPU-1", 3),
        "00000000:43:00.0": nvidia.KernelGpu(None, None, 1),
    }
