# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a record: its keys and their order, schema 1.

What each key means is documented once, in the RETURN block of the module ``node_hardware_info``; a test holds the two
together.
"""

from __future__ import annotations

from typing import Any, Mapping

__all__ = ["RECORD", "SCHEMA", "faults", "ordered"]

SCHEMA = 1

# A dictionary names keys in their order, a list holds the form of its elements, None stands for a plain value or a
# list of plain values.
RECORD: dict[str, Any] = {
    "schema": None,
    "host": None,
    "taken_at": None,
    "cpu": {
        "architecture": None,
        "model": None,
        "sockets": None,
        "cores_per_socket": None,
        "threads_per_core": None,
        "cpus": None,
        "core_map": None,
        "numa_nodes": [{"id": None, "cpus": None, "cores": None, "memory_mib": None}],
        "offline": None,
    },
    "memory_mib": None,
    "gpus": [
        {
            "pci": None,
            "device_id": None,
            "minor": None,
            "uuid": None,
            "product": None,
            "type": None,
            "memory_mib": None,
            "numa": None,
            "cores": None,
            "mig": {
                "mode": None,
                "instances": [
                    {"profile": None, "gi": None, "ci": None, "uuid": None, "memory_mib": None, "files": None}
                ],
            },
            "fabric": {"cluster_uuid": None, "clique": None, "state": None, "status": None},
            "problem": None,
        }
    ],
    "nvlinks": [{"a": None, "b": None, "links": None}],
    "nvidia": {"driver": None, "flavour": None, "nvswitch": None},
    "fabric": {
        "hcas": [
            {
                "name": None,
                "guid": None,
                "ports": [
                    {"port": None, "guid": None, "state": None, "link_layer": None, "rate_gbps": None, "leaf": None}
                ],
            }
        ]
    },
    "problems": [{"id": None, "severity": None, "host": None, "message": None, "remedy": None}],
}


def faults(record: Any, form: Any = RECORD, path: str = "node_hardware") -> list[str]:
    """Return one sentence for each place where ``record`` lacks a key, has an unknown one or another structure."""
    if isinstance(form, dict):
        if not isinstance(record, Mapping):
            return [f"{path} is not a dictionary"]
        found = [f"{path}.{key} is missing" for key in form if key not in record]
        found += [f"{path}.{key} is not known" for key in record if key not in form]
        return found + [
            fault for key in form if key in record for fault in faults(record[key], form[key], f"{path}.{key}")
        ]
    if isinstance(form, list):
        if not isinstance(record, list):
            return [f"{path} is not a list"]
        return [fault for index, item in enumerate(record) for fault in faults(item, form[0], f"{path}[{index}]")]
    return [f"{path} is a dictionary"] if isinstance(record, Mapping) else []


def ordered(record: Any, form: Any = RECORD) -> Any:
    """Return ``record``, which is without faults, with all keys in the order of the schema."""
    if isinstance(form, dict):
        return {key: ordered(record[key], form[key]) for key in form}
    if isinstance(form, list):
        return [ordered(item, form[0]) for item in record]
    return record
