use std::ffi::{OsStr, OsString};

use backstory_core::collection::{Collection, LookupError};
use backstory_core::model::SessionId;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{Library, cannot_open};
use crate::output::Printer;

const NAME_EXAMPLES: &str = "\
Examples:
  backstory name latest \"the login fix\"   give it a name
  backstory show \"the login fix\"          and find it by that name
  backstory name latest --clear           go back to its own title";

/// Give a session a name of your own
#[derive(Debug, clap::Args)]
#[command(after_help = NAME_EXAMPLES)]
pub(crate) struct Name {
    /// The session: its id or a prefix of it, `latest`, `@N`, its name, or a file name [default: choose one in
    /// the terminal]
    session: Option<OsString>,

    /// The new name [default: asked for]
    #[arg(value_name = "NAME")]
    text: Option<String>,

    /// Remove the name
    #[arg(long, conflicts_with = "text")]
    clear: bool,
}

/// Add tags to a session
///
/// `backstory sessions --tag TAG` lists the sessions with a tag.
#[derive(Debug, clap::Args)]
pub(crate) struct Tag {
    /// The session [default: choose one in the terminal]
    session: Option<OsString>,

    /// The tags [default: asked for]
    #[arg(value_name = "TAG")]
    tags: Vec<String>,
}

/// Remove tags from a session
#[derive(Debug, clap::Args)]
pub(crate) struct Untag {
    /// The session
    session: OsString,

    /// The tags
    #[arg(required = true, value_name = "TAG")]
    tags: Vec<String>,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Name) -> Result<Exit> {
    let session = given(ctx, printer, args.session.as_deref())?;
    let text = match &args.text {
        None if !args.clear => Some(answer(printer, "Its new name")?),
        given => given.clone(),
    };
    let (mut library, id) = named(ctx, printer, &session)?;
    let name = text.as_deref().map(str::trim);
    if name.is_some_and(str::is_empty) {
        return Err(Failure::new("a name cannot be empty").hint("`--clear` removes the name"));
    }
    if let Some(name) = name {
        check_free(&library.all, &id, name)?;
    }
    library.archive.set_name(&id, name, ctx.now).map_err(cannot_open)?;
    match name {
        Some(name) => printer.note(format!("Session `{id}` is now called `{name}`.")),
        None => printer.note(format!("Removed the name of session `{id}`.")),
    }
    document(ctx, printer, &library, &id)?;
    Ok(Exit::Success)
}

pub(super) fn tag(ctx: &Context, printer: &mut Printer, args: &Tag) -> Result<Exit> {
    let session = given(ctx, printer, args.session.as_deref())?;
    let tags = if args.tags.is_empty() {
        answer(printer, "Its tags")?.split_whitespace().map(str::to_owned).collect()
    } else {
        args.tags.clone()
    };
    let (mut library, id) = named(ctx, printer, &session)?;
    for tag in check_tags(&tags)? {
        library.archive.add_tag(&id, tag, ctx.now).map_err(cannot_open)?;
    }
    let tags = document(ctx, printer, &library, &id)?;
    printer.note(format!("Tags of session `{id}`: {}.", tags.join(", ")));
    Ok(Exit::Success)
}

pub(super) fn untag(ctx: &Context, printer: &mut Printer, args: &Untag) -> Result<Exit> {
    let (mut library, id) = named(ctx, printer, &args.session)?;
    let mut exit = Exit::Success;
    for tag in check_tags(&args.tags)? {
        if !library.archive.remove_tag(&id, tag, ctx.now).map_err(cannot_open)? {
            printer.warn(format!("session `{id}` has no tag `{tag}`"));
            exit = Exit::NoMatch;
        }
    }
    document(ctx, printer, &library, &id)?;
    Ok(exit)
}

/// Returns the given session or the one that the user chooses.
fn given(ctx: &Context, printer: &mut Printer, session: Option<&OsStr>) -> Result<OsString> {
    let session = super::given_or_chosen(ctx, printer, session)?;
    session.ok_or_else(|| {
        Failure::new("no session was named").hint("name one: its id, `latest`, `@N`, or a file")
    })
}

/// Asks the user for words.
fn answer(printer: &mut Printer, question: &str) -> Result<String> {
    let answer = printer.question(question)?;
    answer.ok_or_else(|| {
        Failure::new(format!("{}?", question.to_lowercase())).hint("add it to the command")
    })
}

/// Refuses a name that already identifies something, because a name must find its session.
pub(super) fn check_free(all: &Collection, id: &str, name: &str) -> Result<()> {
    let number = name.strip_prefix('@').and_then(|number| number.parse::<usize>().ok());
    if name == "latest" || number.is_some() {
        return Err(Failure::new(format!("`{name}` cannot be a name"))
            .hint("`latest` and `@N` name sessions by their position in the list"));
    }
    let other = match all.find(name) {
        Ok(session) if session.id == id => return Ok(()),
        Ok(session) => format!("session `{}`", session.id),
        Err(LookupError::Several { .. }) => "several sessions".to_owned(),
        Err(LookupError::None(_)) => return Ok(()),
    };
    Err(Failure::new(format!("`{name}` already means {other}")).hint("choose another name"))
}

/// Returns the tags without surrounding blanks; each must be one word.
pub(super) fn check_tags(tags: &[String]) -> Result<Vec<&str>> {
    let bad = |tag: &&str| tag.is_empty() || tag.contains(|c: char| c.is_whitespace() || c == ',');
    let tags: Vec<&str> = tags.iter().map(|tag| tag.trim()).collect();
    match tags.iter().find(|tag| bad(tag)) {
        Some(tag) => Err(Failure::new(format!("`{tag}` cannot be a tag"))
            .hint("a tag is one word, without spaces or commas")),
        None => Ok(tags),
    }
}

/// `backstory.annotations/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    session: &'a str,
    name: Option<&'a str>,
    tags: &'a [String],
}

/// Prints the session's name and tags for programs, and returns its tags.
fn document(
    ctx: &Context,
    printer: &mut Printer,
    library: &Library,
    id: &str,
) -> Result<Vec<String>> {
    let sessions = library.archive.session_list().map_err(cannot_open)?;
    let session = sessions.into_iter().find(|session| session.id == id);
    let (name, tags) = session.map(|session| (session.name, session.tags)).unwrap_or_default();
    if ctx.json {
        printer.json(&Document {
            schema: "backstory.annotations/1",
            session: id,
            name: name.as_deref(),
            tags: &tags,
        })?;
    }
    Ok(tags)
}

/// Opens the named session in the persistent archive.
fn named(ctx: &Context, printer: &mut Printer, session: &OsString) -> Result<(Library, SessionId)> {
    let path = super::archive::path(ctx)?;
    let (library, assembled) = super::open_session(ctx, printer, session)?;
    if library.archive.path().is_none() || library.archive.is_read_only() {
        return Err(super::sync::not_writable(ctx, &path));
    }
    Ok((library, assembled.session.id))
}
