#!/usr/bin/env python3
"""Kills the program at random moments, or at every write, and looks at what is left."""

import json
import shutil
import subprocess
import time

import suite
from home import QUESTIONS, differences, lines, tree, unlike, wait
from inside import traces

KILLS = 10  # in one case
CALLS = ["write", "pwrite64", "writev", "pwritev", "fsync", "fdatasync", "ftruncate", "fallocate", "rename"]
CALLS += ["renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir"]


class Scenario:
    """A home, a command that is killed in it, and the states that may be left."""

    def __init__(self, case, name):
        self.case, self.name = case, name
        self.home = case.home()
        self.target = case.folder / "backup/copy.db"
        self.target.parent.mkdir()
        self.words = []  # that must not be left anywhere
        self.args = getattr(self, name.replace(" ", "_"))()
        self.store, self.files = self.home.snapshot(), tree(self.home.gemini)
        self.before = self.state()
        self.reset()
        start = time.monotonic()
        done = self.home.run(*self.args)
        self.duration = time.monotonic() - start
        assert done.code == 0, f"undisturbed: {done}"
        self.files_after = tree(self.home.gemini)
        self.after = self.state()
        live = self.home.live()
        captured = {path[path.find("~") :]: content for path, content in self.after[1].items()}
        captured = {path: content for path, content in captured.items() if path in live}
        case.check(f"{name} undisturbed", unlike(captured, live) + self.after[3])
        self.names = set(tree(self.home.store)) | set(self.store) | {"archive.db-wal", "archive.db-shm"}

    def first_sync(self):
        self.home.fill(self.case.maker)
        return ("sync",)

    def sync(self):
        maker, home = self.case.maker, self.home
        sessions = home.fill(maker)
        home.run("sync")
        grown, gone, *_ = sessions
        with grown.open("ab") as file:
            file.write(lines([maker.user(), maker.reply()]))
        gone.unlink()
        new = maker.session()
        home.write(home.gemini / "tmp/app/chats" / new.name(".jsonl"), new.log())
        home.write(home.gemini / "tmp/app/logs.json", json.dumps([maker.typed(maker.id(), 0)]).encode())
        home.write(home.gemini / "tmp/app/shell_history", f"ls {maker.word()}\n".encode())
        return ("sync",)

    def rebuild(self):
        sessions = self.home.fill(self.case.maker)
        self.home.run("sync")
        self.home.run("name", next(iter(sessions.values())).id, "mine")
        next(iter(sessions)).unlink()
        return "sync", "--rebuild"

    def merge(self):
        other = self.case.home("other", machine="desktop")
        other.fill(self.case.maker)
        other.run("sync")
        copy = self.case.folder / "other.db"
        other.run("archive", "backup", copy)
        self.home.fill(self.case.maker)
        self.home.run("sync")
        return "archive", "merge", copy

    def backup(self):
        self.home.fill(self.case.maker, size=20_000)
        self.home.run("sync")
        return "archive", "backup", self.target

    def forget(self):
        maker, app = self.case.maker, self.home.project()
        self.home.fill(maker)
        self.words = [maker.word() for _ in range(4)]
        secret = maker.session(1, text=f"my {self.words[0]} words")
        self.home.write(app / "chats" / secret.name(".jsonl"), secret.log())
        self.home.write(app / secret.id / "plans/p.md", f"plan {self.words[1]}".encode())
        self.home.write(app / f"tool-outputs/session-{secret.id}/o.txt", f"output {self.words[2]}".encode())
        entries = [maker.typed(secret.id, 0, f"typed {self.words[3]}"), maker.typed(maker.id(), 0)]
        self.home.write(app / "logs.json", json.dumps(entries).encode())
        self.home.run("sync")
        self.home.forget_files()
        return "forget", secret.id, "--yes"

    def restore(self):
        sessions = self.home.fill(self.case.maker)
        self.home.run("sync")
        self.home.forget_files()
        return "restore", next(iter(sessions.values())).id

    def reset(self):
        self.home.reset(self.store)
        self.target.unlink(missing_ok=True)
        for path, content in tree(self.home.gemini).items():
            if path not in self.files:
                (self.home.gemini / path).unlink()
            elif content != self.files[path]:
                self.home.write(self.home.gemini / path, self.files[path])

    def state(self):
        """Syncs once more and returns the answers, the captured files and the errors."""
        problems = [
            str(done) for done in [self.home.run("sync"), self.home.run("archive", "check")] if done.code != 0
        ]
        answers = self.home.answers(*QUESTIONS)
        if self.name == "restore":  # half of a session may be back, and the list says so
            del answers[QUESTIONS[0]]
        _, files, older = self.home.captured()
        return answers, files, older, problems

    def check(self, label, killed):
        """Looks at what a kill left, runs the command again, and looks once more."""
        problems = self.agent_files() + (self.whole_backup() if self.name == "backup" else [])
        left = self.state()
        if left[:3] not in (self.before[:3], self.after[:3]):
            near = min((self.compare(left, state) for state in (self.before, self.after)), key=len)
            problems += [f"after a sync: {problem}" for problem in near]
        problems += left[3]
        self.target.unlink(missing_ok=True)
        again = self.home.run(*self.args)
        if again.code not in ((0, 1) if self.name == "forget" else (0,)):
            problems.append(f"run again: {again}")
        problems += [f"run again: {problem}" for problem in self.agent_files()]
        names = set(tree(self.home.store)) - self.names
        names |= {f"backup/{name}" for name in set(tree(self.target.parent)) - {self.target.name}}
        problems += [f"run again: `{name}` is left over" for name in sorted(names)]
        problems += [f"run again: {trace}" for word in self.words for trace in traces(self.home.store, word)]
        problems += [f"run again: {problem}" for problem in self.compare(self.state(), self.after)]
        self.case.check(f"`{' '.join(map(str, self.args))}` ({self.name}) {label}{killed}", problems)

    def compare(self, got, want):
        older = {f"{path} {len(content)}": content for path, contents in got[2].items() for content in contents}
        wanted = {f"{path} {len(content)}": content for path, contents in want[2].items() for content in contents}
        return (
            differences(got[0], want[0]) + unlike(got[1], want[1]) + unlike(older, wanted, "older version") + got[3]
        )

    def agent_files(self):
        """Compares each of the agent's files with what it was and with what the command makes of it."""
        out = []
        for path, content in tree(self.home.gemini).items():
            if content not in (self.files.get(path), self.files_after.get(path)):
                out.append(f"`.gemini/{path}` should not be there like this ({len(content)} bytes)")
        return out + [f"`.gemini/{path}` is gone" for path in self.files if not (self.home.gemini / path).exists()]

    def whole_backup(self):
        """Looks into a copy of the backup, because the program keeps files of its own beside an archive."""
        if not self.target.exists():
            return []
        looked = self.case.folder / "looked/copy.db"
        self.home.write(looked, self.target.read_bytes())
        check = self.home.run("--archive", looked, "archive", "check")
        question = QUESTIONS[0]
        got = self.home.normal(self.home.run("--no-sync", "--archive", looked, *question))
        shutil.rmtree(looked.parent)
        if check.code != 0:
            return [f"the part of a backup under its final name: {check}"]
        return differences({question: got}, {question: self.before[0][question]}, "backup's answer")


SCENARIOS = ["first sync", "sync", "rebuild", "merge", "backup", "forget", "restore"]


def at_random(case):
    scenario = Scenario(case, SCENARIOS[case.number % len(SCENARIOS)])
    for kill in range(KILLS):
        scenario.reset()
        moment = case.rng.uniform(0, scenario.duration * 1.05)
        process = scenario.home.start(*scenario.args)
        try:
            process.wait(moment)
            killed = ", which had ended"
        except subprocess.TimeoutExpired:
            process.kill()
            killed = ""
        wait(process, scenario.args)
        scenario.check(f"kill {kill} after {moment * 1000:.1f} ms", killed)


def at_every_write(case):
    scenario = Scenario(case, SCENARIOS[case.number])
    for call in CALLS:
        for number in range(1, 100_000):
            scenario.reset()
            inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}"]
            strace = ["strace", "-f", "-qq", "-o", "/dev/null", *inject]
            done = scenario.home.run(*scenario.args, before=strace)
            if done.code in (0, 1, 2):
                break
            scenario.check(f"killed at {call} {number}", "")
            if case.args.count and number >= case.args.count:
                break


if __name__ == "__main__":
    parser = suite.arguments(__doc__, 70)
    parser.add_argument(
        "--every-write",
        action="store_true",
        help="kill at every system call that writes, with strace; --count 0 for all, else the first of each kind",
    )
    args = parser.parse_args()
    if args.every_write:
        suite.run(at_every_write, args, len(SCENARIOS))
    else:
        suite.run(at_random, args, -(-args.count // KILLS))
