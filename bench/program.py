"""Builds the program and measures what a run costs, for the scripts beside it."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
AGENTS = ("gemini", "claude", "codex")


def built(binary=None):
    """Returns the path of the program: the given one, or that of a release build."""
    if binary is None:
        subprocess.run(["cargo", "build", "--release", "--locked", "-q"], cwd=ROOT, check=True)
        binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/backstory"
    return binary.resolve()


def variables(home, data):
    """Returns the variables that name a home, and the folder of the archive and the config file."""
    return {"HOME": str(home), "XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(data)}


def environment(home, data):
    """Returns the environment of a run that reads the agents' folders of a home, and no others."""
    names = tuple(agent.upper() for agent in AGENTS)
    return {key: value for key, value in os.environ.items() if not key.startswith(names)} | variables(home, data)


def cost(command, env=None, stderr=None):
    """Runs a command. Returns its CPU seconds, of all threads, its peak memory in MB, and its exit code."""
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=stderr)
    _, status, used = os.wait4(child.pid, 0)
    # Linux counts in kilobytes, macOS in bytes.
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return used.ru_utime + used.ru_stime, memory / 1e6, os.waitstatus_to_exitcode(status)
