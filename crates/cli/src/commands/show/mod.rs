mod follow;
mod head;
mod marks;
mod page;
pub(super) mod tool;
pub(super) mod turns;

use std::ffi::{OsStr, OsString};

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::export::json;
use backstory_core::model::{Message, MessageId};
use backstory_core::transcript::{Options, ShownBlock, blocks};
use clap::ValueEnum;

use self::marks::{Marks, Wanted};
use self::page::Page;
use self::turns::Extras;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::last_search::{self, Found};
use crate::output::Printer;
use crate::output::number::plural;

const EXAMPLES: &str = "\
Examples:
  backstory show latest                 the newest conversation
  backstory show @3 --thoughts          the third of `backstory sessions`, with the model's thoughts
  backstory show @s3                    the third hit of the last `backstory search`, at its place
  backstory show 3f2a --only prompt     only prompts
  backstory show 3f2a --grep tide       from the first message with that word
  backstory show --grep 'tide feed'     the session with the best hit, wherever it is
  backstory show --follow               the session that is running, as it is written
  backstory show 3f2a --view current    only the messages that the agent would load
  backstory show ~/old/session-2026-08-01T10-00-3f2a91c7.jsonl
  backstory show latest --no-pager      all at once";

/// Read a session: prompts, replies, tool calls and errors
///
/// A session is named by its id or a prefix of it, by `latest` or `@N` (the N-th of `backstory sessions`), by `@sN`
/// (the N-th hit of the last search), or by a file. On a terminal, it is shown page by page. By default, messages
/// that were rewound, compressed away or failed are shown too, and marked as such.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// A session, or a file [default: with --grep the best hit, else choose one in the terminal, else latest]
    #[arg(value_name = "SESSION")]
    session: Option<OsString>,

    /// The messages to show
    #[arg(long, value_enum, default_value = "full")]
    view: ViewArg,

    /// Show the model's thoughts
    #[arg(long)]
    thoughts: bool,

    /// Show the output of tools
    #[arg(long)]
    tool_output: bool,

    /// Show notices, injected context and summaries
    #[arg(long)]
    info: bool,

    /// Show tokens beside each reply
    #[arg(long)]
    tokens: bool,

    /// Show only these blocks
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    only: Vec<OnlyArg>,

    /// Show only this file of a session that spans several, counted from 1
    #[arg(long, value_name = "N")]
    part: Option<usize>,

    /// Mark these words, in the syntax of `search`, and start at the first
    #[arg(long, value_name = "WORDS")]
    grep: Option<String>,

    /// Print the last turn, then what the agent writes
    #[arg(long, short)]
    follow: bool,

    /// Page even if the environment says otherwise
    #[arg(long, hide = true)]
    pager: bool,

    /// Do not page; otherwise `PAGER` names the program
    #[arg(long, conflicts_with = "pager")]
    no_pager: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewArg {
    /// Everything that happened
    #[default]
    Full,
    /// The messages that the agent would load
    Current,
}

impl From<ViewArg> for View {
    fn from(view: ViewArg) -> Self {
        match view {
            ViewArg::Full => Self::Full,
            ViewArg::Current => Self::Current,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnlyArg {
    Prompt,
    Reply,
    Tool,
    Error,
}

impl From<OnlyArg> for ShownBlock {
    fn from(only: OnlyArg) -> Self {
        match only {
            OnlyArg::Prompt => Self::Prompt,
            OnlyArg::Reply => Self::Reply,
            OnlyArg::Tool => Self::Tool,
            OnlyArg::Error => Self::Error,
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Show) -> Result<Exit> {
    super::require_given(ctx)?;
    let chosen = match (&args.session, &args.grep) {
        (None, Some(words)) => {
            Some(super::search::best_session(ctx, printer, words)?.as_str().into())
        }
        (None, None) if ctx.json || args.follow => None,
        (given, _) => super::given_or_chosen(ctx, printer, given.as_deref())?,
    };
    let session = chosen.unwrap_or_else(|| "latest".into());
    let hit = last_search::recall(ctx, &session)?;
    show(ctx, printer, args, &session, hit)
}

/// Shows a hit of a search at its message.
pub(super) fn open_hit(ctx: &Context, printer: &mut Printer, hit: Found) -> Result<Exit> {
    let session = OsString::from(hit.place.session.as_str());
    show(ctx, printer, &Show::default(), &session, Some(hit))
}

fn show(
    ctx: &Context,
    printer: &mut Printer,
    args: &Show,
    session: &OsStr,
    hit: Option<Found>,
) -> Result<Exit> {
    let (mut library, assembled) = super::open_session(ctx, printer, session)?;
    let assembled = &assembled;
    let mut messages = library.messages(ctx, assembled, args.view.into())?;
    if let Some(part) = args.part {
        keep_part(&mut messages, assembled, part)?;
    }
    let mut options = Options {
        thoughts: args.thoughts,
        tool_output: args.tool_output,
        info: args.info,
        only: args.only.iter().map(|only| ShownBlock::from(*only)).collect(),
    };
    let wanted = Wanted::new(ctx, args.grep.as_deref(), hit)?;
    let marks = wanted.marks(&messages, &mut options)?;
    if args.follow {
        let mut page = Page::new(ctx, printer, args, marks);
        let id = &assembled.session.id;
        follow::run(ctx, &mut page, &mut library, id, session, &options)?;
        return Ok(Exit::Success);
    }
    if ctx.json {
        let cost = library.costs_of(&[&assembled.session])?.of(&assembled.session.id);
        let wanted = blocks_messages(messages, &options);
        let mut out = printer.data()?;
        json::write(&assembled.session, cost, &wanted, &library.prices, &mut out)?;
        out.flush()?;
    } else {
        if !args.no_pager && (args.pager || ctx.pages) {
            super::page(ctx, printer, marks.as_ref().map(|_| Marks::SIGN))?;
        }
        let extras = Extras::new(&library, &assembled.session, &messages)?;
        let mut page = Page::new(ctx, printer, args, marks);
        page.session(&assembled.session, &messages, &options, &extras)?;
    }
    super::note_faults(printer, &library);
    Ok(super::exit_code(ctx, &library))
}

fn keep_part(messages: &mut Vec<Message>, assembled: &SessionFacts, part: usize) -> Result<()> {
    let parts = assembled.files.len();
    if part == 0 || part > parts {
        return Err(Failure::new(format!("there is no part {part}"))
            .hint(format!("the session has {}", plural(parts as u64, "part", "parts"))));
    }
    messages.retain(|message| message.part == part - 1);
    Ok(())
}

/// Keeps the messages that have a block to show under `--only`.
fn blocks_messages(messages: Vec<Message>, options: &Options) -> Vec<Message> {
    if options.only.is_empty() {
        return messages;
    }
    let kept: std::collections::HashSet<MessageId> =
        blocks(&messages, options).iter().map(|block| block.message.id.clone()).collect();
    messages.into_iter().filter(|message| kept.contains(&message.id)).collect()
}
