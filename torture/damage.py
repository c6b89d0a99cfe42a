#!/usr/bin/env python3
"""Damages archives, and holds every command to telling the truth about what is left."""

import re
import shutil
import sqlite3

import suite
from home import COMMON, QUESTIONS, apart, differences, lines, unlike
from inside import connect, copied, is_whole, unpack

PAGE = 4096
FRAME = PAGE + 24
EARLIER = b"an earlier damaged archive"


class Flip:
    def __init__(self, rng):
        self.rng, self.count = rng, rng.randint(1, 8)

    def __call__(self, data):
        for _ in range(self.count):
            at = self.rng.randrange(len(data))
            data[at] ^= 1 << self.rng.randrange(8)
        return data

    def __str__(self):
        return f"{self.count} flipped bits"


class Pages:
    """One to five pages overwritten: with zeros, with noise, or with another page."""

    def __init__(self, rng, kind):
        self.rng, self.kind, self.count = rng, kind, 1 if kind == "copied" else rng.randint(1, 5)

    def __call__(self, data):
        for _ in range(self.count):
            at, other = (self.rng.randrange(-(-len(data) // PAGE)) * PAGE for _ in range(2))
            size = len(data[at : at + PAGE])
            copied = bytes(data[other : other + size]).ljust(size, b"\0")
            data[at : at + size] = {"zeroed": bytes(size), "random": self.rng.randbytes(size), "copied": copied}[
                self.kind
            ]
        return data

    def __str__(self):
        return f"{self.count} {self.kind} pages"


class Cut:
    def __init__(self, rng, step=1):
        self.rng, self.step = rng, step

    def __call__(self, data):
        return data[: self.rng.randrange(len(data)) // self.step * self.step]

    def __str__(self):
        return f"cut to a multiple of {self.step}"


class Noise:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, data):
        return data + self.rng.randbytes(self.rng.choice([1, 100, PAGE, 3 * PAGE]))

    def __str__(self):
        return "noise at the end"


def kinds(rng):
    """Every way to damage the archive, then every way to damage its write-ahead log."""
    pages = [Pages(rng, kind) for kind in ("zeroed", "random", "copied")]
    archive = [Flip(rng), *pages, Flip(rng), pages[0], Cut(rng), Cut(rng, PAGE), Noise(rng)]
    log = [Flip(rng), pages[0], Cut(rng), Cut(rng, FRAME)]
    return [("archive.db", damage) for damage in archive] + [("archive.db-wal", damage) for damage in log]


def leave_log(case, home, sessions):
    """Syncs changes as a run does that is killed before its log is folded in: archive and log stay side by side."""
    reader = connect(home.archive)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sources").fetchone()
    first, *_ = sessions
    with first.open("ab") as file:
        file.write(lines([case.maker.reply()]))
    new = case.maker.session(3)
    home.write(home.gemini / "tmp/lib/chats" / new.name(".jsonl"), new.log())
    home.run("sync")
    left = {name: data for name, data in home.snapshot().items() if not name.endswith("-shm")}
    reader.close()
    return left


def commits(log):
    """The lengths at which a write-ahead log ends with a commit."""
    yield 0
    for at in range(32, len(log) - FRAME + 1, FRAME):
        if log[at + 4 : at + 8] != bytes(4):
            yield at + FRAME


def readable(case, store, want):
    """Reads a damaged archive row by row. `want` are the rows of the whole one.

    Returns the files whose pieces are all there and fit their hashes, the files of which only the name is
    there, and the user's own words.
    """
    folder = case.folder / "salvage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in store.items():
        (folder / name).write_bytes(data)
    db = connect(folder / "archive.db", "rw")

    def row(sql, key):
        try:
            return db.execute(sql, (key,)).fetchone()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):  # of a message with a damaged name in it
            return None

    files, named, words = {}, set(), []
    for number, (source, pieces) in want["files"].items():
        if row("SELECT machine, path, state, captured FROM sources WHERE number = ?", number) != source:
            continue
        piece_of = "SELECT source, start, length, hash, data FROM captures WHERE rowid = ?"
        found = [row(piece_of, rowid) for rowid in pieces]
        if all(one and one[:2] == place and is_whole(one[2:]) for one, place in zip(found, pieces.values())):
            files[source] = b"".join(unpack(piece[4]) for piece in found)
        else:
            named.add(source)
    for kind, session, word in want["words"]:
        if row(f"SELECT {kind[:-1]} FROM {kind} WHERE session = ?", session) == (word,):
            words.append((kind, session, word))
    db.close()
    return files, named, words


def all_rows(home):
    """Every captured file with its pieces, and every name and tag."""
    files = {}
    with copied(home.archive) as db:
        query = "SELECT number, machine, path, state, captured FROM sources WHERE captured > 0"
        for number, *source in db.execute(query).fetchall():
            query = "SELECT rowid, source, start FROM captures WHERE source = ? ORDER BY start"
            pieces = {rowid: tuple(piece) for rowid, *piece in db.execute(query, (number,))}
            files[number] = tuple(source), pieces
        words = [("names", *row) for row in db.execute("SELECT session, name FROM names")]
        words += [("tags", *row) for row in db.execute("SELECT session, tag FROM tags")]
    return {"files": files, "words": words}


def ask(home, store, questions):
    """Asks each question of the same archive, as if it were the first."""
    out = {}
    for question in questions:
        home.reset(store)
        out[question] = home.run(*question)
    return out


def warns(answer):
    """Returns whether an answer says that something is wrong. That nothing was found does not count."""
    lines = [line for line in answer.err.splitlines() if not (answer.code == 1 and line.startswith("error:"))]
    return answer.code in (2, None) or any(re.search("damaged|cannot|error|warning", line) for line in lines)


def damaged(case):
    """Damages an archive in one way and holds it to three rules.

    A: an answer that is wrong says so. B: then `archive check` finds the damage. C: a rebuild saves what can be read.
    """
    name, damage = kinds(case.rng)[case.number // 2 % 13]
    is_gone = case.number % 2 == 1
    home = case.home()
    sessions = home.fill(case.maker, logs=case.rng.choice([3, 8]), size=case.rng.choice([0, 3000, 30_000]))
    home.run("sync")
    first, second, *_ = sessions.values()
    home.run("name", first.id, "mine")
    home.run("tag", second.id, "kept")
    questions = [*QUESTIONS[:4], ("search", COMMON, "--json"), ("show", second.id)]
    is_log = name.endswith("-wal")
    store = leave_log(case, home, sessions) if is_log else home.snapshot()
    if is_gone:
        home.forget_files()
    home.reset(store)
    rows = all_rows(home)
    want = {question: [home.normal(answer)] for question, answer in ask(home, store, questions).items()}
    # A log that was cut is like one of a run that was killed earlier: what was there before is right too.
    for length in commits(store[name]) if is_log else []:
        for question, answer in ask(home, store | {name: store[name][:length]}, questions).items():
            want[question].append(home.normal(answer))
    broken = store | {name: bytes(damage(bytearray(store[name])))}
    if earlier_damage := case.rng.random() < 0.5:
        broken["archive.damaged"] = EARLIER
    problems = []
    answers = ask(home, broken, questions)
    wrong = [question for question in questions if normal(home, answers[question]) not in want[question]]
    for question in (question for question in wrong if not warns(answers[question])):
        differs = apart(normal(home, answers[question]), want[question][0])
        problems.append(f"A: `{' '.join(question)}` answers wrong without a word: {differs}")
    check = ask(home, broken, [("archive", "check")])["archive", "check"]
    if wrong and check.code == 0:
        problems.append(f"B: `archive check` finds nothing though {len(wrong)} answers are wrong")
    problems += rebuilt(case, home, broken, rows, is_gone, is_log)
    if not is_gone:
        got = {question: without_words(normal(home, home.run(*question))) for question in questions}
        wanted = {question: without_words(answers[0]) for question, answers in want.items()}
        problems += differences(got, wanted, "C: after the rebuild: answer")
    if earlier_damage and home.snapshot().get("archive.damaged") != EARLIER:
        problems.append("C: an earlier `archive.damaged` was overwritten")
    case.check(f"{damage} in {name}, files {'gone' if is_gone else 'there'}", problems)


def normal(home, answer):
    try:
        return home.normal(answer)
    except ValueError:
        return answer.code, answer.out.decode(errors="replace")


def rebuilt(case, home, broken, rows, is_gone, is_log):
    """Rebuilds the damaged archive. Whatever could be read must be there afterwards, the rest must be named."""
    files, named, words = readable(case, broken, rows)
    home.reset(broken)
    rebuild = home.run("sync", "--rebuild")
    if rebuild.code != 0:
        return [f"C: {rebuild}"]
    check = home.run("archive", "check")
    problems = [f"C: after the rebuild {check}"] if check.code not in ((0, 1) if is_gone else (0,)) else []
    _, given, older = home.captured()
    for source, _ in rows["files"].values():
        path = source[1].replace(str(home.path), "~")
        versions = older.get(path, set()) | {given.get(path)}
        if source in files and files[source] not in versions:
            problems.append(f"C: all pieces of `{path}` were readable, and the rebuild lost it")
        elif is_gone and source in named and path.rpartition("/")[2] not in rebuild.err:
            problems.append(f"C: pieces of `{path}` are lost, and the rebuild does not name it: {rebuild}")
        elif is_gone and not is_log and versions == {None} and not warns(rebuild):
            problems.append(f"C: `{path}` is lost, and the rebuild says nothing: {rebuild}")
    live = home.live()
    problems += unlike(
        {path: given[path] for path in given.keys() & live.keys()}, live, "C: after the rebuild: captured"
    )
    kept = all_rows(home)["words"]
    return problems + [f"C: {word} was readable, and the rebuild lost it" for word in words if word not in kept]


def without_words(answer):
    """An answer without the user's names and tags, which no file of the agent can bring back."""
    code, document = answer
    if isinstance(document, dict) and "sessions" in document:
        own = ("name", "tags", "title", "title_from")
        rows = [{key: row[key] for key in row if key not in own} for row in document["sessions"]]
        document = document | {"sessions": rows}
    elif isinstance(document, str):
        document = re.sub(r"(?m)^tags .*\n", "", document)
    return code, document


if __name__ == "__main__":
    suite.run(damaged, suite.arguments(__doc__, 52).parse_args())
