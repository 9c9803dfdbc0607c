# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of GPU types: what users write in ``--gres=gpu:<type>:1``.

The full type is Slurm's own: NVML's product name in lower case with ``_`` for blanks. The short name is a function of
the full type alone, so that no node that is added, removed or repaired ever renames a type that jobs ask for (changing
a type needs a restart of all daemons and drains nodes on which jobs hold GPUs):

1. words are split at everything but letters, digits and dots; brand words (nvidia, geforce, tesla, ...) in front go,
2. words that tell *variants of one model* apart go: memory size (``80gb``), kind of memory (``hbm3``), form (``sxm4``,
   ``pcie``, ``nvl``, the cooling behind sxm), and words without meaning to a user (generation, edition, gpu, ...),
3. what remains is joined by ``_``: ``h100``, ``a100``, ``rtx_4090``, ``rtx_4000_sff_ada``, ``gb200``.

So an A100 with 40 GB and one with 80 GB are both ``a100``, and Features tell them apart
(``--constraint=a100-80gb``). Only if both are in *one node*, where no feature can help, that node's names are
lengthened: ``a100_40gb``, ``a100_80gb``. A MIG device is named by its model and profile, ``h100_3g.40gb``: it says what
it is a part of, equal profiles of two models do not collide, and unlike ``3g.40gb`` it works without a count in
``--gres=gpu:h100_3g.40gb``.

>>> short_name("nvidia_a100-sxm4-80gb"), short_name("tesla_t4"), mig_short_name("h100", "1g.10gb")
('a100', 't4', 'h100_1g.10gb')
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "FULL",
    "SHORT",
    "Device",
    "autodetect_names",
    "greedy_match",
    "memory_feature",
    "mig_full_type",
    "mig_short_name",
    "short_name",
    "type_fault",
    "type_names",
]

SHORT = "short"
FULL = "full"

_BRANDS = frozenset({"nvidia", "geforce", "tesla", "quadro", "grid"})
_IDLE_WORDS = frozenset({"generation", "edition", "gpu", "server", "workstation"})
_MEMORY_SIZE = re.compile(r"^[0-9]+gb?$")
_FORM = re.compile(r"^(?:sxm[0-9]*|pcie|nvl|hbm[0-9]*e?)$")
_COOLING = frozenset({"ac", "lc"})
_SPLIT = re.compile(r"[^a-z0-9.]+")
# What is neither the end of a type (, : ( ) =), a comment, a quote nor a host list's bracket to Slurm.
_FORBIDDEN = re.compile(r"[^a-z0-9._/+-]")
# Sizes in GB under which NVIDIA sells cards; what the driver reports is some percent less.
_SOLD_SIZES = (
    *(2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 72, 80, 94, 96),
    *(128, 141, 144, 180, 186, 192, 288),
)
_REPORTED_AT_LEAST = 0.88
_MIB_PER_GIB = 1024


@lru_cache(maxsize=1024)
def _words(full: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a full type into the words of the model and the words that tell its variants apart, each in order."""
    words = [word for word in _SPLIT.split(full.lower()) if word]
    while words and words[0] in _BRANDS:
        words.pop(0)
    model: list[str] = []
    variant: list[str] = []
    for position, word in enumerate(words):
        cooling = word in _COOLING and position > 0 and bool(_FORM.match(words[position - 1]))
        if _MEMORY_SIZE.match(word) or _FORM.match(word) or cooling:
            variant.append(word)
        elif word not in _IDLE_WORDS:
            model.append(word)
    return tuple(model), tuple(variant)


def clean(full: str) -> str:
    """Return a full type with the characters replaced that Slurm does not take in one."""
    return _FORBIDDEN.sub("_", full.lower())


def short_name(full: str) -> str:
    """Return the short name of a full type; the full type itself where too little would remain of it."""
    name = "_".join(_words(full)[0])
    # A name without a letter would be read as a count: gpu:4090 asks for 4,090 GPUs.
    return name if re.search(r"[a-z]", name) else clean(full)


def mig_short_name(model: str, profile: str) -> str:
    """Return the name of a MIG device: its model's name and its profile."""
    return f"{model}_{clean(profile)}"


def mig_full_type(parent: str, profile: str) -> str:
    """Return the type that NVML gives a MIG device in Slurm: the parent's up to its first hyphen, then the profile."""
    return f"{clean(parent).split('-')[0]}_{clean(profile)}"


def type_fault(name: str) -> str:
    """Return what is wrong with ``name`` as a GPU type, as one sentence; ``""`` if Slurm and users can use it."""
    if not name:
        return "The GPU type name is empty."
    if name != name.lower():
        return f"The GPU type name '{name}' has upper-case letters; jobs must then repeat them, so keep to lower case."
    if _FORBIDDEN.search(name):
        return f"The GPU type name '{name}' has a character other than letters, digits, '.', '_', '-', '+' and '/'."
    if not re.search(r"[a-z]", name):
        return f"The GPU type name '{name}' has no letter and would be read as a count."
    return ""


def memory_feature(full: str, memory_mib: int | None) -> str | None:
    """Return the feature that names model and memory, ``a100-80gb``; None if the memory is unknown.

    The size is the next one sold if the reported memory comes near it, else the reported one in GiB, rounded up; where
    nothing is reported it is the one in the product name (of which GH200's counts the memory of the CPU).
    """
    if not memory_mib:
        sizes = [word for word in _words(full)[1] if _MEMORY_SIZE.match(word)]
        return f"{short_name(full)}-{sizes[0].rstrip('gb')}gb" if sizes else None
    gib = memory_mib / _MIB_PER_GIB
    size = next((sold for sold in _SOLD_SIZES if sold >= gib >= sold * _REPORTED_AT_LEAST), None)
    return f"{short_name(full)}-{size if size is not None else math.ceil(gib)}gb"


@dataclass(frozen=True)
class Device:
    """What is named: a whole GPU (``profile`` None) or a MIG device of a GPU with the full type ``full``."""

    full: str
    profile: str | None = None

    @property
    def detected(self) -> str:
        """Return the type that AutoDetect=nvml gives it."""
        return clean(self.full) if self.profile is None else mig_full_type(self.full, self.profile)


def _model_names(fulls: Sequence[str]) -> dict[str, str]:
    """Return full type -> short name for the types of one node, lengthened where two would share a name."""
    by_short: dict[str, list[str]] = {}
    for full in dict.fromkeys(fulls):
        by_short.setdefault(short_name(full), []).append(full)
    names: dict[str, str] = {}
    for short, alike in by_short.items():
        if len(alike) == 1:
            names[alike[0]] = short
            continue
        # First by memory size alone, which people know; then by all words of the variant; else the full types.
        by_memory = {
            full: "_".join([short, *(word for word in _words(full)[1] if _MEMORY_SIZE.match(word))]) for full in alike
        }
        by_variant = {full: "_".join([short, *_words(full)[1]]) for full in alike}
        for candidate in (by_memory, by_variant, {full: clean(full) for full in alike}):
            if len(set(candidate.values())) == len(alike):
                names.update(candidate)
                break
        else:
            names.update({full: clean(full) for full in alike})
    return names


def type_names(devices: Sequence[Device], style: str = SHORT, given: Mapping[str, str] | None = None) -> list[str]:
    """Return the type name of every device of one node, in their order.

    ``given``: the operator's names by full type (of a GPU, or of a MIG device as NVML names it); they go first.
    """
    given = given or {}
    models = _model_names([device.full for device in devices])
    names = []
    for device in devices:
        if device.detected in given:
            names.append(given[device.detected])
        elif style == FULL:
            names.append(device.detected)
        else:
            model = given.get(clean(device.full), models[device.full])
            names.append(model if device.profile is None else mig_short_name(model, device.profile))
    return names


def greedy_match(configured: Sequence[str], detected: Sequence[str]) -> list[str | None]:
    """Return which configured type each detected device gets, as gres_gpu.c matches them with AutoDetect.

    Both lists are taken longest type first, then by alphabet; a detected type takes the first configured one still free
    that is a part of it. None: the device matches nothing and is not offered.
    """
    free = sorted(configured, key=lambda name: (-len(name), name))
    result: list[str | None] = [None] * len(detected)
    for position in sorted(range(len(detected)), key=lambda at: (-len(detected[at]), detected[at], at)):
        match = next((name for name in free if name.lower() in detected[position].lower()), None)
        if match is not None:
            free.remove(match)
            result[position] = match
    return result


def autodetect_names(devices: Sequence[Device], names: Sequence[str]) -> list[str]:
    """Return names that survive AutoDetect: those given if every device gets its own back, else Slurm's full types.

    The trap: MIG types are long, are matched first and contain the name of their model, so that a slice may be given
    the type of a whole GPU and the real one is dropped.
    """
    detected = [device.detected for device in devices]
    if greedy_match(names, detected) == list(names):
        return list(names)
    return detected
