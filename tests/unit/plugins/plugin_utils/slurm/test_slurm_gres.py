# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs as gres.conf lines: device files, order, cores, links, MIG."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster
from ansible_collections.steelrack.gpu_cluster.tests.unit.plugins.plugin_utils.slurm.machines import (
    derived,
    gpu,
    hgx,
    ids,
    mig,
    record,
)

END = "Flags=nvidia_gpu_env"


def lines(*args: Any, **kwargs: Any) -> list[str]:
    """Return the gres.conf lines without what is the same in all of them."""
    result = derived(*args, **kwargs)
    assert result["problems"] == []
    start = "AutoDetect=off Name=gpu "
    return [line.replace(start, "").removesuffix(END).strip() for line in result["gres_lines"]]


def near(*cores: str | None, sockets: int = 2, per_socket: int = 56, **changes: Any) -> dict[str, Any]:
    """Return a machine with one GPU for each core list."""
    gpus = [gpu(at, at, cores=text) for at, text in enumerate(cores)]
    return record("n1", gpus, sockets=sockets, cores=per_socket, **changes)


def test_one_line_says_everything() -> None:
    assert derived(record("n1", [gpu(1, 0)]))["gres_lines"] == [
        "NodeName=n1 AutoDetect=off Name=gpu Type=h100 File=/dev/nvidia0 Flags=nvidia_gpu_env"
    ]


def test_bibigrid_403_344_gpus_are_offered_without_being_asked_for() -> None:
    """BiBiServ/bibigrid#403 #344."""
    assert "Gres=gpu:h100:8" in derived(hgx())["node_lines"][0]


@pytest.mark.parametrize(
    ("minors", "files"),
    [
        pytest.param((0, 1, 2, 3), ["[0-3]"], id="in order"),
        pytest.param((4, 0), ["4", "0"], id="PrincetonUniversity/jobstats#34 index is not the minor number"),
        pytest.param((1, 2, 3, 0), ["[1-3]", "0"], id="nvidia-docker#376 #1432 minors out of PCI order"),
        pytest.param((0, 1, 2, 4, 5, 6, 7), ["[0-2,4-7]"], id="gpu-rules 39 one GPU of eight is gone"),
        pytest.param((10, 9), ["10", "9"], id="numbers, not text"),
    ],
)
def test_files_by_minor_number_in_pci_order(minors: tuple[int, ...], files: list[str]) -> None:
    machine = record("n1", [gpu(at, minor) for at, minor in enumerate(minors)])
    assert lines(machine) == [f"NodeName=n1 Type=h100 File=/dev/nvidia{file}" for file in files]


def test_several_pci_domains() -> None:
    """Ricks-Lab/gpu-utils#125, gpu-rules 37: the domain counts first."""
    gpus = [
        {**gpu(0, 1), "pci": "00000001:00:00.0"},
        {**gpu(0, 0), "pci": "00000008:01:00.0"},
        {**gpu(0, 2), "pci": "00000009:01:00.0"},
    ]
    assert lines(record("n1", gpus)) == [
        "NodeName=n1 Type=h100 File=/dev/nvidia1",
        "NodeName=n1 Type=h100 File=/dev/nvidia[0,2]",
    ]


def test_two_models_in_one_node() -> None:
    """D#1064, gpu-rules 40."""
    models = ["nvidia_geforce_rtx_3090"] * 2 + ["nvidia_rtx_a6000"] * 2
    result = derived(record("n1", [gpu(at, at, model) for at, model in enumerate(models)]))
    assert "Gres=gpu:rtx_3090:2,gpu:rtx_a6000:2" in result["node_lines"][0]
    assert [line.split()[3:5] for line in result["gres_lines"]] == [
        ["Type=rtx_3090", "File=/dev/nvidia[0-1]"],
        ["Type=rtx_a6000", "File=/dev/nvidia[2-3]"],
    ]


def test_interleaved_models_come_by_model() -> None:
    """gpu-rules 40: slurmd puts the GPUs of a type together whatever the order of lines, and so does the file."""
    models = ["nvidia_geforce_gtx_1060_6gb", "nvidia_geforce_gtx_1080_ti"] * 2
    machine = record("n1", [gpu(at, at, model) for at, model in enumerate(models)])
    assert [line.split()[-1] for line in lines(machine)] == ["File=/dev/nvidia[0,2]", "File=/dev/nvidia[1,3]"]


def test_links_of_interleaved_models_are_in_the_order_that_slurm_has() -> None:
    """The numbers in Links go by position in Slurm's list, not on the bus: cards 0 and 2, 1 and 3 are bridged."""
    models = ["nvidia_geforce_rtx_3090", "nvidia_rtx_a6000"] * 2
    bridged = [{"a": 0, "b": 2, "links": 4}, {"a": 1, "b": 3, "links": 2}]
    machine = record("n1", [gpu(at, at, model) for at, model in enumerate(models)], nvlinks=bridged)
    assert [line.split()[-2:] for line in lines(machine)] == [
        ["File=/dev/nvidia0", "Links=-1,4,0,0"],
        ["File=/dev/nvidia2", "Links=4,-1,0,0"],
        ["File=/dev/nvidia1", "Links=0,0,-1,2"],
        ["File=/dev/nvidia3", "Links=0,0,2,-1"],
    ]


@pytest.mark.parametrize(
    ("version", "cores"),
    [
        ("22.05", ["0-27", "28-55", "56-83", "84-111"]),
        ("24.05", ["0-27", "28-55", "56-83", "84-111"]),
        ("24.11", ["0-55", "0-55", "56-111", "56-111"]),
        ("25.05", ["0-55", "0-55", "56-111", "56-111"]),
        ("25.11", ["0-55", "0-55", "56-111", "56-111"]),
        ("26.05", ["0-55", "0-55", "56-111", "56-111"]),
        ("", ["0-55", "0-55", "56-111", "56-111"]),
    ],
)
def test_cores_of_a_part_of_a_socket(version: str, cores: list[str]) -> None:
    """D#1195, SlinkyProject/slurm-operator#205, gpu-rules 1 to 3: from 24.11 on only whole sockets are accepted."""
    found = lines(near("0-27", "28-55", "56-83", "84-111"), site={"version": version})
    expected = list(dict.fromkeys(cores))
    assert [line.split("Cores=")[1] for line in found] == expected


@pytest.mark.parametrize(
    ("version", "cores"),
    [
        ("22.05", ["0-31", "32-63"]),
        ("24.11", ["0-31", "32-63"]),
        ("25.11", []),
        ("26.05", []),
    ],
)
def test_cores_of_two_of_four_sockets(version: str, cores: list[str]) -> None:
    """gpu-rules 4: 25.11 takes one whole socket or all cores; all cores for every GPU say nothing."""
    found = lines(near("0-31", "32-63", sockets=4, per_socket=16), site={"version": version})
    assert [line.split("Cores=")[1] for line in found if "Cores=" in line] == cores


@pytest.mark.parametrize(
    "cores",
    [
        pytest.param((None, None), id="NVIDIA/cuCascade#119 unknown"),
        pytest.param(("0-55", None), id="unknown for one: none is given"),
        pytest.param(("", ""), id="rapidsai/dask-cuda#1381 blank"),
        pytest.param(("0-111", "0-111"), id="gpu-rules 8 all cores"),
        pytest.param(("0-55", "56-223"), id="not core ids of this machine"),
    ],
)
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_cores_left_out(cores: tuple[str | None, ...], version: str) -> None:
    assert not [line for line in lines(near(*cores), site={"version": version}) if "Cores=" in line]


def test_one_gpu_near_to_all_cores() -> None:
    """Cores are given for all GPUs or for none."""
    assert [line.split("Cores=")[1] for line in lines(near("0-55", "0-111"))] == ["0-55", "0-111"]


def test_eight_sockets_of_one_core() -> None:
    """gpu-rules 35: a virtual machine."""
    machine = near("0-3", "4-7", sockets=8, per_socket=1)
    assert not [line for line in lines(machine, site={"version": "26.05"}) if "Cores=" in line]


def test_direct_nvlinks() -> None:
    bridged = [{"a": 0, "b": 1, "links": 4}, {"a": 2, "b": 3, "links": 4}]
    machine = record("n1", [gpu(at, at, "nvidia_geforce_rtx_3090") for at in range(4)], nvlinks=bridged)
    assert lines(machine) == [
        "NodeName=n1 Type=rtx_3090 File=/dev/nvidia0 Links=-1,4,0,0",
        "NodeName=n1 Type=rtx_3090 File=/dev/nvidia1 Links=4,-1,0,0",
        "NodeName=n1 Type=rtx_3090 File=/dev/nvidia2 Links=0,0,-1,4",
        "NodeName=n1 Type=rtx_3090 File=/dev/nvidia3 Links=0,0,4,-1",
    ]


def test_no_links_with_mig_or_with_fewer_gpus() -> None:
    bridged = [{"a": 0, "b": 1, "links": 12}]
    split = record("n1", [gpu(1, 0), gpu(2, 1, instances=[mig("7g.80gb", 1, (3, 4))])], nvlinks=bridged)
    assert "Links=" not in "".join(lines(split))
    whole = record("n1", [gpu(1, 0), gpu(2, 1)], nvlinks=bridged)
    fewer = derived(whole, slurm_node_parameters={"Gres": "gpu:h100:1"})
    assert "Links=" not in "".join(fewer["gres_lines"])


MIG_GPU = gpu(
    0x41, 4, "nvidia_a100-sxm4-80gb", 81920, instances=[mig("3g.40gb", 4, (12, 13)), mig("1g.10gb", 4, (66, 67))]
)


def test_mig_devices() -> None:
    """D#894 D#1146 D#1157 D#684 D#1214, gpu-rules 16: every profile with its count and its device files."""
    result = derived(record("n1", [gpu(0x11, 0, "nvidia_a100-sxm4-80gb", 81920), MIG_GPU]))
    assert result["problems"] == []
    assert result["nodes"][0]["gpus"] == {"a100": 1, "a100_3g.40gb": 1, "a100_1g.10gb": 1}
    assert [line.split()[3:5] for line in result["gres_lines"]] == [
        ["Type=a100", "File=/dev/nvidia0"],
        [
            "Type=a100_3g.40gb",
            "MultipleFiles=/dev/nvidia4,/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap13",
        ],
        [
            "Type=a100_1g.10gb",
            "MultipleFiles=/dev/nvidia4,/dev/nvidia-caps/nvidia-cap66,/dev/nvidia-caps/nvidia-cap67",
        ],
    ]
    assert result["nodes"][0]["device_files"] == [
        "/dev/nvidia0",
        "/dev/nvidia4",
        "/dev/nvidia-caps/nvidia-cap12",
        "/dev/nvidia-caps/nvidia-cap13",
        "/dev/nvidia-caps/nvidia-cap66",
        "/dev/nvidia-caps/nvidia-cap67",
    ]
    assert "mig" in result["nodes"][0]["features"]


def test_compute_instances_of_one_gpu_instance() -> None:
    """gpu-rules 17: one record per compute instance, with the same file of the GPU instance."""
    parts = [mig("1c.3g.40gb", 0, (12, 13)), mig("1c.3g.40gb", 0, (12, 14))]
    result = derived(record("n1", [gpu(1, 0, instances=parts)]))
    assert result["problems"] == []
    assert result["nodes"][0]["gpus"] == {"h100_1c.3g.40gb": 2}
    assert len(result["gres_lines"]) == 2


def test_mig_switched_off_with_old_instances() -> None:
    one = gpu(1, 0)
    one["mig"] = {"mode": "disabled", "instances": [mig("1g.10gb", 0, (12, 13))]}
    assert derived(record("n1", [one]))["nodes"][0]["gpus"] == {"h100": 1}


@pytest.mark.parametrize(
    ("machine", "problem"),
    [
        pytest.param(
            record("n1", [gpu(1, 0), gpu(2, 1, instances=[])]),
            "SLM008",
            id="ComputeCanada/puppet-magic_castle#276 #273",
        ),
        pytest.param(record("n1", [gpu(1, None)]), "SLM006", id="gpu-rules 10 no minor number (Windows, WSL)"),
        pytest.param(record("n1", [gpu(1, 0), gpu(2, None)]), "SLM006", id="gpu-rules 11 lost before it was recorded"),
        pytest.param(record("n1", [gpu(1, 0, None)]), "SLM007", id="gpu-rules 12 no product name"),
        pytest.param(
            record("n1", [gpu(1, 0, instances=[{**mig("1g.10gb", 0, (1, 2)), "files": ["/dev/nvidia0"]}])]),
            "SLM009",
            id="MIG without capability files",
        ),
        pytest.param(record("n1", [gpu(1, 0), gpu(2, 0)]), "SLM010", id="two GPUs with one minor number"),
        pytest.param(
            record("n1", [gpu(1, 0, instances=[mig("1g.10gb", 0, (1, 2))] * 2)]), "SLM010", id="one instance twice"
        ),
    ],
)
def test_node_without_a_valid_description_is_left_out(machine: dict[str, Any], problem: str) -> None:
    """The rest of the cluster goes on; a count that shrinks silently would be worse."""
    result = derived(machine, hgx("n2"))
    assert result["left_out"] == ["n1"]
    assert [node["name"] for node in result["nodes"]] == ["n2"]
    assert [(found["id"], found["host"], found["severity"]) for found in result["problems"]] == [
        (problem, "n1", "error")
    ]


def test_lost_gpu_keeps_its_place() -> None:
    """awslabs/awsome-distributed-ai#195, lyulyul/shine-cluster#171 #172: the count stays, for quarantine."""
    gpus = [gpu(at, at) for at in range(8)]
    gpus[3] = gpu(3, 3, None, None, problem="GPU003")
    lost = {"id": "GPU003", "severity": "error", "host": "n1", "message": "lost", "remedy": "look"}
    result = derived(record("n1", gpus, problems=[lost]))
    assert result["nodes"][0]["gpus"] == {"h100": 8}
    assert result["problems"] == [lost]


def test_unnamed_gpu_between_two_models_is_not_guessed() -> None:
    gpus = [gpu(1, 0), gpu(2, 1, "nvidia_h100_pcie"), gpu(3, 2, None)]
    assert ids(derived(record("n1", gpus), hgx("n2"))) == ["SLM007"]


def test_driver_older_than_the_card() -> None:
    """gpu-rules 20."""
    result = derived(record("n1", [gpu(1, 0, "graphics_device", None)]))
    assert ids(result) == ["SLM022"]
    assert result["nodes"][0]["gpus"] == {"graphics_device": 1}
    named = derived(record("n1", [gpu(1, 0, "graphics_device")]), slurm_node_gpu_type_names={"graphics_device": "x100"})
    assert ids(named) == []


@pytest.mark.parametrize("mode", ["nvml", "nvidia"])
def test_autodetect_by_wish(mode: str) -> None:
    """S#746: File, Cores and Links beside AutoDetect would have to equal the detected."""
    result = derived(hgx(), site={"gres_autodetect": mode})
    assert result["gres_lines"] == [f"NodeName=gpu001 AutoDetect={mode}"]
    assert result["nodes"][0]["gpus"] == {"h100": 8}


def test_autodetect_and_mig() -> None:
    """nvml wants its own MIG types; nvidia knows no MIG, so that such a node keeps its explicit lines."""
    machine = record("n1", [gpu(1, 0), gpu(2, 1, instances=[mig("1g.10gb", 1, (3, 4))])])
    by_nvml = derived(machine, site={"gres_autodetect": "nvml"})
    assert list(by_nvml["nodes"][0]["gpus"]) == ["nvidia_h100_80gb_hbm3", "nvidia_h100_80gb_hbm3_1g.10gb"]
    by_nvidia = derived(machine, site={"gres_autodetect": "nvidia"})
    assert all("AutoDetect=off" in line for line in by_nvidia["gres_lines"])
    assert ids(by_nvidia) == ["SLM042"]


def test_autodetect_is_never_chosen_for_the_site() -> None:
    """openhpc/ohpc#1910 #1344, SlinkyProject/containers#14, D#1214: packages without the plugin."""
    assert all("AutoDetect=off" in line for line in derived(hgx())["gres_lines"])


@pytest.mark.parametrize(("mode", "version"), [("rsmi", "24.11"), ("nvidia", "22.05")])
def test_autodetect_that_slurm_does_not_know(mode: str, version: str) -> None:
    result = derived(hgx(), site={"gres_autodetect": mode, "version": version})
    assert ids(result) == ["SLM035"]
    assert all("AutoDetect=off" in line for line in result["gres_lines"])


@pytest.mark.parametrize(("mode", "reason"), [("nvml", "choose by itself"), ("nvidia", "choose by itself")])
def test_autodetect_and_gpus_left_out(mode: str, reason: str) -> None:
    result = derived(hgx(), site={"gres_autodetect": mode}, slurm_node_gpu_exclude=["0000:18:00.0"])
    assert ids(result) == ["SLM042"]
    assert reason in result["problems"][0]["message"]
    assert all("AutoDetect=off" in line for line in result["gres_lines"])


@pytest.mark.parametrize(
    ("version", "mode", "cores", "detects"),
    [
        ("22.05", "nvml", ("0-27", "28-55", "56-83", "84-111"), True),
        ("24.11", "nvml", ("0-27", "28-55", "56-83", "84-111"), False),
        ("24.11", "nvml", ("0-55", "0-55", "56-111", "56-111"), True),
        ("26.05", "nvml", ("0-55", "0-111"), True),
        ("24.11", "nvml", (None, None), True),
        # It then takes core 0 (tests/oracle), which is no socket.
        ("24.11", "nvidia", (None, None), False),
        ("24.11", "nvidia", ("0-55", "56-111"), True),
    ],
)
def test_autodetect_finds_cores_that_cannot_be_widened(
    version: str, mode: str, cores: tuple[str | None, ...], detects: bool
) -> None:
    """SlinkyProject/slurm-operator#205: the cores that Slurm finds by itself make it refuse the node."""
    result = derived(near(*cores), site={"gres_autodetect": mode, "version": version})
    assert ids(result) == ([] if detects else ["SLM042"])
    assert (f"AutoDetect={mode}" in result["gres_lines"][0]) is detects


@pytest.mark.parametrize(("version", "detects"), [("22.05", False), ("24.11", True)])
@pytest.mark.parametrize("profile", ["1c.3g.40gb", "1g.10gb+me"])
def test_autodetect_and_profiles_that_old_releases_cannot_tell(version: str, detects: bool, profile: str) -> None:
    """22.05 names every MIG device by its sizes alone."""
    machine = record("n1", [gpu(1, 0, instances=[mig(profile, 0, (3, 4))])])
    result = derived(machine, site={"gres_autodetect": "nvml", "version": version})
    assert ("AutoDetect=nvml" in result["gres_lines"][0]) is detects


def test_autodetect_leaves_nodes_without_gpus_alone() -> None:
    result = derived(record("n1"), site={"gres_autodetect": "nvml"})
    assert (result["gres_lines"], result["problems"]) == ([], [])


def test_gpus_left_out() -> None:
    """The others keep their places; direct links go, because there are fewer numbers than GPUs."""
    bridged = [{"a": 0, "b": 1, "links": 4}, {"a": 2, "b": 3, "links": 4}]
    machine = record("n1", [gpu(at, at, "nvidia_geforce_rtx_3090") for at in range(4)], nvlinks=bridged)
    result = derived(machine, slurm_node_gpu_exclude=[1])
    assert result["problems"] == []
    assert "Gres=gpu:rtx_3090:3 " in result["node_lines"][0]
    assert "3gpu" in result["nodes"][0]["features"]
    assert [line.split("Type=")[1] for line in result["gres_lines"]] == [f"rtx_3090 File=/dev/nvidia[0,2-3] {END}"]
    assert "/dev/nvidia1" not in result["nodes"][0]["device_files"]


def test_a_faulty_gpu_can_be_left_out() -> None:
    """awslabs/awsome-distributed-ai#195: seven of eight on purpose, until the eighth is replaced."""
    gpus = [gpu(at, at) for at in range(8)]
    gpus[3] = gpu(3, None, None, None, problem="GPU003")
    assert derived(record("n1", gpus))["left_out"] == ["n1"]
    result = derived(record("n1", gpus), slurm_node_gpu_exclude=["00000000:03:00.0"])
    assert (result["problems"], result["nodes"][0]["gpus"]) == ([], {"h100": 7})


def test_all_gpus_left_out() -> None:
    result = derived(record("n1", [gpu(1, 0)]), slurm_node_gpu_exclude=["GPU-00000001"])
    assert (result["nodes"][0]["gres"], result["gres_lines"], result["problems"]) == ("", [], [])


def test_gpu_to_leave_out_that_is_not_there() -> None:
    result = derived(hgx(), slurm_node_gpu_exclude=["0000:aa:00.0"])
    assert ids(result) == ["SLM040"]
    assert result["nodes"][0]["gpus"] == {"h100": 8}
    assert "00000000:18:00.0 (minor 0)" in result["problems"][0]["message"]


def test_nodes_that_differ_in_the_gpus_left_out_only() -> None:
    machines = [hgx(f"n{number}") for number in (1, 2, 3)]
    hostvars = {one["host"]: {"node_hardware": one} for one in machines}
    hostvars["n2"]["slurm_node_gpu_exclude"] = ["0"]
    result = slurm_cluster(list(hostvars), hostvars, {"version": "24.11"})
    assert [(node["name"], node["gpus"]) for node in result["nodes"]] == [
        ("n1", {"h100": 8}),
        ("n2", {"h100": 7}),
        ("n3", {"h100": 8}),
    ]
    assert result["gres_lines"][0].startswith("NodeName=n[1,3] ")


@pytest.mark.parametrize(
    ("sharing", "gres", "line"),
    [
        ({"mode": "shard", "per_gpu": 4}, "shard:32", "Name=shard Count=32 File=/dev/nvidia[0-7]"),
        ({"mode": "mps"}, "mps:800", "Name=mps Count=800 File=/dev/nvidia[0-7]"),
        ({"mode": "mps", "per_gpu": 10}, "mps:80", "Name=mps Count=80 File=/dev/nvidia[0-7]"),
    ],
)
def test_sharing(sharing: dict[str, Any], gres: str, line: str) -> None:
    """The same count on each GPU, and the files named: without them MIG devices would be counted in."""
    result = derived(hgx(), slurm_node_gpu_sharing=sharing)
    assert result["problems"] == []
    assert f"Gres=gpu:h100:8,{gres} " in result["node_lines"][0]
    assert result["gres_lines"][-1] == f"NodeName=gpu001 AutoDetect=off {line}"
    assert result["gres_types"] == ["gpu", gres.split(":")[0]]


def test_sharing_of_one_gpu_of_two_models_and_out_of_order() -> None:
    one = derived(record("n1", [gpu(1, 3)]), slurm_node_gpu_sharing={"mode": "shard", "per_gpu": 2})
    assert one["gres_lines"][-1].endswith("Name=shard Count=2 File=/dev/nvidia3")
    gpus = [gpu(1, 1), gpu(2, 2, "nvidia_a100-pcie-40gb"), gpu(3, 0)]
    result = derived(record("n1", gpus), slurm_node_gpu_sharing={"mode": "shard", "per_gpu": 3})
    assert result["gres_lines"][-1].endswith("Name=shard Count=9 File=/dev/nvidia[1-2,0]")


def test_sharing_beside_autodetect() -> None:
    """One AutoDetect for all lines of a node; another one is fatal to slurmd."""
    result = derived(hgx(), site={"gres_autodetect": "nvml"}, slurm_node_gpu_sharing={"mode": "shard", "per_gpu": 2})
    assert result["gres_lines"] == [
        "NodeName=gpu001 AutoDetect=nvml",
        "NodeName=gpu001 AutoDetect=nvml Name=shard Count=16 File=/dev/nvidia[0-7]",
    ]


def test_sharing_without_gpus_and_with_gpus_left_out() -> None:
    sharing = {"mode": "shard", "per_gpu": 4}
    assert derived(record("n1"), slurm_node_gpu_sharing=sharing)["gres_types"] == ["gpu"]
    fewer = derived(hgx(), slurm_node_gpu_sharing=sharing, slurm_node_gpu_exclude=[0])
    assert fewer["gres_lines"][-1].endswith("Name=shard Count=28 File=/dev/nvidia[1-7]")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"slurm_node_gpu_sharing": {"mode": "share"}}, "its mode is 'share'"),
        ({"slurm_node_gpu_sharing": {"mode": "shard"}}, "its per_gpu is None"),
        ({"slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 0}}, "its per_gpu is 0"),
        ({"slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": True}}, "its per_gpu is True"),
        ({"slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 4, "count": 2}}, "the key count"),
        (
            {
                "slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 4},
                "slurm_node_parameters": {"Gres": "gpu:h100:8,shard:8"},
            },
            "slurm_node_parameters sets Gres",
        ),
    ],
)
def test_sharing_that_cannot_be_used(variables: dict[str, Any], words: str) -> None:
    result = derived(hgx(), **variables)
    assert ids(result) == ["SLM041"]
    assert words in result["problems"][0]["message"]
    assert not any("Name=shard" in line for line in result["gres_lines"])


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_no_sharing_on_a_node_with_mig(version: str) -> None:
    machine = record("n1", [gpu(1, 0), gpu(2, 1, instances=[mig("1g.10gb", 1, (3, 4))])])
    result = derived(machine, site={"version": version}, slurm_node_gpu_sharing={"mode": "shard", "per_gpu": 2})
    assert ids(result) == ["SLM041"]
    assert result["gres_types"] == ["gpu"]


@pytest.mark.parametrize(("version", "problems"), [("22.05", ["SLM043"]), ("", ["SLM043"]), ("24.11", [])])
def test_sharing_anywhere_in_a_cluster_with_mig(version: str, problems: list[str]) -> None:
    """Slurm 22.05 makes three GPUs of the three files of a MIG device as soon as GresTypes has shard (slurmd -G)."""
    with_mig = record("n1", [gpu(2, 1, instances=[mig("1g.10gb", 1, (3, 4))])])
    hostvars = {
        "n1": {"node_hardware": with_mig},
        "n2": {"node_hardware": hgx("n2"), "slurm_node_gpu_sharing": {"mode": "shard", "per_gpu": 2}},
    }
    result = slurm_cluster(list(hostvars), hostvars, {"version": version})
    assert [problem["id"] for problem in result["problems"]] == problems
