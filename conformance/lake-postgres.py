#!/usr/bin/env python3
"""Tries the lake in PostgreSQL: `lake-postgres.py BACKSTORY BACKSTORY_LAKE [--machines N] [--kills N] [--seed N]
[--truth HOME…]`.

Starts a server of its own in a scratch folder, with the programs of Debian's `postgresql`; without them it is SKIPPED.
Machines with shared, copied and forgotten sessions of three agents push to it, each with a login of its own. The
reports must then be those of `backstory` for the merged archives, whatever the flags; after pushes that were killed,
that ran at once, or during which the server restarted, nothing may be lost or doubled; and nobody may see or change
more than their role allows."""

import argparse
import hashlib
import hmac
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lake
from lake_server import Server, find_programs

ROOT = Path(__file__).resolve().parent.parent
NOW = "2026-09-20T12:00:00Z"
# The flags of reports that must be equal; keys of sessions and projects are mapped.
REPORTS = [
    ["usage", "daily"], ["usage", "weekly"], ["usage", "monthly"], ["usage", "hourly", "--tz", "Asia/Kolkata"],
    ["usage", "daily", "--tz", "-03:30"], ["usage", "session"], ["usage", "session", "--rollup"],
    ["usage", "project", "--breakdown"], ["usage", "model"], ["usage", "kind"], ["usage", "agent", "--breakdown"],
    ["usage", "kind", "--kind", "checkpoint,main"], ["usage", "model", "--agent", "codex", "--sort", "cost"],
    ["usage", "daily", "--since", "2026-08-01", "-n", "3"], ["usage", "model", "--on", "2026-08"],
    ["usage", "model", "--model", "GEMINI", "--sort", "calls"],
    ["tools"], ["tools", "label"], ["tools", "category", "--sort", "failed"], ["tools", "server"],
    ["tools", "--since", "2026-08-01", "--agent", "claude"],
]
wrong = []


def check(is_right, what):
    if not is_right:
        wrong.append(what)
        print(f"WRONG: {what}", flush=True)


def login(number):
    return f"m{number:02}"


def push(machine, server, number, **options):
    return run(machine, ["push", server.url(login(number))], **options)


def run(machine, args, env=None, **options):
    command = [str(machine.programs.lake), "--archive", str(machine.archive), "--policy", str(machine.policy), *args]
    env = {**machine.env(), "BACKSTORY_NOW": NOW, **(env or {})}
    return subprocess.run(command, env=env, capture_output=True, text=True, **options)


def must(done):
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def hidden_session(name):
    """The pseudonym of a session whose id is not random."""
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name):
        return name
    mac = hmac.new(lake.KEY.encode(), digestmod=hashlib.sha256)
    for part in (b"session", name.encode()):
        mac.update(len(part).to_bytes(8, "little") + part)
    return f"x{mac.hexdigest()[:32]}"


def normal(document, args, projects):
    """A local document with the names that the lake has, and without what stays on a machine."""
    for name in ("prompts", "failures", "faults"):
        document.pop(name, None)
    for row in document["rows"]:
        if "session" in args:
            row["key"] = hidden_session(row["key"])
        if "project" in args:
            row["key"] = projects[row["key"]]
    if "session" in args or "project" in args:
        # Equal sums are in the order of their names.
        document["rows"].sort(key=lambda row: (-row["total"], row["key"]))
    return document


def local_text(merged, args, format):
    command = [str(merged.programs.backstory), "--archive", str(merged.archive), "--no-sync", "-q",
               "--pricing", str(merged.home.parent / "prices.json"), *args, "--format", format]
    env = {**merged.env(), "BACKSTORY_NOW": NOW}
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout


def remote_text(merged, server, args, format):
    report, *rest = args
    return must(run(merged, [report, server.url("owner"), *rest, "--format", format]))


def local(merged, args):
    return json.loads(local_text(merged, args, "json"))


def remote(merged, server, args):
    return json.loads(remote_text(merged, server, args, "json"))


def compare(merged, server, when):
    before, projects = len(wrong), lake.identities(merged)
    for args in REPORTS:
        want, got = normal(local(merged, args), args, projects), normal(remote(merged, server, args), [], {})
        if "session" in args or "project" in args:
            got["rows"].sort(key=lambda row: (-row["total"], row["key"]))
        check(want == got, f"{when}: {' '.join(args)}: {difference(want, got)}")
    for args in (["usage", "model"], ["usage", "monthly"], ["tools"], ["tools", "category"]):
        for format in ("jsonl", "csv", "md"):
            want, got = local_text(merged, args, format), remote_text(merged, server, args, format)
            check(want == got and want.count("\n") > 1, f"{when}: {' '.join(args)} --format {format}: want {want}, got {got}")
    compare_sessions(merged, server, when)
    wrong.extend(lake.compare("the views", lake.expected(merged), lambda sql: views(server, sql)))
    total = local(merged, ["usage", "agent"])["total"]
    print(f"{when}: {len(REPORTS) + 1} reports, {total['calls']} calls, ${total['cost_usd']}: "
          f"{'equal' if len(wrong) == before else 'WRONG'}", flush=True)


def views(server, sql):
    """The rows of a query on the views, with numbers for booleans and none for null."""
    for line in server.lines(f"SET search_path = backstory; {sql}"):
        yield [{"": None, "t": "1", "f": "0"}.get(value, value) for value in line.split("|")]


def compare_sessions(merged, server, when):
    fields = ("agent", "kind", "started", "updated", "prompts", "calls", "tool_calls", "models", "usage", "unrecorded",
              "cost_usd", "unpriced_calls", "estimated_calls", "upper_bound_calls", "at_least")
    def rows(document, name):
        return {name(row["id"]): {name: row.get(name) for name in fields} for row in document["sessions"]}
    want = rows(local(merged, ["sessions", "--all"]), hidden_session)
    got = rows(remote(merged, server, ["sessions", "--all"]), str)
    for name in sorted(want.keys() | got.keys()):
        check(want.get(name) == got.get(name), f"{when}: session {name}: {want.get(name)} is {got.get(name)}")


def difference(want, got):
    for key in want.keys() | got.keys():
        if want.get(key) == got.get(key):
            continue
        if key != "rows":
            return f"{key}: want {want.get(key)}, got {got.get(key)}"
        for one, other in zip(want["rows"], got["rows"]):
            if one != other:
                names = [name for name in one if one[name] != other.get(name)]
                return f"row {list(one.values())[0]}: {[(name, one[name], other.get(name)) for name in names][:4]}"
        return f"{len(want['rows'])} rows, got {len(got['rows'])}"
    return "equal"


def merge(scratch, machines, programs, number):
    merged = lake.Machine(scratch, number, programs)
    merged.backstory("sync", "-q")
    for machine in machines:
        merged.backstory("archive", "merge", machine.archive, "-q")
    return merged


def rows(server):
    """All rows of all tables, as text."""
    tables = ["sessions", "calls", "tool_calls", "faults", "prices", "texts"]
    return {name: sorted(server.lines(f"SELECT t::text FROM backstory.{name} AS t")) for name in tables}


def kills(machines, server, count, rng):
    """Kills pushes at random moments, with the server restarted in between, and pushes again."""
    for number, machine in enumerate(machines):
        must(push(machine, server, number))
    want = rows(server)
    killed = partly = 0
    for n in range(count):
        number = rng.randrange(len(machines))
        name = machine_id(server, number)
        server.sql(f"DELETE FROM backstory.progress WHERE machine = '{name}' AND random() < 0.7")
        if n % 3 == 0:
            server.sql(f"DELETE FROM backstory.calls WHERE machine = '{name}' AND random() < 0.5;"
                       f"DELETE FROM backstory.progress WHERE machine = '{name}'")
        command = [str(machines[number].programs.lake), "--archive", str(machines[number].archive), "--policy",
                   str(machines[number].policy), "push", server.url(login(number))]
        env = {**machines[number].env(), "BACKSTORY_BATCH": str(rng.choice([1, 2000, 20000]))}
        before = pushed(server, name)
        started = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if n % 10 == 9:
            server.restart()
        time.sleep(rng.random() * 0.5)
        started.kill()
        is_killed = started.wait() != 0
        killed += is_killed
        partly += is_killed and pushed(server, name) > before
    for number, machine in enumerate(machines):
        must(push(machine, server, number))
    check(rows(server) == want, f"after {count} kills, rows differ")
    print(f"{count} pushes, {killed} of them killed, {partly} of those in the middle, {count // 10} restarts: "
          f"{sum(map(len, want.values()))} rows as before", flush=True)


def pushed(server, machine):
    """The number of units that a machine has pushed."""
    return int(server.lines(f"SELECT count(*) FROM backstory.progress WHERE machine = '{machine}'")[0])


def machine_id(server, number):
    return server.lines(f"SELECT machine FROM backstory.machines WHERE login = '{login(number)}'")[0]


def at_once(machines, server):
    """Pushes everything of all machines at once, and of each machine twice."""
    want = rows(server)
    server.sql("DELETE FROM backstory.progress; DELETE FROM backstory.calls; DELETE FROM backstory.sessions")
    started = []
    for _ in range(2):
        for number, machine in enumerate(machines):
            command = [str(machine.programs.lake), "--archive", str(machine.archive), "--policy", str(machine.policy),
                       "push", server.url(login(number))]
            env = {**machine.env(), "BACKSTORY_BATCH": "5000"}
            started.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for process in started:
        check(process.wait() == 0, f"at once: {process.stderr.read()}")
    check(rows(server) == want, "at once: rows differ")
    print(f"{len(started)} pushes at once: equal", flush=True)


def roles(machines, server):
    """A machine sees and changes its own rows only; readers see views only."""
    first, second = (machine_id(server, n) for n in (0, 1))
    as_first = login(0)
    for table in ("sessions", "calls", "tool_calls", "faults", "prices", "texts", "progress"):
        others = server.lines(f"SELECT count(*) FROM backstory.{table} WHERE machine <> '{first}'", as_first)
        check(others == ["0"], f"roles: {as_first} sees rows of others in {table}")
        for sql in (f"DELETE FROM backstory.{table} WHERE machine = '{second}'",
                    f"UPDATE backstory.{table} SET org = 'x' WHERE machine = '{second}'"):
            server.sql(sql, as_first)
        done = server.try_sql(f"INSERT INTO backstory.{table} SELECT * FROM backstory.{table} LIMIT 0;"
                              f"UPDATE backstory.{table} SET machine = '{second}'", as_first)
        has_rows = server.lines(f"SELECT count(*) FROM backstory.{table} WHERE machine = '{first}'") != ["0"]
        check(not has_rows or "row-level security" in done, f"roles: {as_first} gives rows to another in {table}: {done}")
    for sql in ("SELECT * FROM backstory.machines", "INSERT INTO backstory.machines VALUES ('m00', 'acme', 'x', 'y')",
                "UPDATE backstory.settings SET min_group = 1", "SELECT * FROM backstory.costs",
                "SELECT * FROM backstory.costs_between(NULL, NULL)", "SELECT backstory.add_machine('m00', 'a', 'b', 'c')",
                "SET ROLE backstory_admin", "SELECT * FROM backstory.search(ARRAY['a'])"):
        check("permission denied" in server.try_sql(sql, as_first), f"roles: {as_first} may {sql}")
    before = rows(server)
    server.sql("CREATE ROLE reader LOGIN; GRANT backstory_reader TO reader")
    for table in ("sessions", "calls", "tool_calls", "faults", "prices", "texts", "progress", "machines", "settings"):
        check("permission denied" in server.try_sql(f"SELECT * FROM backstory.{table}", "reader"), f"roles: readers see {table}")
    for sql in ("person", "machine"):
        seen = server.lines(f"SELECT count({sql}) FROM backstory.calls_once", "reader")
        check(seen == ["0"], f"roles: readers see the {sql} of calls")
    check(server.lines("SELECT count(*) FROM backstory.usage_by_team WHERE team IS NOT NULL", "reader") == ["0"],
          "roles: readers see teams of fewer than five people")
    for view in ("calls_once", "costs", "sessions_once", "tool_calls_once"):
        for name in ("team", "cost_center"):
            told = server.try_sql(f"SELECT count(*) FROM backstory.{view} WHERE {name}::int = 1", "reader")
            check("ERROR" not in told, f"roles: the error of a condition names a {name}: {told}")
    server.sql("UPDATE backstory.settings SET min_group = 2")
    check(server.lines("SELECT count(*) FROM backstory.usage_by_team WHERE team IS NOT NULL", "reader") != ["0"],
          "roles: readers do not see teams of two people")
    server.sql("UPDATE backstory.settings SET min_group = 5")
    report = must(run(machines[0], ["usage", server.url("reader"), "machine", "--json"]))
    check([row["key"] for row in json.loads(report)["rows"]] == ["(hidden)"], "roles: a reader's report names machines")
    check(rows(server) == before, "roles: rows changed")
    print("roles: machines, readers and administrators see and change what they may", flush=True)


def secrets(machines, server):
    """Passwords never appear in output, receipts or errors."""
    password = "correct-horse-battery"
    url = server.url(login(0)).replace("://", f"://x:{password}@", 1).replace(f"@{login(0)}@", "@")
    for address in (url, f"postgres://x:{password}@192.0.2.1/lake", f"postgres://x@localhost/lake?password={password}"):
        done = run(machines[0], ["push", address])
        check(done.returncode != 0, "secrets: a password in the URL is accepted")
        check(password not in done.stdout + done.stderr, "secrets: the password is printed")
    done = push(machines[0], server, 0, env={"PGPASSWORD": password})
    receipts = "".join(path.read_text() for path in machines[0].home.rglob("*.receipts/*"))
    check(password not in must(done) + done.stderr + receipts, "secrets: the password is in a receipt")
    done = run(machines[0], ["usage", "postgres://x@192.0.2.1/lake?sslmode=disable"])
    check("TLS" in done.stderr, f"secrets: plain connections to other machines: {done.stderr}")
    print("secrets: no password in output, receipts and errors", flush=True)


def tls(machine, server):
    """A connection with TLS needs a certificate of an authority that is trusted."""
    if shutil.which("openssl") is None:
        print("SKIPPED: openssl is not installed")
        return
    authority = str(server.use_tls())
    url = f"{server.url('owner')}?sslmode=verify-full"
    must(run(machine, ["usage", url], env={"PGSSLROOTCERT": authority}))
    done = run(machine, ["usage", url])
    check("UnknownIssuer" in done.stderr, f"tls: an unknown authority is trusted: {done.stderr}")
    print("tls: certificates are verified", flush=True)


def by_hand(machine, server):
    """The statements that are printed make the same schema, also for an owner who is not a superuser."""
    server.sql("CREATE ROLE boss LOGIN CREATEROLE; GRANT backstory_machine TO boss WITH ADMIN OPTION")
    server.sql("CREATE DATABASE other OWNER boss")
    printed = must(run(machine, ["sql", "postgresql"]))
    url = server.url("boss").replace("/lake", "/other")
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url], input=printed, text=True, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check("up to date" in must(run(machine, ["migrate", url])), "the printed statements are not the migrations")
    must(run(machine, ["push", url]))
    people = json.loads(must(run(machine, ["usage", url, "person", "--json"])))["rows"]
    check(people and people[0]["key"] != "(hidden)", "the owner of the tables does not see people")


def search(machine, server, number):
    """Where the policy lets text leave, sessions are found by words of a message."""
    check(server.lines("SELECT count(*) FROM backstory.texts") == ["0"], "search: text left without being allowed")
    policy = machine.policy.read_text()
    machine.policy.write_text("text = true\n" + policy)
    must(push(machine, server, number))
    words = server.lines("SELECT words FROM backstory.texts WHERE length(words) > 40 ORDER BY words LIMIT 20")
    for text in words:
        pair = sorted(set(text.split()), key=lambda word: (-len(word), word))[:2]
        found = json.loads(must(run(machine, ["sessions", server.url("reader"), "--all", "--json", "--grep", " ".join(pair)])))
        want = server.lines("SELECT DISTINCT session FROM backstory.texts WHERE string_to_array(words, ' ') @> "
                            f"ARRAY['{pair[0]}', '{pair[1]}']")
        check(sorted(row["id"] for row in found["sessions"]) == sorted(want), f"search: {pair}: {want}")
    machine.policy.write_text(policy)
    must(push(machine, server, number))
    check(server.lines("SELECT count(*) FROM backstory.texts") == ["0"], "search: text stays after the policy changed")
    print(f"search: {len(words)} pairs of words find their sessions", flush=True)


def dashboard(server):
    """Every query of the dashboard works for a reader."""
    panels = json.loads((ROOT / "docs" / "lake-dashboard.json").read_text())["panels"]
    queries = [target["rawSql"] for panel in panels for target in panel.get("targets", [])]
    for query in queries:
        query = query.replace("$__timeFrom()", "'2020-01-01T00:00:00Z'").replace("$__timeTo()", "'2030-01-01T00:00:00Z'")
        done = server.try_sql(query, "reader")
        check("ERROR" not in done, f"dashboard: {query}: {done}")
    print(f"dashboard: {len(queries)} queries work for a reader", flush=True)


def daily(machine, server, number):
    """The CPU time of a push when one session is new."""
    lake.copy_tree(lake.trees()[0], 77, machine.home, random.Random(5))
    machine.backstory("sync", "-q")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = must(push(machine, server, number))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    check(seconds < 1, f"a daily push takes {seconds:.2f} s of CPU time")
    print(f"daily push: {seconds:.2f} s of CPU time; {out.splitlines()[0]}", flush=True)


def removal(machines, server):
    """An administrator retires a machine, and purges what is old."""
    name = machine_id(server, 1)
    must(run(machines[1], ["retire", name, server.url("owner")]))
    for table in ("sessions", "calls", "progress", "machines"):
        check(server.lines(f"SELECT count(*) FROM backstory.{table} WHERE machine = '{name}'") == ["0"], f"retire: {table}")
    check(push(machines[1], server, 1).returncode != 0, "retire: the machine still pushes")
    must(run(machines[0], ["purge", "--before", "2026-07-01", server.url("owner")]))
    server.sql("DELETE FROM backstory.progress")
    must(push(machines[0], server, 0))
    for table, column in (("sessions", "updated"), ("calls", "occurred_at"), ("tool_calls", "occurred_at")):
        old = server.lines(f"SELECT count(*) FROM backstory.{table} WHERE {column} < '2026-07-01'")
        check(old == ["0"], f"purge: {old} old rows in {table}")
    check(run(machines[0], ["retire", "no-such-machine", server.url("owner")]).returncode != 0, "retire: an unknown machine")
    print("retire and purge: rows are gone and stay gone", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("backstory", type=Path)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--machines", type=int, default=6)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--truth", type=Path, nargs="+", default=[], help="only compare totals of generated homes with their truth.json")
    options = parser.parse_args()
    if find_programs() is None:
        print("SKIPPED: PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
        return
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, Server() as server:
        scratch = Path(scratch)
        (scratch / "prices.json").write_text(json.dumps(lake.PRICES))
        programs = lake.Programs(options.backstory.resolve(), options.lake.resolve())
        machines = lake.make_machines(scratch, options, rng, programs)
        done = run(machines[0], ["push", server.url("owner")])
        check("migrate" in done.stderr, f"a push without tables: {done.stderr}")
        for _ in range(2):
            must(run(machines[0], ["migrate", server.url("owner")]))
        columns(machines[0], server)
        for number, machine in enumerate(machines):
            server.sql(f"CREATE ROLE {login(number)} LOGIN")
            done = push(machine, server, number)
            statement = re.search(r"SELECT backstory.add_machine\(.*\)", done.stderr)
            check(done.returncode != 0 and statement, f"a push of a login without a machine: {done.stderr}")
            server.sql(statement[0])
            must(push(machine, server, number))
        merged = merge(scratch, machines, programs, 90)
        if options.truth:
            wrong.extend(truth(merged, server, options.truth))
            sys.exit(1 if wrong else 0)
        compare(merged, server, "pushed")
        lake.forget(machines, rng)
        for number, machine in enumerate(machines):
            must(push(machine, server, number))
        merged = merge(scratch, machines, programs, 91)
        compare(merged, server, "forgotten")
        roles(machines, server)
        secrets(machines, server)
        dashboard(server)
        search(machines[2], server, 2)
        at_once(machines, server)
        kills(machines, server, options.kills, rng)
        compare(merged, server, "after all")
        daily(machines[0], server, 0)
        removal(machines, server)
        tls(machines[0], server)
        by_hand(machines[0], server)
    sys.exit(1 if wrong else 0)


def truth(merged, server, homes):
    """Compares totals for sessions whose files are on several machines, of which no machine knows the whole."""
    def ask(sql):
        return views(server, sql)

    want = lake.billed(homes, lake.identities(merged))
    return lake.compare("PostgreSQL", lake.expected(merged), ask) + lake.compare_truth("PostgreSQL", want, ask)


def columns(machine, server):
    """The tables have the columns that `lake columns` lists."""
    want = set(re.findall(r"^\| `(\w+)` \|", must(run(machine, ["columns"])), re.M))
    got = set(server.lines("SELECT DISTINCT column_name FROM information_schema.columns WHERE table_schema = 'backstory' "
                           "AND table_name IN ('sessions', 'calls', 'tool_calls', 'faults', 'prices', 'texts')"))
    check(want == got, f"columns: {sorted(want ^ got)}")


if __name__ == "__main__":
    main()
