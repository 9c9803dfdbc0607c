# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hardware records and site settings into Slurm configuration; the rules are in plugin_utils."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm import names
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.addresses import cluster_addresses
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.cluster import (
    Cluster,
    Host,
    Site,
    derive,
)
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.host_variables import HostVariables, plain
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.partitions import PartitionRules
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.versions import version_known


def _value(variables: HostVariables, name: str, kind: type, default: Any, host: str) -> Any:
    """Return a host variable, the default if it is not set. AnsibleFilterError tells of a wrong type."""
    value = variables.value(name)
    if value is None or value == "":
        return default
    if not isinstance(value, kind):
        raise AnsibleFilterError(
            f"The variable {name} of {host} is {value!r}, but a {kind.__name__} is needed; correct it in the inventory."
        )
    return value


def _host(name: str, variables: HostVariables) -> Host:
    features = _value(variables, "slurm_node_features", list, (), name)
    return Host(
        name=name,
        record=variables.record(),
        base_address=variables.text("node_base_address"),
        ansible_host=variables.text("ansible_host"),
        parameters=_value(variables, "slurm_node_parameters", dict, {}, name),
        features=tuple("" if item is None else str(item) for item in features),
        rack=variables.text("slurm_node_rack") or "",
        gpu_type_names={
            str(full): "" if given is None else str(given)
            for full, given in _value(variables, "slurm_node_gpu_type_names", dict, {}, name).items()
        },
        gpu_exclude=tuple(_value(variables, "slurm_node_gpu_exclude", list, (), name)),
        gpu_sharing=_value(variables, "slurm_node_gpu_sharing", dict, {}, name),
    )


def _listed(value: Any, variable: str) -> list[Any]:
    """Return a list setting; a text with commas is taken as one. Raises TypeError."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if not isinstance(value, (list, type(None))):
        raise TypeError(f"{variable} is {value!r}, but a list is needed")
    return list(value or ())


def _site(settings: Mapping[str, Any]) -> Site:
    given = plain(settings)
    try:
        return Site(
            version=str(given.get("version") or ""),
            gpu_type_style=str(given.get("gpu_type_style") or "short"),
            gres_autodetect=str(given.get("gres_autodetect") or "off"),
            reserve_percent=int(given.get("memory_reserve_percent", 2)),
            reserve_mib=int(given.get("memory_reserve_mib", 1024)),
            partitions=PartitionRules(
                items=_listed(given.get("partitions"), "slurm_partitions"),
                all_name=str(given.get("partition_all", "all") or ""),
                by_gpu_type=bool(given.get("partitions_by_gpu_type", True)),
                def_per_gpu=bool(given.get("def_per_gpu", True)),
                groups=given.get("groups") or {},
            ),
            skip_problems=[str(item) for item in _listed(given.get("skip_problems"), "slurm_skip_problems")],
        )
    except (TypeError, ValueError, OverflowError) as exc:
        raise AnsibleFilterError(f"The site settings of Slurm cannot be used: {exc}") from exc


def _as_dict(cluster: Cluster) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "name": node.name,
                "address": node.address,
                "sockets": node.kind.sockets,
                "cores_per_socket": node.kind.cores_per_socket,
                "threads_per_core": node.kind.threads_per_core,
                "cpus": node.kind.cpus,
                "real_memory": node.kind.real_memory,
                "mem_spec_limit": node.kind.mem_spec_limit,
                "gres": node.kind.gres,
                "gpus": dict(node.kind.gpus),
                "features": list(node.kind.features),
                "device_files": list(node.kind.device_files),
                "parameters": dict(node.kind.parameters),
            }
            for node in cluster.nodes
        ],
        "partitions": [
            {**asdict(partition), "parameters": dict(partition.parameters)} for partition in cluster.partitions
        ],
        "node_lines": list(cluster.node_lines),
        "gres_lines": list(cluster.gres_lines),
        "def_mem_per_cpu": cluster.def_mem_per_cpu,
        "partition_lines": list(cluster.partition_lines),
        "gres_types": list(cluster.gres_types),
        "left_out": list(cluster.left_out),
        "problems": [problem.as_dict() for problem in cluster.problems],
    }


def slurm_cluster(hosts: Iterable[str], hostvars: Mapping[str, Any], site: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Slurm configuration of the hosts (see slurm_cluster.yml for the form)."""
    return _as_dict(derive((_host(host, HostVariables(hostvars, host)) for host in map(plain, hosts)), _site(site)))


def fold_nodes(hosts: Iterable[str]) -> str:
    """Return the names as a folded host list."""
    return names.fold(map(plain, hosts))


def unfold_nodes(text: str) -> list[str]:
    """Return the names of a host list."""
    try:
        return names.unfold(str(plain(text)))
    except names.HostlistError as exc:
        raise AnsibleFilterError(f"'{text}' is no host list that Slurm reads: {exc}") from exc


def slurm_node_name_fault(name: str) -> str:
    """Return what is wrong with a node name, as a sentence; an empty text if Slurm takes it."""
    return names.name_fault(str(plain(name)))


def slurm_version_known(version: str) -> bool:
    """Say whether the collection knows the rules of a Slurm version."""
    return version_known(str(plain(version)))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {
            "cluster_addresses": cluster_addresses,
            "fold_nodes": fold_nodes,
            "slurm_cluster": slurm_cluster,
            "slurm_node_name_fault": slurm_node_name_fault,
            "slurm_version_known": slurm_version_known,
            "unfold_nodes": unfold_nodes,
        }
