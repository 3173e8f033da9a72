//! Before each task: whether it may start, and what it is told of its domain.
//!
//! It runs as the job's user, who may read the file that the prolog has written and ask systemd how the service fares, but not
//! the service itself. imexd says in its status whether the domain is UP; of NVIDIA's service only that it runs is known. A
//! job that has no domain on this node by policy starts as if nothing were here.

use imex_config::operator::Provider;
use imex_core::DomainState;
use imex_host::boot::BootId;
use imex_host::compress;
use imex_host::systemd::{ActiveState, LoadState, ServiceFacts};

use crate::job_domain::{JobDomain, Stage};
use crate::service;

/// The variable by which a task says that it only looks at the domain, as those of `imex validate` do: it starts also where
/// the domain is not UP any more, which is what it is to tell. Whoever else sets it harms nobody but the own job.
pub const LOOKS: &str = "OPENIMEX_LOOKS";

/// A variable for the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub name: &'static str,
    /// Its value: one line.
    pub value: String,
}

/// Whether a task may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may; the node has no domain for its job.
    NoDomain,
    /// It may, and is told this.
    Admitted(Vec<Export>),
    /// It must not.
    Refused {
        /// Why, in words.
        why: String,
    },
}

/// What is known now of a domain that came UP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing speaks against it.
    Up,
    /// It is not UP any more.
    NotUp {
        /// Why, in words.
        why: String,
    },
}

impl Now {
    /// What the service's unit shows.
    pub fn of(facts: &ServiceFacts, provider: Provider) -> Self {
        // Nothing is known of a service whose unit systemd does not have.
        if facts.load == LoadState::NotFound {
            return Now::Up;
        }
        if let Some(why) = service::ended(facts, provider) {
            return Now::NotUp { why };
        }
        let unit = &facts.id;
        if provider == Provider::Imexd && facts.active == ActiveState::Activating {
            return Now::NotUp { why: format!("{unit} starts anew") };
        }
        match facts.status.as_deref().filter(|_| provider == Provider::Imexd) {
            Some(status) if domain_state(status).is_some_and(|state| state != DomainState::Up) => {
                Now::NotUp { why: format!("{unit} says: {status}") }
            }
            Some(_) | None => Now::Up,
        }
    }
}

/// The state of the domain in a status of imexd's, `READY; domain UP, 3 of 3 nodes READY`.
fn domain_state(status: &str) -> Option<DomainState> {
    let (_, domain) = status.split_once("; domain ")?;
    let (word, _) = domain.split_once(',')?;
    DomainState::ALL.into_iter().find(|state| state.word() == word)
}

/// Whether tasks are to be told how NCCL finds the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// They are.
    Nccl,
    /// They are not.
    None,
}

/// Which run of its job a task belongs to, by `SLURM_JOB_SLUID`; a domain of another run is not its.
pub fn same_run(domain: &JobDomain, sluid: Option<&str>) -> bool {
    let counted = domain.run.bytes().all(|byte| byte.is_ascii_digit());
    counted || sluid.is_none_or(|sluid| sluid == domain.run)
}

impl Admission {
    /// The same, of a task of this domain, where the service shows this `now`.
    #[must_use]
    pub fn now(self, domain: &JobDomain, now: Now) -> Self {
        match (self, now) {
            (Admission::Admitted(_), Now::NotUp { why }) if domain.stage == Stage::Up => {
                let JobDomain { job, node, .. } = domain;
                let why = format!("the IMEX domain of job {job} was UP on {node} and is not any more: {why}");
                Admission::Refused { why }
            }
            (admission, Now::Up | Now::NotUp { .. }) => admission,
        }
    }
}

/// Judges for a task of one of the jobs `jobs`: that of the task, and the components of a heterogeneous one.
pub fn judge(domain: Option<&JobDomain>, jobs: &[u32], boot: &BootId, hints: Hints) -> Admission {
    let Some(domain) = domain.filter(|domain| jobs.contains(&domain.job)) else { return Admission::NoDomain };
    if domain.boot_id != *boot {
        let why = format!(
            "{} was booted after the prolog of job {}: its IMEX domain is gone",
            domain.node, domain.job
        );
        return Admission::Refused { why };
    }
    match domain.stage {
        Stage::Up | Stage::ChannelOnly | Stage::Skipped => Admission::Admitted(exports(domain, hints)),
        Stage::Forming => {
            let why = format!("the prolog of job {} did not end on {}", domain.job, domain.node);
            Admission::Refused { why }
        }
        Stage::Failed => {
            let reason = domain.reason.as_deref().unwrap_or("the prolog did not say why");
            let why = format!("the IMEX domain of job {} is not UP on {}: {reason}", domain.job, domain.node);
            Admission::Refused { why }
        }
    }
}

fn exports(domain: &JobDomain, hints: Hints) -> Vec<Export> {
    let mut exports = Vec::new();
    let mut add = |name, value: String| exports.push(Export { name, value });
    if domain.stage == Stage::Up {
        let names: Vec<String> = domain.members.iter().map(|member| member.node.clone()).collect();
        add("OPENIMEX_DOMAIN_ID", domain.domain_id.clone().unwrap_or_default());
        add("OPENIMEX_DOMAIN_MEMBERS", compress(&names));
        add("OPENIMEX_DOMAIN_SIZE", names.len().to_string());
        if let Some(index) = domain.index() {
            add("OPENIMEX_DOMAIN_INDEX", index.to_string());
        }
        if let Some(domains) = domain.domains {
            add("OPENIMEX_JOB_DOMAINS", domains.to_string());
        }
        if let Some(block) = &domain.block {
            add("OPENIMEX_DOMAIN_BLOCK", block.clone());
        }
    }
    if let Some(channel) = &domain.channel {
        add("OPENIMEX_CHANNEL", channel.path.display().to_string());
        // What NVIDIA's container toolkit looks for.
        add("NVIDIA_IMEX_CHANNELS", channel.number.to_string());
    }
    // The same on all ranks of the job: not where it has several domains, one of which may be a single node.
    if hints == Hints::Nccl
        && domain.stage == Stage::Up
        && domain.members.len() > 1
        && domain.domains == Some(1)
    {
        // With 1 a job whose fabric does not work fails; by default NCCL would fall back to the network and be slow.
        add("NCCL_MNNVL_ENABLE", "1".to_owned());
        add("NCCL_CUMEM_ENABLE", "1".to_owned());
    }
    exports.retain(|export| !export.value.chars().any(char::is_control));
    exports
}

#[cfg(test)]
mod tests {
    use imex_host::systemd::{Conditions, Enablement, ServiceResult};

    use super::*;
    use crate::job_domain::{JobChannel, MemberName, SCHEMA_VERSION};

    const BOOT: &str = "0d2b9c1e-1111-2222-3333-444455556666";

    #[test]
    fn a_task_of_a_verified_domain_is_told_of_it() {
        let told = text(&judge(Some(&domain(Stage::Up)), &[7], &boot(BOOT), Hints::Nccl));
        let expected = "OPENIMEX_DOMAIN_ID=lab/7/0/0\nOPENIMEX_DOMAIN_MEMBERS=n[1-2]\nOPENIMEX_DOMAIN_SIZE=2\n\
                        OPENIMEX_DOMAIN_INDEX=1\nOPENIMEX_JOB_DOMAINS=1\nOPENIMEX_CHANNEL=/dev/c/channel0\n\
                        NVIDIA_IMEX_CHANNELS=0\nNCCL_MNNVL_ENABLE=1\nNCCL_CUMEM_ENABLE=1\n";
        assert_eq!(told, expected);
        let plain = text(&judge(Some(&domain(Stage::Up)), &[7], &boot(BOOT), Hints::None));
        assert!(!plain.contains("NCCL"));
    }

    #[test]
    fn a_task_of_a_domain_that_is_not_up_is_refused() {
        for (stage, word) in [(Stage::Forming, "did not end"), (Stage::Failed, "is not UP on n2: n3 is away")]
        {
            let judged = text(&judge(Some(&domain(stage)), &[7], &boot(BOOT), Hints::None));
            assert!(judged.contains(word), "{judged}");
        }
        let other = "0d2b9c1e-1111-2222-3333-444455557777";
        let judged = text(&judge(Some(&domain(Stage::Up)), &[7], &boot(other), Hints::None));
        assert!(judged.contains("was booted after the prolog"), "{judged}");
    }

    #[test]
    fn a_task_of_a_domain_that_is_not_up_any_more_is_refused() {
        let killed = ServiceFacts {
            active: ActiveState::Failed,
            result: ServiceResult::Signal,
            exec_main_status: 9,
            status: None,
            ..running()
        };
        let status = Some("READY; domain DEGRADED, 2 of 3 nodes READY".to_owned());
        let degraded = ServiceFacts { status, ..running() };
        let anew = ServiceFacts { active: ActiveState::Activating, sub: "start".to_owned(), ..running() };
        let of_imexd = |facts: &ServiceFacts| Now::of(facts, Provider::Imexd);
        let admitted = judge(Some(&domain(Stage::Up)), &[7], &boot(BOOT), Hints::None);
        assert_eq!(admitted.clone().now(&domain(Stage::Up), of_imexd(&running())), admitted);
        for (facts, why) in [
            (&killed, "imexd.service was ended by signal 9"),
            (&degraded, "imexd.service says: READY; domain DEGRADED, 2 of 3 nodes READY"),
            (&anew, "imexd.service starts anew"),
        ] {
            let told = text(&admitted.clone().now(&domain(Stage::Up), of_imexd(facts)));
            assert_eq!(told, format!("the IMEX domain of job 7 was UP on n2 and is not any more: {why}"));
        }
        // A channel alone needs no service, and of NVIDIA's it is known only that it runs.
        let channel = judge(Some(&domain(Stage::ChannelOnly)), &[7], &boot(BOOT), Hints::None);
        assert_eq!(channel.clone().now(&domain(Stage::ChannelOnly), of_imexd(&killed)), channel);
        assert_eq!(Now::of(&degraded, Provider::NvidiaImex), Now::Up);
        assert_ne!(Now::of(&killed, Provider::NvidiaImex), Now::Up);
        let not_found = ServiceFacts { load: LoadState::NotFound, ..killed };
        assert_eq!(of_imexd(&not_found), Now::Up);
    }

    #[test]
    fn a_job_without_a_domain_here_starts() {
        assert_eq!(judge(None, &[7], &boot(BOOT), Hints::None), Admission::NoDomain);
        assert_eq!(judge(Some(&domain(Stage::Failed)), &[8], &boot(BOOT), Hints::None), Admission::NoDomain);
        let channel_only = text(&judge(Some(&domain(Stage::ChannelOnly)), &[6, 7], &boot(BOOT), Hints::Nccl));
        assert_eq!(channel_only, "OPENIMEX_CHANNEL=/dev/c/channel0\nNVIDIA_IMEX_CHANNELS=0\n");
        let skipped = JobDomain { channel: None, ..domain(Stage::Skipped) };
        assert_eq!(text(&judge(Some(&skipped), &[7], &boot(BOOT), Hints::Nccl)), "");
    }

    fn running() -> ServiceFacts {
        ServiceFacts {
            id: "imexd.service".to_owned(),
            names: vec!["imexd.service".to_owned()],
            load: LoadState::Loaded,
            load_error: None,
            active: ActiveState::Active,
            sub: "running".to_owned(),
            enablement: Enablement::Enabled,
            file: None,
            status: Some("READY; domain UP, 3 of 3 nodes READY".to_owned()),
            main_pid: Some(12),
            result: ServiceResult::Success,
            exec_main_status: 0,
            restarts: 0,
            conditions: Conditions::Met,
            since: None,
        }
    }

    fn text(admission: &Admission) -> String {
        match admission {
            Admission::NoDomain => String::new(),
            Admission::Admitted(exports) => {
                exports.iter().map(|e| format!("{}={}\n", e.name, e.value)).collect()
            }
            Admission::Refused { why } => why.clone(),
        }
    }

    fn boot(id: &str) -> BootId {
        id.parse().unwrap()
    }

    fn domain(stage: Stage) -> JobDomain {
        let member = |node: &str| MemberName { node: node.to_owned(), address: node.to_owned() };
        JobDomain {
            schema_version: SCHEMA_VERSION,
            job: 7,
            run: "0".to_owned(),
            boot_id: boot(BOOT),
            since: jiff::Timestamp::UNIX_EPOCH,
            node: "n2".to_owned(),
            uid: 1001,
            unit: "imexd.service".to_owned(),
            stage,
            reason: Some("n3 is away".to_owned()),
            domain_id: Some("lab/7/0/0".to_owned()),
            members: vec![member("n1"), member("n2")],
            block: None,
            domains: Some(1),
            channel: Some(JobChannel { number: 0, path: "/dev/c/channel0".into(), removed_after: false }),
            keys_before: Default::default(),
        }
    }
}
