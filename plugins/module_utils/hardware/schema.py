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
_TOO_LARGE = 1 << 40

# A dictionary names keys in their order, a list holds the form of its elements, a text is the type of a plain value in
# the words of the documentation; "list" stands for a list of texts.
RECORD: dict[str, Any] = {
    "schema": "int",
    "host": "str",
    "taken_at": "str",
    "cpu": {
        "architecture": "str",
        "model": "str",
        "sockets": "int",
        "cores_per_socket": "int",
        "threads_per_core": "int",
        "cpus": "int",
        "core_map": "list",
        "numa_nodes": [{"id": "int", "cpus": "str", "cores": "str", "memory_mib": "int"}],
        "offline": "str",
    },
    "memory_mib": "int",
    "gpus": [
        {
            "pci": "str",
            "device_id": "str",
            "minor": "int",
            "uuid": "str",
            "product": "str",
            "type": "str",
            "memory_mib": "int",
            "numa": "int",
            "cores": "str",
            "mig": {
                "mode": "str",
                "instances": [
                    {"profile": "str", "gi": "int", "ci": "int", "uuid": "str", "memory_mib": "int", "files": "list"}
                ],
            },
            "fabric": {"cluster_uuid": "str", "clique": "int", "state": "str", "status": "str"},
            "problem": "str",
        }
    ],
    "nvlinks": [{"a": "int", "b": "int", "links": "int"}],
    "nvidia": {"driver": "str", "flavour": "str", "nvswitch": "bool"},
    "fabric": {
        "hcas": [
            {
                "name": "str",
                "guid": "str",
                "ports": [
                    {
                        "port": "int",
                        "guid": "str",
                        "state": "str",
                        "link_layer": "str",
                        "rate_gbps": "float",
                        "leaf": "str",
                    }
                ],
            }
        ]
    },
    "problems": [{"id": "str", "severity": "str", "host": "str", "message": "str", "remedy": "str"}],
}
# Always known; every other plain value may be null.
_ALWAYS = frozenset({"schema", "host", "pci", "name", "id", "severity", "message", "remedy", "a", "b", "links"})


def faults(record: Any) -> list[str]:
    """Return one sentence for each place where ``record`` lacks a key, has an unknown one or another type."""
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
    if value is None and form != "list" and path.rpartition(".")[2] not in _ALWAYS:
        return []
    fault = _fault_of_plain(value, form)
    return [f"{path} {fault}"] if fault else []


def _fault_of_plain(value: Any, kind: str) -> str:
    if isinstance(value, Mapping):
        return "is a dictionary"
    if kind == "list":
        return "" if isinstance(value, list) and all(isinstance(item, str) for item in value) else "is no list of texts"
    if kind == "str":
        return "" if isinstance(value, str) else f"is {value!r}, not a text in quotes"
    if kind == "bool":
        return "" if isinstance(value, bool) else f"is {value!r}, neither true nor false"
    numbers = (int, float) if kind == "float" else int
    known = isinstance(value, numbers) and not isinstance(value, bool) and 0 <= value < _TOO_LARGE
    return "" if known else f"is {value!r}, not a number in reason"


def ordered(record: Any) -> Any:
    """Return ``record``, which is without faults, with all keys in the order of the schema."""
    return _ordered(record, RECORD)


def _ordered(value: Any, form: Any) -> Any:
    if isinstance(form, dict):
        return {key: _ordered(value[key], form[key]) for key in form}
    if isinstance(form, list):
        return [_ordered(item, form[0]) for item in value]
    return value
