#!/usr/bin/env python3
"""Counts the model calls of Codex CLI homes by the rule in docs/formats/codex.md, apart from our code, and compares.

    codex_usage.py BACKSTORY TREES SEEDS    damages copies of all homes below TREES at random and compares the sums by model

Here a copy is recognized by looking into the file of its parent, which our reader never does.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import datetime
from pathlib import Path

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NAME = re.compile(rf"rollout-.*?-({UUID})(?:_({UUID}))?\.jsonl$")
FIELDS = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens"]


def natural(value):
    """A count: anything else but a natural number of 64 bits counts as 0."""
    return value if type(value) is int and 0 <= value < 1 << 64 else 0


def numbers(usage):
    usage = usage if isinstance(usage, dict) else {}
    return tuple(natural(usage.get(field)) for field in [*FIELDS, "total_tokens"])


def is_call(usage):
    return usage[0] + usage[3] > 0


def milliseconds(time):
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000 if time else None


def began(turn):
    """The time in a UUID of version 7."""
    return int(turn[:8] + turn[9:13], 16) if turn and re.match(r"[0-9a-f]{8}-[0-9a-f]{4}-7", turn) else None


class Rollout:
    def __init__(self, path):
        name = NAME.search(path.name)
        self.thread, self.rollout = name[1], name[2] or name[1]
        self.lines = []
        for line in path.read_bytes().split(b"\n"):
            try:
                line = json.loads(line.decode("utf-8", "replace").strip("\ufeff \r"))
            except ValueError:
                continue
            if isinstance(line, dict) and isinstance(line.get("payload"), dict):
                self.lines.append(line)
        metas = [line["payload"] for line in self.lines if line["type"] == "session_meta"]
        # The first line may be damaged, and the next header is that of the thread that the file copies.
        self.meta = next((meta for meta in metas if meta.get("id") in (None, self.thread)), {})
        self.foreign = [meta["id"] for meta in metas if meta.get("id") not in (None, self.thread)]
        self.base = self.meta.get("history_base")
        source = self.meta.get("source")
        spawn = source.get("subagent") if isinstance(source, dict) else None
        spawn = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
        # A subagent may repeat a selection of its parent's lines without a header that says so.
        self.spawner = spawn.get("parent_thread_id") if isinstance(spawn, dict) and not self.base else None
        self.records, self.counts = [], []
        model = turn = None
        # Counts before the first turn and the first record come from a version without either, so nothing else records their calls.
        has_turns = False
        for line in self.lines:
            kind, body = line["type"], line["payload"]
            if kind == "turn_context":
                model = body.get("model") or model
            elif kind == "token_usage_record":
                has_turns = True
                self.records.append((body, model))
            elif kind == "event_msg" and body.get("type") == "task_started":
                has_turns = True
                turn = body.get("turn_id")
            elif kind == "event_msg" and body.get("type") == "token_count":
                info = body.get("info")
                is_known = isinstance(info, dict) and info.get("total_token_usage") is not None
                total = numbers(info["total_token_usage"]) if is_known else None
                last = numbers(info.get("last_token_usage")) if is_known else None
                self.counts.append((total, last, turn, model, line, has_turns))

    def is_copying(self):
        return bool(self.foreign) or bool(self.meta.get("forked_from_id") and not self.base)


def calls(home):
    """Model and numbers of every call, each once."""
    files = sorted(path for folder in ("sessions", "archived_sessions") for path in (home / folder).rglob("rollout-*"))
    files = [Rollout(path) for path in files if NAME.search(path.name)]
    seen = set()
    for file in files:
        for body, model in file.records:
            if body["response_id"] not in seen:
                seen.add(body["response_id"])
                yield model, numbers(body["usage"])
        yield from steps(file, files, seen)


def total_before(file, files):
    """The last total of the history that a file continues: in its base, or in the base of that."""
    followed = set()
    while file.base and file.rollout not in followed:
        followed.add(file.rollout)
        base = [other for other in files if other.rollout == file.base["thread_id"]]
        before = [c[0] for other in base for c in other.counts if c[0] and c[4].get("ordinal", 0) < file.base["end_ordinal_exclusive"]]
        if before or not base:
            return before[-1] if before else None
        file = base[0]
    return None


def steps(file, files, seen):
    parents = [other for other in files if other.thread in {file.meta.get("forked_from_id"), file.spawner, *file.foreign} - {file.thread}]
    theirs = [count for parent in parents for count in parent.counts if count[0]]
    turns = {count[2] for count in theirs}
    recorded = {body.get("turn_id") for body, _ in file.records}
    born, first = milliseconds(file.meta.get("timestamp")), milliseconds(file.lines[0].get("timestamp")) if file.lines else None
    total = total_before(file, files)
    in_copy = file.is_copying() or bool(file.spawner)
    known_total, falls = None, 0
    # Between the counts that a subagent repeats, and before its own first one, the total grows by calls of its parent.
    is_selection = has_own = False
    for now, last, turn, model, line, has_turns in file.counts:
        before, total = total, now
        if now is None:
            continue
        # A total may also be repeated after a count without one.
        is_repeated = now == (before or known_total)
        falls += known_total is not None and any(a < b for a, b in zip(now, known_total))
        known_total = now
        if is_repeated:
            continue
        growth = before and not is_selection and tuple(a - b for a, b in zip(now, before))
        floor = last if is_call(last) else (0,) * 6
        step = growth if growth and all(a >= max(b, 0) for a, b in zip(growth, floor)) else last
        is_selection = False
        if not is_call(step) or (file.records and (turn in recorded or (turn is None and has_turns))):
            continue
        if file.is_copying() or file.spawner:
            at = began(turn)
            known = any(now == other[0] and (at is None or other[2] == turn) for other in theirs)
            is_early = milliseconds(line["timestamp"]) - first < 250
            if at is not None:
                # Without the header of the file, its time is not known.
                is_copy = turn in turns or (at < born - 1 if born is not None else is_early)
            else:
                is_old = born is not None and milliseconds(line["timestamp"]) < born - 1
                is_copy = in_copy and (is_old or (file.is_copying() and (known or (not parents and is_early))))
            is_selection = bool(is_copy and file.spawner)
            if is_copy:
                key = (turn, now)
                if known or key in seen:
                    continue
                seen.add(key)
            else:
                in_copy = False
                # It may also show the last total of its parent before it has called the model.
                is_shown = file.spawner and not has_own and now != last and any(now == other[0] for other in theirs)
                has_own = True
                if is_shown:
                    continue
        # The file may be there twice, in both folders.
        own = (file.rollout, turn, falls, now)
        if own in seen:
            continue
        seen.add(own)
        yield model, step


def by_model(found):
    sums = defaultdict(lambda: [0] * 6)
    for model, (tokens_in, cached, written, out, reasoning, _) in found:
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        reasoning = min(reasoning, out)
        row = sums[model or "unknown"]
        for n, more in enumerate((1, tokens_in - cached - written, cached, written, out - reasoning, reasoning)):
            row[n] += more
    return dict(sums)


def ours(program, home):
    run = [program, "usage", "model", "--from", str(home), "--json"]
    out = subprocess.run(run, capture_output=True).stdout
    # There may be nothing left to count.
    rows = json.loads(out)["rows"] if out else []
    names = ("calls", "input", "cached", "cache_write_5m", "output", "thoughts")
    return {row["key"]: [row[name] for name in names] for row in rows if row["calls"]}


def damage(home, chance):
    """Deletes, copies and moves files, cuts off ends, damages headers and numbers, reorders and repeats lines, changes their ends, puts in lines that
    are not JSON or not known."""
    archived = home / "archived_sessions"
    # Which calls were copied cannot be told from wrong totals.
    has_forks = any(text.count(b'"session_meta"') > 1 or b'"forked_from_id"' in text for text in (path.read_bytes() for path in home.rglob("rollout-*.jsonl")))
    for path in sorted(home.rglob("rollout-*.jsonl")):
        text = path.read_bytes()
        match chance.randrange(10):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(text[: chance.randrange(len(text) + 1)])
            case 2:
                lines = text.split(b"\n")
                for _ in range(chance.randrange(1, 9)):
                    odd = chance.choice([b"{\"timestamp\":\"20", b"[]", b"{}", b"\xff\xfe", b"{\"type\":\"new\",\"payload\":{}}"])
                    lines.insert(chance.randrange(1, len(lines) + 1), odd)
                path.write_bytes(b"\n".join(lines))
            case 3:
                archived.mkdir(exist_ok=True)
                (archived / path.name).write_bytes(text[: chance.choice([len(text), chance.randrange(len(text) + 1)])])
            case 4:
                archived.mkdir(exist_ok=True)
                path.rename(archived / path.name)
            case 5:
                lines = text.splitlines(keepends=True)
                for _ in range(chance.randrange(1, 9)):
                    at = chance.randrange(1, len(lines))
                    if b"token_count" not in lines[at]:
                        lines.insert(chance.randrange(at, min(at + 3, len(lines))), lines.pop(at))
                path.write_bytes(b"".join(lines))
            case 6:
                lines = text.splitlines(keepends=True)
                for _ in range(chance.randrange(1, 9)):
                    at = chance.randrange(1, len(lines))
                    lines.insert(at, lines[at])
                path.write_bytes(b"".join(lines))
            case 7 if b"history_base" not in text:
                first, rest = text.split(b"\n", 1)
                path.write_bytes(first[:200] + b"\n" + rest)
            case 8:
                mark = chance.choice([b"\xef\xbb\xbf", b""])
                path.write_bytes(mark + text.replace(b"\n", chance.choice([b"\n", b"\r\n", b"\n\n", b"\n \r\n"])))
            case 9 if not has_forks:
                lines = [changed(line, chance) if chance.random() < 0.2 else line for line in text.split(b"\n")]
                path.write_bytes(b"\n".join(lines))


def changed(line, chance):
    """Changes the numbers of a count or record, or puts bytes that are not UTF-8 into a text."""
    if chance.random() < 0.3:
        return line.replace(b'"text":"', b'"text":"' + chance.choice([b"\xff", b"\xed\xa0\x80", b"\xc3"]), 1)
    odd = chance.choice([b"0", b"1", b"-1", b"1.5", b"5e2", b"null", b"[]", b"{}", b'"7"', b"true", b"9223372036854775808", b"1e400"])
    if b'"token_usage_record"' in line:
        key = chance.choice([*FIELDS, "total_tokens"]).encode()
        return re.sub(b'("usage":\\{[^}]*"' + key + rb'":)\d+', rb"\g<1>" + odd, line)
    return re.sub(rb'"(info|total_token_usage|last_token_usage)":\{', b'"' + chance.choice([b"\\1", b"info"]) + b'":null,"x":{', line, count=1)


def main(program, trees, seeds):
    homes = sorted({path.parent for path in Path(trees).rglob("sessions") if path.is_dir()})
    wrong = 0
    for seed in range(int(seeds) + 1):
        for home in homes:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / ".codex"
                shutil.copytree(home, copy)
                if seed:
                    damage(copy, random.Random(f"{seed} {home}"))
                wanted, found = by_model(calls(copy)), ours(program, copy)
                if wanted != found:
                    wrong += 1
                    print(f"{home}, seed {seed}:\n  {found}\n  for {wanted}")
    print(f"{len(homes)} homes, {seeds} times damaged: {wrong} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
