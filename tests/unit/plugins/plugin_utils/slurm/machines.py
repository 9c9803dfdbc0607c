# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware records (schema 1) of machines for the tests and the bench of the derivation."""

from __future__ import annotations

from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.filter.slurm import slurm_cluster


def mig(profile: str, minor: int, caps: tuple[int, int]) -> dict[str, Any]:
    """Return a MIG instance of the GPU with that minor number and the capability numbers of its GI and CI."""
    return {
        "profile": profile,
        "gi": caps[0],
        "ci": 0,
        "uuid": None,
        "memory_mib": None,
        "files": [f"/dev/nvidia{minor}", *(f"/dev/nvidia-caps/nvidia-cap{cap}" for cap in caps)],
    }


def gpu(
    bus: int,
    minor: int | None,
    kind: str | None = "nvidia_h100_80gb_hbm3",
    memory_mib: int | None = 81559,
    cores: str | None = None,
    instances: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return one GPU of a record; with ``instances`` (also an empty list) MIG is enabled."""
    return {
        "pci": f"00000000:{bus:02x}:00.0",
        "device_id": "2330",
        "minor": minor,
        "uuid": f"GPU-{bus:08d}",
        "product": kind,
        "type": kind,
        "memory_mib": memory_mib,
        "numa": 0,
        "cores": cores,
        "mig": {"mode": "disabled" if instances is None else "enabled", "instances": instances or []},
        "fabric": {"cluster_uuid": None, "clique": None, "state": None, "status": None},
        "problem": None,
        **changes,
    }


def record(
    host: str = "gpu001",
    gpus: list[dict[str, Any]] | None = None,
    sockets: int | None = 2,
    cores: int | None = 56,
    threads: int | None = 2,
    memory_mib: int | None = 2063878,
    numa: int = 2,
    **changes: Any,
) -> dict[str, Any]:
    """Return a record: two sockets of 56 cores and 2 TiB unless told otherwise."""
    cpus = None if None in (sockets, cores, threads) else sockets * cores * threads  # type: ignore[operator]
    return {
        "schema": 1,
        "host": host,
        "taken_at": "2026-11-30T19:31:44Z",
        "cpu": {
            "architecture": "x86_64",
            "model": None,
            "sockets": sockets,
            "cores_per_socket": cores,
            "threads_per_core": threads,
            "cpus": cpus,
            "core_map": [],
            "numa_nodes": [{"id": node, "cpus": "", "cores": "", "memory_mib": 0} for node in range(numa)],
            "offline": "",
        },
        "memory_mib": memory_mib,
        "gpus": gpus or [],
        "nvlinks": [],
        "nvidia": {"driver": "580.126.20", "flavour": "open", "nvswitch": True},
        "fabric": {"hcas": []},
        "problems": [],
        **changes,
    }


def hgx(host: str = "gpu001", kind: str = "nvidia_h100_80gb_hbm3", **changes: Any) -> dict[str, Any]:
    """Return an HGX machine: eight GPUs, four near to each socket."""
    near = ("0-55", "56-111")
    return record(host, [gpu(0x18 + at, at, kind, cores=near[at // 4]) for at in range(8)], **changes)


def derived(*records: dict[str, Any], site: dict[str, Any] | None = None, **variables: Any) -> dict[str, Any]:
    """Return what the filter slurm_cluster makes of nodes with these records, all with the same other variables."""
    hostvars = {one["host"]: {"node_hardware": one, **variables} for one in records}
    return slurm_cluster(list(hostvars), hostvars, {"version": "24.11", **(site or {})})


def ids(result: dict[str, Any]) -> list[str]:
    """Return the ids of the problems of a result."""
    return [problem["id"] for problem in result["problems"]]
