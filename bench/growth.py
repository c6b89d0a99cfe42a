"""Writes logs and lets them grow, for the scripts beside it."""

import json
import shutil


def turn(n):
    """Returns the records of one more prompt and its reply."""
    tokens = {"input": 9000 + n, "output": 90, "cached": 4000, "thoughts": 40, "tool": 0, "total": 9130 + n}
    at = "2026-08-01T10:00:00.000Z"
    prompt = {"id": f"bbbb{n:04x}-0000-4000-8000-000000000000", "timestamp": at, "type": "user", "content": "and on"}
    reply = {"id": f"cccc{n:04x}-0000-4000-8000-000000000000", "timestamp": at, "type": "gemini", "content": "done " * 50,
             "tokens": tokens, "model": "gemini-2.5-pro"}
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in (prompt, reply))


def grow(file, n):
    """Adds a turn to a log."""
    # A copy first: the file may be linked to the one that must not change.
    if file.stat().st_nlink > 1:
        copy = file.with_suffix(".copy")
        shutil.copyfile(file, copy)
        copy.replace(file)
    with open(file, "a") as out:
        out.write(turn(n))


def large_log(home, size=200_000_000):
    """Writes a log of at least `size` bytes into a home and returns its path."""
    folder = home / f".gemini/tmp/large-{size}/chats"
    folder.mkdir(parents=True)
    file = folder / "session-2026-08-01T10-00-0000aaaa.jsonl"
    header = {"sessionId": "0000aaaa-0000-4000-8000-000000000000", "projectHash": "ab" * 32,
              "startTime": "2026-08-01T10:00:00.000Z", "lastUpdated": "2026-08-01T10:00:00.000Z", "kind": "main"}
    text = "The quick brown fox jumps over the lazy dog.\n" * 200
    with open(file, "w") as out:
        written, n = out.write(json.dumps(header) + "\n"), 0
        while written < size:
            call = {"id": f"c{n}", "name": "read_file", "args": {"file_path": f"{n}.rs"}, "status": "success",
                    "resultDisplay": text}
            tokens = {"input": 9000, "output": 90, "cached": 4000, "thoughts": 40, "tool": 0, "total": 9130}
            reply = {"id": f"{n:08x}-aaaa-4000-8000-000000000000", "timestamp": "2026-08-01T10:00:00.000Z",
                     "type": "gemini", "content": "so", "tokens": tokens, "model": "gemini-2.5-pro", "toolCalls": [call]}
            written += out.write(json.dumps(reply) + "\n")
            n += 1
    return file
