# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bundle that may leave the house: what was read from a machine, without what identifies the machine.

Serial numbers become zeros. UUIDs and GUIDs become others of the same form, made from the old ones and a secret salt:
the same id gives the same fake in every bundle with that salt, so ids can still be joined across nodes, but without
the salt nobody can find the old one by trying. Lists of processes are emptied. Of
the kernel log only the lines of NVIDIA's modules are taken at all, without board numbers and names of programs.
"""

from __future__ import annotations

import hashlib
import re
from typing import Iterable, Mapping

__all__ = ["FOLDERS", "anonymous"]

FOLDERS = ("sys", "proc", "commands", "usr")  # what a bundle consists of

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)
_GUID = re.compile(r"\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?=\s*$)", re.I)  # at the end: a GID is a prefix and a GUID
_GUID_ELEMENT = re.compile(r"(?<=guid>)(?:0x)?[0-9a-f]{16}(?=</)", re.I)
_SERIAL_ELEMENT = re.compile(r"(<(\w*serial\w*)>)([^<]*)(</\2>)", re.I)
_PROCESSES = re.compile(r"(<((?:accounted_)?processes)>).*?(</\2>)", re.S)
_BOARD_SERIAL = re.compile(r"(?<=Board Serial Number: )\S+")
_PROCESS = re.compile(r"\bname=[^,]+")  # of an Xid line in the kernel log
_HEX_DIGIT = re.compile(r"[0-9a-f]", re.I)
_TELLING = re.compile(r"[\d.-]")


def anonymous(files: Mapping[str, bytes], salt: str, host_names: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the files of a bundle (path -> content) without what identifies the machine.

    ``host_names`` are replaced in the output of commands where they stand as a word of their own. A name that is a
    plain word (no digit, dot or hyphen) is left, for it could be a word of the format.
    """
    names = [name for name in host_names if _TELLING.search(name)]
    return {path: _anonymous(path, content, salt, names) for path, content in files.items()}


def _anonymous(path: str, content: bytes, salt: str, names: list[str]) -> bytes:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # a PCI configuration space
        return content

    def fake(match: re.Match[str]) -> str:
        return _fake(match[0], salt)

    text = _UUID.sub(fake, text)
    if path.startswith("sys/class/infiniband/"):
        text = _GUID.sub(fake, text)
    if path.startswith("commands/"):
        text = _PROCESSES.sub(r"\1\3", text)
        text = _SERIAL_ELEMENT.sub(lambda match: match[1] + _zeros(match[3]) + match[4], text)
        text = _GUID_ELEMENT.sub(fake, text)
        text = _BOARD_SERIAL.sub(lambda match: _zeros(match[0]), text)
        text = _PROCESS.sub("name=process", text)
        for name in names:
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "node", text)
    return text.encode("utf-8")


def _fake(original: str, salt: str) -> str:
    """Return another id of the same form; one of zeros only is no id and stays."""
    if not original.lower().replace("x", "").strip("0-:"):
        return original
    prefix = "0x" if original.lower().startswith("0x") else ""
    digits = iter(hashlib.sha256(f"{salt}\0{original.lower()}".encode()).hexdigest())
    return prefix + _HEX_DIGIT.sub(lambda _digit: next(digits), original[len(prefix) :])


def _zeros(serial: str) -> str:
    """Return zeros in place of digits and capitals; N/A and the like have a slash or blanks and stay."""
    return serial if re.search(r"[/ ]", serial.strip()) else re.sub(r"[0-9A-Za-z]", "0", serial)
