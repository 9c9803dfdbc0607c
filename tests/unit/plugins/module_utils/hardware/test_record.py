# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record as a whole, from the fixture bundles and from machines made for one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.evidence import Evidence
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.record import take
from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.hardware.schema import faults

Record = Mapping[str, Any]
TakeRecord = Callable[..., Record]

A100 = "nvidia_a100-sxm4-80gb"
H100 = "nvidia_h100_80gb_hbm3"
BOTH_SOCKETS = ["0-55"] * 2 + ["56-111"] * 2


def bundle_record(folder: Path, name: str) -> Record:
    """Return the record of a fixture bundle; a bundle without CPUs is laid over the machine with two sockets."""
    return take(Evidence([str(folder / name), str(folder / "cpu-2x56c-smt2")]), "gpu001", "2026-11-30T19:31:44Z")


def ids(record: Record) -> list[str]:
    """Return the ids of the problems."""
    return [problem["id"] for problem in record["problems"]]


@pytest.mark.parametrize(
    ("name", "types", "minors", "cores", "links", "problems"),
    [
        ("hgx-h100-8gpu", [H100] * 8, [*range(8)], ["0-55"] * 4 + ["56-111"] * 4, 0, []),
        ("a100-4gpu-mig", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 3, []),
        ("a100-mig-empty", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 3, ["MIG001"]),
        ("a100-device-cgroup", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU002"]),
        ("a100-hanging-nvidia-smi", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU005"]),
        ("a100-library-mismatch", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU016"]),
        ("a100-fallen-off-without-xid", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, []),
        ("a100-narrow-link", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, []),
        ("a100-recovery-action", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, []),
        ("a100-row-remap", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, []),
        ("a100-xid", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, []),
        ("a100-no-handle", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU003"]),
        ("truncated-xml", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU007"]),
        ("unreadable-xml", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 0, ["GPU007"]),
        ("malformed-xml", [A100] * 4, [0, 1, 2, 3], BOTH_SOCKETS, 6, ["GPU014"]),
        ("no-driver", [None] * 4, [None] * 4, BOTH_SOCKETS, 0, ["GPU001"]),
        ("h100-lost-gpu", [H100] * 8, [*range(8)], ["0-55"] * 4 + ["56-111"] * 4, 0, ["GPU003"]),
        (
            "mixed-3090-a6000",
            ["nvidia_geforce_rtx_3090"] * 2 + ["nvidia_rtx_a6000"] * 2,
            [0, 1, 2, 3],
            BOTH_SOCKETS,
            2,
            [],
        ),
        ("k80-minors-out-of-order", ["tesla_k80"] * 4, [1, 2, 3, 0], ["0-5"] * 4, 0, []),
        ("v100-8gpu-mesh", ["tesla_v100-sxm2-32gb"] * 8, [*range(8)], ["0-7"] * 4 + ["8-15"] * 4, 16, []),
        ("gb200-tray", ["nvidia_gb200"] * 4, [0, 1, 2, 3], ["0-71"] * 2 + ["72-143"] * 2, 0, []),
        ("gh200", ["nvidia_gh200_480gb"], [0], ["0-71"], 0, []),
        ("rtx-audio-usb-functions", ["nvidia_geforce_rtx_2080_ti"], [0], ["0-7"], 0, []),
        ("cpu-only-2x56c-smt2", [], [], [], 0, []),
    ],
)
def test_bundles(
    bundles_dir: Path,
    name: str,
    types: list[str | None],
    minors: list[int | None],
    cores: list[str],
    links: int,
    problems: list[str],
) -> None:
    record = bundle_record(bundles_dir, name)
    assert faults(record) == []
    assert [gpu["type"] for gpu in record["gpus"]] == types
    assert [gpu["minor"] for gpu in record["gpus"]] == minors
    assert [gpu["cores"] for gpu in record["gpus"]] == cores
    assert len(record["nvlinks"]) == links
    assert ids(record) == problems
    for problem in record["problems"]:
        assert "gpu001" in problem["message"]
        assert problem["remedy"]


def test_every_bundle_is_in_the_table(bundles_dir: Path) -> None:
    table = {case[0] for mark in test_bundles.pytestmark for case in mark.args[1]}  # type: ignore[attr-defined]
    assert table | {"cpu-2x56c-smt2"} == {path.name for path in bundles_dir.iterdir()}


def test_bundles_are_what_the_script_writes(bundles_dir: Path, parts: ModuleType, tmp_path: Path) -> None:
    parts.write(tmp_path)

    def contents(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert contents(tmp_path) == contents(bundles_dir)
    assert sum(map(len, contents(bundles_dir).values())) < 1_500_000


def test_mig_instances(bundles_dir: Path) -> None:
    split = bundle_record(bundles_dir, "a100-4gpu-mig")["gpus"][3]["mig"]
    assert split["mode"] == "enabled"
    assert [(entry["profile"], entry["gi"], entry["ci"], entry["memory_mib"]) for entry in split["instances"]] == [
        ("3g.40gb", 2, 0, 40192),
        ("2g.20gb", 3, 0, 19968),
        ("2g.20gb", 5, 0, 19968),
    ]
    assert split["instances"][0]["files"] == [
        "/dev/nvidia3",
        "/dev/nvidia-caps/nvidia-cap426",
        "/dev/nvidia-caps/nvidia-cap427",
    ]


def test_a_lost_gpu_keeps_its_place(bundles_dir: Path) -> None:
    record = bundle_record(bundles_dir, "h100-lost-gpu")
    assert [gpu["problem"] for gpu in record["gpus"]] == [None] * 5 + ["GPU003"] + [None] * 2
    assert record["gpus"][5]["memory_mib"] is None
    assert "fallen off the bus" in record["problems"][0]["message"]


def test_a_gpu_without_handle_is_named(bundles_dir: Path) -> None:
    """lyulyul/shine-cluster#172."""
    record = bundle_record(bundles_dir, "a100-no-handle")
    assert [gpu["problem"] for gpu in record["gpus"]] == [None, "GPU003", None, None]


def test_gpu_memory_is_not_the_nodes_memory(bundles_dir: Path) -> None:
    for name, sockets in (("gb200-tray", 2), ("gh200", 1)):
        record = bundle_record(bundles_dir, name)
        assert record["memory_mib"] == sockets * (480 * 1024 * 1024 - 24113) // 1024
        assert [node["id"] for node in record["cpu"]["numa_nodes"]] == [*range(sockets)]
        assert record["cpu"]["architecture"] == "aarch64"


def test_fabric_of_a_rack_and_of_a_node(bundles_dir: Path) -> None:
    tray = bundle_record(bundles_dir, "gb200-tray")
    assert {gpu["fabric"]["clique"] for gpu in tray["gpus"]} == {7}
    assert tray["nvidia"]["nvswitch"] is False
    hgx = bundle_record(bundles_dir, "hgx-h100-8gpu")
    assert hgx["gpus"][0]["fabric"]["cluster_uuid"] == "00000000-0000-0000-0000-000000000000"
    assert hgx["nvidia"] == {"driver": "580.126.20", "flavour": "open", "nvswitch": True}


def test_gpus_of_another_machine_have_no_place_on_this_one(parts: ModuleType, record_of: TakeRecord) -> None:
    record = record_of(parts.machine_files(parts.hgx_h100()), parts.cpu_files(parts.Cpus(1, 2)))
    assert {(gpu["numa"], gpu["cores"]) for gpu in record["gpus"]} == {(None, None)}
    assert record["problems"] == []


def test_the_same_evidence_gives_the_same_record(bundles_dir: Path) -> None:
    assert bundle_record(bundles_dir, "a100-4gpu-mig") == bundle_record(bundles_dir, "a100-4gpu-mig")


def machine(parts: ModuleType, *, change: Mapping[str, Any] | None = None) -> Any:
    """Return four A100 of which the second is changed."""
    plain = parts.plain_a100()
    gpus = list(plain.gpus)
    gpus[1] = replace(gpus[1], **(change or {}))
    return replace(plain, gpus=tuple(gpus))


@pytest.mark.parametrize(
    ("change", "problem", "words"),
    [
        ({"product": "Graphics Device"}, "GPU013", "Graphics Device"),
        ({"product": "N/A"}, "GPU015", "no product name"),
        ({"fabric": ("In Progress", "N/A", "N/A", "N/A")}, "FAB001", "In Progress"),
        ({"fabric": ("Completed", "Insufficient Resources", "0", "x")}, "FAB001", "Insufficient Resources"),
    ],
)
def test_problems_of_one_gpu(
    parts: ModuleType, record_of: TakeRecord, change: dict[str, Any], problem: str, words: str
) -> None:
    files = parts.cpu_files(parts.DUAL) | parts.machine_files(machine(parts, change=change))
    record = record_of(files)
    assert ids(record) == [problem]
    assert words in record["problems"][0]["message"]
    assert [gpu["problem"] for gpu in record["gpus"]] == [None, problem, None, None]


def test_one_problem_for_a_fabric_that_waits(parts: ModuleType, record_of: TakeRecord) -> None:
    hgx = parts.hgx_h100()
    waiting = replace(hgx, gpus=tuple(replace(gpu, fabric=("In Progress", "N/A", "N/A", "N/A")) for gpu in hgx.gpus))
    record = record_of(parts.cpu_files(parts.DUAL), parts.machine_files(waiting))
    assert ids(record) == ["FAB001"]
    assert {gpu["problem"] for gpu in record["gpus"]} == {"FAB001"}


def edited(parts: ModuleType, old: str, new: str) -> dict[str, bytes]:
    """Return four A100 whose report has been changed."""
    plain = parts.plain_a100()
    text = parts.report(plain).replace(old, new, 1)
    return parts.cpu_files(parts.DUAL) | parts.with_report(parts.machine_files(plain), text)


def test_report_that_lacks_a_gpu_is_filled_from_the_kernel(parts: ModuleType, record_of: TakeRecord) -> None:
    plain = parts.plain_a100()
    three = replace(plain, gpus=(plain.gpus[0], *plain.gpus[2:]))
    record = record_of(parts.cpu_files(parts.DUAL) | parts.with_report(parts.machine_files(plain), parts.report(three)))
    assert ids(record) == ["GPU010"]
    assert [(gpu["minor"], gpu["problem"]) for gpu in record["gpus"]] == [
        (0, None),
        (1, "GPU010"),
        (2, None),
        (3, None),
    ]
    assert record["nvlinks"] == []


def test_attached_and_reported_gpus_differ(parts: ModuleType, record_of: TakeRecord) -> None:
    record = record_of(edited(parts, "<attached_gpus>4<", "<attached_gpus>8<"))
    assert ids(record) == ["GPU008"]
    assert "8 GPUs are attached but reports only 4" in record["problems"][0]["message"]


@pytest.mark.parametrize(
    ("old", "new", "field"), [("<minor_number>1<", "<minor_number>7<", "minor"), ("<uuid>GPU-", "<uuid>GPU-0", "UUID")]
)
def test_kernel_and_nvidia_smi_disagree(
    parts: ModuleType, record_of: TakeRecord, old: str, new: str, field: str
) -> None:
    record = record_of(edited(parts, old, new))
    assert ids(record) == ["GPU012"]
    assert field in record["problems"][0]["message"]


def test_minor_number_from_the_kernel_where_nvidia_smi_has_none(parts: ModuleType, record_of: TakeRecord) -> None:
    record = record_of(edited(parts, "<minor_number>1<", "<minor_number>N/A<"))
    assert [gpu["minor"] for gpu in record["gpus"]] == [0, 1, 2, 3]
    assert record["problems"] == []


def test_windows_has_no_minor_numbers(parts: ModuleType, record_of: TakeRecord) -> None:
    text = parts.report(parts.plain_a100()).replace("<minor_number>", "<minor_number>N/A ")
    record = record_of(
        parts.cpu_files(parts.DUAL) | {parts.SMI: text, "sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086"}
    )
    assert ids(record) == ["GPU009", "GPU011"] * 4
    assert {gpu["problem"] for gpu in record["gpus"]} == {"GPU009"}


@pytest.mark.parametrize(
    ("output", "status", "problem"),
    [
        (None, 0, "GPU004"),
        ("", 255, "GPU006"),
        ("Failed to initialize NVML: Driver/library version mismatch\n", 18, "GPU016"),
        ("==============NVSMI LOG==============\nAttached GPUs : 4\n", 0, "GPU007"),
        ("<nvidia_smi_log>\n", 15, "GPU007"),
    ],
)
def test_nvidia_smi_gives_no_report(
    parts: ModuleType, record_of: TakeRecord, output: str | None, status: int, problem: str
) -> None:
    files = parts.cpu_files(parts.DUAL) | parts.machine_files(parts.plain_a100())
    if output is None:
        del files[parts.SMI]
    else:
        files = parts.with_report(files, output, status)
    record = record_of(files)
    assert ids(record) == [problem]
    assert [gpu["problem"] for gpu in record["gpus"]] == [problem] * 4
    assert [gpu["type"] for gpu in record["gpus"]] == [A100] * 4


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("Failed to initialize NVML: Unknown Error\n", 255),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9),
        ("No devices were found\n", 6),
        ("", 124),
    ],
)
def test_a_node_without_gpus_owes_no_report(parts: ModuleType, record_of: TakeRecord, output: str, status: int) -> None:
    files = parts.cpu_files(parts.DUAL) | parts.pci_files(parts.Machine((), others=parts.BMC))
    record = record_of(parts.with_report(files, output, status))
    assert (record["gpus"], record["problems"]) == ([], [])


def test_links_are_asked_for_only_without_switch(parts: ModuleType, record_of: TakeRecord) -> None:
    plain = parts.plain_a100()
    behind = replace(plain, others={"0000:05:00.0": ("10de", "1af1", "068000")})
    assert record_of(parts.machine_files(plain))["nvlinks"] != []
    assert record_of(parts.machine_files(behind))["nvlinks"] == []


def test_links_numbered_otherwise_than_the_report_are_unknown(parts: ModuleType, record_of: TakeRecord) -> None:
    files = parts.machine_files(parts.plain_a100())
    files["commands/nvidia-smi_topo_-m"] = files["commands/nvidia-smi_topo_-m"].replace(b"GPU3", b"GPU5")
    assert record_of(files)["nvlinks"] == []


def test_commands_are_few(parts: ModuleType, evidence: Callable[..., Evidence]) -> None:
    """Each call of nvidia-smi can take seconds: -L only with MIG devices, topo only where links can be direct."""
    source = evidence(parts.machine_files(parts.hgx_h100()))
    take(source, "gpu001", "")
    assert [path for path in source.taken if path.startswith("commands/")] == ["commands/nvidia-smi_-q_-x"]
