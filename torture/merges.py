#!/usr/bin/env python3
"""Merges archives of several machines in every order: honest, stale, rotten and hostile ones."""

import itertools
import json
import re
import shutil
import sys
from functools import partial

import hostile
import suite
from home import QUESTIONS, differences, lines, tree
from inside import change, copied, traces

MEMORY = 300 << 20
SECONDS = 20
ASKED = [*QUESTIONS, ("usage", "machine", "--json")]
SESSIONS, PROMPTS = QUESTIONS[0], QUESTIONS[3]
# Runs a program with bounded memory and writes down how much it had.
MEASURE = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
code = subprocess.run(sys.argv[2:]).returncode
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code if code >= 0 else 128 - code)
"""


class Machine:
    """A machine with an archive; its files are gone, so that nothing but the archive answers."""

    def __init__(self, case, name, home="home"):
        self.case, self.name, self.folder = case, name, home
        self.sessions = None

    def home(self):
        """This machine's home, and nothing of a machine that had the same one before."""
        shutil.rmtree(self.case.folder / self.folder, ignore_errors=True)
        home = self.case.home(self.folder, machine=self.name)
        home.shown = str(home.path)
        return home

    def live(self, *lives, on=None):
        """Writes files, lets each of `lives` change them, and returns a backup of each. In the end the files go.

        With `on` it all begins with a copy of an archive.
        """
        home, copies = self.with_archive(on) if on else self.home(), []
        self.sessions = list(home.fill(self.case.maker).values())
        for change_files in lives:
            change_files(home)
            must(home.run("sync"))
            if change_files is lives[-1]:
                home.forget_files()
                must(home.run("sync"))
            copies.append(self.case.folder / f"{self.name}-{len(list(self.case.folder.glob('*.db')))}.db")
            must(home.run("archive", "backup", copies[-1]))
        return copies

    def with_archive(self, copy):
        """This machine's home with a copy as its archive, and none of the agent's files."""
        home = self.home()
        home.write(home.archive, copy.read_bytes())
        home.gemini.mkdir()
        return home


def must(answer):
    assert answer.code == 0, str(answer)


def as_it_is(home):
    pass


def add_chat(home, name, content):
    home.write(home.project() / "chats" / name, content)


def versions(home):
    """Everything captured, by path: what is newest on any machine, and all that is older."""
    _, files, older = home.captured()
    out = {}

    def add(path, contents, n):
        _, _, place = path.rpartition(str(home.path.parent).lstrip("/") + "/")
        out.setdefault(place, ([], []))[n].extend(contents)

    for path, content in files.items():
        add(path, [content], 0)
    for path, contents in older.items():
        add(path, contents, 1)
    return {place: (sorted(newest), sorted(older)) for place, (newest, older) in out.items()}


def state(home):
    return home.answers(*ASKED), versions(home)


def words(contents):
    return {word for content in contents for word in re.findall(rb"\b[a-z]{12}\b", content)}


def rows(state, question, name, key):
    """The values of one field in an answer, if there is one."""
    code, document = state[0][question]
    return {row[key] for row in document[name]} if code == 0 else set()


def calls(state):
    code, document = state[0]["usage", "--json"]
    return document["total"]["calls"] if code == 0 else 0


def worse(before, after):
    """Lines that say what was there before a merge and is not there afterwards."""
    out = []
    for question, name, key in [(SESSIONS, "sessions", "id"), (PROMPTS, "prompts", "text")]:
        lost = rows(before, question, name, key) - rows(after, question, name, key)
        out += [f"{name} lack `{value}`" for value in sorted(lost)]
    if calls(after) < calls(before):
        out.append(f"usage has {calls(after)} calls, and had {calls(before)}")
    for path, (newest, older) in before[1].items():
        got = sum(after[1].get(path, ([], [])), [])
        if any(content not in got and not words([content]) <= words(got) for content in newest + older):
            out.append(f"bytes of `{path}` are lost")
    return out


def merge(home, copy):
    """Merges a copy and looks that nothing got worse and the copy is as it was."""
    before, folder = state(home), tree(copy.parent)
    done = home.run("archive", "merge", copy)
    problems = [str(done)] if done.code != 0 else []
    if copy.read_bytes() != folder[copy.name]:
        problems.append(f"the merged file was changed: `{copy.name}`")
    beside = [name for name in tree(copy.parent).keys() - folder.keys() if copy.name in name]
    problems += [f"`{name}` is left beside the merged file" for name in beside]
    return problems + worse(before, state(home))


def in_every_order(case, label, parts):
    """Merges (machine, copy) pairs in every order, twice. All orders must end in the same."""
    results = {}
    for order in itertools.permutations(parts):
        (machine, first), *rest = order
        home = machine.with_archive(first)
        name = f"{label}: {' ← '.join(copy.stem for _, copy in order)}"
        problems = [problem for _, copy in rest for problem in merge(home, copy)]
        once = state(home)
        for _, copy in rest:
            home.run("archive", "merge", copy)
        problems += [f"merged twice: {line}" for line in unequal(state(home), once)]
        check = home.run("archive", "check")
        problems += [str(check)] if check.code != 0 else []
        if results:
            other, wanted = next(iter(results.items()))
            problems += [f"not as `{other}`: {line}" for line in unequal(once, wanted)]
        results[name] = once
        case.check(name, problems)
    return results


def unequal(got, want):
    """Lines that say which answers and which captured files are not the same."""
    out = differences(got[0], want[0])
    for path in sorted(got[1].keys() | want[1].keys()):
        a, b = got[1].get(path, ([], [])), want[1].get(path, ([], []))
        if a != b:
            out.append(f"`{path}` has {sizes(a)} bytes, not {sizes(b)}")
    return out


def sizes(versions):
    newest, older = versions
    return f"{[len(content) for content in newest]}, older {[len(content) for content in older]}"


def honest(case, label, places):
    """Machines that know nothing of each other but one session that was copied and went on on one of them."""
    shared = case.maker.session(2)
    longer = shared.log() + case.maker.session(1).log().partition(b"\n")[2]
    machines = [Machine(case, name, home) for name, home in places]
    parts, alone = [], []
    for n, machine in enumerate(machines):
        content = longer if n else shared.log()
        copy = machine.live(partial(add_chat, name=shared.name(".jsonl"), content=content))[0]
        alone.append(versions(machine.with_archive(copy)))
        parts.append((machine, copy))
    for name, result in in_every_order(case, label, parts).items():
        problems = []
        for machine, files in zip(machines, alone):
            for path, (contents, _) in files.items():
                got = sum(result[1].get(path, ([], [])), [])
                if not any(version.startswith(content) for content in contents for version in got):
                    problems.append(f"`{path}` of `{machine.name}` is lost")
        case.check(f"{name}, what each machine had", problems)


def stale(case):
    """An older copy of an archive, and a newer one that saw files grow, change, appear and vanish."""
    maker = case.maker

    def go_on(home):
        app = home.project()
        logs = sorted(app.glob("chats/*.jsonl"))
        with logs[0].open("ab") as file:
            file.write(lines([maker.reply()]))
        logs[1].unlink()
        entries = json.loads((app / "logs.json").read_bytes()) + [maker.typed(maker.id(), 0)]
        (app / "logs.json").write_bytes(json.dumps(entries, indent=2).encode())
        next(app.glob("*/plans/plan.md")).write_bytes(f"# {maker.word()}".encode())
        (app / "shell_history").write_bytes(f"ls {maker.word()}\n".encode())

    machine = Machine(case, "laptop")
    old, new = machine.live(as_it_is, go_on)
    newest = versions(machine.with_archive(new))
    for name, result in in_every_order(case, "stale", [(machine, old), (machine, new)]).items():
        problems = not_the_newest(newest, result[1])
        case.check(f"{name}, the newest stay the newest", problems)


def not_the_newest(want, got):
    return [f"`{path}` is not the newest" for path in want if got.get(path, ([], []))[0] != want[path][0]]


def rotten(case):
    """A copy in which one bit of one piece is flipped."""
    machine = Machine(case, "laptop")
    good = machine.live(as_it_is)[0]
    bad = case.folder / "rotten.db"
    for number in range(4):
        shutil.copy(good, bad)
        path, what = rot(case.rng, bad)
        want = versions(machine.with_archive(good))
        for order in [(good, bad), (bad, good)]:
            home = machine.with_archive(order[0])
            done = home.run("archive", "merge", order[1])
            got = versions(home)
            lost = [place for place in want if not set(want[place][0]) <= set(sum(got.get(place, ([], [])), []))]
            problems = [f"good bytes of `{place}` are lost: {done}" for place in lost]
            if order[0] is good:
                check = home.run("archive", "check")
                problems += [f"damage came over: {check}"] if check.code != 0 else []
                problems += not_the_newest(want, got)
            case.check(f"rot {number}: {order[0].stem} ← {order[1].stem}, {what} of `{path}`", problems)


def rot(rng, path):
    """Flips one bit of a piece or of its hash. Returns whose it is, and which of the two."""
    with copied(path) as db:
        query = "SELECT captures.rowid, hash, data, path FROM captures JOIN sources ON number = source"
        rowid, digest, data, file = rng.choice(db.execute(query).fetchall())
    what, value = rng.choice([("data", data), ("data", data), ("hash", digest)])
    value = bytearray(value)
    value[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
    change(path, (f"UPDATE captures SET {what} = ? WHERE rowid = ?", bytes(value), rowid))
    return file.rpartition("/.gemini/")[2], what


def tombstones(case):
    """One side forgot a session that the other still has."""
    maker, secrets = case.maker, [case.maker.word() for _ in range(6)]
    secret = maker.session(1, text=f"my {secrets[0]} words")

    def confide(home):
        app = home.project()
        home.write(app / "chats" / secret.name(".jsonl"), secret.log())
        home.write(app / secret.id / "plans/p.md", f"plan {secrets[1]}".encode())
        home.write(app / f"tool-outputs/session-{secret.id}/o.txt", f"output {secrets[2]}".encode())
        home.write(app / "logs.json", json.dumps([maker.typed(secret.id, 0, f"typed {secrets[3]}")]).encode())
        must(home.run("name", secret.id, f"called {secrets[4]}"))
        must(home.run("tag", secret.id, secrets[5]))

    def forget(home):
        must(home.run("forget", secret.id, "--yes"))

    machine = Machine(case, "laptop")
    old, new = machine.live(confide, forget)
    for order in [(new, old), (old, new)]:
        home = machine.with_archive(order[0])
        done = home.run("archive", "merge", order[1])
        for later in ["merge", "sync", "rebuild"]:
            if later != "merge":
                done = home.run("sync", *(["--rebuild"] if later == "rebuild" else []))
            problems = [str(done)] if done.code != 0 else []
            problems += [trace for word in secrets for trace in traces(home.store, word)]
            listed = home.run("sessions", "--all", "--json")
            problems += ["it is listed"] if secret.id.encode() in listed.out else []
            who = "who forgot it merges who has it" if order[0] is new else "who has it merges who forgot it"
            case.check(f"tombstone: {who}, after the {later}", problems)


def hostile_one(case, number, is_same):
    """A hostile archive: of another machine, or one that went on from a copy of ours."""
    victim = Machine(case, "laptop")
    ours = victim.live(as_it_is)[0]
    other = victim.live(as_it_is, on=ours) if is_same else Machine(case, "mallory", "evil").live(as_it_is)
    honest_copy = other[0].read_bytes()
    home = victim.with_archive(ours)
    here = case.folder / "elsewhere"
    canary = case.maker.session(1, text=f"do not read {case.maker.word()}")
    for name in ("canary.txt", "canary.jsonl"):
        home.write(here / name, canary.log())
    ways, files = hostile.ways(here), hostile.files(honest_copy, case.rng, case.folder / "foreign.db")
    assert len(ways) + len(files) == hostile.KINDS
    kind = [*ways, *files][number]
    copy = case.folder / "merged/evil.db"
    home.write(copy, files.get(kind, honest_copy))
    if kind in ways:
        change(copy, *ways[kind])
    name = f"hostile: {kind}, as {'the same' if is_same else 'another'} machine"
    case.check(name, endured(case, home, copy, canary))


def endured(case, home, copy, canary):
    """Merges a hostile file, brings back all there is, and looks what it cost."""
    before, outside = state(home), everything(case, home)
    usage = case.folder / "merged/rss"
    done = home.run("archive", "merge", copy, before=[sys.executable, "-c", MEASURE, usage], patience=SECONDS)
    if done.code is None:
        return [str(done)]
    problems = [str(done)] if done.code not in (0, 2) else []
    memory = int(usage.read_text()) << 10
    usage.unlink()
    if memory > MEMORY:
        problems.append(f"it needed {memory >> 20} MB")
    after = everything(case, home)
    problems += changed(outside, after, "the merge", ())
    check = home.run("archive", "check", patience=SECONDS)
    problems += [f"damage came over: {check}"] if check.code != 0 else []
    if check.code is None:
        return problems
    answer = home.run("--no-sync", "restore", "--to", case.folder / "target", "--all-files", patience=SECONDS)
    problems += [str(answer)] if answer.code not in (0, 1, 2) else []
    given = everything(case, home)
    problems += changed(after, given, "`restore --to`", ("target/",))
    listed = home.run(*SESSIONS)
    for session in json.loads(listed.out)["sessions"] if listed.out else []:
        for args in [("restore", session["id"]), ("show", session["id"])]:
            answer = home.run(*args, patience=SECONDS)
            problems += [str(answer)] if answer.code not in (0, 1, 2) else []
            problems += leaks({"the transcript": answer.out}, canary)
    restored = everything(case, home)
    gemini = home.gemini.relative_to(case.folder)
    problems += changed(
        given, restored, "`restore SESSION`", (f"{gemini}/tmp/", f"{gemini}/history/", f"{gemini}/projects.json")
    )
    problems += leaks({path: content for path, content in restored.items() if path not in outside}, canary)
    home.gemini.rename(case.folder / "restored")
    home.gemini.mkdir()
    return problems + worse(before, state(home))


def everything(case, home):
    """All files of the case but those of the archive's folder."""
    own = str(home.store.relative_to(case.folder)) + "/"
    return {path: content for path, content in tree(case.folder).items() if not path.startswith(own)}


def changed(before, after, who, allowed):
    paths = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    return [f"{who} wrote `{path}`" for path in sorted(paths) if not path.startswith(allowed)]


def leaks(contents, canary):
    word = canary.messages[0]["content"][0]["text"].split()[-1].encode()
    return [
        f"{path} has text of a file that is only on this disk"
        for path, content in contents.items()
        if word in content
    ]


SCENARIOS = [
    lambda case: honest(case, "other homes", [("laptop", "home"), ("desktop", "other"), ("server", "third")]),
    lambda case: honest(case, "one home path", [("laptop", "home"), ("desktop", "home")]),
    lambda case: honest(
        case, "one home path, three machines", [("laptop", "home"), ("desktop", "home"), ("server", "home")]
    ),
    lambda case: honest(case, "one name, two homes", [("laptop", "home"), ("laptop", "other")]),
    lambda case: honest(case, "one name, one home path", [("laptop", "home"), ("laptop", "home")]),
    stale,
    rotten,
    tombstones,
]


def merged(case):
    number = case.number % (len(SCENARIOS) + 2 * hostile.KINDS)
    if number < len(SCENARIOS):
        SCENARIOS[number](case)
    else:
        hostile_one(case, (number - len(SCENARIOS)) // 2, number % 2 == 1)


if __name__ == "__main__":
    suite.run(merged, suite.arguments(__doc__, len(SCENARIOS) + 2 * hostile.KINDS).parse_args())
