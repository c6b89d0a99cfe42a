//! Rows instead of conversations: calls, tools or sessions, for spreadsheets and scripts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};

use backstory_core::agent::gemini::{self, Assembled, View};
use backstory_core::collection::session_cost;
use backstory_core::model::Message;
use backstory_core::pricing::Table;
use backstory_core::query::Filter;
use backstory_core::query::calls::calls;
use backstory_core::transcript::key_argument;

use super::target::put;
use super::{Export, Format, Rows, csv};
use crate::commands::{self, is_counted, open_session, strictly, tell_faults, wanted_sessions};
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::Printer;

pub(super) fn run(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    session: Option<&OsStr>,
) -> Result<Exit> {
    let prices = commands::prices(ctx)?;
    let mut filter = args.filters.filter(ctx)?;
    // Also sessions in which nothing was said may have calls.
    filter.all = true;
    let (all, chosen) = if let Some(session) = session {
        let (all, found) = open_session(ctx, printer, session)?;
        let id = all.sessions[found].session.id.clone();
        (all, Some(BTreeSet::from([id])))
    } else {
        let all = commands::collect(ctx, printer, &args.filters.project);
        let wanted = wanted_sessions(&all, &filter, &[]);
        (all, wanted)
    };
    let sessions = all.sessions.iter().filter(|s| is_counted(s, chosen.as_ref(), &[]));
    let sheet = Sheet { format: args.format, rows: args.rows, prices: &prices, filter: &filter };
    put(ctx, printer, args.output.as_deref(), args.force, |out| {
        sheet.head(out)?;
        sessions.into_iter().try_for_each(|assembled| sheet.session(assembled, out))
    })?;
    tell_faults(printer, &all);
    Ok(strictly(ctx, &all))
}

struct Sheet<'a> {
    format: Format,
    rows: Rows,
    prices: &'a Table,
    filter: &'a Filter,
}

impl Sheet<'_> {
    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = match self.rows {
            _ if self.format != Format::Csv => return Ok(()),
            Rows::Calls => csv::CALLS,
            Rows::Tools => csv::TOOLS,
            Rows::Sessions => csv::SESSIONS,
        };
        writeln!(out, "{}", columns.join(","))
    }

    fn session(&self, assembled: &Assembled, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == Rows::Sessions {
            if !self.filter.takes(assembled) {
                return Ok(());
            }
            let cost = session_cost(assembled, self.prices);
            return writeln!(out, "{}", csv::session(&assembled.session, cost));
        }
        let messages = gemini::transcript(assembled, View::Full, &|_| None)?;
        match self.rows {
            Rows::Tools => self.tools(assembled, &messages, out),
            _ => calls(assembled, &messages, self.prices, self.filter, &mut |row| {
                if self.format == Format::Csv {
                    return writeln!(out, "{}", csv::call(&row));
                }
                serde_json::to_writer(&mut *out, &row)?;
                out.write_all(b"\n")
            }),
        }
    }

    fn tools(
        &self,
        assembled: &Assembled,
        messages: &[Message],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let session = &assembled.session;
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
