-- Everything that is derived from the agents' files. When these tables or the results of reading
-- change, nothing is migrated: they are rebuilt from the capture and from the files that still
-- exist.

-- One file of an agent, as it was last read.
CREATE TABLE sources (
    number   INTEGER PRIMARY KEY,
    machine  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    path     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    -- The agent's folder for its project.
    folder   TEXT,
    size     INTEGER NOT NULL,
    -- Times of the last change of its content and of its metadata, in nanoseconds since 1970, and its
    -- inode: while all of them and the size are the same, so is the content. NULL: read again.
    modified INTEGER,
    changed  INTEGER,
    inode    INTEGER,
    -- live, gone, or replaced: an older version of the file.
    state    TEXT NOT NULL,
    -- For a replaced version, whether it was compared with the newer ones and contains something they lack.
    compared INTEGER NOT NULL DEFAULT 0,
    -- The end of the last whole line of a log that can be continued.
    offset   INTEGER,
    -- XXH3 of each piece of the content that was read (digest.rs).
    digest   BLOB,
    -- Whether its session is known by its name only.
    nameless INTEGER NOT NULL,
    -- Whether another source contains one of its calls too.
    shares   INTEGER NOT NULL DEFAULT 0,
    faults   INTEGER NOT NULL,
    -- Token counts in it that cannot be right.
    problems INTEGER NOT NULL,
    -- The end of what is captured: always the beginning of the content that was read. Of those bytes,
    -- `lost` were damaged in the archive itself and could not be recovered.
    captured INTEGER NOT NULL DEFAULT 0,
    lost     INTEGER NOT NULL DEFAULT 0,
    -- Whether it may be captured: not when its project is excluded or its session forgotten.
    kept     INTEGER NOT NULL,
    -- The same in a few words, with its faults.
    about    BLOB NOT NULL
);
CREATE UNIQUE INDEX sources_path ON sources (machine, path) WHERE state != 'replaced';
CREATE INDEX sources_versions ON sources (machine, path);
CREATE INDEX sources_folder ON sources (folder);
-- The few that no longer exist or are not captured completely (capture.rs), and those with faults.
CREATE INDEX sources_unusual ON sources (machine) WHERE NOT (state = 'live' AND captured - lost >= size);
CREATE INDEX sources_faulty ON sources (state, faults, problems) WHERE faults + problems > 0;

-- The facts of a source, and after them the state its agent needs to continue when it grows. Sources that are
-- only captured or that were forgotten have no row.
CREATE TABLE scans (
    source INTEGER PRIMARY KEY,
    facts  BLOB NOT NULL
);

-- The groups of sessions that a source belongs to, and the project it names there: its path, or the
-- agent's hash of it.
CREATE TABLE members (
    group_key TEXT NOT NULL,
    source    INTEGER NOT NULL,
    project   TEXT,
    PRIMARY KEY (group_key, source)
) WITHOUT ROWID;
CREATE INDEX members_source ON members (source);

-- The sources that contain each counted message. Sessions that share one are assembled together, to
-- decide which of them made the call.
CREATE TABLE call_sources (
    key    INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (key, source)
) WITHOUT ROWID;
CREATE INDEX call_sources_source ON call_sources (source);

-- Lines of prompt logs.
CREATE TABLE prompt_lines (
    source  INTEGER NOT NULL,
    session TEXT NOT NULL,
    number  INTEGER NOT NULL,
    at      INTEGER,
    text    TEXT NOT NULL,
    project TEXT
);
CREATE INDEX prompt_lines_session ON prompt_lines (session);
CREATE INDEX prompt_lines_source ON prompt_lines (source);

-- The names that agents give to sessions; the last one counts.
CREATE TABLE titles (
    source  INTEGER NOT NULL,
    session TEXT NOT NULL,
    at      INTEGER,
    title   TEXT NOT NULL,
    -- The tool call that started the session.
    spawned_by TEXT
);
CREATE INDEX titles_session ON titles (session);
CREATE INDEX titles_source ON titles (source);

-- What the agents' own lists say about sessions (listed.rs).
CREATE TABLE listed (
    source  INTEGER NOT NULL,
    session TEXT NOT NULL,
    -- The name of the file that the agent would load.
    file    TEXT,
    -- The name of the session, unless a file of its own names it.
    name    TEXT
);
CREATE INDEX listed_session ON listed (session);
CREATE INDEX listed_source ON listed (source);

-- Reports about the limits of the user's plan: the time of the first and the last one with the same numbers, the
-- minutes of the window, the used part in percent. All times are milliseconds since 1970, UTC.
CREATE TABLE limits (
    source  INTEGER NOT NULL,
    at      INTEGER,
    seen    INTEGER,
    plan    TEXT,
    name    TEXT,
    minutes INTEGER,
    used    REAL NOT NULL,
    resets  INTEGER
);
CREATE INDEX limits_source ON limits (source);

CREATE TABLE sessions (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL,
    group_key TEXT NOT NULL,
    agent   TEXT NOT NULL,
    machine TEXT NOT NULL,
    kind    TEXT NOT NULL,
    parent  TEXT,
    -- The project's path, or its name if no path is known.
    project TEXT NOT NULL,
    -- The times of its first and last call.
    first   INTEGER,
    last    INTEGER,
    -- The time of its last update, and whether it is in the default list.
    updated INTEGER,
    listed  INTEGER NOT NULL,
    -- Whether its text is indexed as it is now.
    indexed INTEGER NOT NULL DEFAULT 0,
    -- The session as the library stores it, with only the beginning of its first prompt.
    body    BLOB NOT NULL
);
-- Everything that reports group by, because the rows themselves are large.
CREATE INDEX sessions_id ON sessions (id, indexed, kind, parent, project, agent, machine);
CREATE INDEX sessions_group ON sessions (group_key);
CREATE INDEX sessions_newest ON sessions (updated DESC, id) WHERE listed;
CREATE INDEX sessions_unindexed ON sessions (id) WHERE NOT indexed;

-- The first and the last prompt of a session. They can be long, and lists do not need them.
CREATE TABLE prompts (
    session INTEGER PRIMARY KEY,
    body    BLOB NOT NULL
);

-- Single calls and tool calls, for queries that sums cannot answer.
CREATE TABLE details (
    session INTEGER PRIMARY KEY,
    body    BLOB NOT NULL
);

-- What is derived from them, in a table of its own because it is small.
CREATE TABLE summaries (
    session INTEGER PRIMARY KEY,
    -- The tool calls by tool.
    tools   BLOB NOT NULL,
    -- Reasons to doubt the numbers, if there are any.
    doubts  BLOB
);

-- What a person typed in a session, and the commands, files and failures of its tools (activity.rs). It is
-- read from the text when a report first needs it. A part (activity_parts.rs) has the number of its kind times 2^48,
-- plus that of the session: a report reads nothing but the kinds it needs.
CREATE TABLE activity (
    number INTEGER PRIMARY KEY,
    body   BLOB NOT NULL
);

-- The calls of a session by quarter of an hour, model, service and prompt size (sums.rs), which is enough
-- for most reports.
CREATE TABLE rollup (
    session INTEGER PRIMARY KEY,
    -- The first and the last quarter of an hour, in milliseconds since 1970, UTC; null without times.
    first   INTEGER,
    last    INTEGER,
    body    BLOB NOT NULL
);

-- The calls of a session by the prompt that led to them as well (prompt_sums.rs). Costs of prompts need them.
CREATE TABLE prompt_sums (
    session INTEGER PRIMARY KEY,
    first   INTEGER,
    last    INTEGER,
    body    BLOB NOT NULL
);

-- The tokens of a session and its agents in the agent's own count, which includes calls that no file records.
CREATE TABLE reported (
    session  INTEGER PRIMARY KEY,
    input    INTEGER NOT NULL,
    cached   INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    output   INTEGER NOT NULL,
    thoughts INTEGER NOT NULL,
    tool     INTEGER NOT NULL,
    other    INTEGER NOT NULL
);

-- The agents' own bytes, compressed, in pieces.
CREATE TABLE captures (
    source INTEGER NOT NULL,
    -- Where the piece begins in the file, and how long it is there.
    start  INTEGER NOT NULL,
    length INTEGER NOT NULL,
    -- SHA-256 of the bytes as the agent wrote them.
    hash   BLOB NOT NULL,
    data   BLOB NOT NULL,
    PRIMARY KEY (source, start)
);

-- Named values, such as the learned paths of projects.
CREATE TABLE notes (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- The text index. An indexed session keeps its number here while its row in `sessions` is
-- rewritten; its messages have the rows from that number times 2^24 on.
CREATE TABLE indexed_sessions (
    number  INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    -- A hash of the user's name and tags for it.
    label   INTEGER NOT NULL
);

-- The traits of a message without its text.
CREATE TABLE texts (
    number  INTEGER PRIMARY KEY,
    -- Empty for the text of the session as a whole.
    message TEXT NOT NULL,
    -- A hash of the positions of its records: while it is the same, so is the text.
    stamp   INTEGER NOT NULL,
    -- A hash of its text, which copies of a message share.
    content INTEGER NOT NULL,
    -- Milliseconds since 1970, UTC.
    at      INTEGER,
    kind    TEXT NOT NULL,
    fate    TEXT NOT NULL,
    model   TEXT,
    -- The names of the tools it called.
    tools   TEXT NOT NULL,
    -- Whether the middle of an output was left out.
    capped  INTEGER NOT NULL
);
CREATE INDEX texts_content ON texts (content);

-- Messages that repeat one of another session.
CREATE TABLE copies (number INTEGER PRIMARY KEY);

-- Our own tokens, separated by spaces (search/token.rs).
CREATE VIRTUAL TABLE words USING fts5 (
    prompt, reference, reply, thought, tool, output, summary, name,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- Larger segments that are merged less often halve the work of a first sync. With its checksum, a page has room for
-- a block of 4049 bytes, and blocks can be a few bytes longer than their limit.
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216), ('automerge', 8), ('pgsz', 4040);
