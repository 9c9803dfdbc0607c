# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-test sanity on the files of this checkout; further arguments go to it (for example `--test pylint`).

ansible-test wants a real folder .../ansible_collections/steelrack/gpu_cluster, so the files that git tracks or would
track are copied to one, all but the evidence of machines: its names (`0000:1b:00.0`) are the kernel's, and it is not
part of the artefact. Its virtual environments stay in ~/.ansible/test, so that a second run takes seconds.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ansible_test

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ("tests/fixtures/bundles", "tests/fixtures/reported")

# ansible-test fetches get-pip.py from a host of its own to make its virtual environments. Python brings pip along, and
# ansible-test reads its cache first: this takes the place of the download. ensurepip runs as a child because it
# switches off pip's configuration for its own process.
GET_PIP = """\
import subprocess, sys

subprocess.check_call([sys.executable, "-m", "ensurepip"])
arguments = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *arguments]))
"""


def pip_version() -> str:
    """Return the version of get-pip.py that the installed ansible-test asks for.

    Raises SystemExit where its source no longer says so in the known way.
    """
    source = Path(next(iter(ansible_test.__path__))) / "_internal" / "python_requirements.py"
    match = re.search(r"\bpip='([0-9.]+)'", source.read_text(encoding="utf-8"))
    if match is None:
        raise SystemExit(f"{source} does not name the version of pip; look there how get-pip.py is found now")
    return match[1]


def put_get_pip() -> None:
    """Put the stand-in for get-pip.py where ansible-test looks first."""
    cache = Path.home() / ".ansible" / "test" / "cache" / f"get_pip_{pip_version().replace('.', '_')}.py"
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(GET_PIP, encoding="utf-8")


def copy_checkout(target: Path) -> None:
    """Copy every file that git tracks, or would track, from this checkout to ``target``, except the evidence."""
    listing = subprocess.run(
        [
            "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
            "--",
            *(f":!{path}" for path in EVIDENCE),
        ],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for name in filter(None, listing.split("\0")):
        source = ROOT / name
        if source.is_symlink() or source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)


def main() -> int:
    """Run the sanity tests with the Python of this virtual environment."""
    put_get_pip()
    with tempfile.TemporaryDirectory(prefix="steelrack-sanity-") as folder:
        collection = Path(folder) / "ansible_collections" / "steelrack" / "gpu_cluster"
        copy_checkout(collection)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        command = ["ansible-test", "sanity", "--python", version, "--color", "no", *sys.argv[1:]]
        return subprocess.run(command, cwd=collection, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
