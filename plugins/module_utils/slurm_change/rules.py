# Copyright: (c) 2026, steelrack contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which step a change of a parameter takes, by Slurm version.

Sources: the man pages slurm.conf(5), gres.conf(5) and cgroup.conf(5) of 22.05, 24.11 and 26.05 and the code behind
``scontrol reconfigure``. Up to 23.02 a running slurmctld and slurmd read their files again and keep plugins, tables and
ports; a few changes even end slurmctld during a reconfigure. Later releases start new processes that read everything
anew, so most parameters need no restart any more. The line is drawn at 24.11, the first such release that this
collection supports; versions between are treated like the older ones, which is never wrong, only more work.

Ports, authentication, plugins and the state folder still need restarts then: a plugin that changes under running
jobs, or a new process that inherits old sockets, is what the manuals warn of.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Tuple

Version = Tuple[int, int]

NEW_PROCESS = (24, 11)  # from here on reconfigure starts new processes


class Step(IntEnum):
    """What has to be done, from least to most; a larger step includes the effect of the smaller ones."""

    NONE = 0
    RECONFIGURE = 1
    RESTART_CONTROLLER = 2
    RESTART_ALL = 3


def version(text: str) -> Version:
    """Return (24, 11) for "24.11", "24.11.5", "24.11.5-4+deb13u1" or "slurm 24.11.5".

    Raises ValueError for text without a Slurm version.
    """
    match = re.search(r"(?<!\d)(\d\d)\.(\d\d)(?!\d)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a Slurm version such as 24.11 or 22.05.8")
    return int(match.group(1)), int(match.group(2))


def _rules(*groups: tuple[Step, Step, str]) -> dict[str, tuple[Step, Step]]:
    """Return lower-case name -> (step before 24.11, step from 24.11 on) of ``groups`` (before, from, names)."""
    return {name.lower(): (before, after) for before, after, names in groups for name in names.split()}


PARAMETERS = _rules(
    # Both daemons load or bind these at their start.
    (
        Step.RESTART_ALL,
        Step.RESTART_ALL,
        """
        AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType
        AcctGatherProfileType AuthInfo AuthType CertgenType CertmgrType ClusterName CommunicationParameters
        CoreSpecPlugin CredType CryptoType ExtSensorsType FrontendName GresTypes HashPlugin HttpParserType
        JobAcctGatherType JobContainerType NamespaceType NodeFeaturesPlugins PluginDir PrEpPlugins ProctrackType
        RoutePlugin SelectType SlurmUser SlurmctldPort SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir
        SlurmdUser SwitchType TLSParameters TLSType TaskPlugin TopologyPlugin UrlParserType
        """,
    ),
    # Only slurmctld loads these at its start.
    (
        Step.RESTART_CONTROLLER,
        Step.RESTART_CONTROLLER,
        """
        AccountingStorageType AuthAltParameters AuthAltTypes BurstBufferType JobCompType MCSPlugin MetricsType
        PowerPlugin PreemptType PrioritySiteFactorPlugin PriorityType SchedulerType SelectTypeParameters SlurmctldAddr
        SlurmctldPidFile SlurmctldPlugstack StateSaveLocation
        """,
    ),
    # Old daemons read these at their start only; new ones read them at each reconfigure.
    (
        Step.RESTART_ALL,
        Step.RECONFIGURE,
        "BackupAddr BackupController ControlAddr ControlMachine SlurmctldHost TopologyParam TreeWidth",
    ),
    (
        Step.RESTART_CONTROLLER,
        Step.RECONFIGURE,
        """
        AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
        AccountingStorageLoc AccountingStorageParameters AccountingStoragePass AccountingStoragePort
        AccountingStorageTRES AccountingStorageUser JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript
        JobCompPort JobCompUser MaxJobCount MaxNodeCount SlurmctldParameters
        """,
    ),
    (
        Step.RECONFIGURE,
        Step.RECONFIGURE,
        """
        AccountingStoreFlags AccountingStoreJobComment AcctGatherNodeFreq AllowSpecResourcesUsage BatchStartTimeout
        BcastExclude BcastParameters BurstBufferParameters CertgenParameters CertmgrParameters CliFilterParameters
        CliFilterPlugins CompleteWait CpuFreqDef CpuFreqGovernors DataParserParameters DebugFlags DefCPUPerGPU
        DefMemPerCPU DefMemPerGPU DefMemPerNode DependencyParameters DisableRootJobs DownNodes EioTimeout
        EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld EpilogTimeout ExtSensorsFreq FairShareDampeningFactor
        FederationParameters FirstJobId GetEnvTimeout GpuFreqDef GroupUpdateForce GroupUpdateTime HealthCheckInterval
        HealthCheckNodeState HealthCheckProgram HealthCheckTimeout InactiveLimit InteractiveStepOptions
        JobAcctGatherFrequency JobAcctGatherParams JobCredentialPrivateKey JobCredentialPublicCertificate
        JobFileAppend JobRequeue JobSubmitPlugins KeepAliveTime KillOnBadExit KillWait LaunchParameters LaunchType
        LicenseParameters Licenses LogTimeFormat MCSParameters MailDomain MailProg MaxArraySize MaxBatchRequeue
        MaxDBDMsgs MaxJobId MaxMemPerCPU MaxMemPerNode MaxStepCount MaxTasksPerNode MessageTimeout MetricsAuthUsers
        MetricsParameters MinJobAge MpiDefault MpiParams NodeSet OverTimeLimit PlugStackConfig PowerParameters
        PrEpParameters PreemptExemptTime PreemptMode PreemptParameters PriorityCalcPeriod PriorityDecayHalfLife
        PriorityFavorSmall PriorityFlags PriorityMaxAge PriorityParameters PrioritySiteFactorParameters
        PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize
        PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData Prolog PrologEpilogTimeout
        PrologFlags PrologSlurmctld PrologTimeout PropagatePrioProcess PropagateResourceLimits
        PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram
        ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun ResvProlog ReturnToService SallocDefaultCommand
        SbcastParameters SchedulerParameters SchedulerTimeSlice ScronParameters SlurmSchedLogFile SlurmSchedLogLevel
        SlurmctldDebug SlurmctldHttpAuthParameters SlurmctldLogFile SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
        SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile SlurmdSyslogDebug
        SlurmdTimeout SrunEpilog SrunPortRange SrunProlog SuspendExcNodes SuspendExcParts SuspendExcStates
        SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters TCPTimeout TaskEpilog TaskPluginParam
        TaskProlog TmpFS TrackWCKey UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor WaitTime
        X11Parameters
        """,
    ),
)

# "Changes in node configuration require restarting [24.11: or reconfiguring] slurmctld and slurmd": slurm.conf(5).
NODE = _rules(
    (Step.RESTART_ALL, Step.RESTART_ALL, "Port"),
    (
        Step.RESTART_ALL,
        Step.RECONFIGURE,
        """
        NodeName BcastAddr Boards CPUSpecList CPUs CoreSpecCount CoresPerSocket Gres MemSpecLimit NodeAddr NodeHostname
        Parameters RealMemory RestrictedCoresPerGPU Sockets SocketsPerBoard ThreadsPerCore TmpDisk Topology
        """,
    ),
    (Step.RECONFIGURE, Step.RECONFIGURE, "CpuBind Feature PowerAction Reason State SuspendTime TRESWeights Weight"),
)

PARTITION = _rules(
    (
        Step.RECONFIGURE,
        Step.RECONFIGURE,
        """
        PartitionName AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefCPUPerGPU DefMemPerCPU
        DefMemPerGPU DefMemPerNode Default DefaultTime DenyAccounts DenyQos DisableRootJobs ExclusiveTopo
        ExclusiveUser GraceTime Hidden JobDefaults LLN MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU MaxMemPerNode
        MaxNodes MaxTime MinNodes Nodes OverSubscribe OverTimeLimit PowerDownOnIdle PreemptMode Priority
        PriorityJobFactor PriorityTier QOS ReqResv ResumeTimeout RootOnly SelectTypeParameters State SuspendTime
        SuspendTimeout TRESBillingWeights Topology
        """,
    ),
)

# gres.conf(5): Cores takes a restart of slurmctld in every version; the rest follows slurmd, which reads it at its
# start.
GRES = _rules(
    (Step.RESTART_ALL, Step.RESTART_ALL, "Cores"),
    (Step.RESTART_ALL, Step.RECONFIGURE, "AutoDetect Count File Flags Links Name Type"),
)

# slurmd hands these to each new step; everything else shapes the hierarchy that slurmd builds at its start.
CGROUP = _rules(
    (
        Step.RECONFIGURE,
        Step.RECONFIGURE,
        """
        AllowedDevicesFile AllowedKmemSpace AllowedRAMSpace AllowedSwapSpace ConstrainCores ConstrainDevices
        ConstrainKmemSpace ConstrainRAMSpace ConstrainSwapSpace MaxKmemPercent MaxRAMPercent MaxSwapPercent
        MemorySwappiness MinKmemSpace MinRAMSpace SignalChildrenProcesses
        """,
    ),
    (
        Step.RESTART_ALL,
        Step.RESTART_ALL,
        """
        CgroupAutomount CgroupMountpoint CgroupPlugin CgroupSlice EnableControllers EnableExtraControllers IgnoreSystemd
        IgnoreSystemdOnFailure SystemdTimeout TaskAffinity
        """,
    ),
)

# Other files beside slurm.conf. job_submit.lua is read by slurmctld as soon as its time of change moves.
FILES: dict[str, Step] = {
    "acct_gather.conf": Step.RECONFIGURE,
    "burst_buffer.conf": Step.RECONFIGURE,
    "burst_buffer.lua": Step.RECONFIGURE,
    "cli_filter.lua": Step.RECONFIGURE,
    "helpers.conf": Step.RECONFIGURE,
    "job_container.conf": Step.RESTART_ALL,
    "job_submit.lua": Step.NONE,
    "mpi.conf": Step.RECONFIGURE,
    "namespace.yaml": Step.RESTART_ALL,
    "oci.conf": Step.RECONFIGURE,
    "plugstack.conf": Step.RECONFIGURE,
    "scrun.lua": Step.RECONFIGURE,
    "topology.conf": Step.RECONFIGURE,
    "topology.yaml": Step.RECONFIGURE,
}

# Parameters that name a script which slurmctld passes on to the nodes when it lies beside slurm.conf.
SCRIPTS = ("prolog", "epilog", "taskprolog", "taskepilog", "prologslurmctld", "epilogslurmctld", "healthcheckprogram")

# What an operator must know before such a change, beyond the step.
NOTES: dict[str, str] = {
    "clustername": "slurmctld refuses a name that differs from the one in its state folder",
    "selecttype": "running and pending jobs can be lost, because the plugin keeps them in a format of its own",
    "slurmdspooldir": "running jobs are lost to a slurmd that looks for them in another folder",
    "statesavelocation": "the state must be copied to the new folder first, otherwise all jobs are lost",
    "switchtype": "running jobs can be lost",
    "authtype": "all daemons and commands must be stopped before the change",
}

# A node goes invalid when slurmctld restarts with a new value while its slurmd still runs with the old one.
SLURMD_FIRST = ("corespeccount", "cpuspeclist", "memspeclimit", "gres", "cores")


def step(table: dict[str, tuple[Step, Step]], name: str, release: Version) -> tuple[Step, bool]:
    """Return (step for a change of ``name`` in ``release``, whether it is known); unknown ones take the largest."""
    rule = table.get(name.lower())
    if rule is None:
        return Step.RESTART_ALL, False
    return rule[1] if release >= NEW_PROCESS else rule[0], True
