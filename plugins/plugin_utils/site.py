# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pure functions that the roles' templates use: names of the cluster, parameter lines, device files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import drain_reason, errors
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.left_out import left_out


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
        return ",".join(str(item) for item in value)
    return str(value)


def _quoted(name: str, text: str) -> str:
    """Return a value as it stands in a file, in quotes where it holds blanks. ValueError where it cannot be written."""
    if '"' in text or "\n" in text:
        raise ValueError(
            f"{name}: the value {text!r} holds a quote or a line break, which Slurm cannot read; write it without."
        )
    if "#" in text:
        raise ValueError(
            f"{name}: the value {text!r} holds '#', which begins a comment in Slurm's files; use a value without it."
        )
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
    denied_names = {name.lower(): name for name in denied}
    joined_names = {name.lower() for name in joined}
    refused = sorted(denied_names[key.lower()] for key in overrides if key.lower() in denied_names)
    if refused:
        raise ValueError(
            f"{', '.join(refused)} cannot be set through a pass-through dictionary, because the collection derives it; "
            "use the collection's own variables for it (docs/variables.md)."
        )
    merged = {key.lower(): (key, value) for key, value in defaults.items()}
    for key, value in overrides.items():
        name, present = merged.get(key.lower(), (key, None))
        if key.lower() in joined_names:
            value = list(dict.fromkeys(_parts(present) + _parts(value)))
        merged[key.lower()] = (name, value)
    texts = [(name, _text(value)) for name, value in merged.values()]
    return [f"{name}={_quoted(name, text)}" for name, text in texts if text != ""]


def device_files(record: Mapping[str, Any], excluded: Iterable[Any] = ()) -> list[str]:
    """Return the device files that must exist before slurmd starts, from a hardware record (``{}`` gives none).

    A GPU with a problem is left out: its node is quarantined, and the other GPUs need not wait for a lost one. So are
    those that the operator leaves out (``excluded``: entries of slurm_node_gpu_exclude).
    """
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
