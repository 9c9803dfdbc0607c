# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pure functions that the roles' templates use: names of the cluster, parameter lines, device files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import drain_reason, errors
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out

# What the collection derives, so that slurm_settings may not set it.
DERIVED: Final = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName", "Include", "GresTypes")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def hosts_lines(addresses: Mapping[str, str | None], extra: Mapping[str, str]) -> list[str]:
    """Return the lines of the managed block of ``/etc/hosts``.

    ``addresses`` maps a host's name to its address, or None where DNS knows it; ``extra`` maps an address to the names
    behind it. Hosts come in the order of their names, so that the order of the inventory does not matter. A dotted name
    gets its first part as alias.
    """
    lines = []
    for name in sorted(addresses):
        address = addresses[name]
        if address:
            short = name.split(".", 1)[0]
            lines.append(f"{address}\t{name}" + (f" {short}" if short != name else ""))
    lines.extend(f"{address}\t{names}" for address, names in sorted(extra.items()))
    return lines


def _text(value: Any) -> str:
    """Return a parameter's value as Slurm writes it; an empty string means that the parameter is left out."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(filter(None, map(_text, value)))
    return str(value)


def _fault_of_text(text: str) -> str:
    """Return why a value cannot stand in a file of Slurm, as the end of a sentence; empty if it can."""
    if '"' in text or not text.isprintable():
        return "holds a quote, a line break or a control character, which Slurm cannot read; write it without"
    if "#" in text:
        return "holds '#', which begins a comment in Slurm's files; use a value without it"
    if text.endswith("\\"):
        return "ends with a backslash, which joins the next line to it; write it without"
    return ""


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int))


def settings_faults(overrides: Mapping[Any, Any], denied: Iterable[str] = ()) -> list[str]:
    """Return what keeps the entries of a pass-through dictionary from being written, each without its full stop.

    A password is not repeated.
    """
    denied_names = {name.lower(): name for name in denied}
    found = []
    seen: dict[str, str] = {}
    for key, value in overrides.items():
        name = str(key)
        if not isinstance(key, str) or not _NAME.fullmatch(key):
            found.append(f"{name!r} is no name of a parameter; write it as in slurm.conf, letters and digits only")
            continue
        if name.lower() in denied_names:
            found.append(
                f"{denied_names[name.lower()]} cannot be set through a pass-through dictionary, because the collection "
                "derives it; use the collection's own variables for it (docs/variables.md)"
            )
        if name.lower() in seen:
            found.append(f"{seen[name.lower()]} and {name} are one parameter to Slurm; keep one of them")
        seen.setdefault(name.lower(), name)
        items = value if isinstance(value, (list, tuple)) else [value]
        shown = "" if "pass" in name.lower() else f" {value!r}"
        if not all(map(_is_plain, items)):
            found.append(f"{name}: the value{shown} is no text, number, true, false or list of these; write it as one")
            continue
        fault = _fault_of_text(_text(value))
        if fault:
            found.append(f"{name}: the value{shown} {fault}")
    return found


def _quoted(text: str) -> str:
    """Return a value as it stands in a file, in quotes where it holds blanks."""
    return f'"{text}"' if " " in text else text


def _parts(value: Any) -> list[str]:
    return [part for part in _text(value).split(",") if part]


def conf_lines(
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
    denied: Iterable[str] = (),
    joined: Iterable[str] = (),
) -> list[str]:
    """Return ``Name=value`` lines: the collection's ``defaults`` with the site's ``overrides`` laid over them.

    Slurm does not mind the case of a parameter's name, so neither does this: ``returntoservice`` overrides
    ``ReturnToService``. A value of None, or an empty list or string, leaves the parameter out (a line without a value
    is an error to Slurm). Booleans become yes and no, lists are joined by commas. For the parameters in ``joined`` the
    override's items are added to the default's, because the cluster does not work without the latter.

    Raises ValueError with a sentence for the operator when an override names a ``denied`` parameter, or when a value
    cannot be written into such a file.
    """
    wrong = [*settings_faults(overrides, denied), *settings_faults(defaults)]
    if wrong:
        raise ValueError(" ".join(f"{fault}." for fault in wrong))
    joined_names = {name.lower() for name in joined}
    merged = {key.lower(): (key, value) for key, value in defaults.items()}
    for key, value in overrides.items():
        name, present = merged.get(key.lower(), (key, None))
        if key.lower() in joined_names:
            value = list(dict.fromkeys(_parts(present) + _parts(value)))
        merged[key.lower()] = (name, value)
    texts = [(name, _text(value)) for name, value in merged.values()]
    return [f"{name}={_quoted(text)}" for name, text in texts if text != ""]


def device_files(record: Mapping[str, Any], excluded: Iterable[Any] = ()) -> list[str]:
    """Return the device files that must exist before slurmd starts, from a hardware record (``{}`` gives none).

    A GPU with a problem is left out: its node is quarantined, and the other GPUs need not wait for a lost one. So are
    those that the operator leaves out (``excluded``: entries of slurm_node_gpu_exclude, also as a text with commas).

    Raises ValueError with a sentence for the operator when the record does not have its form.
    """
    try:
        return _device_files(record, excluded.split(",") if isinstance(excluded, str) else excluded)
    except (KeyError, TypeError, AttributeError) as error:
        host = record.get("host") if isinstance(record, Mapping) else None
        raise ValueError(
            f"The hardware record (node_hardware) of {host or 'this host'} cannot be read ({error!r}). Undo edits made "
            "by hand in it, or move the file away and run the playbook steelrack.gpu_cluster.discover again."
        ) from error


def _device_files(record: Mapping[str, Any], excluded: Iterable[Any]) -> list[str]:
    files: list[str] = []
    gpus = record.get("gpus") or []
    unwanted = left_out(gpus, excluded)[0]
    for position, gpu in enumerate(gpus):
        if position in unwanted or gpu["problem"] is not None or gpu["minor"] is None:
            continue
        instances = gpu["mig"]["instances"]
        files.append(f"/dev/nvidia{gpu['minor']}")
        files.extend(name for instance in instances for name in instance["files"])
    return list(dict.fromkeys(files))


def faulty_nodes(seen: Mapping[str, Iterable[Mapping[str, str]]], skipped: Iterable[str] = ()) -> dict[str, str]:
    """Return the reason to drain each node that has an error among its problems.

    ``seen`` maps a node to the problems that this run found on it. The first error in the order of ids is the reason,
    so that the same faults give the same reason whatever order they were found in.
    """
    ids = set(skipped)
    reasons = {}
    for node, problems in seen.items():
        found = [problem for problem in errors(problems) if problem["id"] not in ids]
        if found:
            reasons[node] = drain_reason(min(found, key=lambda problem: (problem["id"], problem["message"])))
    return reasons
