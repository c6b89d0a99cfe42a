//! Exports rows instead of conversations: calls, tools or sessions, for spreadsheets and scripts.

use std::ffi::OsStr;
use std::io::{self, Write};

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::model::{Message, Session};
use backstory_core::query::Filter;
use backstory_core::query::calls::calls;
use backstory_core::query::usage::Costs;
use backstory_core::transcript::key_argument;

use super::target::put;
use super::{Export, Format, Rows, csv};
use crate::commands::redact::Censor;
use crate::commands::{counted, exit_code, note_faults, open_session, wanted_sessions};
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::library::Library;
use crate::output::Printer;

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    format: Format,
    session: Option<&OsStr>,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let (library, one) = if let Some(session) = session {
        let (library, assembled) = open_session(ctx, printer, session)?;
        (library, Some(assembled.session.id))
    } else {
        (Library::open(ctx, printer, &args.filters.project)?, None)
    };
    let mut filter = args.filters.filter(ctx, &library.all)?;
    // Sessions without any conversation may still have calls.
    filter.all = true;
    let ids = if let Some(id) = one {
        vec![id]
    } else {
        let wanted = wanted_sessions(&library.all, &filter, &[]);
        counted(&library.all, wanted.as_ref(), &[])
    };
    let sheet = Sheet {
        format,
        rows: args.rows,
        library: &library,
        costs: library.costs()?,
        filter: &filter,
        censor,
    };
    put(ctx, printer, args, censor, |out| {
        sheet.head(out)?;
        library.each(&ids, |assembled| sheet.session(&assembled, out))
    })?;
    note_faults(printer, &library);
    Ok(exit_code(ctx, &library))
}

struct Sheet<'a, 'r> {
    format: Format,
    rows: Rows,
    library: &'a Library,
    costs: Costs,
    filter: &'a Filter,
    censor: &'a Censor<'r>,
}

impl Sheet<'_, '_> {
    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = match self.rows {
            _ if self.format != Format::Csv => return Ok(()),
            Rows::Calls => csv::CALLS,
            Rows::Tools => csv::TOOLS,
            Rows::Sessions => &csv::sessions(),
        };
        writeln!(out, "{}", columns.join(","))
    }

    fn session(&self, assembled: &SessionFacts, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == Rows::Sessions {
            if !self.filter.takes(&assembled.session) {
                return Ok(());
            }
            let mut session = assembled.session.clone();
            self.censor.clean(&mut session, &mut []);
            let cost = self.costs.of(&session.id);
            return writeln!(out, "{}", csv::session(&session, cost));
        }
        let Library { archive, prices, .. } = self.library;
        let mut messages = archive.reader().transcript(assembled, View::Full, &|_| None)?;
        let mut session = assembled.session.clone();
        self.censor.clean(&mut session, &mut messages);
        match self.rows {
            Rows::Tools => self.tools(&session, &messages, out),
            _ => calls(
                archive.agents(),
                assembled,
                &messages,
                prices,
                self.filter,
                &mut |mut row| {
                    session.project.key().clone_into(&mut row.project);
                    if self.format == Format::Csv {
                        return writeln!(out, "{}", csv::call(&row));
                    }
                    serde_json::to_writer(&mut *out, &row)?;
                    out.write_all(b"\n")
                },
            ),
        }
    }

    fn tools(
        &self,
        session: &Session,
        messages: &[Message],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for message in messages {
            for call in &message.tool_calls {
                let at = call.at.or(message.at).or(session.started);
                if !self.filter.takes_call(at, message.model.as_deref()) {
                    continue;
                }
                let argument = call.args.as_deref().and_then(key_argument);
                let argument = argument.unwrap_or_default();
                writeln!(out, "{}", csv::tool(session, message, call, at, &argument))?;
            }
        }
        Ok(())
    }
}
