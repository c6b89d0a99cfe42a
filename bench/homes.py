#!/usr/bin/env python3
"""Writes a made-up home of Gemini CLI with very many small files: bench/homes.py --files N --shape NAME OUT

Each shape is a corner in which some command could take quadratic time. OUT must not exist yet.
"""

import argparse
import datetime
import hashlib
import json
import pathlib

ROOT = pathlib.PurePosixPath(".gemini/tmp")
NOW = datetime.datetime.now(datetime.timezone.utc).replace(second=0, microsecond=0)
PARENT = "0000aaaa-0000-4000-8000-00000000aaaa"
MODELS = ["gemini-2.5-pro", "gemini-2.5-flash"]


def session_id(n, prefix=None):
    return f"{prefix or f'{n:08x}'}-0000-4000-8000-{n:012x}"


def message_id(n, which=0):
    return f"{n:08x}-{which:04x}-4000-9000-{n:012x}"


def started(n):
    """One session per minute, the first one now and the others before it."""
    return NOW - datetime.timedelta(minutes=n + 1)


def stamp(at, seconds=0):
    return (at + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def lines(*records):
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


def header(id, at, project, kind="main"):
    hash = hashlib.sha256(f"/home/dev/{project}".encode()).hexdigest()
    return {"sessionId": id, "projectHash": hash, "startTime": stamp(at), "lastUpdated": stamp(at, 30), "kind": kind}


def prompt(id, at, text):
    return {"id": id, "timestamp": stamp(at, 1), "type": "user", "content": [{"text": text}]}


def reply(id, at, text, n=0, **more):
    tokens = {"input": 1000 + n % 500, "output": 50, "cached": 100, "thoughts": 10, "tool": 0, "total": 1160 + n % 500}
    return {"id": id, "timestamp": stamp(at, 2), "type": "gemini", "content": text, "tokens": tokens,
            "model": MODELS[n % 2], **more}


def file_name(at, id):
    return f"session-{at.strftime('%Y-%m-%dT%H-%M')}-{id[:8]}.jsonl"


def plain(n, project, id=None, prompt_id=None, text=None):
    """Returns the path and the content of a session of one turn."""
    id, at = id or session_id(n), started(n)
    records = [header(id, at, project), prompt(prompt_id or message_id(n, 1), at, text or f"question {n} about harbor"),
               reply(message_id(n, 2), at, f"answer {n}: the berth is free", n)]
    return ROOT / project / "chats" / file_name(at, id), lines(*records)


def spread(count):
    """Folders of 500 sessions each."""
    for n in range(count):
        yield plain(n, f"project-{n // 500}")


def one_folder(count):
    for n in range(count):
        yield plain(n, "project")


def projects(count):
    """A folder for each session."""
    for n in range(count):
        yield plain(n, f"project-{n}")


def same_prefix(count):
    """All ids begin alike; every tenth file has nothing in it to resume."""
    for n in range(count):
        path, text = plain(n, "project", id=session_id(n, "aaaaaaaa"))
        yield path, text if n % 10 else text.split("\n", 1)[0] + "\n"


def stubs(count):
    """Each session was resumed: a second file of its own takes it along."""
    for n in range(0, count, 2):
        yield plain(n, "project")
        at, id = started(n + 1), session_id(n)
        yield ROOT / "project/chats" / file_name(at, id), lines(header(id, at, "project"))


def equal_text(count):
    """The same words in every session, under ids of their own."""
    for n in range(count):
        yield plain(n, "project", text="go on")


def same_prompt(count):
    """The same prompt in every session, under the same id: imported."""
    for n in range(count):
        yield plain(n, "project", prompt_id=message_id(0, 1), text="go on")


def same_call(count):
    """Every session contains the same call, so that its owner is decided among all of them."""
    at = started(count)
    call = reply(message_id(0, 9), at, "the call that all of them contain")
    for n in range(count):
        path, text = plain(n, "project")
        yield path, text + lines(call)


def one_session(count):
    """One session in all files, each with messages of its own."""
    for n in range(count):
        path, text = plain(n, "project", id=PARENT)
        yield path, text


def copies(count):
    """One session in all files, each the same."""
    _, text = plain(0, "project", id=PARENT)
    for n in range(count):
        yield ROOT / "project/chats" / file_name(started(n), PARENT), text


def subagents(count):
    """All are subagents of one parent."""
    calls = [{"id": f"c{n}", "name": "generalist", "args": {}, "status": "success", "agentId": session_id(n),
              "resultDisplay": "done"} for n in range(min(count, 100))]
    path, text = plain(0, "project", id=PARENT)
    yield path, text + lines(reply(message_id(0, 3), started(0), "delegated", toolCalls=calls))
    for n in range(1, count):
        id, at = session_id(n), started(n)
        records = [header(id, at, "project", "subagent"), prompt(message_id(n, 1), at, f"task {n}"),
                   reply(message_id(n, 2), at, f"done {n}", n)]
        yield ROOT / "project/chats" / PARENT / f"{id}.jsonl", lines(*records)


def chain(count):
    """Each session is the subagent of the one before."""
    yield plain(0, "project")
    for n in range(1, count):
        id, at = session_id(n), started(n)
        records = [header(id, at, "project", "subagent"), prompt(message_id(n, 1), at, f"task {n}"),
                   reply(message_id(n, 2), at, f"done {n}", n)]
        yield ROOT / "project/chats" / session_id(n - 1) / f"{id}.jsonl", lines(*records)


def unmarked(count):
    """Subagents of versions that did not mark them: the parent's id, and a task as first text."""
    first, last = started(count), started(0)
    records = [header(PARENT, first, "project"), prompt(message_id(0, 1), first, "question"),
               reply(message_id(0, 2), last, "answer")]
    yield ROOT / "project/chats" / file_name(first, PARENT), lines(*records)
    for n in range(1, count):
        at = started(n)
        task = f"Your task is to count to {n}"
        records = [header(PARENT, at, "project"), prompt(message_id(n, 1), at, task),
                   reply(message_id(n, 2), at, f"done {n}", n)]
        yield ROOT / "project/chats" / file_name(at, PARENT), lines(*records)


def headerless(count):
    """Every other log has lost its first line, and only its name identifies its session."""
    for n in range(count):
        path, text = plain(n, "project", id=session_id(n // 2))
        yield path, text if n % 2 else text.split("\n", 1)[1]


def logs(count):
    """Sessions of which only what was typed is left."""
    entries = [{"sessionId": session_id(n), "messageId": k, "type": "user", "message": f"typed {n}.{k}",
                "timestamp": stamp(started(n), k)} for n in range(count) for k in range(2)]
    yield ROOT / "project/logs.json", json.dumps(entries)
    yield plain(count, "project")


def log_files(count):
    """One session, a line of it in the prompt log of every folder."""
    for n in range(count):
        entry = {"sessionId": PARENT, "messageId": n, "type": "user", "message": f"typed {n}", "timestamp": stamp(started(n))}
        yield ROOT / f"project-{n}" / "logs.json", json.dumps([entry])


def outputs(count):
    """A long tool output, a plan or a task in a file of its own for each call of one session."""
    path, _ = plain(0, "project", id=PARENT)
    at = started(0)
    records = [header(PARENT, at, "project"), prompt(message_id(0, 1), at, "question")]
    for n in range(count - 1):
        below = f"tool-outputs/session-{PARENT}/run_{n}.txt"
        text = f"Output too large. For full output see: /home/dev/{ROOT}/project/{below}"
        call = {"id": f"c{n}", "name": "run_shell_command", "args": {"command": f"make {n}"}, "status": "success",
                "result": [{"functionResponse": {"response": {"output": text}}}], "resultDisplay": text}
        records.append(reply(message_id(n, 2), at, "", n, toolCalls=[call]))
        yield ROOT / "project" / below, f"output {n}\n"
    yield path, lines(*records)


def answers(count):
    """One saved chat with a call in each turn, and what it gave back in the next."""
    history = []
    for n in range(count):
        history.append({"role": "user", "parts": [{"text": f"question {n}"}]})
        history.append({"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"file_path": f"{n}.rs"}}}]})
    for n in range(count):
        history.append({"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": f"{n}"}}}]})
    yield ROOT / "project/checkpoint-all.json", json.dumps(history)
    yield plain(0, "project")


def one_file(count):
    """One log with so many turns, each with a tool and a model of a name of its own."""
    records = []
    for n in range(count):
        call = {"id": f"c{n}", "name": f"mcp_server_tool{n}", "args": {"n": n}, "status": "success", "resultDisplay": "ok"}
        turn = reply(message_id(n, 2), started(0), "going on", n, toolCalls=[call])
        records += [prompt(message_id(n, 1), started(0), "go on"), turn | {"model": f"gemini-{n}"}]
    yield log(*records)


def log(*records):
    id, at = session_id(0), started(0)
    return ROOT / "project/chats" / file_name(at, id), lines(header(id, at, "project"), *records)


def rewinds(count):
    """One log in which every other message is taken back."""
    at = started(0)
    records = []
    for n in range(count):
        records += [prompt(message_id(n, 1), at, f"question {n}"), prompt(message_id(n, 2), at, "no"),
                    {"$rewindTo": message_id(n, 2)}]
    yield log(*records)


def replaced(count):
    """One log whose whole list was written again under other ids, and in other words."""
    at = started(0)
    before = [prompt(message_id(n, 1), at, f"question {n}") for n in range(count)]
    after = [prompt(message_id(n, 2), at, f"another question {n}") for n in range(count)]
    yield log(*before, {"$set": {"messages": after}})


def skipped(count):
    """Files that are passed over, in many folders."""
    for n in range(count):
        if n % 10 == 0:
            yield plain(n, f"project-{n // 10}")
        else:
            yield ROOT / f"project-{n // 10}" / "logs" / f"{n}.log", "nothing\n"


SHAPES = {each.__name__.replace("_", "-"): each for each in (
    spread, one_folder, projects, same_prefix, stubs, equal_text, same_prompt, same_call, one_session, copies, subagents,
    chain, unmarked, headerless, logs, log_files, outputs, answers, one_file, rewinds, replaced,
    skipped)}


def write(shape, count, out):
    folders = set()
    for path, text in SHAPES[shape](count):
        file = out / path
        if file.parent not in folders:
            file.parent.mkdir(parents=True, exist_ok=True)
            folders.add(file.parent)
            project = path.parts[2]
            (out / ROOT / project / ".project_root").write_text(f"/home/dev/{project}")
        file.write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--shape", choices=SHAPES, default="spread")
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True)
    write(args.shape, args.files, args.out)
