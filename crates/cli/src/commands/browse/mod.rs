//! The terminal browser.
//!
//! `state` is the content of the screen. Events change it (`typing`, `navigate`, `action`, `answer`) and leave questions,
//! which `worker` answers from the archive on a thread of its own. `draw` paints it, and `screen` writes what changed.
//! `keys` is the table of all keys.

mod action;
mod answer;
mod ask;
mod canvas;
mod draw;
mod draw_lists;
mod field;
mod input;
mod keys;
mod navigate;
mod overlay;
mod page;
mod reading;
mod rows;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod typing;
mod worker;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anstream::ColorChoice;
use backstory_core::agent::Agents;
use crossterm::event::{self, Event as Input, MouseButton, MouseEventKind};

use self::ask::{Answer, Ask};
use self::canvas::Canvas;
use self::screen::Screen;
use self::state::App;
pub(super) use self::state::{Mode, Outcome};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::interrupt;
use crate::last_search;
use crate::library::Library;
use crate::output::Printer;
use crate::watcher::Watcher;

const EXAMPLES: &str = "\
Examples:
  backstory browse              everything you ever did, newest first
  backstory browse tide feed    begin with a filter
  backstory browse @s3          begin at the third hit of the last search
  backstory --demo browse       look around in the sample sessions

Type to filter; Enter reads a session, Tab switches to commands: r resumes, e exports, n names,
1 to 4 are sessions, search, usage and what needs attention; ? explains all keys.";

/// Browse sessions, search and usage in the terminal
///
/// Lists all sessions with a preview, filters them as you type, and reads them; shows usage as charts, and
/// what needs attention. Updates itself while an agent works.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Browse {
    /// Words to filter the sessions by
    #[arg(value_name = "WORDS")]
    words: Vec<String>,

    /// Leave the mouse to the terminal
    #[arg(long)]
    no_mouse: bool,
}

const PICK_EXAMPLES: &str = "\
Examples:
  backstory show $(backstory pick)
  cd \"$(backstory pick --project-path)\"";

/// Choose a session in the terminal, and print its id
///
/// The list is drawn on standard error, so that the id can be used in a script. Leaving without a choice
/// exits with 130.
#[derive(Debug, clap::Args)]
#[command(after_help = PICK_EXAMPLES)]
pub(crate) struct Pick {
    /// Words to filter the sessions by
    #[arg(value_name = "WORDS")]
    words: Vec<String>,

    /// Print the path of the session's project instead
    #[arg(long)]
    project_path: bool,
}

/// The number of sessions that are read before the screen appears; the others follow.
const FIRST: usize = 200;

/// The interval at which ages are drawn again.
const MINUTE: Duration = Duration::from_secs(60);

/// The longest time that a key waits to be read after the screen is gone.
const POLL: Duration = Duration::from_millis(50);

/// Something that happened.
enum Event {
    Input(Input),
    Answer(Answer),
    /// Files have changed.
    Changed,
    /// The program was asked to end.
    End,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Browse) -> Result<Exit> {
    let mut library = Library::open_newest(ctx, printer, FIRST)?;
    let words = args.words.join(" ");
    let mut app = match last_search::recall(ctx, words.as_ref())? {
        Some(hit) => {
            let mut app = app(ctx, &library, Mode::Browse, "")?;
            app.open_hit(hit);
            app
        }
        None => app(ctx, &library, Mode::Browse, &words)?,
    };
    while let Outcome::Resume(id) = browse(ctx, library, &mut app, !args.no_mouse)? {
        let left = super::resume::run_and_return(ctx, printer, &id);
        app.returned(left.err());
        library = Library::open_newest(ctx, printer, FIRST)?;
    }
    Ok(Exit::Success)
}

pub(super) fn run_pick(ctx: &Context, printer: &mut Printer, args: &Pick) -> Result<Exit> {
    let library = Library::open_newest(ctx, printer, FIRST)?;
    let mut app = app(ctx, &library, Mode::Pick, &args.words.join(" "))?;
    let Outcome::Chosen(id) = browse(ctx, library, &mut app, false)? else {
        return Ok(Exit::Interrupted);
    };
    if !args.project_path {
        printer.line(id.as_str())?;
        return Ok(Exit::Success);
    }
    let chosen = app.rows.into_iter().find(|row| row.id == id);
    let path = chosen.and_then(|row| row.path);
    let path = path.ok_or_else(|| Failure::nothing("the project of this session is not known"))?;
    printer.line(path)?;
    Ok(Exit::Success)
}

/// Lets the user choose a session for a command that was not given one, if there is a terminal.
pub(super) fn choose(ctx: &Context, printer: &mut Printer) -> Result<Option<OsString>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(None);
    }
    let library = Library::open_newest(ctx, printer, FIRST)?;
    let mut app = app(ctx, &library, Mode::Pick, "")?;
    match browse(ctx, library, &mut app, false)? {
        Outcome::Chosen(id) => Ok(Some(id.as_str().into())),
        _ => Err(Failure::interrupted("no session was chosen")),
    }
}

/// Returns the state of a browser that lists the sessions of a library.
fn app(ctx: &Context, library: &Library, mode: Mode, words: &str) -> Result<App> {
    let here = ctx.cwd.as_ref().and_then(|cwd| cwd.to_str()).map(str::to_owned);
    let mut app = App::new(mode, worker::first_rows(library)?, ctx.clock(), here);
    app.follow_up = ctx.follow_up.clone();
    app.paste(words);
    Ok(app)
}

/// Runs the browser until the user leaves it.
fn browse(ctx: &Context, library: Library, app: &mut App, has_mouse: bool) -> Result<Outcome> {
    let (out, is_terminal): (Box<dyn Write>, bool) = match app.mode {
        Mode::Browse => (Box::new(io::stdout()), io::stdout().is_terminal()),
        Mode::Pick => (Box::new(io::stderr()), io::stderr().is_terminal()),
    };
    let is_dumb = ctx.env.var("TERM").is_some_and(|term| term == "dumb");
    if !is_terminal || !io::stdin().is_terminal() || is_dumb {
        return Err(Failure::new("the browser needs a terminal")
            .hint("`backstory sessions` and `backstory search` print to a pipe"));
    }
    let has_color = ctx.color != ColorChoice::Never;
    let cannot = |error: io::Error| Failure::new("cannot use the terminal").because(error);
    let (events, inbox) = mpsc::channel();
    let (asks, questions) = mpsc::channel();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut screen = Screen::enter(out, has_mouse).map_err(cannot)?;
        let is_over = &is_over;
        let _end = End(is_over);
        let answers = events.clone();
        scope.spawn(move || worker::run(ctx, library, &questions, &answers));
        let keys = events.clone();
        scope.spawn(move || read_input(&keys, is_over));
        watch(ctx, events);
        let outcome = run_loop(ctx, app, &mut screen, has_color, &inbox, &asks);
        drop(asks);
        drop(screen);
        outcome.map_err(cannot)
    })
}

/// Ends the reading of keys when it is dropped, even by a panic.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run_loop(
    ctx: &Context,
    app: &mut App,
    screen: &mut Screen,
    has_color: bool,
    inbox: &Receiver<Event>,
    asks: &Sender<Ask>,
) -> io::Result<Outcome> {
    loop {
        screen.draw(|buffer| draw::draw(app, &mut Canvas { buffer, has_color }))?;
        app.resized();
        for ask in app.take_asks() {
            // The worker only ends with this loop.
            let _ = asks.send(ask);
        }
        match inbox.recv_timeout(MINUTE) {
            Ok(event) => handle(app, event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::Quit),
        }
        // All that has arrived is drawn at once.
        for event in inbox.try_iter() {
            handle(app, event);
        }
        app.now = ctx.clock();
        if let Some(text) = app.copied.take() {
            screen.copy(&text)?;
        }
        if std::mem::take(&mut app.must_redraw) {
            screen.invalidate();
        }
        if let Some(outcome) = app.outcome.take() {
            return Ok(outcome);
        }
    }
}

fn handle(app: &mut App, event: Event) {
    match event {
        Event::Input(Input::Key(key)) => app.key(key),
        Event::Input(Input::Paste(text)) => app.paste(&text),
        Event::Input(Input::Mouse(mouse)) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => app.click(mouse.row),
            MouseEventKind::ScrollDown => app.wheel(3),
            MouseEventKind::ScrollUp => app.wheel(-3),
            _ => {}
        },
        Event::Input(_) => {}
        Event::Answer(answer) => app.answer(answer),
        Event::Changed => app.changed(),
        Event::End => app.outcome = Some(Outcome::Quit),
    }
}

/// Reads keys until the screen is gone, so that none is taken from the program that runs next.
fn read_input(events: &Sender<Event>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let read = input::wait(POLL).and_then(|()| {
            while event::poll(Duration::ZERO)? {
                let _ = events.send(Event::Input(event::read()?));
            }
            Ok(())
        });
        if read.is_err() {
            let _ = events.send(Event::End);
            return;
        }
    }
}

/// Reports changes of the agents' files. The thread ends with the process.
fn watch(ctx: &Context, events: Sender<Event>) {
    if ctx.no_sync || ctx.is_demo() {
        return;
    }
    let (env, from, roots) = (ctx.env.clone(), ctx.from.clone(), ctx.roots.clone());
    let end = events.clone();
    thread::spawn(move || {
        let look = move || Agents::default().discover_in(&env, &from, &roots);
        let found = look();
        let mut watcher = Watcher::new(look, &found, None);
        interrupt::instead(move || {
            let _ = end.send(Event::End);
        });
        while watcher.next().is_some() {
            if events.send(Event::Changed).is_err() {
                return;
            }
        }
    });
}
