# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of the inventory out of hardware records: pure functions behind the inventory plugin ``hardware``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import errors
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.gpu_types import short_name
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.hardware import SCHEMA
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.blocks import Placed, blocks, domain_of
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import (
    INFINIBAND,
    LLDP,
    FabricError,
    links_of,
)

__all__ = ["KINDS", "RecordFormError", "Summary", "domains", "group_names", "summary"]

# What groups can be made by, in the order of the documentation.
KINDS = ("gpu_type", "gpu_count", "mig", "rack", "switch", "nvlink", "problem")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


class RecordFormError(ValueError):
    """A record or ``node_fabric`` that does not have the form of its schema."""


@dataclass(frozen=True)
class Summary:
    """What a record says, short: the variable ``hardware`` of expressions in the plugin's configuration.

    ``gpu_types``: short names of the models, ``mig_profiles``: those of the instances, ``problems``: ids of the errors
    and warnings in the record, ``has_error``: whether one of them is an error. Memory in MiB, None if unknown.
    """

    gpu_types: tuple[str, ...]
    gpu_count: int
    mig: bool
    mig_profiles: tuple[str, ...]
    rack: str
    switches: tuple[str, ...]
    nvlink_domain: str
    problems: tuple[str, ...]
    has_error: bool
    cpus: int | None
    memory_mib: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain lists and values for templates."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def summary(record: Mapping[str, Any], fabric: Any, rack: str, nvlink_domain: str) -> Summary:
    """Return the summary of one host. Raises RecordFormError with what is wrong with the form."""
    if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
        raise RecordFormError(f"node_hardware is not a record of schema {SCHEMA}")
    try:
        gpus = record["gpus"]
        problems = record["problems"]
        instances = [instance["profile"] for gpu in gpus for instance in gpu["mig"]["instances"]]
        return Summary(
            gpu_types=tuple(sorted({short_name(gpu["type"]) for gpu in gpus if gpu["type"]})),
            gpu_count=len(gpus),
            mig=any(gpu["mig"]["mode"] == "enabled" for gpu in gpus),
            mig_profiles=tuple(sorted(set(instances))),
            rack=rack,
            switches=tuple(sorted({link.switch for kind in (INFINIBAND, LLDP) for link in links_of(fabric, kind)})),
            nvlink_domain=nvlink_domain,
            problems=tuple(sorted({str(problem["id"]) for problem in problems})),
            has_error=bool(errors(problems)),
            cpus=record["cpu"]["cpus"],
            memory_mib=record["memory_mib"],
        )
    except (KeyError, TypeError, AttributeError) as exc:
        raise RecordFormError(f"node_hardware does not have the form of schema {SCHEMA} ({exc!r})") from exc
    except FabricError as exc:
        raise RecordFormError(f"node_fabric cannot be used: {exc}") from exc


def domains(records: Mapping[str, Any], racks: Mapping[str, str]) -> dict[str, str]:
    """Return host -> name of the NVLink domain that it shares with others, named as in topology/block."""
    placed = {}
    for host, record in records.items():
        try:
            placed[host] = Placed(domain_of(record), racks.get(host, ""))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return {node: block.name for block in blocks(placed, placed) for node in block.nodes}


def group_names(of: Summary, kinds: Collection[str], prefix: str = "") -> list[str]:
    """Return the groups that a host belongs to, safe names for Ansible.

    >>> group_names(Summary(("h100",), 8, False, (), "r-1", (), "", (), False, 224, None), KINDS)
    ['gpu_h100', 'gpus_8', 'rack_r_1']
    """
    return [_UNSAFE.sub("_", f"{prefix}{name}") for kind, name in _groups(of) if kind in kinds]


def _groups(of: Summary) -> Iterator[tuple[str, str]]:
    yield from (("gpu_type", f"gpu_{name}") for name in of.gpu_types)
    yield "gpu_count", f"gpus_{of.gpu_count}"
    if of.mig:
        yield "mig", "mig"
        yield from (("mig", f"mig_{profile}") for profile in of.mig_profiles)
    if of.rack:
        yield "rack", f"rack_{of.rack}"
    yield from (("switch", f"switch_{name}") for name in of.switches)
    if of.nvlink_domain:
        yield "nvlink", f"nvlink_{of.nvlink_domain}"
    if of.problems:
        yield "problem", "has_problem"
