# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run would do, as text for people: the derived nodes, the differences of the files, what each change takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.problems import render
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import fold, unfold
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.text_table import table

__all__ = ["diffs", "node_rows", "plan_text"]

_ACTIONS = {
    "none": "nothing has to be restarted",
    "reconfigure": "scontrol reconfigure (running jobs go on, no daemon restarts)",
    "restart": "restart of slurmctld (running jobs go on)",
}


def plan_text(
    cluster: Mapping[str, Any],
    new: Mapping[str, str],
    old: Mapping[str, str],
    change: Mapping[str, Any],
    notes: Iterable[str] = (),
) -> str:
    """Return the whole report.

    ``cluster`` is the result of the filter slurm_cluster, ``new`` and ``old`` map file names to texts, ``change`` is a
    result of the filter slurm_change_class, and ``notes`` are sentences on how the comparison was made.
    """
    parts = [
        _section("Nodes", table(_NODE_HEADER, node_rows(cluster)) if cluster["nodes"] else "none"),
        _section("Left out", _left_out(cluster)),
        _section("Problems", render(cluster["problems"])),
        _section("Notes", "\n".join(notes)),
        _section("Differences", diffs(old, new) or "none"),
        _section("What the changes take", _changes(change)),
        "Nothing was changed.",
    ]
    return "\n\n".join(part for part in parts if part)


_NODE_HEADER = ("nodes", "count", "S x C x T", "memory MiB", "gres", "features", "partitions")


def node_rows(cluster: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return one row for every set of equal nodes, in the order of their first nodes."""
    partitions: dict[str, list[str]] = {}
    for partition in cluster["partitions"]:
        name = f"{partition['name']}*" if partition["default"] else partition["name"]
        for node in unfold(partition["nodes"]):
            partitions.setdefault(node, []).append(name)
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in cluster["nodes"]:
        layout = f"{node['sockets']} x {node['cores_per_socket']} x {node['threads_per_core']}"
        row = (
            layout,
            str(node["real_memory"]),
            node["gres"] or "-",
            ",".join(node["features"]) or "-",
            ",".join(partitions.get(node["name"], ())) or "-",
        )
        alike.setdefault(row, []).append(node["name"])
    return [(fold(names), str(len(names)), *row) for row, names in alike.items()]


def diffs(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return unified diffs of all files that differ, "" if none does."""
    texts = []
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before == after:
            continue
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), f"{name} (now)", f"{name} (after)", n=1, lineterm=""
        )
        # A blank at the end of a line would make YAML output unreadable.
        texts.append("\n".join(line.expandtabs(4).rstrip() for line in lines))
    return "\n\n".join(text for text in texts if text)


def _section(title: str, body: str) -> str:
    return f"{title.upper()}\n{body}" if body else ""


def _left_out(cluster: Mapping[str, Any]) -> str:
    names = cluster["left_out"]
    return f"{fold(names)}: no usable hardware record, so not in slurm.conf" if names else ""


def _changes(change: Mapping[str, Any]) -> str:
    lines = [_action(change)]
    if change["drain_first"]:
        lines.append(f"Drain first (jobs with GPUs would not survive): {fold(change['drain_first'])}")
    if change["stop_slurmd_first"]:
        lines.append(f"slurmd is stopped while slurmctld takes the change over: {fold(change['stop_slurmd_first'])}")
    if not change["reasons"]:
        return "\n".join(lines)
    rows = [
        (
            " ".join(filter(None, (reason["name"] or reason["file"], reason["parameter"]))),
            _value(reason["old"]),
            _value(reason["new"]),
            reason["action"] + (" + slurmd" if reason["slurmd_restart"] else ""),
        )
        for reason in change["reasons"]
    ]
    lines += ["", table(("parameter", "now", "after", "takes"), rows)]
    notes = dict.fromkeys(reason["note"] for reason in change["reasons"] if reason.get("note"))
    return "\n".join([*lines, *(["", *(f"Note: {note}" for note in notes)] if notes else [])])


def _action(change: Mapping[str, Any]) -> str:
    text = _ACTIONS[change["action"]]
    if change["slurmd_restart"]:
        text += ", restart of slurmd on the nodes concerned"
    return f"All together: {text}."


def _value(value: str | None) -> str:
    return "-" if value is None else value or '""'
