# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLink domains that span nodes (GB200 and GB300 NVL72), for topology/block.

A domain is a pair of cluster UUID and clique. Both may change when a rack is serviced, so a block is named after its
rack where that is unambiguous.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.slurm.names import natural_key
from ansible_collections.steelrack.gpu_cluster.plugins.plugin_utils.topology.fabric import safe_name

__all__ = ["Block", "Domain", "Placed", "blocks", "domain_of", "sizes", "sizes_fault"]

# What the driver says of a GPU whose fabric can be used.
_READY = ("Completed", "Success")
# block_record.c: sizes are the base times 2^k, k up to MAX_BLOCK_LEVELS - 1.
_LEVELS = 16


@dataclass(frozen=True)
class Domain:
    """An NVLink domain: cluster UUID in lower case and clique."""

    cluster: str
    clique: int

    @property
    def digest(self) -> str:
        """Return a short name that depends on nothing else."""
        return "nvl-" + hashlib.sha256(f"{self.cluster}.{self.clique}".encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Placed:
    """Where a node is: the NVLink domains of its GPUs (more than one is a fault) and its rack."""

    domains: tuple[Domain, ...] = ()
    rack: str = ""


@dataclass(frozen=True)
class Block:
    """A block for Slurm with its nodes in natural order."""

    name: str
    nodes: tuple[str, ...]
    domain: Domain


def domain_of(record: Mapping[str, Any]) -> tuple[Domain, ...]:
    """Return the domains that the GPUs of a record are in, without repetition.

    A GPU counts when its fabric is in order. A UUID of zeros is the NVSwitch inside one node, which is no domain: all
    such nodes would be in one. Raises KeyError, TypeError and ValueError for another form.
    """
    found: dict[Domain, None] = {}
    for gpu in record["gpus"]:
        fabric = gpu["fabric"]
        cluster = str(fabric["cluster_uuid"] or "").lower()
        if (fabric["state"], fabric["status"]) != _READY or not cluster.strip("0-") or fabric["clique"] is None:
            continue
        found[Domain(cluster, int(fabric["clique"]))] = None
    return tuple(found)


def blocks(nodes: Iterable[str], placed: Mapping[str, Placed]) -> tuple[Block, ...]:
    """Return the blocks of the nodes that are in exactly one domain.

    The order is that of racks, then of first nodes, and does not depend on names made of UUIDs: Slurm takes the order
    of the file for the neighbourhood of blocks.
    """
    members: dict[Domain, list[str]] = {}
    for node in sorted(set(nodes), key=natural_key):
        domains = placed[node].domains if node in placed else ()
        if len(domains) == 1:
            members.setdefault(domains[0], []).append(node)
    racks = {domain: _rack(inside, placed) for domain, inside in members.items()}
    names = _names(racks)
    ordered = sorted(members, key=lambda domain: (natural_key(racks[domain]), natural_key(members[domain][0])))
    return tuple(Block(names[domain], tuple(members[domain]), domain) for domain in ordered)


def _rack(nodes: Sequence[str], placed: Mapping[str, Placed]) -> str:
    """Return the rack that all nodes are in, empty if there is none."""
    racks = {placed[node].rack for node in nodes}
    return racks.pop() if len(racks) == 1 else ""


def _names(racks: Mapping[Domain, str]) -> dict[Domain, str]:
    """Return the names: the rack if one domain is in it, rack and clique if it is partitioned, else a digest."""
    of_rack: dict[str, list[Domain]] = {}
    for domain, rack in racks.items():
        of_rack.setdefault(rack, []).append(domain)
    names: dict[Domain, str] = {}
    for rack, domains in of_rack.items():
        cliques = {domain.clique for domain in domains}
        for domain in domains:
            if not rack or (len(domains) > 1 and len(cliques) < len(domains)):
                names[domain] = domain.digest
            else:
                names[domain] = safe_name(rack if len(domains) == 1 else f"{rack}-{domain.clique}")
    counts: dict[str, int] = {}
    for name in names.values():
        counts[name] = counts.get(name, 0) + 1
    return {domain: name if counts[name] == 1 else domain.digest for domain, name in names.items()}


def sizes(lengths: Sequence[int], wanted: Sequence[int], partial: bool) -> tuple[tuple[int, ...], str]:
    """Return BlockSizes and what is wrong with the ones that are ``wanted`` (a sentence's end; empty if nothing).

    ``lengths``: number of nodes of each block, at least one; ``partial``: whether this Slurm takes blocks that are
    smaller than the base (25.05 does, and then the base is the size of a whole domain, which a missing tray does not
    change; before that such a block ends slurmctld).
    """
    base = max(lengths) if partial else min(lengths)
    if not wanted:
        return (base,), ""
    ordered = sorted(wanted)
    fault = sizes_fault(ordered)
    if not fault and not partial and min(lengths) < ordered[0]:
        fault = f"the smallest block has {min(lengths)} nodes, and this Slurm takes no block below the first size"
    return ((base,), fault) if fault else (tuple(ordered), "")


def sizes_fault(wanted: Sequence[int]) -> str:
    """Return what is wrong with BlockSizes in this order, empty if Slurm takes them (block_record.c)."""
    if not wanted or min(wanted) <= 0:
        return "sizes are numbers of nodes above zero"
    allowed = {wanted[0] << level for level in range(_LEVELS)}
    if not set(wanted) <= allowed:
        return f"each size must be the first one ({wanted[0]}) times 2, 4, 8 or another power of two"
    return ""
