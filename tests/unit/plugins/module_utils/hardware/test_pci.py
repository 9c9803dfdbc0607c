# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA devices on the PCI bus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware import pci
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence

DEVICES = "sys/bus/pci/devices"


def device(address: str, vendor: str = "10de", device_class: str = "030200", **more: str) -> dict[str, str]:
    """Return the files of a PCI function."""
    files = {"vendor": f"0x{vendor}\n", "class": f"0x{device_class}\n", "device": "0x2330\n"} | more
    return {f"{DEVICES}/{address}/{name}": content for name, content in files.items()}


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("0000:01:00.0", "00000000:01:00.0"),
        ("00000000:1B:00.0", "00000000:1b:00.0"),
        ("01:00.0", "00000000:01:00.0"),
        ("0008:06:00.0", "00000008:06:00.0"),
        ("10000:01:00.0", "00010000:01:00.0"),
        (" 0001:00:00.0\n", "00000001:00:00.0"),
    ],
)
def test_normalise(address: str, normal: str) -> None:
    assert pci.normalise(address) == normal


@pytest.mark.parametrize("address", ["", "N/A", "GPU 0", "00:00", "0000:01:00.9", "0000:01:00"])
def test_normalise_refuses_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="not a PCI address"):
        pci.normalise(address)


def test_order_is_numeric_by_domain_first() -> None:
    addresses = ["00000000:ff:00.0", "00000009:01:00.0", "00000000:0a:1f.0", "00010000:01:00.0", "0000f8d6:00:00.0"]
    assert sorted(addresses, key=pci.position) == [
        "00000000:0a:1f.0",
        "00000000:ff:00.0",
        "00000009:01:00.0",
        "0000f8d6:00:00.0",
        "00010000:01:00.0",
    ]


def test_what_is_a_gpu(evidence: Callable[..., Evidence]) -> None:
    """NVIDIA/deepops#702: not the audio and USB functions of a card. IBM/powerai#188: told by ids, not by names."""
    files = (
        device("0000:41:00.0", device_class="030000")
        | device("0000:41:00.1", device_class="040300")
        | device("0000:41:00.2", device_class="0c0330")
        | device("0000:1b:00.0")
        | device("0000:05:00.0", device_class="068000")
        | device("0000:06:00.0", device_class="068000")
        | device("0000:03:00.0", vendor="1a03", device_class="030000")
        | device("0008:00:00.0", device_class="060400")
        | device("0000:1b:01.0", physfn="")
    )
    bus = pci.read_bus(evidence(files))
    assert bus is not None
    assert [gpu.address for gpu in bus.gpus] == ["00000000:1b:00.0", "00000000:41:00.0"]
    assert bus.switches == 2


@pytest.mark.parametrize(
    ("files", "numa", "cpus"),
    [
        ({"numa_node": "1\n", "local_cpulist": "0-1,4\n"}, 1, (0, 1, 4)),
        ({"numa_node": "-1\n", "local_cpulist": "\n"}, None, None),
        ({}, None, None),
    ],
)
def test_places(
    evidence: Callable[..., Evidence], files: dict[str, str], numa: int | None, cpus: tuple[int, ...] | None
) -> None:
    bus = pci.read_bus(evidence(device("0000:1b:00.0", **files)))
    assert bus is not None
    assert (bus.gpus[0].numa, bus.gpus[0].cpus) == (numa, cpus)


@pytest.mark.parametrize(
    ("config", "fallen"), [(b"\xde\x10\x30\x23", False), (b"\xff" * 64, True), (b"\xff\xff\xff", False), (b"", False)]
)
def test_a_gpu_that_fell_off_the_bus(evidence: Callable[..., Evidence], config: bytes, fallen: bool) -> None:
    """lyulyul/shine-cluster#171: what lspci shows as rev ff."""
    source = evidence(device("0000:1b:00.0") | {f"{DEVICES}/0000:1b:00.0/config": config})
    bus = pci.read_bus(source)
    assert bus is not None
    assert bus.gpus[0].fallen_off is fallen
    assert bus.gpus[0].device_id == "2330"


def test_no_bus(evidence: Callable[..., Evidence]) -> None:
    assert pci.read_bus(evidence({})) is None
