#!/usr/bin/env python3
"""Lets files live random lives, and holds the archive to a model of what it must have kept of them."""

import json
import os
import re

import suite
from model import WORD, Document, Log, Model, Plain, Prompts, Subagent, lacking, words_in

BIG = 400_000
STEPS = 14
LOOKS = [("usage", "--json"), ("search", "nowhere"), ("prompts",), ("sessions",), ("sync",), ("sync",), ("sync",)]


class Life:
    """A home whose files change, and the model that follows them."""

    def __init__(self, case):
        self.case, self.rng, self.home = case, case.rng, case.home()
        self.folder = self.home.project()
        session = case.maker.id()
        names = ["shell_history", f"{session}/plans/plan.md", f"tool-outputs/session-{session}/run.txt"]
        self.files = [Log(case), Log(case), Document(case), Subagent(case), Prompts(case)]
        self.files += [Plain(case, name) for name in names]
        if case.number % 3 == 0:
            self.files.append(Log(case, BIG))
        self.model, self.steps = Model(), []
        for file in self.files:
            self.home.write(self.place(file), file.born())

    def place(self, file):
        return self.folder / file.name

    def live(self):
        places = {file: self.place(file) for file in self.files}
        return {file: path.read_bytes() for file, path in places.items() if os.access(path, os.R_OK)}

    def step(self):
        """Changes one file in a random way. Returns what was done."""
        file = self.rng.choice(self.files)
        path = self.place(file)
        if not path.exists():
            self.home.write(path, file.born())
            return f"{file.name}: made again"
        if not os.access(path, os.R_OK):
            path.chmod(0o644)
            return f"{file.name}: readable again"
        often = [self.grow, self.grow, self.rewrite, self.edit, self.edit, self.cut]
        way = self.rng.choice([*often, self.empty, self.delete, self.touch, self.swap, self.lock])
        done = way(file, path, path.read_bytes())
        return f"{file.name}: {done}" if done else self.step()

    def put(self, path, content):
        """Writes a file in place, or puts another one there."""
        if self.rng.random() < 0.5:
            path.write_bytes(content)
            return "in place"
        beside = self.home.path / "beside"
        beside.write_bytes(content)
        beside.replace(path)
        return "by renaming"

    def grow(self, file, path, content):
        content = file.grown(content)
        if isinstance(file, Log) and not isinstance(file, Document):
            with path.open("ab") as end:
                end.write(content[path.stat().st_size :])
            return "grew"
        return f"grew {self.put(path, content)}"

    def rewrite(self, file, path, content):
        how, new = self.rng.choice(
            [("the same", content), ("other", file.born()), ("reformatted", file.reformatted(content))]
        )
        return f"{how} content, written {self.put(path, new)}"

    def edit(self, file, path, content):
        """Replaces one word by another of the same length. Of a large file only what is near its start changes."""
        words = self.words(content[:2000] if len(content) > BIG else content)
        if not words:
            return None
        about = path.stat()
        how = self.put(path, content.replace(self.rng.choice(words)[0], self.case.maker.word().encode()))
        if self.rng.random() < 0.5:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
            how += ", with the same time"
        return f"a word replaced {how}"

    def words(self, content):
        """Finds the words of this life in a content."""
        return [
            found
            for found in re.finditer(WORD.pattern.encode(), content)
            if found[0].decode() in self.case.maker.words
        ]

    def cut(self, file, path, content):
        """Cuts a file inside one of its words, or behind a line."""
        places = [found.start() + 5 for found in self.words(content)]
        if not isinstance(file, (Document, Prompts)):
            places += [found.end() for found in re.finditer(rb"\n", content)]
        if not places:
            return None
        size = self.rng.choice(places)
        os.truncate(path, size)
        return f"cut to {size} bytes"

    def empty(self, file, path, content):
        os.truncate(path, 0)
        return "emptied"

    def delete(self, file, path, content):
        path.unlink()
        return "deleted"

    def touch(self, file, path, content):
        by = self.rng.choice([-1, 1]) * self.rng.choice([1, 10**9, 10**14])
        about = path.stat()
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + by))
        return f"its time moved by {by} ns"

    def lock(self, file, path, content):
        """Takes everybody's rights away, which root does not notice."""
        if os.geteuid() == 0:
            return None
        path.chmod(0)
        return "locked"

    def swap(self, file, path, content):
        others = [other for other in self.live() if type(other) is type(file) and other is not file]
        if not others:
            return None
        other = self.place(self.rng.choice(others))
        theirs = other.read_bytes()
        other.write_bytes(content)
        path.write_bytes(theirs)
        return f"swapped with {other.name}"

    def command(self, args):
        done = self.home.run(*args)
        self.model.look(self.live(), self.case.maker.words)
        self.steps.append(f"`{' '.join(args)}`")
        return [str(done)] if done.code not in (0, 1) else []

    def check(self):
        return self.bytes() + self.answers()

    def bytes(self):
        """Compares what is given back with the model."""
        _, given, older = self.home.captured()
        live, problems = self.live(), []
        for file, content in self.model.newest.items():
            path = f"~/.gemini/tmp/app/{file.name}"
            got, versions = given.pop(path, None), older.get(path, set())
            is_locked = self.place(file).exists() and file not in live
            if is_locked and got is None and content in versions:
                pass  # there is a newer version, which cannot be read
            elif got != content and (content or got is not None):
                known = "an older version" if got in self.model.seen[file] else "bytes it never had"
                problems.append(f"`{file.name}` is given back {'not at all' if got is None else f'as {known}'}")
            for version in self.model.retained[file]:
                # A longer version that begins with it has all of it.
                if not any(kept.startswith(version) for kept in versions):
                    lost = f"a version of `{file.name}` ({len(version)} bytes)"
                    problems.append(f"{lost} had what the newest lacks, and is lost")
            if versions - self.model.seen[file]:
                problems.append(f"a version of `{file.name}` is given back that it never had")
        return problems + [f"`{path}` is given back, and nobody knows it" for path in given]

    def found(self, words):
        """The words that a search finds: all are asked for at once, and those that no snippet shows one by one."""
        answer = self.home.run("search", " OR ".join(sorted(words)), "--limit", "100000", "--json")
        hits = json.loads(answer.out)["hits"] if answer.code == 0 else []
        found = {text for hit in hits for text, is_match in hit["snippet"] if is_match}
        return found | {word for word in words - found if self.home.run("search", word).code == 0}

    def answers(self):
        """Compares what is answered with the model."""
        prompts = self.home.run("prompts", "--json")
        texts = [row["text"] for row in json.loads(prompts.out)["prompts"]] if prompts.out else []
        listed = words_in(texts, self.case.maker.words)
        found = self.found({word for texts in self.model.said.values() for _, words in texts for word in words})
        problems = [f"`prompts` lacks `{words}` of `{name}`" for name, words in lacking(self.model.typed, listed)]
        problems += [f"`search` lacks `{words}` of `{name}`" for name, words in lacking(self.model.said, found)]
        usage = self.home.run("usage", "--json")
        got = json.loads(usage.out)["total"] if usage.out else {}
        wrong = [(key, value) for key, value in self.model.usage().items() if got.get(key, 0) != value]
        return problems + [f"`usage` has {got.get(key, 0)} {key} instead of {value}" for key, value in wrong]


def life(case):
    life = Life(case)
    problems = life.command(("sync",))
    for _ in range(STEPS):
        for _ in range(case.rng.randint(1, 3)):
            life.steps.append(life.step())
        command = case.rng.choice(LOOKS)
        problems = life.command(command) or (life.check() if command == ("sync",) else [])
        if problems:
            break
    # The label has the commands, and of the steps those of the files at fault.
    at_fault = [file.name for file in life.files if any(file.name in problem for problem in problems)]
    steps = [s for s in life.steps if s.startswith("`") or not at_fault or any(name in s for name in at_fault)]
    case.check(" → ".join(steps[-9:]), problems)


if __name__ == "__main__":
    suite.run(life, suite.arguments(__doc__, 60).parse_args())
