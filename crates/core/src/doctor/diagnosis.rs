//! Builds the doctor's report from a survey.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;

use super::deletions::{Folders, PlannedDeletion};
use super::file::{FileContent, FileRead};
use super::report::{
    Check, Deletion, Fault, FoundFiles, Problem, Project, Records, Report, Retention,
    SearchedPlace, Skipped,
};
use super::{ProjectFiles, Survey};
use crate::agent::Agent;
use crate::agent::lifecycle::{DeletionReason, Policy};
use crate::env::Env;

impl Report {
    /// Builds the report of a survey.
    pub fn new(survey: &Survey, env: &Env, now: Timestamp) -> Self {
        let found = &survey.found;
        let looked = |l: &crate::discover::SearchedPlace| SearchedPlace {
            path: text(&l.path),
            why: l.why.clone(),
            exists: l.exists,
        };
        let problem =
            |p: &crate::discover::Problem| Problem { path: text(&p.path), what: p.what.clone() };
        let mut report = Self {
            schema: "backstory.doctor/1",
            looked: found.looked.iter().map(looked).collect(),
            roots: found.roots.iter().map(|root| text(root)).collect(),
            found: kinds(&survey.files),
            skipped: skipped(survey),
            problems: found.problems.iter().map(problem).collect(),
            records: records(&survey.files),
            fault_count: survey.files.iter().map(FileRead::fault_count).sum(),
            faults: survey.files.iter().flat_map(faults).collect(),
            projects: survey.projects.iter().map(Project::new).collect(),
            retention: Vec::new(),
            removals: removals(survey),
            deletions: Vec::new(),
            at_risk: Vec::new(),
            checks: Vec::new(),
            archive: None,
        };
        let mut judge = Judge {
            folders: Folders::of(survey.agents, &survey.files),
            seen: HashSet::new(),
            problems: report.problems.iter().cloned().collect(),
            env,
            now,
        };
        for project in &survey.projects {
            judge.project(project, &mut report);
        }
        let soonest = |d: &Deletion| (d.at.is_some(), d.at);
        report
            .deletions
            .sort_by(|a, b| soonest(a).cmp(&soonest(b)).then_with(|| a.file.cmp(&b.file)));
        report.at_risk = report.deletions.iter().filter(|d| d.early).cloned().collect();
        report.checks = report.check();
        report
    }

    fn check(&self) -> Vec<Check> {
        let sessions: u64 = self.projects.iter().map(|project| project.sessions).sum();
        let check = |name, ok, detail| Check { name, ok, detail };
        vec![
            check("places", self.looked.iter().any(|l| l.exists), count(self.roots.len(), "root")),
            check("sessions", sessions > 0, format!("{sessions} to go back to")),
            check("problems", self.problems.is_empty(), count(self.problems.len(), "problem")),
            check("faults", self.fault_count == 0, format!("{} faults", self.fault_count)),
            check("at_risk", self.at_risk.is_empty(), count(self.at_risk.len(), "file")),
        ]
    }
}

/// Predicts what the agents will do to projects.
struct Judge<'a> {
    folders: Folders<'a>,
    /// Folders that were handled. One may contain sessions of several projects, but is cleaned up
    /// once.
    seen: HashSet<&'a Path>,
    /// Problems that are already in the report.
    problems: HashSet<Problem>,
    env: &'a Env,
    now: Timestamp,
}

impl<'a> Judge<'a> {
    fn project(&mut self, project: &'a ProjectFiles, report: &mut Report) {
        let path = project.project.path.as_deref().map(Path::new);
        let mut policies: Vec<(&dyn Agent, Policy)> = Vec::new();
        for folder in &project.folders {
            let cleanup = self.folders.cleanup(folder, path, self.env, self.now);
            let Some((agent, policy, doomed)) = cleanup else { continue };
            if self.seen.insert(folder) {
                report.deletions.extend(doomed.into_iter().map(|d| Deletion::new(project, d)));
            }
            if !policies.iter().any(|(of, known)| (of.id(), known) == (agent.id(), &policy)) {
                policies.push((agent, policy));
            }
        }
        for (agent, policy) in policies {
            for (path, what) in &policy.unusable {
                let problem = Problem { path: path.clone(), what: what.clone() };
                if self.problems.insert(problem.clone()) {
                    report.problems.push(problem);
                }
            }
            report.retention.push(Retention::new(agent, project, policy));
        }
    }
}

/// Returns how sessions of the agents that delete none by themselves can disappear.
fn removals(survey: &Survey) -> Vec<(&'static str, &'static str)> {
    let has_files = |agent: &&'static dyn Agent| {
        survey.files.iter().any(|file| file.source.agent == agent.id())
    };
    let removal = |agent: &'static dyn Agent| Some((agent.name(), agent.lifecycle()?.removal()?));
    survey.agents.iter().filter(has_files).filter_map(removal).collect()
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the kinds of files, the most bytes first.
fn kinds(files: &[FileRead]) -> Vec<FoundFiles> {
    let mut kinds: Vec<FoundFiles> = Vec::new();
    for file in files {
        let kind = match &file.holds {
            FileContent::Session(..) => file.source.kind.label(),
            FileContent::Other(name) => name,
            FileContent::Nothing(_) => continue,
        };
        let at = kinds.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
            kinds.push(FoundFiles { kind, files: 0, bytes: 0 });
            kinds.len() - 1
        });
        kinds[at].files += 1;
        kinds[at].bytes += file.source.size;
    }
    kinds.sort_by(|a, b| (b.bytes, a.kind).cmp(&(a.bytes, b.kind)));
    kinds
}

/// Returns the files that were skipped because of their names or their content.
fn skipped(survey: &Survey) -> Vec<Skipped> {
    let by_name =
        survey.found.skipped.iter().map(|s| Skipped { path: text(&s.path), why: s.why.into() });
    let by_content = survey.files.iter().filter_map(|file| match &file.holds {
        FileContent::Nothing(why) => {
            Some(Skipped { path: text(&file.source.path), why: why.clone() })
        }
        _ => None,
    });
    let mut all: Vec<Skipped> = by_name.chain(by_content).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

fn records(files: &[FileRead]) -> Records {
    let mut sum = Records::default();
    for file in files {
        sum.used += file.faults.used;
        sum.ignored += file.faults.ignored;
        for (kind, number) in &file.faults.ignored_kinds {
            *sum.ignored_kinds.entry(kind.to_string()).or_default() += number;
        }
        sum.unusable += file.faults.unusable;
    }
    sum
}

fn faults(file: &FileRead) -> impl Iterator<Item = Fault> {
    file.faults.details.iter().map(|fault| Fault {
        file: text(&file.source.path),
        line: fault.line,
        record: fault.record.clone(),
        what: fault.what.to_string(),
        pending: file.is_pending(fault),
    })
}

impl Project {
    fn new(project: &ProjectFiles) -> Self {
        let known = &project.project;
        Self {
            name: known.name.clone(),
            path: known.path.clone(),
            proof: known.proof.name(),
            hash: known.hash.clone(),
            dirs: project.folders.iter().map(|folder| text(folder)).collect(),
            sessions: project.sessions,
            files: project.files,
            bytes: project.bytes,
            updated: project.updated,
        }
    }
}

impl Retention {
    fn new(agent: &dyn Agent, project: &ProjectFiles, policy: Policy) -> Self {
        Self {
            agent: agent.id().to_string(),
            agent_name: agent.name(),
            occasion: policy.occasion,
            project: project.label().to_owned(),
            active: policy.is_active,
            enabled: policy.is_enabled,
            max_age: policy.max_age,
            max_count: policy.max_count,
            min_retention: policy.min_retention,
            decided_by: policy.decided_by,
            invalid: policy.invalid,
            settings: policy.settings.iter().map(|file| text(file)).collect(),
            hook: policy.has_hook,
        }
    }
}

impl Deletion {
    fn new(project: &ProjectFiles, doomed: PlannedDeletion) -> Self {
        let name =
            |path: &Path| Some(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let (why, with) = match doomed.why {
            DeletionReason::Age => ("age", None),
            DeletionReason::Count => ("count", None),
            DeletionReason::Empty => ("nothing_to_resume", None),
            DeletionReason::SharesId(other) => ("shares_id", name(&other)),
            DeletionReason::Session(main) => ("session", name(&main)),
        };
        Self {
            agent: doomed.agent.id().to_string(),
            agent_name: doomed.agent.name(),
            kind: doomed.kind,
            what: doomed.kind.label(),
            session: doomed.session,
            project: project.label().to_owned(),
            file: text(&doomed.path),
            at: doomed.at,
            why,
            with,
            resumable: doomed.is_resumable,
            kept: doomed.is_kept,
            early: doomed.early.is_some(),
            instead_of: doomed.early.and_then(|early| early.instead_of),
        }
    }
}
