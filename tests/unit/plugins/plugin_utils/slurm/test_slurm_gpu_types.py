# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of GPU types."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gpu_types import (
    Device,
    autodetect_names,
    greedy_match,
    memory_feature,
    mig_full_type,
    short_name,
    type_fault,
    type_names,
)


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("nvidia_h100_80gb_hbm3", "h100"),
        ("nvidia_h100_pcie", "h100"),
        ("nvidia_h100_nvl", "h100"),
        ("nvidia_h200", "h200"),
        ("nvidia_h200_nvl", "h200"),
        ("nvidia_h20-3e", "h20_3e"),
        ("nvidia_a100-sxm4-40gb", "a100"),
        ("nvidia_a100-sxm4-80gb", "a100"),
        ("nvidia_a100-pcie-40gb", "a100"),
        ("nvidia_a100_80gb_pcie", "a100"),
        ("a100-sxm4-40gb", "a100"),
        ("nvidia_a100x", "a100x"),
        ("nvidia_a10g", "a10g"),
        ("nvidia_b200", "b200"),
        ("nvidia_b300_sxm6_ac", "b300"),
        ("nvidia_gb200", "gb200"),
        ("nvidia_gb300", "gb300"),
        pytest.param("nvidia_gh200_480gb", "gh200", id="gpu-rules 19 gh200"),
        ("nvidia_gh200_144g_hbm3e", "gh200"),
        ("nvidia_l4", "l4"),
        ("nvidia_l40s", "l40s"),
        ("tesla_t4", "t4"),
        ("tesla_v100-sxm2-16gb", "v100"),
        ("tesla_v100-sxm3-32gb", "v100"),
        ("tesla_p100-pcie-16gb", "p100"),
        ("tesla_k80", "k80"),
        ("nvidia_geforce_rtx_4090", "rtx_4090"),
        pytest.param("nvidia_geforce_rtx_2080_ti", "rtx_2080_ti", id="gpu-rules 19 rtx_2080_ti"),
        ("nvidia_geforce_rtx_3060_laptop_gpu", "rtx_3060_laptop"),
        pytest.param("geforce_gtx_1070_ti", "gtx_1070_ti", id="gpu-rules 21 old driver"),
        pytest.param("nvidia_geforce_gtx_1070_ti", "gtx_1070_ti", id="gpu-rules 21 new driver"),
        ("nvidia_geforce_gtx_1060_6gb", "gtx_1060"),
        ("quadro_rtx_6000", "rtx_6000"),
        pytest.param("quadro_rtx_6000/8000", "rtx_6000_8000", id="gpu-rules 19 slash"),
        ("nvidia_rtx_6000_ada_generation", "rtx_6000_ada"),
        ("nvidia_rtx_4000_sff_ada_generation", "rtx_4000_sff_ada"),
        ("nvidia_rtx_a6000", "rtx_a6000"),
        ("nvidia_rtx_pro_6000_blackwell_server_edition", "rtx_pro_6000_blackwell"),
        ("nvidia_rtx_pro_6000_blackwell_max-q_workstation_edition", "rtx_pro_6000_blackwell_max_q"),
        ("nvidia_titan_v", "titan_v"),
        pytest.param("graphics_device", "graphics_device", id="gpu-rules 20"),
        pytest.param("grid_a100d-40c", "a100d_40c", id="gpu-rules 22 vGPU"),
        pytest.param("nvidia_a40-48q", "a40_48q", id="gpu-rules 22 vGPU new name"),
        pytest.param("nvidia_x900_1tb", "x900_1tb", id="D#1297 unknown product"),
        pytest.param("nvidia_4090", "nvidia_4090", id="no letter left: read as a count"),
        pytest.param("nvidia_80gb", "nvidia_80gb", id="nothing left"),
        pytest.param("nvidia_(odd),_name=1", "odd_name_1", id="characters Slurm does not take"),
    ],
)
def test_short_name(full: str, short: str) -> None:
    assert short_name(full) == short


@given(st.text(min_size=1, max_size=40))
def test_any_product_gives_a_usable_name(full: str) -> None:
    name = type_names([Device("nvidia_" + full)])[0]
    assert name
    assert re.fullmatch(r"[a-z0-9._/+-]+", name)


def test_memory_variants_share_the_name() -> None:
    """A short name is a function of the full type alone: a new node never renames the type of another."""
    assert type_names([Device("nvidia_a100-sxm4-40gb")]) == type_names([Device("nvidia_a100-sxm4-80gb")]) == ["a100"]


@pytest.mark.parametrize(
    ("fulls", "names"),
    [
        (["nvidia_a100-sxm4-40gb", "nvidia_a100-sxm4-80gb"], ["a100_40gb", "a100_80gb"]),
        (["nvidia_h100_pcie", "nvidia_h100_nvl"], ["h100_pcie", "h100_nvl"]),
        (["nvidia_h100_80gb_hbm3", "nvidia_h100_80gb_hbm2e"], ["h100_80gb_hbm3", "h100_80gb_hbm2e"]),
        (["tesla_v100", "nvidia_v100"], ["tesla_v100", "nvidia_v100"]),
        (["nvidia_h100_80gb_hbm3", "nvidia_a100_80gb_pcie"], ["h100", "a100"]),
        (["nvidia_geforce_rtx_3080", "nvidia_geforce_rtx_3080_ti"], ["rtx_3080", "rtx_3080_ti"]),
    ],
)
def test_variants_in_one_node_get_longer_names(fulls: list[str], names: list[str]) -> None:
    assert type_names([Device(full) for full in fulls]) == names
    assert type_names([Device(full) for full in reversed(fulls)]) == names[::-1]


@pytest.mark.parametrize(
    ("parent", "profile", "full"),
    [
        pytest.param("nvidia_a100-sxm4-80gb", "1g.5gb", "nvidia_a100_1g.5gb", id="D#1214"),
        ("nvidia_a100_80gb_pcie", "1g.10gb", "nvidia_a100_80gb_pcie_1g.10gb"),
        ("nvidia_h100_80gb_hbm3", "1c.3g.40gb", "nvidia_h100_80gb_hbm3_1c.3g.40gb"),
    ],
)
def test_mig_type_of_nvml(parent: str, profile: str, full: str) -> None:
    assert mig_full_type(parent, profile) == full


@pytest.mark.parametrize(
    ("device", "style", "given", "name"),
    [
        (Device("nvidia_h100_80gb_hbm3", "3g.40gb"), "short", {}, "h100_3g.40gb"),
        (Device("nvidia_h100_80gb_hbm3", "1g.10gb+me"), "short", {}, "h100_1g.10gb+me"),
        (Device("nvidia_h100_80gb_hbm3", "3g.40gb"), "full", {}, "nvidia_h100_80gb_hbm3_3g.40gb"),
        (Device("nvidia_h100_80gb_hbm3"), "full", {}, "nvidia_h100_80gb_hbm3"),
        (Device("nvidia_h100_80gb_hbm3"), "short", {"nvidia_h100_80gb_hbm3": "big"}, "big"),
        (Device("nvidia_h100_80gb_hbm3"), "full", {"nvidia_h100_80gb_hbm3": "big"}, "big"),
        (Device("nvidia_h100_80gb_hbm3", "3g.40gb"), "short", {"nvidia_h100_80gb_hbm3": "big"}, "big_3g.40gb"),
        (Device("nvidia_h100_80gb_hbm3", "3g.40gb"), "short", {"nvidia_h100_80gb_hbm3_3g.40gb": "half"}, "half"),
    ],
)
def test_style_and_names_of_the_operator(device: Device, style: str, given: dict[str, str], name: str) -> None:
    assert type_names([device], style, given) == [name]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("h100", ""),
        ("rtx-4090.a+b", ""),
        ("", "empty"),
        ("4090", "count"),
        ("H100", "upper-case"),
        ("a b", "character"),
        ("a:b", "character"),
        ("a,b", "character"),
        ("a#b", "character"),
    ],
)
def test_type_fault(name: str, part: str) -> None:
    fault = type_fault(name)
    assert part in fault
    assert bool(fault) == bool(part)


@pytest.mark.parametrize(
    ("full", "memory_mib", "feature"),
    [
        ("nvidia_a100-sxm4-80gb", 81920, "a100-80gb"),
        ("nvidia_h100_80gb_hbm3", 81559, "h100-80gb"),
        ("nvidia_h100_nvl", 95830, "h100-94gb"),
        ("nvidia_h200", 143771, "h200-141gb"),
        ("nvidia_b200", 183359, "b200-180gb"),
        ("nvidia_gb200", 189471, "gb200-186gb"),
        ("nvidia_gh200_480gb", 97871, "gh200-96gb"),
        ("nvidia_l40s", 46068, "l40s-48gb"),
        ("tesla_t4", 15360, "t4-16gb"),
        ("tesla_k80", 11441, "k80-12gb"),
        ("nvidia_geforce_rtx_4090", 24564, "rtx_4090-24gb"),
        ("nvidia_x1", 1048576, "x1-1024gb"),
        ("nvidia_a100-sxm4-80gb", None, "a100-80gb"),
        ("tesla_t4", None, None),
    ],
)
def test_memory_feature(full: str, memory_mib: int | None, feature: str | None) -> None:
    assert memory_feature(full, memory_mib) == feature


H100 = "nvidia_h100_80gb_hbm3"


def test_greedy_match_falls_into_the_trap() -> None:
    """The case that a real slurmd showed: a MIG slice is given the type of the whole GPU, the GPU itself is dropped."""
    configured = ["h100_80gb_hbm3", "1g.10gb", "3g.40gb"]
    detected = [H100, f"{H100}_1g.10gb", f"{H100}_3g.40gb"]
    assert greedy_match(configured, detected)[0] is None
    assert greedy_match(["h100", "1g.10gb", "3g.40gb"], detected) == ["h100", "1g.10gb", "3g.40gb"]


@pytest.mark.parametrize(
    ("devices", "names", "expected"),
    [
        ([Device(H100)] * 2, ["h100"] * 2, ["h100"] * 2),
        ([Device(H100), Device(H100, "1g.10gb")], ["h100", "1g.10gb"], ["h100", "1g.10gb"]),
        pytest.param(
            [Device(H100), Device(H100, "1g.10gb")],
            ["h100_80gb_hbm3", "1g.10gb"],
            [H100, f"{H100}_1g.10gb"],
            id="gpu-rules 18 greedy trap",
        ),
        pytest.param(
            [Device(H100, "1g.10gb")], ["h100_1g.10gb"], [f"{H100}_1g.10gb"], id="SlinkyProject/slurm-operator#57"
        ),
        pytest.param(
            [Device("nvidia_geforce_rtx_3080"), Device("nvidia_geforce_rtx_3080_ti")],
            ["rtx_3080", "rtx_3080_ti"],
            ["rtx_3080", "rtx_3080_ti"],
            id="gpu-rules 19 one name part of the other",
        ),
    ],
)
def test_names_survive_autodetect(devices: list[Device], names: list[str], expected: list[str]) -> None:
    assert autodetect_names(devices, names) == expected


@given(
    st.lists(
        st.builds(
            Device,
            st.sampled_from([H100, "nvidia_a100-sxm4-80gb", "nvidia_geforce_rtx_3080", "nvidia_geforce_rtx_3080_ti"]),
            st.sampled_from([None, "1g.10gb", "3g.40gb", "1c.3g.40gb"]),
        ),
        max_size=10,
    )
)
def test_every_device_gets_its_own_type_back(devices: list[Device]) -> None:
    names = autodetect_names(devices, type_names(devices))
    assert greedy_match(names, [device.detected for device in devices]) == names
