# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of host variables beside an inventory, as Ansible finds them."""

from __future__ import annotations

from pathlib import Path

_ENDINGS = ("", ".yml", ".yaml", ".json")


def single_file(folder: Path, host: str) -> Path | None:
    """Return the file that holds a host's variables alone in ``folder`` (a ``host_vars``); None if there is none.

    Once there is a folder of the host's name, Ansible no longer reads such a file: it takes the first of ``host``,
    ``host.yml``, ``host.yaml`` and ``host.json`` that exists (DataLoader.find_vars_files).
    """
    if (folder / host).is_dir():
        return None
    return next((path for ending in _ENDINGS if (path := folder / f"{host}{ending}").is_file()), None)
