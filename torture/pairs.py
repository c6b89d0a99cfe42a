#!/usr/bin/env python3
"""Runs two commands at once on an archive that is being rebuilt, and looks whether anything was lost."""

import shutil
import time

import suite
from home import QUESTIONS, differences, unlike, wait
from inside import change, traces

WAYS = [
    "outdated, files there",
    "outdated, files gone",
    "during a rebuild, files there",
    "during a rebuild, files gone",
]
# System calls at which a run may be held up, and for how many microseconds: they widen the moments that matter.
DELAYS = {"rename": 300_000, "unlink": 100_000, "fsync": 20_000, "pwrite64": 1_000}
COMMANDS = ["sync", "sync --rebuild", "usage", "sessions", "search", "name", "tag", "forget", "archive backup"]


class Command:
    """One of the two commands; each has a session of its own to speak of."""

    def __init__(self, case, kind, session, number):
        self.kind, self.session = kind, session
        self.copy = case.folder / f"copy-{number}.db"
        word = session.messages[0]["content"][0]["text"].split()[1]
        self.args = {
            "usage": ("usage", "--json"),
            "sessions": ("sessions", "--all", "--json"),
            "search": ("search", case.rng.choice([word, "nowhere"]), "--json"),
            "name": ("name", session.id, f"name {number}"),
            "tag": ("tag", session.id, f"tag{number}"),
            "forget": ("forget", session.id, "--yes"),
            "archive backup": ("archive", "backup", self.copy),
        }.get(kind, tuple(kind.split()))
        self.words = [message["content"][0]["text"].split()[1] for message in session.messages[::2]]


def outcome(home, command, answer):
    """Returns the answer of a command that has one, or the sessions in the backup it made."""
    said = home.normal(answer) if "--json" in command.args else (answer.code, "")
    if command.kind != "archive backup" or answer.code != 0:
        return said
    check = home.run("--archive", command.copy, "archive", "check")
    sessions = home.normal(home.run("--no-sync", "--archive", command.copy, *QUESTIONS[0]))
    command.copy.unlink()
    return (check.code, check.err) if check.code != 0 else sessions


def one_after_the_other(home, commands):
    """Runs the commands in this order and returns their outcomes and the state they leave."""
    outcomes = {}
    for command in commands:
        done = home.run(*command.args)
        assert done.code in (0, 1), f"alone: {done}"
        outcomes[command] = outcome(home, command, done)
    return outcomes, state(home)


def state(home):
    """Syncs once more and returns the answers, the captured files and the errors."""
    sync, check = home.run("sync"), home.run("archive", "check")
    problems = [str(done) for done in (sync, check) if done.code != 0]
    return home.answers(*QUESTIONS, ("unforget", "--list")), home.captured()[1], problems


def held_up(case):
    """Returns a prefix for the command line that slows down every other run."""
    call, delay = case.rng.choice(list(DELAYS.items()))
    if case.rng.random() < 0.5 or not shutil.which("strace"):
        return []
    hold = ["-e", f"trace={call}", "-e", f"inject={call}:delay_enter={delay}"]
    return ["strace", "-f", "-qq", "-o", "/dev/null", *hold]


def pause(case):
    """Seconds between two starts: within a short run, or within one that is held up."""
    return case.rng.choice([0.04, 0.4]) * case.rng.random()


def pair(case):
    way = WAYS[case.number % len(WAYS)]
    home = case.home()
    sessions = list(home.fill(case.maker, logs=case.rng.choice([4, 12, 30]), size=2000).values())
    home.run("sync")
    earlier = sessions[3:6]
    for args in [
        ("name", earlier[0].id, "early"),
        ("tag", earlier[1].id, "early"),
        ("forget", earlier[2].id, "--yes"),
    ]:
        home.run(*args)
    if "gone" in way:
        home.forget_files()
        home.run("sync")
    kinds = [case.rng.choice(COMMANDS), case.rng.choice(COMMANDS)]
    commands = [Command(case, kind, sessions[1 + n], n) for n, kind in enumerate(kinds)]
    if "outdated" in way:
        change(home.archive, ("UPDATE notes SET value = CAST('0.0' AS BLOB) WHERE key = 'version'",))
    store = home.snapshot()
    first = one_after_the_other(home, commands)
    home.reset(store)
    second = one_after_the_other(home, commands[::-1])
    home.reset(store)
    runs = []
    if "rebuild" in way:
        runs.append((None, ("sync", "--rebuild"), home.start("sync", "--rebuild", before=held_up(case))))
        time.sleep(pause(case))
    delay = pause(case)
    for command in commands:
        runs.append((command, command.args, home.start(*command.args, before=held_up(case))))
        time.sleep(delay)
    problems = []
    for command, args, process in runs:
        answer = wait(process, args)
        if command is None:
            problems += [str(answer)] if answer.code != 0 else []
            continue
        got, wanted = outcome(home, command, answer), [first[0][command], second[0][command]]
        if answer.code not in [code for code, _ in wanted]:
            problems.append(str(answer))
        elif got not in wanted:
            problems += differences({args: got}, {args: wanted[0]}, "while both ran: answer")
    answers, files, faults = state(home)
    if (answers, files) not in (first[1][:2], second[1][:2]):
        problems += differences(answers, first[1][0]) + unlike(files, first[1][1])
    problems += faults
    for command in commands:
        if command.kind == "forget":
            problems += [trace for word in command.words for trace in traces(home.store, word)]
    problems += [f"`{name}` is left over" for name in home.snapshot() if "rebuild" in name]
    case.check(f"{way}: `{kinds[0]}` and `{kinds[1]}`, {delay * 1000:.1f} ms apart", problems)


if __name__ == "__main__":
    suite.run(pair, suite.arguments(__doc__, 40).parse_args())
