//! Describes what Claude Code does with existing files: it deletes old ones and resumes sessions.

mod cleanup;
mod restore;
mod settings;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Claude, desktop, paths};
use crate::agent::lifecycle::{
    ArchivedSession, Cleanup, CleanupFolder, DeletionReason, FileRole, Freshening, Lifecycle,
    Refusal, RestorePlan, RestoreTarget, ResumeCommand, SyncHook,
};
use crate::assemble::SessionFacts;
use crate::discover::Source;
use crate::env::Env;
use crate::id::is_uuid;

/// The environment variable that names Claude Code's folder.
const VARIABLE: &str = "CLAUDE_CONFIG_DIR";

impl Lifecycle for Claude {
    fn cleanup(&self, folder: &CleanupFolder<'_>, _env: &Env, now: Timestamp) -> Option<Cleanup> {
        if desktop::is_inside(folder.folder) {
            return None;
        }
        let root = folder.folder.parent().and_then(Path::parent)?;
        let (period, policy) = settings::decide(root, folder.project);
        let deletions = period.map(|period| cleanup::plan(folder, period, now));
        Some(Cleanup { policy, deletions: deletions.unwrap_or_default() })
    }

    fn sync_hook(&self, root: &Path, _env: &Env) -> Option<SyncHook> {
        // The folder of another agent has no `projects`.
        let is_ours = root.ends_with(".claude") || root.join("projects").is_dir();
        let file = root.join(settings::NAME);
        is_ours.then_some(SyncHook { file, settings: settings::HOOK })
    }

    fn usual_root(&self, env: &Env) -> Option<PathBuf> {
        paths::usual_root(env)
    }

    fn session_parents(&self, env: &Env, roots: &[PathBuf]) -> Vec<PathBuf> {
        let below = roots.iter().flat_map(|root| [root.clone(), root.join(".claude")]);
        let below = below.map(|root| root.join(paths::PROJECTS));
        paths::project_parents(env).into_iter().chain(below).collect()
    }

    fn plan_restore(
        &self,
        session: &ArchivedSession<'_>,
        target: &RestoreTarget<'_>,
    ) -> Result<RestorePlan, Refusal> {
        restore::plan(session, target)
    }

    /// Claude Code judges the age of a session by its file, which nothing needs to be added to.
    fn freshen(
        &self,
        _session: &SessionFacts,
        _source: &Source,
        _now: Timestamp,
    ) -> Result<Option<Freshening>, &'static str> {
        Ok(Some(Freshening::Time))
    }

    fn resume(&self, id: &str, plan: &RestorePlan, env: &Env) -> Result<ResumeCommand, String> {
        let root = plan.root.as_deref();
        let root = root.filter(|root| plan.folder.parent() == Some(&root.join(paths::PROJECTS)));
        let root = root.ok_or("is not in a `projects` folder")?;
        // The program finds a session by the name of its file.
        let main = plan.files.iter().find(|file| file.role == FileRole::Session);
        let named = main.map(|main| paths::stem(&main.path)).filter(|name| is_uuid(name));
        let id = named.unwrap_or_else(|| id.to_owned());
        let is_usual = paths::usual_root(env).is_some_and(|usual| usual == root);
        Ok(ResumeCommand {
            program: "claude",
            arguments: vec!["--resume".to_owned(), id],
            variables: if is_usual { Vec::new() } else { vec![(VARIABLE, root.to_owned())] },
            install: "npm install -g @anthropic-ai/claude-code",
        })
    }

    fn advice(&self, _why: &DeletionReason) -> String {
        "raise `cleanupPeriodDays` in its settings".to_owned()
    }
}
