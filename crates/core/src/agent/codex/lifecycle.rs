//! Describes what Codex CLI does with existing files: it deletes none by itself, and resumes sessions.
//!
//! `codex resume ID` finds the files of a thread by their names below `sessions`. A file that continues
//! the history of another one is of no use without it, so those are restored as well.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use super::format::RolloutName;
use super::{Codex, names, paths};
use crate::agent::lifecycle::{
    ArchivedSession, Content, FileRole, Lifecycle, PlannedFile, Refusal, RestorePlan,
    RestoreTarget, ResumeCommand,
};
use crate::agent::versions::one_of_each;
use crate::discover::Source;
use crate::env::Env;
use crate::file::is_below;
use crate::model::{SessionKind, State};

/// The environment variable that names Codex CLI's folder.
const VARIABLE: &str = "CODEX_HOME";

impl Lifecycle for Codex {
    fn removal(&self) -> Option<&'static str> {
        Some(
            "deletes nothing by itself: only `codex delete` does (`codex archive` moves the file of a \
             session)",
        )
    }

    fn usual_root(&self, env: &Env) -> Option<PathBuf> {
        paths::usual_root(env)
    }

    fn session_parents(&self, env: &Env, roots: &[PathBuf]) -> Vec<PathBuf> {
        let below = roots.iter().flat_map(|root| [root.clone(), root.join(".codex")]);
        let all = paths::usual_root(env).into_iter().chain(below);
        let folders = all.flat_map(|root| paths::FOLDERS.map(|name| root.join(name)));
        folders.chain(env.var("CODEX_SESSIONS_DIR").map(PathBuf::from)).collect()
    }

    fn plan_restore(
        &self,
        archived: &ArchivedSession<'_>,
        target: &RestoreTarget<'_>,
    ) -> Result<RestorePlan, Refusal> {
        let facts = archived.facts;
        let session = &facts.session;
        match (session.state, session.kind, &session.parent) {
            (State::LogOnly, ..) => return Err(Refusal::LogOnly),
            (_, SessionKind::Subagent | SessionKind::Background, Some(parent)) => {
                return Err(Refusal::Subagent(parent.clone()));
            }
            _ => {}
        }
        let main = facts.resumable_file.filter(|at| archived.is_offered(&facts.files[*at]));
        let main = main.ok_or(Refusal::Empty)?;
        let names = facts.files.iter().map(|file| name(&file.path));
        let (chosen, left) = one_of_each(facts, main, names.collect());
        let root = place(&facts.files[chosen[0]], target).map(|place| root_of(&place));
        let root = root.or_else(|| target.root.clone());
        let root = root.ok_or(Refusal::NoRoot { variable: VARIABLE })?;
        let roles = std::iter::once(FileRole::Session).chain(std::iter::repeat(FileRole::Part));
        let own = chosen.into_iter().map(|at| &facts.files[at]).zip(roles);
        let attached =
            archived.attached.iter().map(|file| (*file, FileRole::Attachment(file.kind)));
        let mut files: Vec<PlannedFile> = Vec::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        for (source, role) in own.chain(attached) {
            if known.insert(name(&source.path)) {
                let path = path(source, &root, target)?;
                files.push(PlannedFile { path, content: Content::Source(source.clone()), role });
            }
        }
        // A folder of sessions that was configured on its own has no list of names.
        let main = files.first().map_or(Path::new(""), |file| &file.path);
        let has_list = paths::FOLDERS.iter().any(|name| main.starts_with(root.join(name)));
        let name = archived.name.filter(|_| has_list);
        let listed_as = name.and_then(|name| names::line(&root.join(paths::NAMES), session, name));
        let project = target.project.clone().or_else(|| session.project.path.clone());
        Ok(RestorePlan {
            folder: root.clone(),
            root: Some(root),
            project,
            files,
            listed_as,
            left,
            keeps_times: true,
        })
    }

    fn register(&self, plan: &RestorePlan) -> Option<(PathBuf, io::Result<()>)> {
        let list = self.registry(plan)?;
        let done = names::append(&list, plan.listed_as.as_ref()?);
        Some((list, done))
    }

    fn registry(&self, plan: &RestorePlan) -> Option<PathBuf> {
        plan.listed_as.as_ref().map(|_| plan.folder.join(paths::NAMES))
    }

    fn resume(&self, id: &str, plan: &RestorePlan, env: &Env) -> Result<ResumeCommand, String> {
        let main = plan.files.iter().find(|file| file.role == FileRole::Session);
        let path = main.map_or(Path::new(""), |main| &main.path);
        let sessions = plan.folder.join(paths::SESSIONS);
        if path.extension().is_some_and(|ending| ending == "json") {
            return Err(
                "contains a document of Codex CLI before 0.20, which no later version reads"
                    .to_owned(),
            );
        }
        if path.starts_with(plan.folder.join(paths::ARCHIVED)) {
            let how = format!("`codex unarchive {id}` brings it back");
            return Err(format!("has it among the archived sessions; {how}"));
        }
        if !path.starts_with(&sessions) {
            return Err("is not a folder that Codex CLI searches".to_owned());
        }
        let is_usual = paths::usual_root(env).is_some_and(|usual| usual == plan.folder);
        let root = plan.folder.clone();
        Ok(ResumeCommand {
            program: "codex",
            arguments: vec!["resume".to_owned(), id.to_owned()],
            variables: if is_usual { Vec::new() } else { vec![(VARIABLE, root)] },
            install: "npm install -g @openai/codex",
        })
    }
}

/// Returns the name of a session file, whether it is compressed or not.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".zst").unwrap_or(&name).to_owned()
}

/// Returns the folder of sessions on this machine that a file is or was in.
fn place(source: &Source, target: &RestoreTarget<'_>) -> Option<PathBuf> {
    let mut folders = source.path.ancestors().skip(1);
    let place = folders.find(|folder| target.is_place(folder)).filter(|_| target.is_own(source));
    place.filter(|place| is_below(place, &source.path)).map(Path::to_owned)
}

/// Returns the folder of Codex CLI that a folder of sessions is in, or the folder itself if it was
/// configured on its own.
fn root_of(place: &Path) -> PathBuf {
    let is_known = paths::FOLDERS.iter().any(|name| place.ends_with(name));
    place.parent().filter(|_| is_known).unwrap_or(place).to_owned()
}

/// Returns the path to write: where the file was, unless that was not in this folder of Codex CLI. An
/// archived session goes back to the archived ones: Codex CLI remembers that it is one of them, and would
/// neither resume nor unarchive it elsewhere.
fn path(source: &Source, root: &Path, target: &RestoreTarget<'_>) -> Result<PathBuf, Refusal> {
    let place = place(source, target).filter(|place| root_of(place) == *root);
    if place.is_some() {
        return Ok(source.path.clone());
    }
    let outside = || Refusal::Outside(source.path.clone());
    let rollout = RolloutName::of(&source.path).ok_or_else(outside)?;
    let mut path = root.join(paths::SESSIONS);
    // Documents are not in folders of days.
    if source.path.extension().is_none_or(|ending| ending != "json") {
        let day = rollout.at.ok_or_else(outside)?.to_zoned(TimeZone::UTC);
        path.push(day.strftime("%Y/%m/%d").to_string());
    }
    Ok(path.join(source.path.file_name().unwrap_or_default()))
}
