#!/usr/bin/env python3
"""Checks the architecture, and exits with 1 if anything is wrong:

- agents are named below `agent/` only;
- SQL is used below `archive/`, in the lake and in pages, and where an agent's own database is read;
- top-level modules form no cycle, and those of the library are layered as the table in ARCHITECTURE.md lists them;
- files are short."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = {name: ROOT / "crates" / name / "src" for name in ("core", "cli", "lake", "pages", "share", "web")}
AGENTS = sorted(folder.name for folder in (CRATES["core"] / "agent").iterdir() if folder.is_dir())
# Signs of SQL: the library, and the beginnings of statements in strings.
SQL = r'rusqlite|"\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|PRAGMA) '
# An agent that stores its own list of sessions in a database; what is read of it is archived as lines.
READS_SQL = {"agent/codex/state.rs"}
# The longest a file may be, in lines.
LONGEST = 500


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
        is_reader = str(path.relative_to(crate)) in READS_SQL
        if module(crate, path) == "archive" or crate_name in ("lake", "pages") or is_reader:
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


def layers():
    """Returns the row of each module in the table of ARCHITECTURE.md, lowest first."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("\n## Modules\n")[1].split("\n## ")[0]
    names = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    rows = {}
    for number, cell in enumerate(names):
        for name in re.findall(r"`(\w+)", cell):
            rows.setdefault(name, number)
    return rows


def unlayered(uses):
    """Returns the modules that are missing in the table, and those that use one of a later row."""
    rows = layers()
    for name in sorted(uses.keys() ^ rows.keys()):
        what = "not a module, but in" if name in rows else "missing in"
        yield f"core: `{name}` is {what} the table of ARCHITECTURE.md"
    for name in sorted(uses.keys() & rows.keys()):
        for other in sorted(uses[name] & rows.keys()):
            if rows[other] > rows[name]:
                yield f"core: `{name}` uses `{other}`, which is in a later row of the table of ARCHITECTURE.md"


def main():
    wrong = list(unlayered(edges(CRATES["core"])))
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
            if length > LONGEST:
                wrong.append(f"{name}: {path.relative_to(crate)} has {length} lines")
    lengths.sort()
    print(f"{len(lengths)} files, median {lengths[len(lengths) // 2]} lines, longest {lengths[-1]}")
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
