#!/usr/bin/env python3
"""Shares a folder between machines while runs are killed, run at once, and the folder is damaged."""

import os
import shutil
import signal
import subprocess

import suite
from home import QUESTIONS, differences, lines, tree, wait
from inside import traces

STEPS = 10  # disturbed runs in one case
NAMES = ["laptop", "desktop", "server"]
ASKED = [*QUESTIONS, ("usage", "machine", "--json")]
FOREIGN = {"notes.txt": b"mine", f"{'f' * 32}-{'0' * 32}.age": b"not a parcel", ".stfolder": b""}


class Machine:
    """A machine that shares, and a twin of its archive that never does: what the machine added by itself."""

    def __init__(self, case, name):
        self.case, self.maker = case, case.maker
        self.home = case.home(name, machine=name)
        self.twin = case.folder / f"twins/{name}/archive.db"
        self.folder, self.key = case.folder / "shared", case.folder / "key"
        self.sessions = list(self.home.fill(self.maker, logs=2).items())
        self.words = []  # of forgotten sessions
        self.both("sync")

    def both(self, *args):
        """Runs a command for the archive and for its twin."""
        for archive in (self.home.archive, self.twin):
            done = self.home.run("--archive", archive, *args)
            assert done.code == 0, str(done)

    def share(self, **options):
        return self.home.start("share", self.folder, "--key", self.key, "--quiet", **options)

    def live(self):
        """Lets something happen on this machine."""
        maker, rng = self.maker, self.case.rng
        path, session = rng.choice(self.sessions)
        match rng.choice(["grow", "grow", "new", "new", "gone", "name", "tag", "forget"]):
            case "grow" if path.suffix == ".jsonl" and path.exists():
                with path.open("ab") as file:
                    file.write(lines([maker.user(), maker.reply(rng.choice([0, 50_000]))]))
            case "new":
                new = maker.session(rng.randint(1, 3), size=rng.choice([0, 0, 100_000]))
                path = self.home.project() / "chats" / new.name(".jsonl")
                self.home.write(path, new.log())
                self.sessions.append((path, new))
            case "gone":
                path.unlink(missing_ok=True)
            case "name":
                self.both("sync")
                self.both("name", session.id, f"name {maker.word()}")
            case "tag":
                self.both("sync")
                self.both("tag", session.id, maker.word())
            case "forget" if len(self.sessions) > 3 and path.parent.name == "chats":
                new = maker.session(1)
                path = self.home.project() / "chats" / new.name(".jsonl")
                self.home.write(path, new.log())
                self.both("sync")
                finish(self.share())
                path.unlink()
                self.both("forget", new.id, "--yes")
                self.words.append(new.messages[0]["content"][0]["text"].split()[1])
        self.both("sync")


def finish(process):
    """Waits for a run that must succeed."""
    done = wait(process, ("share",))
    assert done.code == 0, str(done)


def kill(process, moment):
    """Kills a run, and the program that it runs, at a moment of its life."""
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def damage(case, folder, seen):
    """Does to one file in the folder what disks, sync programs and people do."""
    parcels = sorted(path for path in folder.glob("*.age") if path.name not in FOREIGN)
    if not parcels:
        return "nothing to damage"
    path, way = case.rng.choice(parcels), case.rng.choice(["cut", "flip", "remove", "conflict", "return", "draft"])
    content = path.read_bytes()
    match way:
        case "cut":
            path.write_bytes(content[: case.rng.randrange(len(content))])
        case "flip":
            at = case.rng.randrange(len(content))
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        case "remove":
            path.unlink()
        case "conflict":
            path.with_suffix(".sync-conflict-20260814-163000-ABCDEFG.age").write_bytes(content)
        case "return" if seen:  # a sync program brings an old file back
            name = case.rng.choice(sorted(seen))
            (folder / name).write_bytes(seen[name])
        case "draft":
            (folder / f".{path.name[:32]}-x.draft").write_bytes(content[:1000])
    return way


def run_case(case):
    rng = case.rng
    folder = case.folder / "shared"
    folder.mkdir()
    for name, content in FOREIGN.items():
        (folder / name).write_bytes(content)
    first = case.home("first")
    assert first.run("share", "--new-key", case.folder / "key").code == 0
    machines = [Machine(case, name) for name in NAMES[: 2 + case.number % 2]]
    seen, story = {}, []
    for _ in range(STEPS):
        machine, other = rng.sample(machines, 2)
        machine.live()
        way = rng.choice(["kill", "kill", "kill", "both", "both, killed", "damage"])
        runs = [machine.share(), other.share()] if "both" in way else [machine.share()]
        if "kill" in way:
            for run in runs:
                kill(run, rng.uniform(0, 0.4))
        else:
            for run in runs:
                finish(run)
        if way == "damage":
            way += ": " + damage(case, folder, seen)
        seen |= {path.name: path.read_bytes() for path in folder.glob("*.age") if path.name not in FOREIGN}
        story.append(way)
    # Machines that are left in peace agree in the end; one more round changes nothing.
    for _ in range(3):
        for machine in machines:
            finish(machine.share())
    before = tree(folder)
    for machine in machines:
        finish(machine.share())
    problems = ["another round changed the folder"] if tree(folder) != before else []
    case.check("; ".join(story), problems + agreement(case, machines) + leftovers(machines, folder))


def agreement(case, machines):
    """Compares every machine with the union of what each added by itself."""
    judge = case.folder / "judge/archive.db"
    judge.parent.mkdir()
    shutil.copy(machines[0].twin, judge)
    for ending in ("-wal", "-shm"):
        if (log := machines[0].twin.with_name(f"archive.db{ending}")).exists():
            shutil.copy(log, judge.with_name(f"archive.db{ending}"))
    shutil.copy(machines[0].twin.with_name("archive.machine"), judge.parent)
    home, problems = machines[0].home, []
    for machine in machines[1:] * 2 + machines[:1]:
        done = home.run("--archive", judge, "archive", "merge", machine.twin)
        assert done.code == 0, str(done)
    want = {asked: home.normal(home.run("--archive", judge, *asked)) for asked in ASKED}
    for machine in machines:
        got = machine.home.answers(*ASKED)
        check = machine.home.run("archive", "check")
        found = differences(plain(got, machines), plain(want, machines)) + ([str(check)] if check.code else [])
        problems += [f"{machine.home.path.name}: {problem}" for problem in found]
    return problems


def plain(answers, machines):
    """Answers without what depends on the machine that gives them: how paths are shown, and what is live here."""
    text = repr(answers)
    for machine in machines:
        text = text.replace(str(machine.home.path), "~")
    return eval(text)  # our own repr


def leftovers(machines, folder):
    out = []
    for machine in machines:
        names = [name for name in tree(machine.home.store) if ".share-" in name]
        out += [f"`{name}` is left beside the archive" for name in names]
        secrets = machine.words + ["SQLite format", "sessionId"]
        out += [f"in the folder: {trace}" for word in secrets for trace in traces(folder, word)]
        out += [trace for word in machine.words for trace in traces(machine.home.store, word)]
    names = set(tree(folder))
    out += [f"`{name}` is left in the folder" for name in names if name.endswith(".draft")]
    return out + [f"`{name}` is gone" for name in FOREIGN if name not in names]


if __name__ == "__main__":
    arguments = suite.arguments(__doc__, 60).parse_args()
    suite.run(run_case, arguments, -(-arguments.count // STEPS))
