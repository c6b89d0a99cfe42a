#!/usr/bin/env python3
"""Compares the lake with the local reports.

    lake.py BACKSTORY BACKSTORY_LAKE [--machines N] [--seed N] [--engines LIST] [--keep FOLDER] [--truth HOME…]

Makes homes of several machines from the recorded sessions in `testdata`: of three agents, shared, copied in older
states, and forgotten. Exports are killed at random moments; then each machine exports to one lake, on a disk or on an
S3 server that fails every tenth request. Totals by model, day, project and agent must then equal `backstory usage` of
the merged archives in DuckDB, ClickHouse and Spark. With `--truth`, the files of generated homes are spread over the
machines instead, nothing is forgotten, and the totals must also equal the `truth.json` of the homes. Engines are
installed from PyPI into a scratch folder; one that cannot be installed is SKIPPED."""

import argparse
import hashlib
import hmac
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from datetime import date, timedelta
from pathlib import Path

import lake_engines
import lake_store
import truth

ROOT = Path(__file__).resolve().parent.parent
KEY = "the key of the organisation"
SUMS = ["calls", "sessions", "undated_calls", "input", "cached", "cache_write_5m", "cache_write_1h", "output", "thoughts",
        "tool", "other", "cost_pico", "unpriced_calls", "estimated_calls", "upper_bound_calls", "at_least"]
GROUPS = {"daily": ("usage_by_day", "day"), "model": ("usage_by_model", "model"),
          "project": ("usage_by_project", "project"), "agent": ("usage_by_agent", "agent")}
# The project of the recorded sessions; Gemini CLI names some folders by its hash.
PROJECT = "/home/dev/projects/demo-app"
# Dated prices, a tier and a class for models of the recorded sessions.
PRICES = [
    {"model": "gpt-5.3-codex", "input": 1.75, "output": 14, "cache_read": 0.175, "above": 5000, "tier_input": 3.5, "tier_output": 28},
    {"model": "gemini-2.5-pro", "input": 1.25, "output": 10, "from": "2020-01-01", "to": "2026-06-01"},
    {"model": "gemini-2.5-pro", "input": 2.5, "output": 20, "cache_read": 0.25, "from": "2026-06-01"},
]


class Machine:
    def __init__(self, folder, number, programs):
        self.home, self.programs = folder / f"m{number:02}", programs
        self.archive = self.home / "archive.db"
        self.home.mkdir()
        self.policy = self.home / "policy.toml"
        self.policy.write_text(
            f'organisation = "acme"\nperson = "person{number % 7}"\nteam = "team{number % 3}"\n'
            f'key_env = "LAKE_KEY"\nprices = "{folder}/prices.json"\n')

    def env(self):
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LAKE_KEY": KEY,
                "XDG_DATA_HOME": str(self.home / "data"), **self.programs.store}

    def backstory(self, *args):
        command = [self.programs.backstory, "--archive", self.archive, "--pricing", self.home.parent / "prices.json", *args]
        return run(command, self.env())

    def command(self, *args):
        return [str(part) for part in (self.programs.lake, "--archive", self.archive, "--policy", self.policy, *args)]

    def lake(self, *args):
        return run(self.command(*args), self.env())


class Programs:
    def __init__(self, backstory, lake):
        self.backstory, self.lake, self.store = backstory, lake, {}


def run(command, env=None):
    done = subprocess.run([str(part) for part in command], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr}{done.stdout[-2000:]}")
    return done.stdout


def trees():
    """The recorded homes: the agent's folder, and its name in a home."""
    out = []
    for agent in ("claude", "codex", "gemini"):
        folders = sorted(path for path in (ROOT / "testdata" / agent).glob(f"*/*/{agent}") if path.is_dir())
        out += [(folder, f".{agent}") for folder in folders]
    return out


def changed(text, variant):
    """A text with other ids, so that a recorded home can occur several times as different sessions."""
    if variant == 0:
        return text
    salt = uuid.UUID(int=variant)
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
                  lambda found: str(uuid.uuid5(salt, found[0])), text)
    text = re.sub(r"\b((?:msg|req|toolu|call|resp)_[A-Za-z0-9]+)", rf"\1v{variant}", text)
    text = re.sub(r"\b(20\d\d-\d\d-\d\d)(?=T\d\d)", lambda found: earlier(found[0], variant), text)
    name = f"demo-{'abcdefg'[variant % 7]}pp"
    return text.replace("demo-app", name).replace(sha256(PROJECT), sha256(PROJECT.replace("demo-app", name)))


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def earlier(day, variant):
    """A day some weeks before."""
    return str(date.fromisoformat(day) - timedelta(days=23 * variant))


def copy_tree(tree, variant, home, rng):
    """Writes a variant of a recorded home; logs may be in an older state, without their last lines."""
    source, name = tree
    is_older = rng.random() < 0.3
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        target = home / name / changed(str(file.relative_to(source)), variant)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = changed(file.read_bytes().decode("utf-8", "surrogateescape"), variant)
        if is_older and file.suffix == ".jsonl" and content.count("\n") > 3:
            lines = content.splitlines(keepends=True)
            content = "".join(lines[:rng.randrange(2, len(lines))])
        target.write_bytes(content.encode("utf-8", "surrogateescape"))


def make_machines(folder, options, rng, programs):
    machines = [Machine(folder, number, programs) for number in range(options.machines)]
    if options.truth:
        spread(options.truth, machines, rng)
    else:
        share_recorded(machines, rng)
    for machine in machines:
        machine.backstory("sync", "-q")
    return machines


def spread(homes, machines, rng):
    """Copies each session of the homes to one to three machines, and all other files to all."""
    for home in homes:
        for file in sorted(path for path in home.rglob("*") if path.is_file() and path.name != "truth.json"):
            is_session = file.suffix in (".jsonl", ".json", ".zst") and {"chats", "projects", "sessions", "archived_sessions"} & set(file.parts)
            for machine in rng.sample(machines, min(rng.choice([1, 1, 2, 3]), len(machines))) if is_session else machines:
                target = machine.home / file.relative_to(home)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target)


def share_recorded(machines, rng):
    """Copies variants of the recorded homes to the machines, some of them to several."""
    count = len(machines)
    pool = [(tree, variant) for tree in trees() for variant in range(3)]
    rng.shuffle(pool)
    # A small pool is shared by several machines.
    pool = pool[:count * 3]
    for machine in machines:
        for tree, variant in rng.sample(pool, min(len(pool), 6)):
            copy_tree(tree, variant, machine.home, rng)
    for machine in machines[:2]:
        write_hostile(machine.home)


def write_hostile(home):
    """Writes a session with texts that end statements, times far away, and counts as large as they leave. Lists of models are
    separated by spaces, so names have none."""
    quotes = "'); DROP TABLE calls; --\"`\\N\\.\t{}%s$1"
    session = "0badc0de-0000-4000-8000-000000000001"
    records = []
    for n, (at, model) in enumerate([("1950-05-01T00:00:00Z", "gpt-5.3-codex"), ("2026-08-02T00:00:00Z", "".join(quotes.split())),
                                     ("2250-01-01T00:00:00.123456789Z", "claude-sonnet-4-5")]):
        common = {"sessionId": session, "cwd": f"/srv/{quotes}", "gitBranch": f"main{quotes}\0", "version": "2.1.0", "timestamp": at}
        prompt = {"type": "user", "uuid": f"u{n}", "parentUuid": f"a{n - 1}" if n else None, "message": {"role": "user", "content": f"{quotes}\0"}}
        tool = {"type": "tool_use", "id": f"toolu_{n}hostile", "name": f"mcp__it{quotes}__x", "input": {}}
        usage = {"input_tokens": 10**12, "output_tokens": 7, "cache_read_input_tokens": 10**12}
        reply = {"type": "assistant", "uuid": f"a{n}", "parentUuid": f"u{n}", "requestId": f"req_{n}hostile",
                 "message": {"id": f"msg_{n}hostile", "role": "assistant", "model": model, "content": [{"type": "text", "text": quotes}, tool],
                             "usage": usage}}
        records += [common | prompt, common | reply]
    file = home / ".claude/projects/-srv-hostile" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def sessions(machine):
    """The sessions of a machine, and those that started them."""
    return {row["id"]: row["parent"] for row in json.loads(machine.backstory("--no-sync", "sessions", "--all", "--json", "-q"))["sessions"]}


def identities(merged):
    """The identities of projects without a repository, as the policy's key makes them, by their keys in local reports."""
    out = {}
    for row in json.loads(merged.backstory("--no-sync", "projects", "--json", "-q"))["rows"]:
        key = row["path"] or row["name"]
        text = row["hash"] if row["path"] is None and row["hash"] else sha256(key)
        out[key] = identity(row["name"] if row["path"] else "", text)
    return out


def identity(name, text):
    """The identity of a project from its name and the hash of its path."""
    mac = hmac.new(KEY.encode(), digestmod=hashlib.sha256)
    for part in (b"project", text.encode()):
        mac.update(len(part).to_bytes(8, "little") + part)
    return f"{name}~{mac.hexdigest()[:16]}"


def expected(merged):
    """What `backstory usage` says of the merged archives, by group and key."""
    names, out = identities(merged), {}
    for group in GROUPS:
        rows = json.loads(merged.backstory("--no-sync", "usage", group, "--json", "-q"))["rows"]
        out[group] = {}
        for row in rows:
            row["cost_pico"] = None if row["cost_usd"] is None else pico(row["cost_usd"])
            row["at_least"] = int(row["at_least"])
            key = names[row["key"]] if group == "project" else row["key"]
            out[group][key] = [row[name] for name in SUMS]
    return out


def billed(homes, names):
    """What the truths of generated homes say, by group and key."""
    out = {group: {} for group in truth.GROUPS}
    for home in homes:
        sums = json.loads((home / "truth.json").read_text())["billed"]
        for group, name in truth.GROUPS.items():
            for key, row in sums[name].items():
                if group == "project":
                    # Of some folders, the files only have the hash.
                    key = names.get(key) or identity("", sha256(key))
                values = [row.get(field, 0) + (row.get("thoughts", 0) if field == "output" else 0) for field in truth.SUMS]
                out[group][key] = [a + b for a, b in zip(out[group].get(key, [0] * len(values)), values)]
    return out


def compare_truth(name, want, ask):
    """Compares the views of the lake with the truth of the homes that were spread."""
    wrong = []
    sums = ", ".join(" + ".join(buckets) for buckets in truth.SUMS.values())
    for group, rows in want.items():
        view, column = GROUPS[group]
        got = {str(key)[:10] if group == "daily" else key: list(map(int, values)) for key, *values in ask(f"SELECT {column}, {sums} FROM {view}")}
        wrong += [f"{name}: {group} {key}\n  true {rows.get(key)}\n  got  {got.get(key)}"
                  for key in sorted(rows.keys() | got.keys(), key=str) if rows.get(key) != got.get(key)]
    print(f"{name}: {'as truth.json' if not wrong else 'WRONG'}: " + ", ".join(f"{len(rows)} rows by {group}" for group, rows in want.items()), flush=True)
    return wrong


def pico(text):
    whole, _, places = text.partition(".")
    return int(whole) * 10**12 + int(places.ljust(12, "0"))


def compare(name, want, ask):
    wrong = []
    for group, (view, column) in GROUPS.items():
        rows = ask(f"SELECT {column}, {', '.join(SUMS)} FROM {view}")
        got = {}
        for key, *values in rows:
            key = {"daily": "undated", "model": "unknown"}.get(group) if key is None else str(key)[:10] if group == "daily" else key
            got[key] = [None if value is None else int(value) for value in values]
        for key in sorted(want[group].keys() | got.keys(), key=str):
            if want[group].get(key) != got.get(key):
                wrong.append(f"{name}: {group} {key}\n  want {want[group].get(key)}\n  got  {got.get(key)}")
    calls = sum(row[0] for row in want["agent"].values())
    print(f"{name}: {'as backstory usage' if not wrong else 'WRONG'}: {calls} calls, " +
          ", ".join(f"{len(rows)} rows by {group}" for group, rows in want.items()), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("backstory", type=Path)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", default="duckdb,clickhouse,spark")
    parser.add_argument("--tools", type=Path, help="where engines are installed, and kept")
    parser.add_argument("--kills", type=int, default=40, help="the exports that are killed at random moments first")
    parser.add_argument("--folder", action="store_true", help="export to a folder, without an S3 server")
    parser.add_argument("--keep", type=Path, help="keep the lake here")
    parser.add_argument("--truth", type=Path, nargs="+", default=[], help="generated homes, each with a truth.json")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    # Spark's workers may still write into it.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        scratch = options.keep or Path(scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        wrong = check(scratch, options, rng)
    for line in wrong[:20]:
        print(line)
    sys.exit(1 if wrong else 0)


def check(scratch, options, rng):
    (scratch / "prices.json").write_text(json.dumps(PRICES))
    programs = Programs(options.backstory.resolve(), options.lake.resolve())
    machines = make_machines(scratch, options, rng, programs)
    tools = options.tools or scratch / "tools"
    program = None if options.folder else lake_store.program(tools)
    if program is None:
        if not options.folder:
            print("SKIPPED: s3s-fs cannot be installed, so the lake is a folder")
        return compare_all(machines, scratch / "lake", scratch / "lake", options, rng, scratch)
    store = lake_store.Store(program, scratch / "s3")
    programs.store = store.env
    try:
        # The server keeps objects as files, which engines read.
        wrong = compare_all(machines, "s3://lake/agents", store.folder / "lake" / "agents", options, rng, scratch)
        print(f"{store.failures} requests to the object store failed, and were repeated")
        return wrong + ([] if store.failures else ["no request failed"])
    finally:
        store.stop()


def kill_two(machines, target, rng):
    """Starts exports of two machines at once, and kills each at some moment."""
    running = [subprocess.Popen(machine.command("export", target), env=machine.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for machine in machines]
    for process in running:
        time.sleep(rng.random() * 0.15)
        process.kill()
        process.wait()


def forget(machines, rng, share=20):
    """Forgets one of `share` sessions wherever they are, which disappear with the next export. Returns their ids, and
    all sessions."""
    having = {machine: sessions(machine) for machine in machines}
    known = {session: parent for sessions in having.values() for session, parent in sessions.items()}
    forgotten = set(rng.sample(sorted(known), max(1, len(known) // share))) if share else set()
    # To forget a session is to forget its subagents, which may be on other machines.
    forgotten |= {session for session, parent in known.items() if parent in forgotten}
    for machine in machines:
        for session in forgotten & having[machine].keys():
            machine.backstory("--no-sync", "forget", session, "--yes", "-q")
    return forgotten, known


def compare_all(machines, target, lake, options, rng, scratch):
    """Exports to a target, forgets, exports again, and asks every engine about the files of the lake."""
    for _ in range(options.kills // 2):
        kill_two(rng.sample(machines, 2), target, rng)
    for machine in machines:
        machine.lake("export", target)
    forgotten, known = forget(machines, rng, 0 if options.truth else 20)
    for machine in machines:
        machine.lake("export", target)
    merged = Machine(scratch, 99, machines[0].programs)
    merged.backstory("sync", "-q")
    for machine in machines:
        merged.backstory("archive", "merge", machine.archive, "-q")
    want = expected(merged)
    print(f"{len(machines)} machines, {len(known)} sessions, of which {len(forgotten)} forgotten, {options.kills} exports killed", flush=True)
    wrong = []
    for name in options.engines.split(","):
        ask = lake_engines.start(name, options.tools or scratch / "tools", machines[0], lake)
        if ask is None:
            print(f"SKIPPED: {name} cannot be installed or started")
            continue
        wrong += compare(name, want, ask)
        if options.truth:
            wrong += compare_truth(name, billed(options.truth, identities(merged)), ask)
        ask.stop()
    return wrong


if __name__ == "__main__":
    main()
