//! Describes what Gemini CLI does with existing files: it deletes old ones and resumes sessions.

mod hooks;
pub(super) mod restore;
pub mod retention;
mod settings;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use self::retention::{ChatFile, Reason};
use super::projects::enter_project;
use super::{Gemini, paths};
use crate::agent::lifecycle::{
    ArchivedSession, Cleanup, CleanupFile, CleanupFolder, Deletion, DeletionReason, Freshening,
    Lifecycle, Refusal, RestorePlan, RestoreTarget, ResumeCommand, SyncHook,
};
use crate::assemble::SessionFacts;
use crate::discover::Source;
use crate::env::Env;
use crate::projects::is_hash_folder;

impl Lifecycle for Gemini {
    fn cleanup(&self, folder: &CleanupFolder<'_>, env: &Env, now: Timestamp) -> Option<Cleanup> {
        let root = folder.folder.parent().and_then(Path::parent)?;
        let (retention, policy) = settings::decide(env, root, folder.project);
        // Only slug folders are ever cleaned up: Gemini CLI copies a hash folder to a slug folder
        // once and never touches the old one again.
        if is_hash_folder(folder.folder) {
            return Some(Cleanup { policy, deletions: Vec::new() });
        }
        let chats = folder.folder.join("chats");
        let mut files: BTreeMap<String, ChatFile> = BTreeMap::new();
        for file in folder.files.iter().filter(|file| file.path.parent() == Some(&chats)) {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("session-") {
                let resumable_since = resumable_since(file, now);
                files.entry(name.clone()).or_insert(ChatFile { name, resumable_since });
            }
        }
        let files: Vec<ChatFile> = files.into_values().collect();
        let deletions = retention::plan(&files, &retention, now).into_iter().map(|deletion| {
            let why = match deletion.why {
                Reason::Age => DeletionReason::Age,
                Reason::Count => DeletionReason::Count,
                Reason::Corrupt => DeletionReason::Empty,
                Reason::SharesId(other) => DeletionReason::SharesId(chats.join(other)),
            };
            let path = chats.join(deletion.name);
            Deletion { path, at: deletion.at, why, early: deletion.early }
        });
        Some(Cleanup { policy, deletions: deletions.collect() })
    }

    fn sync_hook(&self, root: &Path, env: &Env) -> Option<SyncHook> {
        // The folder of another agent has no `tmp`.
        let is_ours = root.ends_with(".gemini") || root.join("tmp").is_dir();
        let file = settings::users_own(env, root);
        is_ours.then_some(SyncHook { file, settings: settings::HOOK })
    }

    fn usual_root(&self, env: &Env) -> Option<PathBuf> {
        paths::usual_root(env)
    }

    fn session_parents(&self, env: &Env, roots: &[PathBuf]) -> Vec<PathBuf> {
        let below = roots.iter().flat_map(|root| [root.join("tmp"), root.join(".gemini/tmp")]);
        paths::project_parents(env).into_iter().chain(below).collect()
    }

    fn plan_restore(
        &self,
        session: &ArchivedSession<'_>,
        target: &RestoreTarget<'_>,
    ) -> Result<RestorePlan, Refusal> {
        restore::plan(session, target)
    }

    fn register(&self, plan: &RestorePlan) -> Option<(PathBuf, io::Result<()>)> {
        let file = self.registry(plan)?;
        let RestorePlan { root, project, listed_as, .. } = plan;
        let done = enter_project(root.as_ref()?, project.as_ref()?, listed_as.as_ref()?);
        Some((file, done))
    }

    /// The list is optional: Gemini CLI rebuilds it from the markers in the folders.
    fn registry(&self, plan: &RestorePlan) -> Option<PathBuf> {
        let is_needed = plan.project.is_some() && plan.listed_as.is_some();
        plan.root.as_ref().filter(|_| is_needed).map(|root| root.join("projects.json"))
    }

    fn freshen(
        &self,
        session: &SessionFacts,
        source: &Source,
        now: Timestamp,
    ) -> Result<Option<Freshening>, &'static str> {
        if restore::takes_line(session, source) {
            Ok(Some(Freshening::Line(restore::fresh_line(now))))
        } else {
            Err("it is a document from Gemini CLI before 0.39, not a log")
        }
    }

    fn resume(&self, id: &str, plan: &RestorePlan, env: &Env) -> Result<ResumeCommand, String> {
        let usual = env.var("GEMINI_CLI_HOME").map(PathBuf::from).or_else(|| env.home.clone());
        let home = match plan.root.as_deref() {
            Some(root) if usual.is_some_and(|home| home.join(".gemini") == root) => None,
            Some(root) if root.ends_with(".gemini") => root.parent().map(Path::to_owned),
            _ => return Err("is not in a `.gemini` folder".to_owned()),
        };
        Ok(ResumeCommand {
            program: "gemini",
            arguments: vec!["--resume".to_owned(), id.to_owned()],
            variables: home.into_iter().map(|home| ("GEMINI_CLI_HOME", home)).collect(),
            install: "npm install -g @google/gemini-cli",
        })
    }

    fn advice(&self, why: &DeletionReason) -> String {
        match why {
            DeletionReason::Age => {
                "raise `general.sessionRetention.maxAge` in its settings".to_owned()
            }
            DeletionReason::Count => {
                "raise `general.sessionRetention.maxCount` in its settings".to_owned()
            }
            DeletionReason::SharesId(_) | DeletionReason::Session(_) => {
                "remove that file first".to_owned()
            }
            DeletionReason::Empty => "there is nothing to resume in it".to_owned(),
        }
    }
}

/// Returns the time since which a file is resumable. Gemini CLI uses the time of loading if it is
/// missing.
fn resumable_since(file: &CleanupFile<'_>, now: Timestamp) -> Option<Timestamp> {
    let session = file.session.filter(|session| session.is_offered);
    match session {
        _ if file.is_fresh => Some(now),
        Some(session) => Some(session.updated.unwrap_or(now)),
        None => None,
    }
}
