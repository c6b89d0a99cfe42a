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
# Runs in the Python that has DuckDB: writes the calls of each machine and month.
GENERATE = """
import duckdb, os, sys
folder, machines, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = duckdb.connect()
db.execute("SET preserve_insertion_order = false")
per = calls // (machines * 3)
origin = "'acme' AS org, 'p' || ({m} % 1000) AS person, md5('machine{m}') AS machine, 'team' || ({m} % 40) AS team, NULL::VARCHAR AS cost_center"
def write(table, month, machine, sql):
    path = f"{folder}/v1/{table}/month={month}"
    os.makedirs(path, exist_ok=True)
    db.execute(f"COPY ({sql}) TO '{path}/machine={machine}.parquet' (FORMAT parquet, COMPRESSION zstd)")
for m in range(machines):
    of = origin.replace("{m}", str(m))
    for n, month in enumerate(("2026-08", "2026-09", "2026-10")):
        # One call in twenty is also on the next machine.
        write("calls", month, m, f'''
            SELECT {of}, 'claude' AS agent, 'm' || md5({n} || '/' || CASE WHEN i % 20 = 0 THEN {m} // 2 ELSE {m} + 100000 END || '/' || i) AS call,
              0::BIGINT AS position, md5('{m}/' || i // 40) AS session, 'main' AS session_kind, false AS is_inherited,
              '00 2026 ' || {m} AS owner_rank, 'github.com/acme/project' || hash({m} % 300 + i // 400) % 500 AS project, 'main' AS branch,
              TIMESTAMP '{month}-01 00:00:00' + to_microseconds((i * 2591999000000 // {per})::BIGINT) AS occurred_at, false AS undated,
              CASE i % 3 WHEN 0 THEN 'claude-sonnet-4-5' WHEN 1 THEN 'gpt-5.4' ELSE 'gemini-2.5-pro' END AS model,
              'standard' AS class, 0::BIGINT AS class_rank, false AS us_only, false AS is_elsewhere, 0::BIGINT AS searches,
              (hash(i) % 5000)::BIGINT AS input, (hash(i + 1) % 200000)::BIGINT AS cached, (hash(i + 2) % 9000)::BIGINT AS cache_write_5m,
              0::BIGINT AS cache_write_1h, (hash(i + 3) % 3000)::BIGINT AS output, (hash(i + 4) % 500)::BIGINT AS thoughts,
              0::BIGINT AS tool, 0::BIGINT AS other, false AS at_least, true AS is_current
            FROM range({per}) AS r(i) ORDER BY occurred_at''')
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
    subprocess.run([python, "-c", GENERATE, folder, str(options.machines), str(options.calls)], check=True)
    for table in ("sessions", "tool_calls", "faults", "prices", "texts"):
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
