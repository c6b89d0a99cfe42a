//! The one list of tables and columns, from which schemas, statements and the documentation are derived.

use jiff::Timestamp;

use crate::value::{Field, Kind, Text, Value};

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The columns after those of [`ORIGIN`].
    own: &'static [Column],
    /// The column whose month decides the object that contains a row; without one, all rows are undated.
    pub(crate) time: Option<&'static str>,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_nullable: bool,
    pub(crate) role: Role,
    about: &'static str,
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is part of the key.
    Key,
    /// Its text was written by people or agents, so secrets are removed from it.
    Free,
    /// It contains nothing but what this program wrote.
    Plain,
}

impl Column {
    /// Returns the definition of the column.
    pub(crate) fn about(&self) -> &'static str {
        self.about.trim()
    }
}

impl Table {
    /// Iterates over all columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static Column> + Clone {
        ORIGIN.iter().chain(self.own)
    }

    /// Iterates over the columns of the key.
    pub(crate) fn key(&self) -> impl Iterator<Item = &'static Column> + Clone {
        self.columns().filter(|column| column.role == Role::Key)
    }

    /// Returns the place of a column.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.columns().position(|column| column.name == name)
    }
}

/// A row of a table, without the columns of [`ORIGIN`].
pub(crate) trait Row {
    const TABLE: Table;
    fn values(self) -> Vec<Value>;
}

macro_rules! columns {
    ($( $(#[doc = $about:literal])+ $field:ident: $type:ty [$role:ident], )*) => {
        &[$( Column {
            name: stringify!($field),
            kind: <$type as Field>::KIND,
            is_nullable: <$type as Field>::NULLABLE,
            role: Role::$role,
            about: concat!($($about),+),
        } ),*]
    };
}

macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $row:ident = $name:literal by $time:expr;
        $( $(#[doc = $doc:literal])+ $field:ident: $type:ty [$role:ident], )*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        pub(crate) struct $row { $( $(#[doc = $doc])+ pub(crate) $field: $type, )* }

        impl Row for $row {
            const TABLE: Table = Table {
                name: $name,
                about: concat!($($about),+),
                own: columns! { $( $(#[doc = $doc])+ $field: $type [$role], )* },
                time: $time,
            };
            fn values(self) -> Vec<Value> {
                vec![$( self.$field.value() ),*]
            }
        }
    };
}

/// The columns that every table begins with.
pub(crate) const ORIGIN: &[Column] = columns! {
    /// The organisation, from the policy.
    org: Text [Key],
    /// The person, from the policy, or a keyed pseudonym.
    person: Text [Key],
    /// The random id of the machine.
    machine: Text [Key],
    /// The team, from the policy.
    team: Option<Text> [Plain],
    /// The cost centre, from the policy.
    cost_center: Option<Text> [Plain],
};

/// All tables.
pub(crate) const TABLES: &[Table] = &[
    SessionRow::TABLE,
    CallRow::TABLE,
    ToolRow::TABLE,
    FaultRow::TABLE,
    PriceRow::TABLE,
    TextRow::TABLE,
];

table! {
    /// One conversation with an agent, as one machine has it.
    SessionRow = "sessions" by Some("started");
    /// The agent's id of the session if it is random, otherwise a keyed pseudonym.
    session: Text [Key],
    /// The agent: `claude`, `codex`, `gemini`.
    agent: Text [Plain],
    /// `main`, `subagent`, `background` or `checkpoint`.
    kind: Text [Plain],
    /// The session that started this one.
    parent: Option<Text> [Plain],
    /// The session that this one is a branch of.
    forked_from: Option<Text> [Plain],
    /// The project: the git remote as `host/owner/name`, or the folder's name and a keyed pseudonym of its path, or the pseudonym alone if the path is not known here.
    project: Option<Text> [Free],
    /// The keyed pseudonym of the project's path, by which views find the name of a project that another machine knows.
    folder: Option<Text> [Plain],
    /// The git branch that the session, or the one that started it, worked on last.
    branch: Option<Text> [Free],
    /// The time of its start.
    started: Option<Timestamp> [Plain],
    /// The time of its last update.
    updated: Option<Timestamp> [Plain],
    /// The number of prompts and slash commands.
    prompts: i64 [Plain],
    /// The number of prompts, slash commands, shell escapes and replies.
    turns: i64 [Plain],
    /// The number of all messages.
    messages: i64 [Plain],
    /// The number of model calls.
    calls: i64 [Plain],
    /// The number of tool calls.
    tool_calls: i64 [Plain],
    /// The number of its subagents.
    subagents: i64 [Plain],
    /// The number of faults in its files.
    faults: i64 [Plain],
    /// The models that were called, separated by spaces.
    models: Text [Free],
    /// Whether its files still exist: `live`, `gone` or `log-only`.
    state: Text [Plain],
    /// Whether it is listed by default: a conversation with any content.
    is_listed: bool [Plain],
    /// Its title, if the policy allows text.
    title: Option<Text> [Free],
    /// Fresh input tokens that the agent reports for calls that no file records, like the other unrecorded tokens.
    unrecorded_input: Option<i64> [Plain],
    /// Cached tokens of such calls.
    unrecorded_cached: Option<i64> [Plain],
    /// Tokens that such calls wrote to the cache for five minutes.
    unrecorded_cache_write_5m: Option<i64> [Plain],
    /// Tokens that such calls wrote to the cache for an hour.
    unrecorded_cache_write_1h: Option<i64> [Plain],
    /// Output tokens of such calls.
    unrecorded_output: Option<i64> [Plain],
    /// The tokens of thoughts of such calls.
    unrecorded_thoughts: Option<i64> [Plain],
    /// The prompt side of tool use of such calls.
    unrecorded_tool: Option<i64> [Plain],
    /// Other tokens of such calls.
    unrecorded_other: Option<i64> [Plain],
}

table! {
    /// One position on the bill of one model call, as one machine has it.
    CallRow = "calls" by Some("occurred_at");
    /// The agent.
    agent: Text [Key],
    /// A keyed pseudonym that all copies of the call share, on every machine. It begins with `m` if copies have the id of the message, with `k` if the agent's records give another key, and with `s` if the call is only known within its session.
    call: Text [Key],
    /// 0 for the call itself; further models on its bill have 1 and up.
    position: i64 [Key],
    /// A number that all copies of the call share and hardly any other call has, by which engines find copies at little cost.
    call_hash: i64 [Plain],
    /// The session that has the call on this machine.
    session: Text [Plain],
    /// The kind of that session.
    session_kind: Text [Plain],
    /// Whether the session only repeats a call that another one made.
    is_inherited: bool [Plain],
    /// Decides who made a call that several machines have: the row with the smallest rank.
    owner_rank: Text [Plain],
    /// The project of the session.
    project: Option<Text> [Free],
    /// The branch of the session.
    branch: Option<Text> [Free],
    /// The time of the call, or the start of its session.
    occurred_at: Option<Timestamp> [Plain],
    /// Whether the call has no time of its own.
    undated: bool [Plain],
    /// The model.
    model: Option<Text> [Free],
    /// The class of service: `standard`, `flex`, `batch`, `fast`, `priority`, `ultrafast` or `other`.
    class: Text [Plain],
    /// The place of the class in that list, from 0.
    class_rank: i64 [Plain],
    /// Whether the request had to be served in the United States.
    us_only: bool [Plain],
    /// Whether a provider other than the model's vendor served it.
    is_elsewhere: bool [Plain],
    /// The number of web searches that the vendor bills separately.
    searches: i64 [Plain],
    /// Fresh input: neither read from the cache nor written to it.
    input: i64 [Plain],
    /// Input that was read from the cache.
    cached: i64 [Plain],
    /// Input that was written to the cache for five minutes, or for as long as the vendor keeps it.
    cache_write_5m: i64 [Plain],
    /// Input that was written to the cache for an hour.
    cache_write_1h: i64 [Plain],
    /// Output without thoughts.
    output: i64 [Plain],
    /// The tokens of thoughts.
    thoughts: i64 [Plain],
    /// The prompt side of tool use.
    tool: i64 [Plain],
    /// The excess of the agent's own total over the other buckets.
    other: i64 [Plain],
    /// Whether it was only read from files that may have lost other calls.
    at_least: bool [Plain],
    /// Whether the agent would still load it.
    is_current: bool [Plain],
}

table! {
    /// One use of a tool, as one machine has it.
    ToolRow = "tool_calls" by Some("occurred_at");
    /// The agent.
    agent: Text [Key],
    /// A keyed pseudonym that all copies of the tool call share, on every machine.
    tool_call: Text [Key],
    /// The session that has it on this machine.
    session: Text [Plain],
    /// The kind of that session.
    session_kind: Text [Plain],
    /// Decides who made a tool call that several machines have: the row with the smallest rank.
    owner_rank: Text [Plain],
    /// The project of the session.
    project: Option<Text> [Free],
    /// The branch of the session.
    branch: Option<Text> [Free],
    /// The recorded name of the tool.
    tool: Text [Free],
    /// The common name of such tools of all agents.
    label: Text [Free],
    /// The category of the tool.
    category: Text [Plain],
    /// The MCP server of the tool.
    server: Option<Text> [Free],
    /// `success`, `error`, `cancelled` or `unfinished`.
    status: Text [Plain],
    /// The place of the status among `unfinished`, `cancelled`, `success`, `error`, from 0: of several copies, the largest is right.
    status_rank: i64 [Plain],
    /// The time of the call.
    occurred_at: Option<Timestamp> [Plain],
    /// The lines added by an edit.
    lines_added: i64 [Plain],
    /// The lines removed by an edit.
    lines_removed: i64 [Plain],
}

table! {
    /// A record of an agent's file that could not be used, or only after a repair.
    FaultRow = "faults" by None;
    /// A keyed pseudonym of the file's path.
    source: Text [Key],
    /// The number of the fault in the file, from 0.
    position: i64 [Key],
    /// The agent.
    agent: Text [Plain],
    /// The line of the record; none for the whole file.
    line: Option<i64> [Plain],
    /// The kind of fault.
    kind: Text [Plain],
    /// The reason, if the policy allows text.
    reason: Option<Text> [Free],
}

table! {
    /// The list price of a model under certain conditions. Views use the newest version of each model.
    PriceRow = "prices" by None;
    /// The model as calls name it.
    model: Text [Key],
    /// The class of service.
    class: Text [Key],
    /// Whether it is the price of requests that had to be served in the United States.
    us_only: bool [Key],
    /// Whether it is the price of requests that another provider served.
    is_elsewhere: bool [Key],
    /// The first moment at which it applies.
    since: Timestamp [Key],
    /// The number of prompt tokens, with those read from or written to the cache, above which it applies; -1 for any number.
    above: i64 [Key],
    /// The largest such number to which it applies.
    up_to: i64 [Plain],
    /// The first moment at which it no longer applies.
    until: Timestamp [Plain],
    /// The version of the price table: its date.
    version: Text [Plain],
    /// The price of a token of fresh input or tool use, in 10⁻¹² US dollars like the other prices.
    input: i64 [Plain],
    /// The price of a cached token.
    cached: i64 [Plain],
    /// The price of a token written to the cache for five minutes.
    cache_write_5m: i64 [Plain],
    /// The price of a token written to the cache for an hour.
    cache_write_1h: i64 [Plain],
    /// The price of a token of output, thoughts or other.
    output: i64 [Plain],
    /// The fee of a web search.
    web_search: i64 [Plain],
    /// Whether it is the price of a similar model or class of service.
    is_estimate: bool [Plain],
    /// Whether no price of cached tokens is known, so that they have that of fresh ones.
    is_upper_bound: bool [Plain],
}

table! {
    /// The text of a message, if the policy allows text. Secrets are removed from it.
    TextRow = "texts" by Some("occurred_at");
    /// The session.
    session: Text [Key],
    /// The place of the message in the session, from 0.
    position: i64 [Key],
    /// The agent.
    agent: Text [Plain],
    /// The project of the session.
    project: Option<Text> [Free],
    /// The time of the message.
    occurred_at: Option<Timestamp> [Plain],
    /// `user`, `assistant`, `tool` or `system`.
    role: Text [Plain],
    /// The kind of message.
    kind: Text [Plain],
    /// The text.
    text: Text [Plain],
    /// The words of the text in the form in which they are searched, separated by spaces.
    words: Text [Plain],
}
