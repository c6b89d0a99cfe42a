#!/usr/bin/env python3
"""Copies a home several times, each time as if other sessions had been recorded: bench/enlarge.py HOME OUT --copies N

Ids are replaced by others of the same length in contents and names, so that positions of files in files remain true, no
call is a copy of another, and all totals are N times those of HOME. Works for generated homes of all agents.
"""

import argparse
import pathlib
import re
import sys

# Ids that files refer to each other by. The digits that are replaced are a group: those at the end of an id that begins
# with its time, and at the beginning of others, because Gemini CLI's file names have only these.
IDS = re.compile(
    rb"(?<![0-9A-Za-z])(?:"
    rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{4}([0-9a-f]{8})"
    rb"|([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    rb"|session-[0-9T-]{16}-([0-9a-f]{8})(?=\.json)"
    rb"|(?:agent-|agentId\":\")[0-9a-z]*?([0-9a-f]{8})"
    rb"|(?:msg|req|toolu|call|resp)_([0-9A-Za-z]{9,})"
    rb")(?![0-9A-Za-z])"
)
HEX = b"0123456789abcdef"
LETTERS = HEX + b"ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Session files have them; the rest of a home, such as the list of its projects, is the same for every copy.
SESSION = re.compile(r"\.jsonl?(\.zst)?$")


def positions(content):
    return [(match.start(match.lastindex), match.group(match.lastindex)) for match in IDS.finditer(content)]


def other(digits, copy):
    """Returns other digits for each copy, and different ones for different digits."""
    symbols = HEX if len(digits) == 8 else LETTERS
    return digits.translate(bytes.maketrans(symbols, symbols[copy:] + symbols[:copy]))


def replaced(content, found, copy):
    out = bytearray(content)
    for at, digits in found:
        out[at : at + len(digits)] = other(digits, copy)
    return bytes(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--copies", type=int, default=8)
    args = parser.parse_args()
    if not 1 <= args.copies <= len(HEX):
        sys.exit(f"--copies must be between 1 and {len(HEX)}")
    written = 0
    for path in sorted(args.home.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(args.home).as_posix().encode()
        content = path.read_bytes()
        in_name, in_content = positions(name), positions(content)
        is_own = bool(in_name) and SESSION.search(path.name)
        for copy in range(args.copies if is_own else 1):
            target = args.out / replaced(name, in_name, copy).decode()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(replaced(content, in_content, copy))
            written += len(content)
    print(f"{written / 1e6:.0f} MB in {args.out}")


if __name__ == "__main__":
    main()
