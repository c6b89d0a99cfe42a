-- The captured files of one machine, for others. Nothing in it depends on the version of the program that
-- wrote it, so that machines with different versions can exchange parcels: these tables never change.
CREATE TABLE sources (
    number   INTEGER PRIMARY KEY,
    machine  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    path     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    folder   TEXT,
    size     INTEGER NOT NULL,
    modified INTEGER,
    changed  INTEGER,
    inode    INTEGER,
    state    TEXT NOT NULL,
    captured INTEGER NOT NULL,
    kept     INTEGER NOT NULL
);
CREATE TABLE captures (
    source INTEGER NOT NULL,
    start  INTEGER NOT NULL,
    length INTEGER NOT NULL,
    hash   BLOB NOT NULL,
    data   BLOB NOT NULL,
    PRIMARY KEY (source, start)
);
CREATE TABLE names (session TEXT PRIMARY KEY, name TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tags (
    session TEXT NOT NULL,
    tag     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    removed INTEGER,
    PRIMARY KEY (session, tag)
) WITHOUT ROWID;
CREATE TABLE forgotten (session TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE machines (id TEXT PRIMARY KEY, label TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
