# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder that keeps what change control must remember beside the configuration files.

``<conf_dir>/.steelrack/manifest.json``  which files are managed, and the last change that took restarts of slurmd
``<conf_dir>/.steelrack/pending.json``   a change whose step has not been carried out yet
``<conf_dir>/.steelrack/generations/``   the files as they were before each change, oldest first by name
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

FOLDER = ".steelrack"
_SCHEMA = 1


@dataclass(frozen=True)
class Attributes:
    """Owner and rights of a file; None: as it is, or as the process makes it."""

    uid: int | None
    gid: int | None
    mode: int


class StoreError(Exception):
    """A file of the store cannot be understood; the text says which and what to do."""


class Store:
    """Access to the configuration files of one folder and to the memory beside them."""

    def __init__(self, conf_dir: str) -> None:
        self.conf_dir = conf_dir
        self.folder = os.path.join(conf_dir, FOLDER)
        self.generations = os.path.join(self.folder, "generations")

    def read(self, names: Iterable[str]) -> dict[str, str]:
        """Return the text of those files that exist."""
        files = {}
        for name in names:
            try:
                with open(os.path.join(self.conf_dir, name), encoding="utf-8", errors="surrogateescape") as file:
                    files[name] = file.read()
            except FileNotFoundError:
                continue
        return files

    def manifest(self) -> dict[str, Any]:
        """Return ``{files: [names], since: epoch or None}``."""
        return self._load("manifest.json") or {"files": [], "since": None}

    def pending(self) -> dict[str, Any] | None:
        """Return the change that waits for its step, None if there is none."""
        return self._load("pending.json")

    def save_manifest(self, names: Iterable[str], since: float | None) -> None:
        """Remember the managed files and the time of the last change that took restarts of slurmd."""
        self._save("manifest.json", {"files": sorted(names), "since": since})

    def save_pending(self, pending: Mapping[str, Any]) -> None:
        """Remember a change before it is made."""
        self._save("pending.json", pending)

    def clear_pending(self) -> None:
        """Forget the change: its step was carried out, or it was taken back."""
        os.unlink(os.path.join(self.folder, "pending.json"))
        _sync(self.folder)

    def keep_generation(self, names: Iterable[str]) -> str:
        """Copy the files ``names`` (those that exist) and the manifest into a new generation and return its name."""
        os.makedirs(self.generations, mode=0o700, exist_ok=True)
        os.chmod(self.folder, 0o700)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        # Counted on from the highest number of this second: a number that was pruned must not come again.
        ages = [_age(name) for name in os.listdir(self.generations)]
        number = max((number for known, number in ages if known == stamp), default=0) + 1
        target = os.path.join(self.generations, f"{stamp}-{number}")
        files = os.path.join(target, "files")
        os.makedirs(files, mode=0o700)
        for name in names:
            source = os.path.join(self.conf_dir, name)
            if os.path.exists(source):
                shutil.copy2(source, os.path.join(files, name))
                status = os.stat(source)
                os.chown(os.path.join(files, name), status.st_uid, status.st_gid)
        with open(os.path.join(target, "manifest.json"), "w", encoding="utf-8") as out:
            json.dump(self.manifest(), out)
        return f"{stamp}-{number}"

    def generation(self, name: str) -> tuple[dict[str, str], dict[str, Any]]:
        """Return (path of each kept file by name, manifest) of a generation."""
        target = os.path.join(self.generations, name)
        files = os.path.join(target, "files")
        with open(os.path.join(target, "manifest.json"), encoding="utf-8") as source:
            manifest = json.load(source)
        return {entry: os.path.join(files, entry) for entry in sorted(os.listdir(files))}, manifest

    def prune(self, keep: int, needed: str | None) -> None:
        """Remove all but the last ``keep`` generations; ``needed`` stays in any case."""
        names = sorted(os.listdir(self.generations), key=_age)
        for name in names[: max(0, len(names) - keep)]:
            if name != needed:
                shutil.rmtree(os.path.join(self.generations, name))

    def replace(self, name: str, text: str, attributes: Attributes) -> None:
        """Put ``text`` in place of file ``name`` in one step: at every moment the file is whole, old or new."""
        handle, temporary = tempfile.mkstemp(dir=self.conf_dir, prefix=f".{name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            _apply(temporary, attributes)
            os.replace(temporary, os.path.join(self.conf_dir, name))
        except BaseException:
            os.unlink(temporary)
            raise
        _sync(self.conf_dir)

    def remove(self, name: str) -> None:
        """Remove the file ``name`` if it is there."""
        try:
            os.unlink(os.path.join(self.conf_dir, name))
        except FileNotFoundError:
            return
        _sync(self.conf_dir)

    def restore(self, name: str, source: str) -> None:
        """Put the kept file ``source`` back as ``name``, with its owner and rights."""
        status = os.stat(source)
        with open(source, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        self.replace(name, text, Attributes(status.st_uid, status.st_gid, status.st_mode & 0o7777))

    def wrong_attributes(self, attributes: Mapping[str, Attributes]) -> list[str]:
        """Return the existing files whose owner or rights are not as wanted."""
        wrong = []
        for name, wanted in sorted(attributes.items()):
            try:
                status = os.stat(os.path.join(self.conf_dir, name))
            except FileNotFoundError:
                continue
            is_right = (
                wanted.uid in (None, status.st_uid)
                and wanted.gid in (None, status.st_gid)
                and wanted.mode == status.st_mode & 0o7777
            )
            if not is_right:
                wrong.append(name)
        return wrong

    def set_attributes(self, name: str, attributes: Attributes) -> None:
        """Give the file ``name`` its owner and rights."""
        _apply(os.path.join(self.conf_dir, name), attributes)

    def _load(self, name: str) -> dict[str, Any] | None:
        path = os.path.join(self.folder, name)
        try:
            with open(path, encoding="utf-8") as source:
                values = json.load(source)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StoreError(f"{path} is damaged ({error}): look at it, remove it and run again") from error
        if not isinstance(values, dict) or values.get("schema") != _SCHEMA:
            raise StoreError(f"{path} is of another version of this collection: remove it and run again")
        return values

    def _save(self, name: str, values: Mapping[str, Any]) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"schema": _SCHEMA, **values}, out, indent=1, sort_keys=True)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, os.path.join(self.folder, name))
        _sync(self.folder)


def _age(name: str) -> tuple[str, int]:
    stamp, _dash, number = name.rpartition("-")
    return stamp, int(number) if number.isdigit() else 0


def _apply(path: str, attributes: Attributes) -> None:
    os.chown(path, -1 if attributes.uid is None else attributes.uid, -1 if attributes.gid is None else attributes.gid)
    os.chmod(path, attributes.mode)


def _sync(folder: str) -> None:
    """Make a rename or removal in ``folder`` survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
