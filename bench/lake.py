#!/usr/bin/env python3
"""Measures reports over the lake of many machines.

    bench/lake.py BACKSTORY_LAKE --tools FOLDER --prices LAKE [--machines N] [--calls N] [--engines LIST]

DuckDB writes the Parquet files of a simulated company, three months in the layout of `backstory lake export`; one call
in twenty is on two machines. Each engine then reports a month by project, with all calls counted once and priced."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
import lake_engines  # noqa: E402

MONTHS = ("2026-08", "2026-09", "2026-10")
# Runs in the Python that has DuckDB: writes the calls and sessions of each machine and month, and the prices of each machine.
GENERATE = """
import duckdb, os, sys
folder, machines, calls, prices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
db = duckdb.connect()
db.execute("SET preserve_insertion_order = false")
db.execute(f"CREATE TABLE known AS SELECT * EXCLUDE (month) FROM read_parquet('{prices}/v1/prices/month=*/*.parquet', hive_partitioning = true)")
per = calls // (machines * 3)
def write(table, month, machine, sql):
    path = f"{folder}/v1/{table}/month={month}"
    os.makedirs(path, exist_ok=True)
    db.execute(f"COPY ({sql}) TO '{path}/machine={machine}.parquet' (FORMAT parquet, COMPRESSION zstd)")
for n, month, m in ((n, month, m) for n, month in reversed(list(enumerate(("2026-08", "2026-09", "2026-10")))) for m in range(machines)):
    of = f"'acme' AS org, 'p{m % 1000}' AS person, md5('machine{m}') AS machine, 'team{m % 40}' AS team, NULL::VARCHAR AS cost_center"
    project = f"'github.com/acme/project' || hash({m % 300} + {{}} // 10) % 500"
    if n == 0:
        write("prices", "undated", m, f"SELECT {of}, * EXCLUDE (org, person, machine, team, cost_center) FROM known")
    write("sessions", month, m, f'''
        SELECT {of}, md5('{m}/{n}/' || i) AS session, 'claude' AS agent, 'main' AS kind, NULL::VARCHAR AS parent, NULL::VARCHAR AS forked_from,
          {project.format('i')} AS project, '~' || left(md5('{m}/' || i // 10), 16) AS folder, 'main' AS branch,
          TIMESTAMP '{month}-01 00:00:00' AS started, TIMESTAMP '{month}-01 08:00:00' AS updated, 5::BIGINT AS prompts, 20::BIGINT AS turns,
          45::BIGINT AS messages, 40::BIGINT AS calls, 0::BIGINT AS tool_calls, 0::BIGINT AS subagents, 0::BIGINT AS faults,
          'claude-sonnet-4-5' AS models, 'live' AS state, true AS is_listed, NULL::VARCHAR AS title
        FROM range({per} // 40 + 1) AS r(i)''')
    # One call in twenty is also on the next machine.
    write("calls", month, m, f'''
        SELECT {of}, 'claude' AS agent, 'm' || key AS call, 0::BIGINT AS position, (hash(key) >> 1)::BIGINT AS call_hash,
          md5('{m}/{n}/' || i // 40) AS session, 'main' AS session_kind, false AS is_inherited,
          '00 2026 {m}' AS owner_rank, {project.format('(i // 40)')} AS project, 'main' AS branch,
          TIMESTAMP '{month}-01 00:00:00' + to_microseconds((i * 2591999000000 // {per})::BIGINT) AS occurred_at, false AS undated,
          CASE i // 40 % 3 WHEN 0 THEN 'claude-sonnet-4-5' WHEN 1 THEN 'gpt-5.3-codex' ELSE 'gemini-2.5-pro' END AS model,
          'standard' AS class, 0::BIGINT AS class_rank, false AS us_only, false AS is_elsewhere, 0::BIGINT AS searches,
          (hash(i) % 5000)::BIGINT AS input, (hash(i + 1) % 200000)::BIGINT AS cached, (hash(i + 2) % 9000)::BIGINT AS cache_write_5m,
          0::BIGINT AS cache_write_1h, (hash(i + 3) % 3000)::BIGINT AS output, (hash(i + 4) % 500)::BIGINT AS thoughts,
          0::BIGINT AS tool, 0::BIGINT AS other, false AS at_least, true AS is_current
        FROM (SELECT i, md5('{n}/' || CASE WHEN i % 20 = 0 THEN {m // 2} ELSE {m + 100000} END || '/' || i) AS key FROM range({per}) AS r(i))
        ORDER BY occurred_at''')
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lake", type=Path)
    parser.add_argument("--machines", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--engines", default="duckdb,clickhouse,spark")
    parser.add_argument("--tools", type=Path, required=True, help="where engines are installed, and kept")
    parser.add_argument("--prices", type=Path, required=True, help="a real lake, whose prices and other tables are used")
    parser.add_argument("--folder", type=Path, help="keep the files here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        if not (folder / "v1").exists():
            generate(folder, options)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        files = sum(1 for _ in folder.rglob("v1/calls/*/*.parquet"))
        print(f"{options.machines} machines, {options.calls} calls, {files} files, {size >> 20} MB", flush=True)
        for name in options.engines.split(","):
            measure(name, folder, options)


def generate(folder, options):
    python = lake_engines.python_with("duckdb", options.tools)
    subprocess.run([python, "-c", GENERATE, folder, str(options.machines), str(options.calls), options.prices], check=True)
    for table in ("tool_calls", "faults", "texts"):
        subprocess.run(["cp", "-r", options.prices / "v1" / table, folder / "v1"], check=True)


class Reader:
    """What `lake_engines` needs of a machine."""

    def __init__(self, program):
        self.program, self.programs, self.store = program, self, {}

    def lake(self, *args):
        return subprocess.run([self.program, *map(str, args)], check=True, capture_output=True, text=True).stdout


def measure(name, folder, options):
    for scope, args in (("one month", ("--month", MONTHS[-1])), ("three months", ())):
        ask = lake_engines.start(name, options.tools, Reader(options.lake), folder, *args)
        if ask is None:
            print(f"SKIPPED: {name} cannot be installed")
            return
        start = time.monotonic()
        rows = ask("SELECT project, calls, input, cached, output, cost_pico FROM usage_by_project ORDER BY cost_pico DESC")
        took = time.monotonic() - start
        calls, cost = sum(int(row[1]) for row in rows), sum(int(row[5]) for row in rows)
        print(f"{name}: {scope} by project: {took:.1f} s, {ask.stop()} MB; {len(rows)} projects, {calls} calls, ${cost / 1e12:,.2f}", flush=True)


if __name__ == "__main__":
    main()
