"""Archives made to do harm: what each kind changes in an honest one."""

import sqlite3

from inside import bomb, pack

GIGABYTE = 1 << 30
LARGEST = (1 << 63) - 1

# Bits of SQL: a tool output, a document, all chats, and the first piece of a chat.
OUTPUT = "number = (SELECT max(number) FROM sources WHERE path LIKE '%run_1.txt')"
DOCUMENT = "number = (SELECT max(number) FROM sources WHERE path LIKE '%/chats/%.json')"
CHAT = "path LIKE '%/chats/session%.jsonl'"
PIECE = f"rowid = (SELECT min(captures.rowid) FROM captures JOIN sources ON number = source WHERE {CHAT})"


def ways(here):
    """Statements by kind. `here` is a folder outside of every home, with the files that must not be read."""
    return paths(here) | machines() | tables() | pieces() | values()


def paths(here):
    def move(to, what=OUTPUT):
        return (f"UPDATE sources SET path = {to} WHERE {what}",)

    pieces_of_canary = "source IN (SELECT number FROM sources WHERE path LIKE '%canary.txt')"
    return {
        "a path with ..": [move("replace(path, 'run_1.txt', '../../../../../.bash_login')")],
        "a chat's path with ..": [move("folder || '/chats/../../../../evil' || number || '.jsonl'", CHAT)],
        "a path elsewhere": [move(f"'{here}/new.txt'")],
        "a path of a file here": [move(f"'{here}/canary.txt'")],
        "a path of a file here, without pieces": [
            move(f"'{here}/canary.txt'"),
            (f"DELETE FROM captures WHERE {pieces_of_canary}",),
        ],
        "a chat's path of a file here": [move(f"'{here}/canary.jsonl'", DOCUMENT)],
        "a relative path": [move("'evil.txt'")],
        "a path that is not text": [move("x'ff2fff'")],
        "a path that is not UTF-8": [move("CAST(x'2fff2fff' AS TEXT)")],
        "a path with NUL": [move("path || char(0) || '/x'")],
        "a folder elsewhere": [(f"UPDATE sources SET path = replace(path, folder, '{here}'), folder = '{here}'",)],
        "the root as folder": [("UPDATE sources SET folder = '/'",)],
    }


def machines():
    names = ["..", "../..", "/", "", "a/../../b", "\0"]
    return {f"a machine called `{name}`": [("UPDATE sources SET machine = ?", name)] for name in names}


def tables():
    def endless(table, column):
        rows = f"SELECT i AS session, i AS {column}, i AS at FROM n"
        view = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) {rows}"
        return [(f"DROP TABLE {table}",), (f"CREATE VIEW {table} AS {view}",)]

    return {
        "an endless view for names": endless("names", "name"),
        "an endless view for tags": endless("tags", "tag"),
        "an endless view for tombstones": endless("forgotten", "x"),
        "a view for sources": [
            ("ALTER TABLE sources RENAME TO hidden",),
            ("CREATE VIEW sources AS SELECT * FROM hidden",),
        ],
        "a trigger": [("CREATE TRIGGER evil AFTER INSERT ON names BEGIN DELETE FROM sources; END",)],
        "an extra table": [("CREATE TABLE evil (x)",), ("INSERT INTO evil VALUES (zeroblob(1000000))",)],
        "no captures": [("DROP TABLE captures",)],
        "a renamed column": [("ALTER TABLE captures RENAME COLUMN hash TO digest",)],
    }


def pieces():
    packed = bomb(GIGABYTE)
    no_pieces = [("DELETE FROM captures",), ("UPDATE sources SET captured = 0",)]
    sizes = f"captured = {GIGABYTE}, size = {GIGABYTE}"
    return {
        "a piece of 1 GB, said to be small": [(f"UPDATE captures SET data = ? WHERE {PIECE}", packed)],
        "a piece of 1 GB": [
            (f"UPDATE captures SET data = ?, length = {GIGABYTE} WHERE {PIECE}", packed),
            (f"UPDATE sources SET {sizes} WHERE number = (SELECT source FROM captures WHERE {PIECE})",),
        ],
        "a scan of 1 GB": [("UPDATE scans SET facts = ?", packed + b"\x01"), *no_pieces],
        "noise for scans and notes": [
            ("UPDATE scans SET facts = randomblob(100)",),
            ("UPDATE notes SET value = randomblob(100) WHERE key != 'version'",),
            *no_pieces,
        ],
        "a gap": [("UPDATE captures SET start = start + 1",)],
        "wrong hashes": [("UPDATE captures SET hash = randomblob(32)",)],
        "other content": [("UPDATE captures SET data = ?", pack(b"evil"))],
        "noise for data": [("UPDATE captures SET data = randomblob(100)",)],
    }


def values():
    return {
        "huge lengths": [
            (f"UPDATE captures SET length = {LARGEST}",),
            (f"UPDATE sources SET size = {LARGEST}, captured = {LARGEST}",),
        ],
        "negative numbers": [
            ("UPDATE captures SET start = -5, length = -5",),
            (f"UPDATE sources SET size = -1, captured = -1, modified = -{LARGEST}",),
        ],
        "text for integers": [
            ("UPDATE captures SET length = 'x', hash = 'x', data = 'x'",),
            ("UPDATE sources SET size = 'x', captured = 'x', modified = 'x', inode = 'x', kept = 'x'",),
        ],
        "NULLs": [
            ("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'",),
            ("PRAGMA schema_version = 1000",),
            ("UPDATE sources SET machine = NULL, path = NULL, kind = NULL, state = NULL, size = NULL",),
            ("UPDATE captures SET data = NULL, hash = NULL",),
            ("INSERT INTO names VALUES ('x', NULL, NULL)",),
        ],
        "unknown words": [
            ("UPDATE sources SET agent = 'evil', kind = 'evil', state = 'evil' WHERE state != 'replaced'",)
        ],
    }


def files(honest, rng, scratch):
    """Whole files by kind, made of an honest archive or of something else."""
    db = sqlite3.connect(scratch)
    db.execute("CREATE TABLE sources (number INTEGER PRIMARY KEY, path TEXT)")
    db.commit()
    db.close()
    return {
        "a cut file": honest[: len(honest) * 2 // 3],
        "a cut header": honest[:60],
        "a page of noise": honest[:8192] + rng.randbytes(4096) + honest[12288:],
        "an empty file": b"",
        "a text": b"hello\n" * 1000,
        "another program's database": scratch.read_bytes(),
    }


KINDS = 45  # of both
