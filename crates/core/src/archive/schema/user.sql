-- What the user said. Never derived, never lost: a rebuild carries it over. These tables alone are
-- migrated, by steps that are never edited.

CREATE TABLE names (
    session TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tags (
    session TEXT NOT NULL,
    tag     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, tag)
) WITHOUT ROWID;

-- Sessions that must not come back.
CREATE TABLE forgotten (
    session TEXT PRIMARY KEY,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
