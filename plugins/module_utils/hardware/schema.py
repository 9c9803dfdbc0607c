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


def faults(record: Any) -> list[str]:
    """Return one sentence for each place where ``record`` lacks a key, has an unknown one or another structure."""
    return _faults(record, RECORD, "node_hardware")


def _faults(value: Any, form: Any, path: str) -> list[str]:
    if isinstance(form, dict):
        if not isinstance(value, Mapping):
            return [f"{path} is not a dictionary"]
        found = [f"{path}.{key} is missing" for key in form if key not in value]
        found += [f"{path}.{key} is not known" for key in value if key not in form]
        known = [key for key in form if key in value]
        return found + [fault for key in known for fault in _faults(value[key], form[key], f"{path}.{key}")]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{path} is not a list"]
        return [fault for index, item in enumerate(value) for fault in _faults(item, form[0], f"{path}[{index}]")]
    return [f"{path} is a dictionary"] if isinstance(value, Mapping) else []


def ordered(record: Any) -> Any:
    """Return ``record``, which is without faults, with all keys in the order of the schema."""
    return _ordered(record, RECORD)


def _ordered(value: Any, form: Any) -> Any:
    if isinstance(form, dict):
        return {key: _ordered(value[key], form[key]) for key in form}
    if isinstance(form, list):
        return [_ordered(item, form[0]) for item in value]
    return value
