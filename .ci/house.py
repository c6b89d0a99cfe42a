#!/usr/bin/env python3
"""Checks the architecture: agents are named below `agent/` only, SQL is used below `archive/` only, top-level
modules form no cycle, and files are short. Exits with 1 and names what is wrong."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = {name: ROOT / "crates" / name / "src" for name in ("core", "cli", "web")}
AGENTS = ("gemini", "claude", "codex")
# Signs of SQL: the library, and the beginnings of statements in strings.
SQL = r'rusqlite|"\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|PRAGMA) '
# The longest a file may be, in lines; tables of data are catalogues.
LONGEST = 500
CATALOGUES = {"shell/tests.rs"}


def code(path):
    """Returns the source of a file without comments and tests."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return re.split(r"#\[cfg\(test\)\]\s*mod tests", text)[0]


def module(crate, path):
    """Returns the top-level module that a file belongs to; none for the root of the crate."""
    first = path.relative_to(crate).parts[0]
    name = first.removesuffix(".rs")
    return None if name in ("lib", "main") else name


def named_agents(crate_name, crate):
    for path in sorted(crate.rglob("*.rs")):
        if module(crate, path) == "agent":
            continue
        for name in re.findall(r"agent::(%s)\b" % "|".join(AGENTS), code(path)):
            yield f"{crate_name}: {path.relative_to(crate)} names `agent::{name}`"


def foreign_sql(crate_name, crate):
    for path in sorted(crate.rglob("*.rs")):
        if module(crate, path) == "archive":
            continue
        for name in sorted(set(re.findall(SQL, code(path)))):
            yield f"{crate_name}: {path.relative_to(crate)} uses SQL: `{name}`"


def edges(crate):
    """Returns which top-level modules use which."""
    files = sorted(crate.rglob("*.rs"))
    names = {module(crate, path) for path in files} - {None}
    uses = {name: set() for name in names}
    for path in files:
        here = module(crate, path)
        if here is None:
            continue
        for target in re.findall(r"crate::(?:\{)?(\w+)", code(path)):
            if target in names and target != here:
                uses[here].add(target)
    return uses


def cycles(uses):
    """Returns the sets of modules that use each other, by Tarjan's algorithm."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(uses[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                out.append(sorted(group))

    for node in sorted(uses):
        if node not in index:
            visit(node)
    return out


def main():
    wrong = []
    lengths = []
    for name, crate in CRATES.items():
        wrong += named_agents(name, crate)
        wrong += foreign_sql(name, crate)
        uses = edges(crate)
        for group in cycles(uses):
            inside = [f"{a} -> {b}" for a in group for b in sorted(uses[a]) if b in group]
            wrong.append(f"{name}: a cycle of modules: {', '.join(inside)}")
        for path in sorted(crate.rglob("*.rs")):
            length = len(path.read_text().splitlines())
            lengths.append(length)
            if length > LONGEST and str(path.relative_to(crate)) not in CATALOGUES:
                wrong.append(f"{name}: {path.relative_to(crate)} has {length} lines")
    lengths.sort()
    print(f"{len(lengths)} files, median {lengths[len(lengths) // 2]} lines, longest {lengths[-1]}")
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
