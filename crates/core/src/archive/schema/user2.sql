-- What each machine is called; sources and sessions name it by its id.
CREATE TABLE machines (
    id    TEXT PRIMARY KEY,
    label TEXT NOT NULL
) WITHOUT ROWID;

-- Copies of the archive that were made with `archive backup`.
CREATE TABLE backups (
    path TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) WITHOUT ROWID;

-- When a tag was taken off, so that a merge does not bring it back. A name that was cleared is empty.
ALTER TABLE tags ADD COLUMN removed INTEGER;
