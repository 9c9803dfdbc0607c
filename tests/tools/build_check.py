# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Use the built artefact the way a site does: build_check.py FOLDER-WITH-THE-ARTEFACT.

In an empty folder outside the checkout and without Galaxy: install the artefact, compare it with its own checksums,
copy the example inventory out of it as its README says, check the one-line site.yml against that inventory and look
up the documentation of every plugin and role.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "steelrack.gpu_cluster"


class Site:
    """A folder that stands for a site's own repository, with the collection installed beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.folder.mkdir()
        self.collections = folder / "collections"
        self.installed = self.collections / "ansible_collections" / "steelrack" / "gpu_cluster"
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
        self.environment = {**kept, "ANSIBLE_COLLECTIONS_PATH": str(self.collections)}

    def run(self, *command: str) -> str:
        """Run ``command`` in the site's folder and return what it prints; SystemExit with its output if it fails."""
        print("$", " ".join(command), flush=True)
        result = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise SystemExit(f"{result.stdout}{result.stderr}exit status {result.returncode}")
        return result.stdout


def artefact(folder: Path) -> Path:
    """Return the newest artefact in ``folder``."""
    found = sorted(folder.glob("steelrack-gpu_cluster-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SystemExit(f"There is no artefact in {folder}: run `make build` first")
    return found[-1].resolve()


def documented(kind: str) -> set[str]:
    """Return the full names of what this checkout has of a kind: ``module``, ``filter``, ``inventory``, ``role``."""
    if kind == "role":
        names = {path.parents[1].name for path in ROOT.glob("roles/*/meta/argument_specs.yml")}
    else:
        folder = "modules" if kind == "module" else kind
        files = [*ROOT.glob(f"plugins/{folder}/*.py"), *ROOT.glob(f"plugins/{folder}/*.yml")]
        # A file with several filters has one sidecar a filter, so there the sidecars are what counts.
        sidecars = {path.stem for path in files if path.suffix == ".yml"}
        names = sidecars if kind == "filter" else {path.stem for path in files}
    return {f"{NAME}.{name}" for name in names}


def check(site: Site, archive: Path) -> None:
    """Install and use ``archive`` in ``site``."""
    site.run(
        "ansible-galaxy",
        "collection",
        "install",
        "--offline",
        "--collections-path",
        str(site.collections),
        str(archive),
    )
    site.run("ansible-galaxy", "collection", "verify", "--offline", "--collections-path", str(site.collections), NAME)

    shutil.copytree(site.installed / "inventories" / "example", site.folder, dirs_exist_ok=True)
    site.run("ansible-playbook", "--syntax-check", "site.yml", "-i", "inventory")
    inventory = json.loads(site.run("ansible-inventory", "-i", "inventory", "--list"))
    print(f"{len(inventory['slurm_node']['hosts'])} GPU nodes, {len(inventory['_meta']['hostvars'])} hosts in all")

    for kind in ("module", "filter", "inventory", "role"):
        listed = set(json.loads(site.run("ansible-doc", "--json", "--list", "--type", kind, NAME)))
        missing = documented(kind) - listed
        if missing:
            raise SystemExit(f"ansible-doc does not list the {kind} {', '.join(sorted(missing))}")
        if listed and kind != "role":
            site.run("ansible-doc", "--json", "--type", kind, *sorted(listed))
        print(f"{kind}: {len(listed)} documented")


def main() -> int:
    """Check the newest artefact of the folder on the command line."""
    archive = artefact(Path(sys.argv[1]))
    print(f"{archive.name}: {archive.stat().st_size / 1024:.0f} KiB")
    with tempfile.TemporaryDirectory(prefix="steelrack-build-") as folder:
        check(Site(Path(folder)), archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
