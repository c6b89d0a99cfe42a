"""Made-up homes of Gemini CLI, and the program run in them.

Everything here knows the program from outside: its command line, its JSON answers, and where it
keeps its archive.
"""

import json
import os
import random
import shutil
import signal
import string
import subprocess
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

PATIENCE = 120
MODELS = ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview"]
COMMON = "lantern"  # in every message, so that one search finds them all


class Maker:
    """Makes up ids, words, times and sessions. The same seed gives the same ones."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.now = datetime(2026, 5, 1, 10, tzinfo=timezone.utc)
        self.words = set()

    def id(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def word(self):
        """A word that nothing else contains; always 12 letters, so that one can replace another."""
        while (word := "".join(self.rng.choices(string.ascii_lowercase, k=12))) in self.words:
            pass
        self.words.add(word)
        return word

    def babble(self, size):
        """Text that does not get much smaller when it is packed."""
        return "".join(self.rng.choices(string.ascii_lowercase + " ", k=size))

    def time(self):
        self.now += timedelta(seconds=self.rng.randint(5, 500))
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def user(self, text=None):
        text = text or f"please {self.word()} the {COMMON}"
        return {"id": self.id(), "timestamp": self.time(), "type": "user", "content": [{"text": text}]}

    def reply(self, size=0):
        text = f"the {COMMON} is {self.word()} now " + self.babble(size)
        count = self.rng.randint
        tokens = {"input": count(500, 5000), "output": count(1, 900), "cached": count(0, 400)}
        tokens |= {"thoughts": count(0, 90), "tool": 0}
        tokens["total"] = tokens["input"] + tokens["output"] + tokens["thoughts"]
        reply = {"id": self.id(), "timestamp": self.time(), "type": "gemini", "content": text}
        return reply | {"tokens": tokens, "model": self.rng.choice(MODELS)}

    def session(self, turns=2, kind="main", size=0, text=None):
        start = self.time()
        header = {"sessionId": self.id(), "projectHash": "x", "startTime": start, "lastUpdated": start}
        session = Session(header | {"kind": kind})
        for _ in range(turns):
            session.messages += [self.user(text), self.reply(size)]
            text = None
        return session

    def typed(self, session, number, text=None):
        """An entry of `logs.json`."""
        message = text or f"typed {self.word()} at the {COMMON}"
        entry = {"sessionId": session, "messageId": number, "type": "user", "message": message}
        return entry | {"timestamp": self.time()}


@dataclass
class Session:
    header: dict
    messages: list = field(default_factory=list)

    @property
    def id(self):
        return self.header["sessionId"]

    def name(self, ending):
        minute = self.header["startTime"][:16].replace(":", "-")
        return f"session-{minute}-{self.id[:8]}{ending}"

    def log(self):
        """The bytes of a log, as Gemini CLI writes them since 0.39."""
        return lines([self.header, *self.messages])

    def document(self):
        """The bytes of a document, as Gemini CLI wrote them before 0.39."""
        return json.dumps(self.header | {"messages": self.messages}, indent=2).encode()


def lines(records):
    """Records as lines of a log, without spaces, as JavaScript writes them."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


@dataclass
class Answer:
    """The exit code and the output of one run."""

    args: tuple
    code: int
    out: bytes
    err: str

    def __str__(self):
        said = " | ".join(self.err.strip().splitlines()[:4])
        return f"`{' '.join(map(str, self.args))}` exit {self.code}" + (f", stderr: {said}" if said else "")


class Home:
    """A home folder with an agent's files, an archive, and the program."""

    def __init__(self, program, path, machine=None):
        self.program = str(program)
        self.path = Path(path)
        self.shown = "~"  # how the home is called in answers that are compared
        self.gemini = self.path / ".gemini"
        self.store = self.path / ".local/share/backstory"
        self.archive = self.store / "archive.db"
        self.path.mkdir(parents=True, exist_ok=True)
        if machine:
            self.write(self.path / ".config/backstory/config.toml", f'machine = "{machine}"\n'.encode())

    def write(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def project(self, name="app"):
        folder = self.gemini / "tmp" / name
        self.write(folder / ".project_root", f"/home/dev/{name}".encode())
        return folder

    def fill(self, maker, logs=3, size=0):
        """Writes files of every kind below two projects. Returns their sessions, by file."""
        app, lib = self.project("app"), self.project("lib")
        sessions = {}

        def chat(folder, session, ending):
            path = folder / "chats" / session.name(ending)
            self.write(path, session.log() if ending == ".jsonl" else session.document())
            sessions[path] = session
            return session

        parents = [chat(app, maker.session(2, size=size), ".jsonl") for _ in range(logs)]
        document = chat(lib, maker.session(2), ".json")
        agent = maker.session(1, kind="subagent")
        path = app / "chats" / parents[0].id / f"{agent.id}.jsonl"
        self.write(path, agent.log())
        sessions[path] = agent
        gone = maker.id()  # a session that only the prompt log knows
        entries = [maker.typed(parents[0].id, 0), maker.typed(gone, 0), maker.typed(gone, 1)]
        self.write(app / "logs.json", json.dumps(entries, indent=2).encode())
        self.write(app / parents[0].id / "plans/plan.md", f"# Plan\n{maker.word()}\n".encode())
        output = f"tool-outputs/session-{document.id}/run_1.txt"
        self.write(lib / output, f"output {maker.word()}\n".encode() * 40)
        self.write(app / "shell_history", f"echo {maker.word()}\nmake {maker.word()}\n".encode())
        history = [{"role": "user", "parts": [{"text": f"saved {maker.word()}"}]}]
        history.append({"role": "model", "parts": [{"text": f"answered {maker.word()}"}]})
        self.write(lib / "checkpoint-mine.json", json.dumps({"history": history}, indent=2).encode())
        return sessions

    def start(self, *args, before=(), **options):
        """Starts the program with an environment of nothing but this home."""
        env = {"HOME": str(self.path), "TZ": "UTC", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [*before, self.program, *map(str, args)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=env, cwd=self.path, start_new_session=True, **pipes | options)

    def run(self, *args, patience=PATIENCE, **options):
        return wait(self.start(*args, **options), args, patience)

    def answers(self, *questions):
        """The answers to questions, in a form that can be compared."""
        return {question: self.normal(self.run(*question)) for question in questions}

    def normal(self, answer):
        """An answer without what may differ between two right ones: places, times taken, order of equals."""
        text = answer.out.decode(errors="replace").replace(str(self.path), self.shown)
        if "--json" not in answer.args or not text:
            return answer.code, text
        document = json.loads(text)
        for name, rows in document.items():
            if isinstance(rows, list):
                for row in rows:
                    row.pop("score", None)
                document[name] = sorted(rows, key=canonical)
        document.pop("took_ms", None)
        return answer.code, document

    def captured(self):
        """Every captured file, read with the agent's folder out of the way so that nothing is taken from it.

        Returns the answer of `restore`, the bytes by path, and the older versions by path.
        """
        aside, target = self.path / ".gemini-aside", self.path.parent / f"{self.path.name}-restored"
        is_there = self.gemini.exists()
        if is_there:
            self.gemini.rename(aside)
        try:
            answer = self.run("--no-sync", "restore", "--to", target, "--all-files")
        finally:
            if is_there:
                aside.rename(self.gemini)
        files, older = {}, {}
        for path, content in tree(target).items():
            path = path.replace(str(self.path).lstrip("/"), self.shown.lstrip("/"))
            name, replaced, number = path.rpartition(".replaced-")
            if replaced and number.isdigit():
                older.setdefault(name, set()).add(content)
            else:
                files[path] = content
        shutil.rmtree(target, ignore_errors=True)
        return answer, files, older

    def live(self):
        """The agent's files that are captured, as they are on disk."""
        files = {f"~/.gemini/{path}": content for path, content in tree(self.gemini).items()}
        return {path: data for path, data in files.items() if not path.endswith((".project_root", "projects.json"))}

    def forget_files(self):
        """Deletes all of the agent's files, as the agent itself would one day."""
        shutil.rmtree(self.gemini / "tmp", ignore_errors=True)

    def snapshot(self):
        return {path: content for path, content in tree(self.store).items()}

    def reset(self, snapshot):
        """Puts the archive's folder back to a snapshot."""
        shutil.rmtree(self.store, ignore_errors=True)
        for path, content in snapshot.items():
            self.write(self.store / path, content)
        self.store.mkdir(parents=True, exist_ok=True)


def wait(process, args, patience=PATIENCE):
    """Waits for a run. One that does not end in time ends with code None."""
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Answer(tuple(args), None, out, f"no end after {patience} s; {err.decode(errors='replace')}")
    return Answer(tuple(args), process.returncode, out, err.decode(errors="replace"))


def canonical(value):
    return json.dumps(value, sort_keys=True)


def tree(folder):
    """The files below a folder by relative path. Links are given as their targets."""
    out = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = Path(top, name)
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            out[str(path.relative_to(folder))] = content
    return out


QUESTIONS = [
    ("sessions", "--all", "--json"),
    ("usage", "--json"),
    ("usage", "project", "--json"),
    ("prompts", "--json"),
    ("search", COMMON, "--limit", "1000", "--json"),
]


def differences(got, want, what="answer"):
    """Lines that say where answers differ."""
    out = []
    for question, expected in want.items():
        if got[question] != expected:
            out.append(f"{what} of `{' '.join(question)}` differs: {apart(got[question], expected)}")
    return out


def apart(got, want):
    """Describes in one line how two normal answers differ."""
    if got[0] != want[0]:
        return f"exit {got[0]} instead of {want[0]}"
    if not isinstance(got[1], dict) or not isinstance(want[1], dict):
        return f"{short(got[1])} instead of {short(want[1])}"
    out = []
    for name in (name for name in want[1] if got[1].get(name) != want[1][name]):
        a, b = got[1].get(name), want[1][name]
        out.append(rows_apart(name, a, b) if isinstance(a, list) else f"{name} {short(a)} instead of {short(b)}")
    return ", ".join(out)


def rows_apart(name, got, want):
    missing, extra = [row for row in want if row not in got], [row for row in got if row not in want]
    for row in missing:
        same = next((other for other in extra if identity(other) == identity(row)), None)
        if same:
            changed = [key for key in row if same.get(key) != row[key]]
            fields = [f"{key} {short(same.get(key))} instead of {short(row[key])}" for key in changed]
            return f"{len(missing)} of {len(want)} {name} differ, {identity(row)}: {', '.join(fields)}"
    named = ", ".join(str(identity(row)) for row in (missing + extra)[:3])
    return f"{len(missing)} of {len(want)} {name} missing, {len(extra)} too many: {named}"


def identity(row):
    keys = ["id"] if "id" in row else ["session", "message", "key", "text"]
    return " ".join(str(row[key]) for key in keys if row.get(key))


def short(value):
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def unlike(got, want, what="captured"):
    """Lines that say which files are missing, differ or are too many."""
    out = [f"{what}: `{path}` is missing" for path in sorted(want.keys() - got.keys())]
    out += [f"{what}: `{path}` should not be there" for path in sorted(got.keys() - want.keys())]
    for path in sorted(want.keys() & got.keys()):
        if got[path] != want[path]:
            out.append(f"{what}: `{path}` has other bytes ({len(got[path])}, not {len(want[path])})")
    return out
