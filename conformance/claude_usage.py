#!/usr/bin/env python3
"""Counts the model calls of Claude Code by the rule in docs/formats/claude.md, apart from our code, and compares.

    claude_usage.py BACKSTORY TREES COUNT    compares the sums by day and model of all trees below TREES, and of COUNT copies of
                                             them that are damaged, cut, copied, mixed and reordered at random

Here every line is read as plain JSON, without sessions, views or owners: only equal ids matter.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

MOST = 10**12
DECODER = json.JSONDecoder(parse_constant=lambda name: float(f"not JSON: {name}"))
TREE = ("user", "assistant", "system", "attachment", "progress")
EXAMPLE = "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszy"


def records(content):
    """The objects of all lines; a line may contain several, and ends where it cannot be read."""
    for line in re.split(rb"\r\n|\n|\r", content):
        text = line.decode("utf-8", "replace").strip(" \t\n\v\f\r\0\ufeff")
        while text:
            try:
                record, end = DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                break
            if not isinstance(record, dict):
                break
            yield record
            text = text[end:].lstrip(" \t\n\r")


def number(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(min(value, MOST)) if is_number and value > 0 else 0


def inside(value, key):
    return value.get(key) if isinstance(value, dict) else None


def lines(content):
    """The lines of the tree, and before each the line of an agent that it repeats."""
    for record in records(content):
        data = record.get("data")
        if record.get("type") == "progress" and inside(data, "type") == "agent_progress":
            nested = data.get("message")
            if inside(nested, "type") in TREE:
                yield nested
        if record.get("type") in TREE:
            yield record


def name_of(record):
    """The id of a reply, if it can identify it."""
    name = inside(record.get("message"), "id")
    return name if isinstance(name, str) and name and not name.startswith(EXAMPLE) else None


def replies(content):
    """The lines of replies with their names. One without an id is part of the reply above it, or begins the one below it."""
    tree = list(lines(content))
    known = {record["uuid"]: record for record in tree if isinstance(record.get("uuid"), str)}
    above = lambda record: known.get(record["parentUuid"]) if isinstance(record.get("parentUuid"), str) else None
    is_reply = lambda record: record is not None and record.get("type") == "assistant" and inside(record.get("message"), "model") != "<synthetic>"
    below = {}
    for record in tree:
        if is_reply(record) and name_of(record) and above(record) is not None:
            below.setdefault(id(above(record)), name_of(record))
    for record in filter(is_reply, tree):
        first, seen = record, set()
        while not name_of(first) and is_reply(above(first)) and id(first) not in seen:
            seen.add(id(first))
            first = above(first)
        uuid = first.get("uuid")
        yield record, name_of(first) or below.get(id(first)) or (uuid if isinstance(uuid, str) and uuid and not uuid.startswith("#") else None)


def time_of(record):
    """The time of a line, if it is one."""
    time = record.get("timestamp")
    return time if isinstance(time, str) and re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", time) else None


def calls(tree):
    """The day, model and numbers of every call. The day of one without a time is unknown."""
    found, dates = {}, {}
    for path in sorted((tree / "projects").rglob("*.jsonl*")):
        for record, name in replies(path.read_bytes()):
            message = record.get("message")
            usage = inside(message, "usage")
            if name is None or not isinstance(usage, dict):
                continue
            dates[name] = min(filter(None, (dates.get(name), time_of(record))), default=None)
            written = number(usage.get("cache_creation_input_tokens"))
            hour = min(number(inside(usage.get("cache_creation"), "ephemeral_1h_input_tokens")), written)
            output = number(usage.get("output_tokens"))
            thoughts = min(number(inside(usage.get("output_tokens_details"), "thinking_tokens")), output)
            call = found.setdefault(name, {"model": None, "input": 0, "cached": 0, "written": (0, 0), "output": (0, 0)})
            model = message.get("model")
            call["model"] = call["model"] or (model if isinstance(model, str) else None)
            call["input"] = max(call["input"], number(usage.get("input_tokens")))
            call["cached"] = max(call["cached"], number(usage.get("cache_read_input_tokens")))
            call["written"] = max(call["written"], (written, hour))
            call["output"] = max(call["output"], (output, thoughts))
    for name, call in found.items():
        (written, hour), (output, thoughts) = call["written"], call["output"]
        yield (dates[name] or "")[:10], call["model"] or "unknown", (call["input"], call["cached"], written - hour, hour, output - thoughts, thoughts)


def by_rule(tree):
    return summed((day, model, (1, *numbers)) for day, model, numbers in calls(tree))


def summed(rows):
    sums = defaultdict(lambda: [0] * 7)
    for day, model, numbers in rows:
        for n, more in enumerate(numbers):
            sums[day, model][n] += more
    return dict(sums)


def without_days(sums):
    return summed(("", model, numbers) for (_, model), numbers in sums.items())


NAMES = ("calls", "input", "cached", "cache_write_5m", "cache_write_1h", "output", "thoughts")


def by_program(program, tree):
    run = [program, "usage", "daily", "--breakdown", "--from", str(tree), "--json"]
    out = subprocess.run(run, capture_output=True, env={**os.environ, "TZ": "UTC"}).stdout
    # There may be nothing left to count.
    days = json.loads(out)["rows"] if out else []
    return {(day["key"], row["key"]): [row[name] for name in NAMES] for day in days for row in day["models"] if row["calls"]}


class Damage:
    """Changes to the lines of one file."""

    def __init__(self, chance):
        self.chance = chance

    def place(self, lines):
        return self.chance.randrange(len(lines))

    def cut(self, lines):
        text = b"\n".join(lines)
        return text[: self.chance.randrange(len(text) + 1)].split(b"\n")

    def remove(self, lines):
        del lines[self.place(lines)]
        return lines

    def repeat(self, lines):
        lines.insert(self.place(lines), lines[self.place(lines)])
        return lines

    def reorder(self, lines):
        self.chance.shuffle(lines)
        return lines

    def join(self, lines):
        at = self.place(lines)
        return [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]]

    def tear(self, lines):
        at = self.place(lines)
        lines[at] = lines[at][: self.chance.randrange(len(lines[at]) + 1)]
        return lines

    def garbage(self, lines):
        odd = [b'{"type":"assistant",', b"[]", b"{}", b"\xff\xfe", b'{"type":"new","usage":{"input_tokens":9}}', b"\0\0\0", b"", b"null"]
        lines.insert(self.place(lines), self.chance.choice(odd))
        return lines

    def pad(self, lines):
        at = self.place(lines)
        lines[at] = b"\0\0" + lines[at]
        return lines

    def endings(self, lines):
        return [line + b"\r" for line in lines]

    def mark(self, lines):
        at = self.place(lines)
        lines[at] = b"\xef\xbb\xbf" + lines[at]
        return lines

    def spoil(self, lines):
        """Puts bytes that are not UTF-8 into a text."""
        at = self.place(lines)
        texts = [found.start(1) for found in re.finditer(rb'"text":"(\w)', lines[at])]
        if texts:
            where = self.chance.choice(texts)
            lines[at] = lines[at][:where] + self.chance.choice([b"\xff", b"\xed\xa0\x80", b"\xc3"]) + lines[at][where:]
        return lines

    def escape(self, lines):
        """Writes a letter of names and keys as an escape."""
        at = self.place(lines)
        old, new = self.chance.choice([(b'"msg_', b'"m\\u0073g_'), (b'"usage"', b'"us\\u0061ge"'), (b'"input_tokens"', b'"input\\u005Ftokens"'), (b'"assistant"', b'"\\u0061ssistant"')])
        lines[at] = lines[at].replace(old, new)
        return lines

    def clock(self, lines):
        """Sets the clock back from some line on."""
        at, hours = self.place(lines), timedelta(hours=self.chance.randrange(1, 72))
        time = rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)'
        earlier = lambda found: b'"timestamp":"' + (datetime.fromisoformat(found[1].decode()) - hours).isoformat().encode()
        return [*lines[:at], *(re.sub(time, earlier, line) for line in lines[at:])]

    def change(self, lines):
        """Changes one line as an object."""
        at = self.place(lines)
        try:
            record = json.loads(lines[at])
        except ValueError:
            return lines
        if isinstance(record, dict):
            record = self.changed(record)
            lines[at] = json.dumps(record, ensure_ascii=self.chance.random() < 0.5).encode("utf-8", "surrogatepass")
        return lines

    def changed(self, record):
        usage = inside(record.get("message"), "usage")
        match self.chance.randrange(7):
            case 0:
                keys = list(record)
                self.chance.shuffle(keys)
                return {key: record[key] for key in keys}
            case 1 if record.get("type") == "assistant":
                data = {"type": "agent_progress", "agentId": f"a{self.chance.randrange(999)}", "message": record}
                rest = {key: record.get(key) for key in ("uuid", "parentUuid", "sessionId", "timestamp", "cwd")}
                return {**rest, "type": "progress", "data": data, "parentToolUseID": "toolu_1"}
            case 2 if isinstance(usage, dict):
                key = self.chance.choice(["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"])
                usage[key] = self.chance.choice([0, 1, 77, 5_000, 1.5, 0.9, 1e3, -3, -0.5, "9", None, True, [7], {}, 10**15, 2**63, 2**64, 10**30, 1e300])
            case 3 if isinstance(usage, dict):
                written = usage.get("cache_creation_input_tokens")
                splits = [None, [], {}, {"ephemeral_1h_input_tokens": 7}, {"ephemeral_1h_input_tokens": written}, {"ephemeral_5m_input_tokens": 3}]
                choices = [None, [], {}, 7, "x", {"output_tokens": 5}, *({**usage, "cache_creation": split} for split in splits)]
                record["message"]["usage"] = self.chance.choice(choices)
            case 4:
                record.pop(self.chance.choice(list(record) or [""]), None)
            case 5 if isinstance(record.get("message"), dict) and self.chance.random() < 0.3:
                record["message"]["id"] = self.chance.choice([None, "", EXAMPLE + "Y", 7])
            case 5 if isinstance(record.get("message"), dict):
                record["message"].pop(self.chance.choice(list(record["message"]) or [""]), None)
            case 6:
                record[self.chance.choice(list(record) or ["type"])] = self.chance.choice([None, 7, "", "x", [], {}, True])
        return record

    def apply(self, path):
        lines = path.read_bytes().split(b"\n")
        whole = [self.cut, self.reorder, self.endings, self.clock]
        single = [self.remove, self.repeat, self.join, self.tear, self.garbage, self.pad, self.mark, self.spoil, self.escape]
        kinds = [*whole, *single, *[self.change] * 6]
        for _ in range(self.chance.randrange(1, 6)):
            lines = self.chance.choice(kinds)(lines) or [b""]
        path.write_bytes(b"\n".join(lines))


def copy(path, chance):
    """Copies a file as a resume, a fork, a move or a backup does."""
    name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    content = path.read_bytes()
    days = timedelta(days=chance.randrange(-3, 4))
    if chance.random() < 0.5:
        time = rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)'
        later = lambda found: b'"timestamp":"' + (datetime.fromisoformat(found[1].decode()) + days).isoformat().encode()
        content = re.sub(time, later, content)
    if chance.random() < 0.5:
        content = re.sub(rb',"requestId":"[^"]*"', b"", content)
    if chance.random() < 0.5:
        content = re.sub(rb'"sessionId":"[^"]*"', f'"sessionId":"{name}"'.encode(), content)
    if chance.random() < 0.3:
        content = re.sub(rb'"uuid":"([^"]{8})', lambda found: b'"uuid":"' + found[1][::-1], content)
    folder = path.parent if chance.random() < 0.5 else path.parents[1] / "-another"
    file = chance.choice([f"{name}.jsonl", f"agent-{name[:8]}.jsonl", f"{name}/subagents/agent-a{name[:6]}.jsonl", f"{path.name}.superseded-1"])
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content)


def damage(tree, chance):
    for folder in sorted((tree / "projects").iterdir()):
        if folder.is_dir() and chance.random() < 0.1:
            shutil.copytree(folder, folder.with_name(chance.choice([f"{folder.name}-2", "-another", "backup"])), dirs_exist_ok=True)
    for path in sorted((tree / "projects").rglob("*.jsonl")):
        match chance.randrange(8):
            case 0:
                path.unlink()
            case 1 | 2:
                copy(path, chance)
            case 3 | 4 | 5:
                Damage(chance).apply(path)
            case 6:
                copy(path, chance)
                Damage(chance).apply(path)


def compare(program, trees, seed):
    """Returns the difference, if there is one. Undamaged, only the first tree is read."""
    tree = trees[0]
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "claude"
        shutil.copytree(tree, own)
        if seed:
            chance = random.Random(f"{seed} {tree.parent.parent.name}/{tree.parent.name}")
            # Homes often contain sessions of several versions.
            for more in chance.sample(trees, chance.choice([0, 0, 1, 3])):
                shutil.copytree(more, own, dirs_exist_ok=True)
            damage(own, chance)
        wanted, found = by_rule(own), by_program(program, own)
    # A call without a time counts towards the day on which its session began.
    if any(not day for day, _ in wanted):
        wanted, found = without_days(wanted), without_days(found)
    if wanted == found:
        return None
    rows = [f"  {key}: {found.get(key)} for {wanted.get(key)}" for key in sorted({*wanted, *found}, key=str) if wanted.get(key) != found.get(key)]
    return "\n".join([f"{tree}, seed {seed}:", *rows])


def main(program, trees, count):
    trees = sorted(path.parent for path in Path(trees).rglob("projects") if path.is_dir())
    order = lambda n: trees[n % len(trees) :] + trees[: n % len(trees)]
    jobs = [(program, order(n), n // len(trees)) for n in range(len(trees) + int(count))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [found for found in pool.map(lambda job: compare(*job), jobs) if found]
    print("\n".join([*wrong, f"{len(trees)} trees, {count} damaged copies: {len(wrong)} differ"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
