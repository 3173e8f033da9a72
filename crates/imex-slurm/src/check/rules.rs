//! Every rule: its id, how bad a breach is, what it says and what to do. `docs/slurm.md` has this table.
//!
//! Ids from S001 are about reading; S010 flags; S030 scripts; S040 what is missing; S050 time-outs; S060 requeueing; S070
//! plugins; S080 partitions. What Slurm does was tried on 26.05.5.

use imex_config::rules;

rules! {
    INCLUDE = "S001" "include" Error: "A file that is included cannot be read; Slurm tries for a minute and then does not start. It knows no patterns in names of included files.",
        "correct the name, which is relative to the folder of slurm.conf, or remove the line";
    MALFORMED = "S002" "malformed" Error: "A line is no `key=value`; Slurm does not start. Blanks within a value end it.",
        "write `key=value`, lists with commas and without blanks";
    REPLACED = "S003" "replaced" Note: "A key stands twice with different values; the later line counts.",
        "remove the line that does not count";

    NO_PROLOG = "S010" "no-prolog" Error: "There is no Prolog: no job gets a domain.",
        "set Prolog to the script of `imex slurm settings`";
    NO_ALLOC = "S011" "no-alloc" Error: "PrologFlags are empty: the prolog runs at the first step on a node, never for an salloc without steps, and the batch script starts before other nodes' prologs.",
        "set PrologFlags=Alloc,DeferBatch";
    ALLOC_IMPLIED = "S012" "alloc-implied" Warning: "Alloc is not written. From 26.05 each other flag implies it; before, DeferBatch alone has no effect.",
        "write both: PrologFlags=Alloc,DeferBatch";
    NO_DEFER_BATCH = "S013" "no-defer-batch" Error: "DeferBatch is missing: the batch script starts as soon as the prolog of its own node is done, and finds a domain that other nodes have not joined.",
        "add DeferBatch to PrologFlags";
    NO_HOLD = "S014" "no-hold" Warning: "NoHold is set. It does not keep jobs from being held when a prolog fails: it lets salloc start its shell before the prologs are done.",
        "remove NoHold; against held jobs set SchedulerParameters=nohold_on_prolog_fail";
    NO_HOLD_CONTAIN = "S015" "no-hold-with-contain" Error: "NoHold stands beside Contain or X11; Slurm does not start.",
        "remove NoHold";
    RUN_IN_JOB = "S016" "run-in-job" Error: "RunInJob is set. After a failed prolog of srun or salloc slurmd 26.05 reports it again every 15 s without end, and drains the node again after each resume.",
        "remove RunInJob";
    SERIAL = "S017" "serial" Warning: "Serial is set: a node's prologs and epilogs wait for one another, and each one's time-out runs while it waits.",
        "remove Serial; the lease of a node keeps two jobs apart without it";
    CONTAIN = "S018" "contain" Note: "Contain or X11 is set: each job has an extern step from its allocation on, and ssh sessions taken into it see the job's channel. It implies Alloc, not DeferBatch.",
        "keep it if ssh sessions are taken into jobs";
    UNKNOWN_FLAG = "S019" "unknown-flag" Error: "PrologFlags has a word that Slurm does not know; Slurm does not start.",
        "write Alloc,DeferBatch";

    ORDER = "S030" "order" Note: "Several scripts run at one event and share its time-out. Lines run in their order, files of a pattern in reverse alphabetical order; the first that fails ends the row.",
        "name the files so that the order is the wanted one: 99 runs before 10";
    NOT_EXECUTABLE = "S031" "not-executable" Error: "A script, or a file that a pattern matches, is not executable: the prolog fails and the node is drained.",
        "make it executable, or move it out of the folder";
    NO_MATCH = "S032" "no-match" Error: "A pattern matches no file: the prolog fails and each node that gets a job is drained.",
        "put a script there, or remove the line";
    MISSING = "S033" "missing" Error: "A script is not there. Without the one of Prolog or Epilog each node that gets a job is drained; without another Slurm goes on, and what it is for is not done.",
        "install the script on each node, or correct the path; with --no-scripts files are not looked for";
    OWNER = "S034" "owner" Error: "A script runs as root, and somebody else than root can change it.",
        "chown root, and take write permission from group and others";
    NO_INTERPRETER = "S035" "no-interpreter" Error: "A file is neither a program nor begins with `#!`: it cannot be run (exec format error), and the node is drained.",
        "begin it with `#!/bin/sh`";
    RELATIVE = "S036" "relative" Note: "A path is relative; Slurm takes it from the folder of slurm.conf.",
        "write it from the root";
    NOT_OURS = "S037" "not-ours" Warning: "No script of the prolog calls `imex slurm prolog`: nothing verifies the domain.",
        "add the script of `imex slurm settings`";
    FOREIGN = "S038" "second-owner" Error: "A script stops, starts or configures the IMEX service by itself. Beside `imex slurm` it takes the domain away from the job that has just got it.",
        "remove it from the folder";

    NO_EPILOG = "S040" "no-epilog" Error: "No script of the epilog calls `imex slurm epilog`: after the job the service keeps running with the job's peers, and its channel and lease stay.",
        "set Epilog to the script of `imex slurm settings`";
    NO_TASK_PROLOG = "S041" "no-task-prolog" Warning: "There is no TaskProlog: tasks start although a node was power-cycled under their job, and are told nothing about their domain.",
        "set TaskProlog to the script of `imex slurm settings`";
    NO_SWEEP = "S042" "no-sweep" Note: "There is no HealthCheckProgram: what a lost epilog leaves behind stays until the next job or start.",
        "set HealthCheckProgram to the script of `imex slurm settings`, or enable the boot unit alone";
    SWEEP_NEVER = "S043" "sweep-never" Warning: "HealthCheckInterval is 0: the HealthCheckProgram never runs.",
        "set HealthCheckInterval=300";

    SHORT = "S050" "time-out-short" Error: "Slurm's time-out is not 2 s longer than the budget, which the end of our script may take: Slurm sends SIGTERM and 10 ms later SIGKILL, and nobody learns the reason.",
        "raise the time-out to that of `imex slurm settings`, or lower the budget";
    FOR_EVER = "S051" "time-out-unset" Warning: "There is no time-out: Slurm waits for ever for a script that hangs. (`scontrol show config` shows 65534.)",
        "set the time-outs of `imex slurm settings`";
    BATCH_START = "S052" "batch-start" Note: "BatchStartTimeout is not above the time that the prolog may take, as Slurm's manual asks. With Alloc,DeferBatch 26.05 starts the job all the same.",
        "set BatchStartTimeout to that of `imex slurm settings`";
    MESSAGE = "S053" "message-time-out" Warning: "Without Alloc a step's launch waits for the prolog, and MessageTimeout is shorter than the prolog may take.",
        "set PrologFlags=Alloc,DeferBatch";
    SLURMD = "S054" "slurmd-time-out" Warning: "SlurmdTimeout is 0: Slurm never notices that a node is gone.",
        "set SlurmdTimeout=300";
    POWER_CYCLE = "S055" "power-cycle" Warning: "ReturnToService=2: a node that is off and on again within SlurmdTimeout keeps its job RUNNING, and no prolog runs again although everything of the domain is gone on it.",
        "set ReturnToService=1, or let TaskProlog and sweep find such nodes";
    TIGHT = "S056" "time-out-tight" Warning: "Slurm's time-out is less than 10 s longer than the budget: on a busy machine, or with another script before ours, it may come first.",
        "raise the time-out to that of `imex slurm settings`, or lower the budget";

    HELD = "S060" "held" Warning: "SchedulerParameters lack nohold_on_prolog_fail: a batch job whose prolog failed is requeued and held until somebody releases it.",
        "add nohold_on_prolog_fail to SchedulerParameters";
    NO_REQUEUE = "S061" "no-requeue" Warning: "JobRequeue=0: a batch job whose prolog failed is cancelled instead of requeued.",
        "set JobRequeue=1, or let users write --requeue";

    TWO_CHANNEL_MAKERS = "S070" "two-channel-makers" Error: "switch/nvidia_imex makes channels, and so does openimex.toml. slurmd empties the folder of channels at each start and reconfigure.",
        "set channels to be left alone in openimex.toml, or SwitchType to something else";
    NO_CHANNEL_MAKER = "S071" "no-channel-maker" Error: "openimex.toml leaves channels to Slurm, and SwitchType is not switch/nvidia_imex: nobody makes them.",
        "set SwitchType=switch/nvidia_imex, or let openimex.toml make them";
    HOLE = "S072" "channel-hole" Error: "switch/nvidia_imex of this Slurm lets jobs reach channels of others (CVE-2024-42511), and does not go with job_container/tmpfs.",
        "use Slurm 24.05.2 or later";
    NAMESPACE = "S073" "namespace" Warning: "switch/nvidia_imex stands beside a plugin that gives jobs mounts of their own; which of the two makes the job's channel folder differs by release.",
        "see in a job that its channel is there: `imex validate`";
    NO_BLOCKS = "S074" "no-blocks" Warning: "Slurm knows no blocks: jobs are spread over racks that share no NVLink.",
        "write a topology.yaml with `imex topology generate`";
    PLUGIN_IGNORED = "S075" "plugin-ignored" Note: "topology.yaml is there, so Slurm ignores TopologyPlugin and topology.conf.",
        "remove TopologyPlugin, so that nobody is misled";
    NO_PREP = "S076" "no-prep" Error: "PrEpPlugins lack prep/script: Prolog and Epilog never run.",
        "remove PrEpPlugins, or add prep/script";
    NOT_ROOT = "S077" "not-root" Error: "SlurmdUser is not root: the prolog can neither restart the service nor make channels.",
        "set SlurmdUser=root";
    SUSPEND = "S078" "suspend" Warning: "PreemptMode suspends jobs: a suspended job keeps its processes and imports, and its node's domain is refused to the job that displaced it.",
        "preempt by requeueing or cancelling where nodes have NVLink";

    SHARED = "S080" "shared" Warning: "A partition lets jobs share nodes unless they say --exclusive. A domain serves one job; shared jobs go by the policy of openimex.toml.",
        "set OverSubscribe=EXCLUSIVE for partitions of NVLink nodes";
    FORCED = "S081" "forced" Error: "A partition forces sharing: Slurm calls none of its jobs exclusive, not even with --exclusive, and none gets a domain.",
        "set OverSubscribe=EXCLUSIVE for partitions of NVLink nodes";
}

#[cfg(test)]
mod tests {
    use imex_config::Rule;

    use super::*;

    #[test]
    fn ids_rise() {
        assert!(ALL.is_sorted_by(|a, b| a.id < b.id));
    }

    #[test]
    fn the_document_is_the_table() {
        let document = include_str!("../../../../docs/slurm.md");
        let rows = ALL.iter().map(|rule| {
            let Rule { id, name, severity, meaning, fix } = rule;
            format!("| {id} | {name} | {} | {meaning} | {fix} |\n", severity.word())
        });
        let table: String = rows.collect();
        assert!(document.contains(&table), "docs/slurm.md lacks rules; its table must be:\n{table}");
    }
}
