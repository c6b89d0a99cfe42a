use anstyle::Style;
use backstory_core::content::View;
use backstory_core::export::json::Time;
use backstory_core::model::{MessageId, MessageKind, Session, SessionId};
use backstory_core::number::date;
use backstory_core::redact::{Count, Redactor};
use jiff::Timestamp;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::number::{count, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory secrets                every session that contains a secret
  backstory secrets --since 30d -p .
  backstory secrets --json | jq -r '.sessions[] | [.session, .messages[].message] | @tsv'

`backstory forget SESSION` removes a session from the archive. The agent's own file keeps the secret until you
delete it, and a secret that was in a session should be replaced.";

/// List the sessions that contain secrets, by kind
///
/// Searches every text of every session with the redaction rules of `export`, and names the messages that contain a
/// secret. No secret is printed, nor any part of one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Secrets {
    #[command(flatten)]
    filters: Filters,

    /// Only sessions of these kinds
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// `backstory.secrets/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    sessions: Vec<RowOut<'a>>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    session: &'a str,
    project: &'a str,
    title: String,
    state: &'static str,
    /// The number of places, and of different secrets.
    found: u64,
    distinct: u64,
    kinds: Vec<KindOut<'a>>,
    messages: Vec<PlaceOut<'a>>,
}

/// A message that contains secrets.
#[derive(Serialize)]
struct PlaceOut<'a> {
    message: &'a str,
    at: Option<Time>,
    role: &'static str,
    kind: &'static str,
    found: u64,
}

#[derive(Serialize)]
struct KindOut<'a> {
    kind: &'a str,
    found: u64,
    distinct: u64,
}

/// A session, redacted, and the secrets that it contained.
struct Holder {
    session: Session,
    counts: Vec<Count>,
    places: Vec<Place>,
}

/// A message, and the number of places in it that contain a secret.
struct Place {
    message: MessageId,
    at: Option<Timestamp>,
    kind: MessageKind,
    found: u64,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Secrets) -> Result<Exit> {
    super::require_given(ctx)?;
    let rules = super::redact::rules(ctx)?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let all = &library.all;
    let mut filter = args.filters.filter(ctx, all)?;
    filter.kinds = args.kind.iter().map(|kind| (*kind).into()).collect();
    filter.all = true;
    let chosen: Vec<&Session> = all.sessions.iter().filter(|s| filter.takes(s)).collect();
    let ids: Vec<SessionId> = chosen.iter().map(|session| session.id.clone()).collect();
    let progress = printer.counter(("searching", "sessions"), ids.len());
    let mut holders: Vec<Holder> = Vec::new();
    library
        .each(&ids, |mut assembled| {
            progress.tick();
            let mut redactor = Redactor::new(&rules);
            let read = library.archive.reader().transcript(&assembled, View::Full, &|_| None);
            let mut messages = read?;
            for message in &messages {
                redactor.message(&mut message.clone());
            }
            if redactor.counts().is_empty() {
                return Ok(());
            }
            // A secret may occur before the words that give it away.
            redactor.learn();
            let mut places = Vec::new();
            let mut before = 0;
            for message in &mut messages {
                redactor.message(message);
                let after = total(&redactor.counts());
                if after > before {
                    let (message, at, kind) = (message.id.clone(), message.at, message.kind);
                    places.push(Place { message, at, kind, found: after - before });
                }
                before = after;
            }
            // Counted are messages; the title repeats one of them.
            let counts = redactor.counts();
            redactor.session(&mut assembled.session);
            holders.push(Holder { session: assembled.session, counts, places });
            Ok(())
        })
        .map_err(|error| Failure::new("cannot read the sessions").because(error))?;
    drop(progress);
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.session.updated));
    let format = args.format.or_json(ctx.json);
    let out = || holders.iter().map(row);
    match format {
        Format::Json => {
            let sessions = out().collect();
            printer.json(&Document { schema: "backstory.secrets/1", sessions })?;
        }
        Format::Jsonl => printer.json_lines(out())?,
        _ if ids.is_empty() => {
            return Err(super::nothing(ctx, all, &args.filters, "no sessions match"));
        }
        Format::Table if holders.is_empty() => {
            let searched = plural(ids.len() as u64, "session", "sessions");
            printer.prose(Style::new(), &format!("No secrets were found in {searched}."))?;
        }
        _ => printer.rows(&table(ctx, &library, &holders, format == Format::Table), format)?,
    }
    super::note_faults(printer, &library);
    Ok(if holders.is_empty() { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

fn row(holder: &Holder) -> RowOut<'_> {
    let Holder { session, counts, places } = holder;
    RowOut {
        session: &session.id,
        project: session.project.key(),
        title: session.title().0,
        state: session.state.name(),
        found: total(counts),
        distinct: counts.iter().map(|count| count.distinct).sum(),
        kinds: counts.iter().map(kind).collect(),
        messages: places.iter().map(place).collect(),
    }
}

/// Returns the number of places.
fn total(counts: &[Count]) -> u64 {
    counts.iter().map(|count| count.found).sum()
}

fn place(place: &Place) -> PlaceOut<'_> {
    let Place { message, at, kind, found } = place;
    let (role, kind) = (kind.role().name(), kind.name());
    PlaceOut { message, at: at.map(Time), role, kind, found: *found }
}

/// Names the first message that contains a secret, by its time, and the number of others.
fn first(ctx: &Context, places: &[Place]) -> String {
    let Some((first, others)) = places.split_first() else { return String::new() };
    let at = first.at.map_or_else(String::new, |at| format!(" {}", date(at, &ctx.zone)));
    let more =
        if others.is_empty() { String::new() } else { format!(" +{}", count(others.len() as u64)) };
    format!("{}{at}{more}", first.kind.name().replace('_', " "))
}

fn kind(count: &Count) -> KindOut<'_> {
    KindOut { kind: &count.kind, found: count.found, distinct: count.distinct }
}

fn table(ctx: &Context, library: &Library, holders: &[Holder], for_people: bool) -> Rows {
    let [session, updated, project, secrets, messages, title] = if for_people {
        ["SESSION", "UPDATED", "PROJECT", "SECRETS", "IN", "TITLE"]
    } else {
        ["session", "updated", "project", "secrets", "messages", "title"]
    };
    let mut out = Rows::new([
        Column::text(session),
        Column::text(updated).spare(3),
        Column::text(project).spare(4),
        Column::long(secrets),
        Column::text(messages).spare(2),
        Column::long(title).spare(1),
    ]);
    for Holder { session, counts, places } in holders {
        let kinds = counts.iter().map(|count_of| match count_of.distinct {
            1 => count_of.kind.clone(),
            many => format!("{} × {}", count(many), count_of.kind),
        });
        let kinds = Cell::styled(style::WARNING, kinds.collect::<Vec<_>>().join(", "));
        let short = library.all.get(&session.id).map(|session| library.all.short(session));
        let (id, updated) = if for_people {
            (short.unwrap_or_default(), Cell::age(session.updated, ctx.now))
        } else {
            let updated = session.updated.map(crate::output::number::json_time);
            (session.id.to_string(), updated.unwrap_or_default().into())
        };
        let messages = if for_people {
            first(ctx, places)
        } else {
            places.iter().map(|place| place.message.as_str()).collect::<Vec<_>>().join(" ")
        };
        out.row([
            Cell::styled(style::NAME, id),
            updated,
            session.project.name.as_str().into(),
            kinds,
            messages.into(),
            session.title().0.into(),
        ]);
    }
    out
}
