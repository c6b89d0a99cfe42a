-- The user's own annotations. They are never derived and never lost: a rebuild copies them. Only
-- these tables are migrated, by steps that are never edited.

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
