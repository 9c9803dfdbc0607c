# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles: the same record, and nothing that identifies the machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.bundle import anonymous
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take

UUID = "5f1d2c3b-0001-4a6e-9d10-3c8e00000001"
SMI = "commands/nvidia-smi_-q_-x"


def cleaned(path: str, text: str, *names: str, salt: str = "salt") -> str:
    """Return the text of one file of an anonymous bundle."""
    return anonymous({path: text.encode()}, salt, names)[path].decode()


def without_ids(value: Any) -> Any:
    """Return a record in which every UUID and GUID is the same word."""
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]{16}", "id", value)
    return value


def test_a_bundle_of_a_bundle_gives_the_same_record(bundles_dir: Path, lay: Callable[..., str]) -> None:
    for folder in sorted(bundles_dir.iterdir()):
        source = Evidence([str(folder)])
        record = take(source, "gpu001", "")
        copy = take(Evidence([lay(anonymous(source.taken, "salt", ["gpu001"]))]), "gpu001", "")
        assert without_ids(copy) == without_ids(record), folder.name
        for old, new in zip(record["gpus"], copy["gpus"], strict=True):
            assert old["uuid"] is None or old["uuid"] != new["uuid"]
            assert (old["fabric"]["cluster_uuid"] or "").strip("0-") == "" or (
                old["fabric"]["cluster_uuid"] != new["fabric"]["cluster_uuid"]
            )
        for old, new in zip(record["fabric"]["hcas"], copy["fabric"]["hcas"], strict=True):
            assert old["guid"] != new["guid"]
            assert new["ports"][0]["guid"] in (None, new["guid"])


def test_ids_stay_joined_with_one_salt_and_part_with_another() -> None:
    text = f"<uuid>GPU-{UUID}</uuid>"
    assert cleaned(SMI, text) == cleaned(SMI, text)
    assert cleaned("commands/nvidia-smi_-L", f"GPU 0: X (UUID: GPU-{UUID})")[-38:-2] in cleaned(SMI, text)
    assert cleaned(SMI, text) != cleaned(SMI, text, salt="other")
    assert UUID not in cleaned(SMI, text)
    assert cleaned(SMI, text.upper()).lower() == cleaned(SMI, text).lower()


@given(st.uuids())
def test_fakes_have_the_same_form(uuid: Any) -> None:
    fake = cleaned(SMI, f"<uuid>GPU-{uuid}</uuid>")
    assert re.fullmatch(r"<uuid>GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}</uuid>", fake)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (SMI, "<serial>1650224000013</serial>", "<serial>0000000000000</serial>"),
        (
            SMI,
            "<chassis_serial_number>AB-12</chassis_serial_number>",
            "<chassis_serial_number>00-00</chassis_serial_number>",
        ),
        (SMI, "<serial>N/A</serial>", "<serial>N/A</serial>"),
        (SMI, "<serial>[Unknown Error]</serial>", "<serial>[Unknown Error]</serial>"),
        (SMI, "<processes>\n<process_name>/home/ann/x</process_name>\n</processes>", "<processes></processes>"),
        (SMI, "<accounted_processes><x/></accounted_processes>", "<accounted_processes></accounted_processes>"),
        (SMI, "<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>", None),
        (SMI, "<gpu_fabric_guid>0x0000000000000000</gpu_fabric_guid>", None),
        (SMI, '<gpu id="00000000:1B:00.0">', None),
        (
            "proc/driver/nvidia/gpus/0000:1b:00.0/information",
            "GPU UUID: \t GPU-????????-????-????-????-????????????",
            None,
        ),
        ("sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "0-55,112-167\n", None),
        ("sys/class/infiniband/mlx5_0/node_guid", "0000:0000:0000:0000\n", None),
    ],
)
def test_what_is_hidden_and_what_stays(path: str, text: str, expected: str | None) -> None:
    assert cleaned(path, text) == (text if expected is None else expected)


def test_guids_in_elements_are_replaced() -> None:
    text = "<gpu_fabric_guid>0xa1b2c3d4e5f60718</gpu_fabric_guid>"
    assert re.fullmatch(r"<gpu_fabric_guid>0x[0-9a-f]{16}</gpu_fabric_guid>", cleaned(SMI, text))
    assert cleaned(SMI, text) != text


def test_host_names_are_replaced_where_they_are_words() -> None:
    text = '<gpu id="1">gpu-07 gpu-07.example.org xgpu-07 gpu-071 gpu</gpu>'
    assert cleaned(SMI, text, "gpu-07.example.org", "gpu-07", "gpu") == (
        '<gpu id="1">node node xgpu-07 gpu-071 gpu</gpu>'
    )


def test_binary_files_stay() -> None:
    files = {"sys/bus/pci/devices/0000:1b:00.0/config": b"\xde\x10\x30\x23"}
    assert anonymous(files, "salt") == files


def test_only_what_was_read_is_in_it(parts: ModuleType, evidence: Callable[..., Evidence]) -> None:
    files = parts.machine_files(parts.hgx_h100()) | {"proc/driver/nvidia/registry": b"secret", "sys/other": b"secret"}
    source = evidence(files)
    take(source, "gpu001", "")
    assert b"secret" not in source.taken.values()
    assert set(source.taken) <= set(files)
