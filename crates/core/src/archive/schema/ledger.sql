-- What counting needs. Derived from the agents' files; never edited by hand.

CREATE TABLE sessions (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL,
    agent   TEXT NOT NULL,
    machine TEXT NOT NULL,
    kind    TEXT NOT NULL,
    parent  TEXT,
    -- The project's path, or what stands for it.
    project TEXT NOT NULL
);

CREATE TABLE prompts (
    number  INTEGER PRIMARY KEY,
    message TEXT NOT NULL,
    text    TEXT NOT NULL
);

CREATE TABLE calls (
    session  INTEGER NOT NULL REFERENCES sessions (number),
    message  TEXT NOT NULL,
    prompt   INTEGER REFERENCES prompts (number),
    -- Milliseconds since 1970, UTC; null when not even the file has a time.
    at       INTEGER,
    undated  INTEGER NOT NULL,
    model    TEXT,
    input    INTEGER NOT NULL,
    cached   INTEGER NOT NULL,
    output   INTEGER NOT NULL,
    thoughts INTEGER NOT NULL,
    tool     INTEGER NOT NULL,
    other    INTEGER NOT NULL,
    at_least INTEGER NOT NULL,
    current  INTEGER NOT NULL
);

CREATE TABLE tool_calls (
    session       INTEGER NOT NULL REFERENCES sessions (number),
    message       TEXT NOT NULL,
    name          TEXT NOT NULL,
    server        TEXT,
    status        TEXT NOT NULL,
    at            INTEGER,
    lines_added   INTEGER NOT NULL,
    lines_removed INTEGER NOT NULL
);
