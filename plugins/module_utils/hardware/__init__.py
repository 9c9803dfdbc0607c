# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the evidence on a node to one record of its hardware.

Bottom up: :mod:`cpulist` and :mod:`evidence`; :mod:`memory`, :mod:`cpu`, :mod:`pci`, :mod:`nvidia`, :mod:`mig`,
:mod:`nvlink` and :mod:`infiniband` each read one thing; :mod:`record` puts them together in the form that
:mod:`schema` lists; :mod:`compare` holds fresh evidence against a stored record; :mod:`bundle` turns what was read
into a folder that can stand for the machine. Everything here runs on the nodes: standard library only, Python 3.8.
"""
