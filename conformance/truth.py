#!/usr/bin/env python3
"""Compares the program's sums with the truth that a generated tree has beside it.

`truth.py PROGRAM TREE…`: each TREE is a home with a `truth.json`, whose `billed` has the tokens by model, UTC
day and project. The sums are asked with `--from`, and again through an archive."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

GROUPS = {"model": "by_model", "daily": "by_day_utc", "project": "by_project"}
# The keys of the truth, and how our buckets add up to them.
SUMS = {
    "fresh_input": ("input",),
    "cached": ("cached",),
    "cache_write_5m": ("cache_write_5m",),
    "cache_write_1h": ("cache_write_1h",),
    "output": ("output", "thoughts"),
}


def answers(program, tree, group, data):
    """Returns the rows of a report by key: through an archive in `data`, or without one."""
    env = dict(os.environ, HOME=str(tree), TZ="UTC")
    command = [program]
    if data is None:
        command += ["--from", str(tree)]
    else:
        env["XDG_DATA_HOME"] = data
    command += ["usage", group, "--json", "--tz", "UTC", "--quiet"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return {row["key"]: row for row in json.loads(done.stdout)["rows"]}


def differences(program, tree, data):
    """Yields the sums that differ from the truth."""
    billed = json.loads((Path(tree) / "truth.json").read_text())["billed"]
    for group, key in GROUPS.items():
        rows = answers(program, tree, group, data)
        for name in sorted(rows.keys() | billed[key].keys()):
            row, truth = rows.get(name), billed[key].get(name)
            if row is None or truth is None:
                yield f"{group} {name}: {'missing' if row is None else 'made up'}"
                continue
            for field, buckets in SUMS.items():
                # Some truths have thoughts apart from output, as we do.
                want = truth.get(field, 0) + (truth.get("thoughts", 0) if field == "output" else 0)
                got = sum(row[bucket] for bucket in buckets)
                if got != want:
                    yield f"{group} {name} {field}: {got}, not {want}"


def main():
    program, trees = sys.argv[1], sys.argv[2:]
    failed = 0
    for tree in trees:
        with tempfile.TemporaryDirectory() as data:
            for place in (None, data):
                found = list(differences(program, tree, place))
                failed += bool(found)
                how = "without an archive" if place is None else "through an archive"
                print(f"{tree} {how}: {len(found)} differences", *found[:10], sep="\n  ")
    print(f"{2 * len(trees) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
