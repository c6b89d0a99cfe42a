#!/usr/bin/env python3
"""Counts habits of wording in comments, per 10,000 words, and fails above their limits.

The limits are twice what the best-kept code bases have; `stands` and `anew` are not used at all."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {
    "stands": (r"\bstands?\b|\bstood\b", 0),
    "anew": (r"\banew\b", 0),
    "tells, told": (r"\btells?\b|\btold\b", 6),
    "what is, what was": (r"\bwhat (?:is|was)\b", 4),
    "', for' as because": (r", for (?:it|they|the|a|an|old|only|there|whoever|one)\b", 8),
    "is no": (r"\b(?:is|are) no\b", 10),
}
# Doc comments that open with a question word.
MOST_QUESTIONS = 9.0


def comments(path):
    """Yields the comment lines of a file."""
    for line in path.read_text().splitlines():
        found = re.match(r"\s*//[/!]?\s?(.*)", line)
        if found:
            yield found.group(1)


def main():
    words, counts = 0, dict.fromkeys(LIMITS, 0)
    docs = questions = returns = 0
    examples = {name: [] for name in LIMITS}
    for path in sorted(ROOT.glob("crates/*/*/**/*.rs")):
        for text in comments(path):
            words += len(text.split())
            for name, (pattern, _) in LIMITS.items():
                hits = len(re.findall(pattern, text, re.IGNORECASE))
                counts[name] += hits
                if hits and len(examples[name]) < 5:
                    examples[name].append(f"{path.relative_to(ROOT)}: {text}")
        lines = path.read_text().splitlines()
        for at, line in enumerate(lines):
            found = re.match(r"\s*//[/!]\s?(\S+)", line)
            begins = at == 0 or not re.match(r"\s*//[/!]", lines[at - 1])
            if found and begins:
                docs += 1
                questions += found.group(1) in ("What", "Which", "Whether", "How", "Where", "Why")
                returns += found.group(1) == "Returns"
    failed = False
    print(f"{words} words of comments")
    for name, (_, limit) in LIMITS.items():
        rate = counts[name] * 10_000 / max(words, 1)
        is_over = rate > limit
        failed |= is_over
        print(f"{name:22} {rate:5.1f} (limit {limit}){'  TOO MANY' if is_over else ''}")
        if is_over:
            print("\n".join(f"    {example}" for example in examples[name]))
    share = questions * 100 / max(docs, 1)
    failed |= share >= MOST_QUESTIONS
    print(f"doc comments that open with a question word: {share:.1f} % of {docs}; with Returns: {returns}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
