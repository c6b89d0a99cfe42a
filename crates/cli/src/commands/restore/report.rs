//! Reports what was restored, and what the agent will do with it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use backstory_core::agent::lifecycle::{
    Cleanup, CleanupFile, CleanupFolder, Content, Deletion, DeletionReason, FileRole, Freshening,
};
use backstory_core::archive::FileRow;
use backstory_core::discover::Source;
use backstory_core::time::Time;
use serde::Serialize;

use super::prepared::{Prepared, WriteOptions};
use super::write::Done;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Column, Printer, Table};

/// `backstory.restore/1`
#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) schema: &'static str,
    pub(super) session: Option<&'a str>,
    pub(super) project: Option<&'a str>,
    pub(super) dry_run: bool,
    pub(super) files: Vec<FileDocument>,
    pub(super) left: Vec<LeftDocument>,
    /// Why the agent will delete it again at its next start; null if it will not.
    pub(super) deleted_again: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct FileDocument {
    pub(super) path: String,
    pub(super) what: &'static str,
    pub(super) done: &'static str,
    pub(super) bytes: Option<u64>,
    pub(super) modified: Option<Time>,
}

#[derive(Serialize)]
pub(super) struct LeftDocument {
    path: String,
    why: &'static str,
}

impl Prepared {
    /// Prints what was done, and warns if the agent will undo it.
    pub(super) fn report(
        &self,
        ctx: &Context,
        printer: &mut Printer,
        done: &[Done],
        options: WriteOptions,
    ) -> Result<()> {
        let WriteOptions { fresh, dry_run } = options;
        let again = self.deleted_again(ctx, fresh);
        if ctx.json {
            let left = self.plan.left.iter();
            printer.json(&Document {
                schema: "backstory.restore/1",
                session: Some(&self.assembled.session.id),
                project: self.plan.project.as_deref(),
                dry_run,
                files: done.iter().map(Done::document).collect(),
                left: left
                    .map(|left| LeftDocument {
                        path: left.source.path.display().to_string(),
                        why: left.why.name(),
                    })
                    .collect(),
                deleted_again: again.as_ref().map(|(_, again)| reason(&again.why)),
            })?;
        } else {
            print(ctx, printer, done)?;
        }
        if let Some(project) = self.plan.project.as_deref().filter(|path| !Path::new(path).is_dir())
        {
            let project = ctx.show(Path::new(project));
            printer.note(format!(
                "The project's folder `{project}` does not exist; `--project DIR` names its new location."
            ));
        }
        match self.freshening(ctx) {
            Ok(Some(Freshening::Line(_))) if fresh && !dry_run => {
                printer.note("One line was added to make it recent.");
            }
            Ok(None) if fresh => {
                let agent = self.agent.name();
                printer.note(format!(
                    "{agent} deletes no sessions for their age: `--fresh` changes nothing."
                ));
            }
            _ => {}
        }
        if let Some((occasion, again)) = again {
            self.warn_again(ctx, printer, occasion, &again);
        }
        Ok(())
    }

    /// Returns the deletion that the agent would perform at once, and the occasion.
    fn deleted_again(&self, ctx: &Context, fresh: bool) -> Option<(&'static str, Deletion)> {
        let main = self.main()?;
        let number = |source: &Source| source.archived.as_ref().map(|archived| archived.number);
        let rows: HashMap<Option<i64>, &FileRow> =
            self.rows.iter().map(|row| (number(&row.source), row)).collect();
        let mut files: BTreeMap<&Path, CleanupFile<'_>> = BTreeMap::new();
        for file in &self.plan.files {
            let Content::Source(source) = &file.content else { continue };
            let Some(row) = rows.get(&number(source)) else { continue };
            let is_fresh = fresh && file.role == FileRole::Session;
            let is_new = !(source.is_live() && source.path == file.path);
            let is_now = fresh || (is_new && !self.plan.keeps_times);
            let modified = if is_now { Some(ctx.now.into()) } else { source.modified };
            let seen = CleanupFile::new(&file.path, &row.about.contents, modified);
            files.entry(&file.path).or_insert(CleanupFile { is_fresh, ..seen });
        }
        for row in self.rows.iter().filter(|row| row.source.is_live()) {
            let source = &row.source;
            let seen = CleanupFile::new(&source.path, &row.about.contents, source.modified);
            files.entry(&row.source.path).or_insert(seen);
        }
        let folder = CleanupFolder {
            folder: &self.plan.folder,
            project: self.plan.project.as_deref().map(Path::new),
            files: files.into_values().collect(),
        };
        let planned = self
            .plan
            .files
            .iter()
            .find(|file| matches!(&file.content, Content::Source(source) if source == main))?;
        let Cleanup { policy, deletions } = self.lifecycle.cleanup(&folder, &ctx.env, ctx.now)?;
        let again = deletions.into_iter().find(|d| d.path == planned.path && d.at.is_none())?;
        Some((policy.occasion, again))
    }

    fn warn_again(&self, ctx: &Context, printer: &mut Printer, occasion: &str, again: &Deletion) {
        let what = format!("{} will delete it again {occasion}", self.agent.name());
        let advice = self.lifecycle.advice(&again.why);
        match &again.why {
            DeletionReason::Age if matches!(self.freshening(ctx), Ok(Some(_))) => {
                printer.warn(format!("{what}, because of its age: `--fresh` prevents that"));
            }
            DeletionReason::Age => printer.warn(format!("{what}, because of its age: {advice}")),
            DeletionReason::Count => {
                printer.warn(format!("{what}, because there are newer ones: {advice}"));
            }
            DeletionReason::SharesId(other) | DeletionReason::Session(other) => {
                printer.warn(format!("{what}, because of `{}`: {advice}", ctx.show(other)));
            }
            DeletionReason::Empty => printer.warn(format!("{what}: {advice}")),
        }
    }
}

fn reason(why: &DeletionReason) -> &'static str {
    match why {
        DeletionReason::Age => "age",
        DeletionReason::Count => "count",
        DeletionReason::Empty => "corrupt",
        DeletionReason::SharesId(_) => "shares_id",
        DeletionReason::Session(_) => "session",
    }
}

pub(super) fn print(ctx: &Context, printer: &mut Printer, done: &[Done]) -> Result<()> {
    let mut table = Table::new([Column::text(""), Column::text("").spare(1), Column::path("")]);
    for file in done {
        table.row([file.how.name().into(), file.role.name().into(), ctx.show(&file.path).into()]);
    }
    Ok(printer.table(&table)?)
}
