//! One session: its facts, its prompts, a map of its turns, and the messages around one place.
//!
//! A page has a few hundred messages; the script asks for the next ones before the reader gets there, and
//! links lead there without it.

mod head;
mod story;

use std::sync::Arc;

use backstory_core::collection::Collection;
use backstory_core::content::View as Read;
use backstory_core::model::Message;
use backstory_core::{Session, SessionFacts};
use maud::html;

use self::story::{Story, View};
use crate::app::Ask;
use crate::assets;
use crate::layout::{Frame, frame};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::words::{session_path, title};

/// A session with its messages.
struct Reading<'a> {
    session: &'a Session,
    /// All messages, with their text.
    messages: Arc<Vec<Message>>,
    view: View,
}

impl<'a> Reading<'a> {
    fn new(ask: &'a Ask<'_>) -> Result<Self, Problem> {
        let session = ask.session()?;
        let view = View::named(ask.query.get("view").unwrap_or("full"))?;
        let messages = ask.snapshot.memo.messages(&session.id, || messages(ask, session))?;
        Ok(Self { session, messages, view })
    }

    /// Returns an address of this session in this view.
    fn link(&self, name: &str, value: &str) -> String {
        let view = (self.view != View::Full).then(|| self.view.name());
        Query::default()
            .with("view", view)
            .with(name, Some(value))
            .address(&session_path(self.session))
    }
}

/// Reads all messages of a session.
fn messages(ask: &Ask<'_>, session: &Session) -> Result<Vec<Message>, Problem> {
    let facts: SessionFacts = ask
        .archive
        .assembled(&session.id)?
        .ok_or_else(|| Problem::not_found("The session no longer exists."))?;
    let agents = |agent: &str| ask.all().agent_session(agent);
    let mut messages =
        ask.archive.reader().transcript(&facts, Read::Full, &agents).map_err(|error| {
            Problem::new(
                axum::http::StatusCode::INTERNAL_SERVER_ERROR,
                format!("The session cannot be read: {error}"),
            )
            .hint("Was its file deleted just now?")
        })?;
    ask.all().tie_agents(session, &mut messages);
    Ok(messages)
}

/// Shows a session.
pub(crate) fn session(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let reading = Reading::new(ask)?;
    // A message named by its id is one of the full history.
    if let Some(id) = ask.query.get("message") {
        let place = reading.messages.iter().position(|message| message.id == id).unwrap_or(0);
        let query = ask.query.only(&["find", "view"]).with("at", Some(&place.to_string()));
        return Ok(Reply::See(format!(
            "{}#m{place}",
            query.address(&session_path(reading.session))
        )));
    }
    let story = Story::new(ask, &reading);
    let at = ask.query.get("at").and_then(|at| at.parse().ok());
    let window = story.around(at);
    let body = html! {
        (head::side(ask, &reading))
        div.reading {
            (head::header(ask, &reading)?)
            section id="story" aria-label="Conversation" data-session=(reading.session.id) data-part=(reading.link("part", "1").replacen('?', "/part?", 1)) data-count=(reading.messages.len()) {
                (story.write(window)?)
            }
            p.new-turns hidden { button type="button" {} }
        }
    };
    let name = title(reading.session);
    let page = Frame {
        title: &name,
        section: "/sessions",
        scope: None,
        class: "session",
        script: Some(assets::session_script()),
        body,
    };
    Ok(frame(ask, page))
}

/// Returns messages of a session, and what has changed of the page around them.
pub(crate) fn session_part(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let reading = Reading::new(ask)?;
    let story = Story::new(ask, &reading);
    let number = |name: &str| ask.query.get(name).and_then(|value| value.parse().ok());
    let window = match (number("from"), number("to")) {
        (Some(from), _) => story.after(from),
        (None, Some(to)) => story.before(to),
        (None, None) => story.around(None),
    };
    Ok(Reply::Html(
        html! { section id="story" data-count=(reading.messages.len()) { (story.write(window)?) } @if ask.query.get("live").is_some() { (head::side(ask, &reading)) (head::header(ask, &reading)?) } },
    ))
}

/// Exports a session, without secrets.
pub(crate) fn export(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let session = ask.session()?;
    let format = ask.path.get(4).map_or("", String::as_str);
    let (kind, ending) = match format {
        "markdown" => ("text/markdown; charset=utf-8", "md"),
        "html" => ("text/html; charset=utf-8", "html"),
        "json" => ("application/json", "json"),
        other => return Err(Problem::not_found(format!("There is no format `{other}`."))),
    };
    let arguments = [("session", session.id.as_str()), ("format", format)];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let body = ask.app.site.program.run("export", &arguments, false)?;
    let name: String = title(session).chars().take(60).collect();
    Ok(Reply::Data { kind, body, save_as: Some(format!("{name}.{ending}")) })
}

/// Names a session, or removes its name.
pub(crate) fn name(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let session = ask.session()?;
    let mut arguments = vec![("session".to_owned(), session.id.to_string())];
    match ask.query.get("name").map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => arguments.push(("text".to_owned(), name.to_owned())),
        None => arguments.push(("clear".to_owned(), String::new())),
    }
    ask.app.site.program.run("name", &arguments, true)?;
    publish(ask)?;
    Ok(Reply::See(session_path(session)))
}

/// Replaces the tags of a session.
pub(crate) fn tags(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let session = ask.session()?;
    let wanted: Vec<&str> = ask
        .query
        .get("tags")
        .unwrap_or_default()
        .split([' ', ','])
        .filter(|tag| !tag.is_empty())
        .collect();
    let change = |command: &str, tags: Vec<&str>| -> Result<(), Problem> {
        if tags.is_empty() {
            return Ok(());
        }
        let mut arguments = vec![("session".to_owned(), session.id.to_string())];
        arguments.extend(tags.into_iter().map(|tag| ("tags".to_owned(), tag.to_owned())));
        ask.app.site.program.run(command, &arguments, true)?;
        Ok(())
    };
    let is_known = |tag: &&str| session.tags.iter().any(|known| known == tag);
    change("tag", wanted.iter().copied().filter(|tag| !is_known(tag)).collect())?;
    change(
        "untag",
        session.tags.iter().map(String::as_str).filter(|tag| !wanted.contains(tag)).collect(),
    )?;
    publish(ask)?;
    Ok(Reply::See(session_path(session)))
}

fn publish(ask: &Ask<'_>) -> Result<(), Problem> {
    let feed = &ask.app.feed;
    let (version, found) = (feed.version(), feed.now().all.found.clone());
    let all = Collection::new(ask.archive, found)?;
    Ok(feed.publish(ask.archive, &ask.app.site.prices, version, all)?)
}
