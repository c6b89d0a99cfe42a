"""Starts engines that read the lake: DuckDB, ClickHouse (chdb) and Spark, from PyPI."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PACKAGES = {"duckdb": "duckdb", "clickhouse": "chdb", "spark": "pyspark"}

# A process of its own per engine: statements come in as JSON lines, and rows go out.
SERVERS = {
    "duckdb": """
import duckdb
db = duckdb.connect()
db.execute(f"SET memory_limit = '{MEMORY}GB'")
def ask(sql):
    return db.execute(sql).fetchall()
""",
    "clickhouse": """
import chdb.session
session = chdb.session.Session()
session.query(f"SET max_memory_usage = {MEMORY * 10**9}")
def ask(sql):
    if not sql.lstrip().startswith("SELECT"):
        session.query(sql)
        return []
    text = session.query(sql, "JSONCompactEachRow").bytes().decode()
    return [json.loads(line) for line in text.splitlines()]
""",
    "spark": """
import tempfile
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.sql import SparkSession
def start(master):
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", f"{MEMORY // 4}g").config("spark.executor.memory", f"{MEMORY * 3 // 8}g")
    builder = builder.config("spark.sql.warehouse.dir", os.path.join(tempfile.gettempdir(), "spark-warehouse"))
    return builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
# A driver and two workers.
spark = start(f"local-cluster[2,1,{MEMORY * 384}]")
spark.sparkContext.setLogLevel("ERROR")
def ask(sql):
    return [list(row) for row in spark.sql(sql).collect()]
""",
}

LOOP = """
import json, os, sys
# GB of memory that an engine may take.
MEMORY = 8
# Engines print what they like, progress bars for one.
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
%s
def text(value):
    return value if value is None or isinstance(value, (int, str)) else str(value)
for line in sys.stdin:
    try:
        answer = {"rows": [[text(value) for value in row] for row in ask(json.loads(line))]}
    except Exception as error:
        answer = {"error": str(error)[:4000]}
    print(json.dumps(answer), file=out, flush=True)
"""


def python_with(package, tools):
    """A Python that has a package, or None if it cannot be installed."""
    python = Path(tools) / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    has = [python, "-c", f"import {package}"]
    if subprocess.run(has, capture_output=True).returncode != 0:
        install = [python, "-m", "pip", "install", "-q", package]
        if subprocess.run(install, capture_output=True).returncode != 0:
            return None
    return python


def statements(sql):
    """The statements of a text, without comments."""
    sql = re.sub(r"^--.*$", "", sql, flags=re.M)
    return [part for part in map(str.strip, re.split(r";\s*(?:\n|$)", sql)) if part]


def memory(pid):
    """The most memory that a process and its descendants have had, in MB."""
    total, waiting = 0, [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            found = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
            total += int(found[1]) // 1024 if found else 0
        except OSError:
            continue
        for task in process.glob("task/*/children"):
            try:
                waiting += task.read_text().split()
            except OSError:
                # The thread has ended.
                continue
    return total


def start(name, tools, machine, lake, *options):
    """Starts an engine with the views of a lake, and returns a function that asks it. None if there is no such engine here."""
    python = python_with(PACKAGES[name], tools)
    if python is None:
        return None
    env = {**os.environ, **machine.programs.store}
    server = subprocess.Popen([python, "-c", LOOP % SERVERS[name]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=env)

    def ask(sql):
        server.stdin.write(json.dumps(sql) + "\n")
        server.stdin.flush()
        line = server.stdout.readline()
        answer = json.loads(line) if line else {"error": "the engine has ended"}
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']}\n{sql}")
        return answer["rows"]

    def stop():
        """Ends the engine, and returns the most memory that it and its children had, in MB."""
        usage = memory(server.pid)
        server.stdin.close()
        server.wait()
        return usage

    ask.stop = stop
    for statement in statements(machine.lake("sql", name, lake, *options)):
        ask(statement)
    return ask
