-- The name of each machine; sources and sessions refer to it by id.
CREATE TABLE machines (
    id    TEXT PRIMARY KEY,
    label TEXT NOT NULL
) WITHOUT ROWID;

-- Copies of the archive that were made with `archive backup`.
CREATE TABLE backups (
    path TEXT PRIMARY KEY,
    at   INTEGER NOT NULL
) WITHOUT ROWID;

-- The time at which a tag was removed, so that a merge does not bring it back. A cleared name is
-- empty.
ALTER TABLE tags ADD COLUMN removed INTEGER;
