# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queue small jobs, a bounded number at once, up to one deadline, and read back what accounting recorded.

A job is an ``srun``: its output comes back to the submitting host without a file system that all nodes share. Jobs on
nodes with free resources go first, so that a busy node never keeps an idle one from being tested.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence

from ansible_collections.steelrack.gpu_cluster.plugins.module_utils.cluster_jobs import probe, text

DONE = "done"
FAILED = "failed"
BUSY = "busy"
HUNG = "hung"

_COMMAND_TIMEOUT = 60  # seconds for one scontrol, squeue or sacct
_GRACE = 15  # seconds that an srun gets to withdraw its job after the deadline
_CHUNK = 200  # job ids in one sacct call
_LAST_LINES = 5  # lines of srun's error output that are kept
_SACCT_FIELDS = ["JobID", "State", "ExitCode", "NodeList", "Start", "End", "AllocTRES"]


class SlurmError(Exception):
    """Slurm did not answer; the text says which command and why."""


@dataclass(frozen=True)
class Job:
    """One job to run: ``cpus`` of ``node`` in ``partition`` and, if ``gpu_type`` is not None, one GPU of that type.

    ``gpu_type`` "" asks for a GPU of any type. ``files`` are the device files that the probe tries.
    """

    node: str
    partition: str
    cpus: int
    gpu_type: str | None = None
    files: Sequence[str] = ()

    @property
    def gres(self) -> str:
        """The value of --gres, "" for none."""
        if self.gpu_type is None:
            return ""
        return ":".join(filter(None, ("gpu", self.gpu_type, "1")))


@dataclass(frozen=True)
class Options:
    """How jobs are run. Times are in seconds, ``memory_mib`` in MiB; an empty ``user`` is the calling one."""

    user: str = ""
    account: str = ""
    timeout: float = 120.0
    at_once: int = 32
    memory_mib: int = 100
    name: str = "steelrack-validate"


@dataclass
class Outcome:
    """What became of a job: ``status`` is done, failed, busy (never started) or hung (started, never ended)."""

    job: Job
    status: str
    message: str = ""
    seen: dict[str, Any] | None = None
    accounted: dict[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for the module's result."""
        return {
            "node": self.job.node,
            "partition": self.job.partition,
            "cpus": self.job.cpus,
            "gpu_type": self.job.gpu_type,
            "status": self.status,
            "message": self.message,
            "seen": self.seen,
            "accounted": self.accounted,
        }


@dataclass
class Slurm:
    """Slurm's commands, run in the C locale and as ``user`` where one is named."""

    options: Options
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def ask(self, command: Sequence[str], timeout: float = _COMMAND_TIMEOUT) -> str:
        """Return the standard output of a command. Raises SlurmError if it fails or does not end in time."""
        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                env={**self.environment, "LC_ALL": "C"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SlurmError(f"{command[0]}: {error}") from error
        if done.returncode != 0:
            raise SlurmError(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return all nodes as slurmctld knows them."""
        return text.nodes(self.ask(["scontrol", "show", "node", "--all", "--oneliner"]))

    def queue(self, prefix: str) -> dict[str, dict[str, str]]:
        """Return the jobs in the queue whose name begins with ``prefix``, by name."""
        output = self.ask(["squeue", "--noheader", "--format=%i|%j|%T|%r"])
        found = text.rows(output, ["id", "name", "state", "reason"])
        return {row["name"]: row for row in found if row["name"].startswith(prefix)}

    def accounted(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what accounting has on jobs, by id, in lower-case field names."""
        found: dict[str, dict[str, str]] = {}
        for start in range(0, len(ids), _CHUNK):
            chunk = ",".join(ids[start : start + _CHUNK])
            fields = f"--format={','.join(_SACCT_FIELDS)}"
            output = self.ask(["sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={chunk}", fields])
            found.update({row["jobid"]: row for row in text.rows(output, [name.lower() for name in _SACCT_FIELDS])})
        return found

    def srun(self, job: Job, name: str) -> list[str]:
        """Return the command line that runs ``job`` under ``name``."""
        command = []
        if self.options.user and os.geteuid() == 0:
            who = self.options.user
            # Not runuser: it stays in between, and a signal would reach it instead of srun.
            command = ["setpriv", f"--reuid={who}", f"--regid={_group(who)}", "--init-groups", "--reset-env", "--"]
            # setpriv --reset-env leaves nothing of root's environment, but the folder of a site's own Slurm counts.
            kept = [f"{key}={self.environment[key]}" for key in ("PATH", "SLURM_CONF") if key in self.environment]
            command += ["env", *kept]
        command += ["srun", f"--job-name={name}", f"--nodelist={job.node}", "--nodes=1", "--ntasks=1"]
        command += [f"--cpus-per-task={job.cpus}", f"--mem={self.options.memory_mib}M", "--time=1", "--chdir=/"]
        command += [f"--partition={job.partition}"] if job.partition else []
        command += [f"--account={self.options.account}"] if self.options.account else []
        command += [f"--gres={job.gres}"] if job.gres else []
        return [*command, "python3", "-"]


def _group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


class Run:
    """One run of all jobs. Use :func:`run`."""

    def __init__(self, slurm: Slurm, jobs: Sequence[Job]) -> None:
        self.slurm = slurm
        self.jobs = jobs
        self.prefix = f"{slurm.options.name}-{os.getpid()}-"
        self.deadline = time.monotonic() + slurm.options.timeout
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.processes: dict[int, subprocess.Popen[str]] = {}
        self.queued: dict[str, dict[str, str]] = {}

    def outcomes(self) -> list[Outcome]:
        """Run the jobs and return what became of each, in their order."""
        with ThreadPoolExecutor(max_workers=max(1, self.slurm.options.at_once)) as pool:
            futures = [pool.submit(self._one, index) for index in range(len(self.jobs))]
            while not all(future.done() for future in futures):
                if time.monotonic() > self.deadline and not self.stopped.is_set():
                    self._stop()
                time.sleep(0.1)
            return [future.result() for future in futures]

    def _stop(self) -> None:
        """At the deadline: note which jobs wait and which run, then withdraw them all."""
        try:
            self.queued = self.slurm.queue(self.prefix)
        except SlurmError:
            self.queued = {}
        self.stopped.set()
        with self.lock:
            for process in self.processes.values():
                process.terminate()

    def _one(self, index: int) -> Outcome:
        job = self.jobs[index]
        if self.stopped.is_set():
            return Outcome(job, BUSY, "its turn did not come in time")
        name = f"{self.prefix}{index}"
        try:
            process = subprocess.Popen(
                self.slurm.srun(job, name),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                cwd="/",
                env={**self.slurm.environment, "LC_ALL": "C"},
            )
        except (OSError, KeyError) as error:
            return Outcome(job, FAILED, f"srun could not be started: {error}")
        with self.lock:
            self.processes[index] = process
        if self.stopped.is_set():  # the deadline came between the check above and the start
            process.terminate()
        try:
            output, errors = process.communicate(
                probe.script(job.files), timeout=max(0.0, self.deadline - time.monotonic()) + _GRACE + _COMMAND_TIMEOUT
            )
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
        finally:
            with self.lock:
                self.processes.pop(index, None)
        return self._outcome(job, name, process.returncode, output, errors)

    def _outcome(self, job: Job, name: str, code: int, output: str, errors: str) -> Outcome:
        seen = probe.answer(output)
        if code == 0 and seen is not None:
            return Outcome(job, DONE, seen=seen)
        if self.stopped.is_set():
            queued = self.queued.get(name)
            if queued is not None and queued["state"] != "PENDING":
                return Outcome(job, HUNG, f"state {queued['state']} at the end of the time")
            return Outcome(job, BUSY, queued["reason"] if queued else "still waiting")
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        message = "; ".join(lines[-_LAST_LINES:]) or f"srun ended with status {code} and said nothing"
        return Outcome(job, FAILED, message, seen=seen)


def run(slurm: Slurm, jobs: Iterable[Job], accounting_wait: float = 0.0) -> list[Outcome]:
    """Run ``jobs``, wait up to ``accounting_wait`` seconds for their records (0: do not ask), return all outcomes.

    Whatever is left of the jobs at the end is cancelled. Raises SlurmError if accounting does not answer.
    """
    work = Run(slurm, list(jobs))
    outcomes = work.outcomes()
    for row in slurm.queue(work.prefix).values():
        # The last safety net: an srun that was killed may leave its job behind.
        slurm.ask(["scancel", row["id"]])
    ids = {str(outcome.seen["job"]): outcome for outcome in outcomes if outcome.seen and outcome.seen.get("job")}
    end = time.monotonic() + accounting_wait
    missing = set(ids) if accounting_wait else set()
    while missing:
        for job_id, row in slurm.accounted(sorted(missing)).items():
            # The record is final once it has an end; slurmdbd gets it some seconds after the job.
            if job_id in ids and row["end"] not in ("Unknown", ""):
                ids[job_id].accounted = row
                missing.discard(job_id)
            elif job_id in ids:
                ids[job_id].accounted = row
        if time.monotonic() > end:
            break
        if missing:
            time.sleep(1.0)
    return outcomes
