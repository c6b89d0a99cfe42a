"""The kinds of files, and a model of what the archive must keep of them, independent of the program."""

import json
import re

from home import lines, text_of

WORD = re.compile(r"\b[a-z]{12}\b")


class Log:
    """A session's log. Its facts are messages: an id and what it says."""

    kind, ending = "main", ".jsonl"

    def __init__(self, case, size=0):
        self.maker, self.size = case.maker, size
        self.name = f"chats/{self.session().name(self.ending)}"

    def session(self, turns=2):
        return self.maker.session(turns, kind=self.kind, size=self.size)

    def born(self):
        return self.session(3 if self.size else 2).log()

    def grown(self, content):
        return content + lines([self.maker.user(), self.maker.reply(self.size)])

    def reformatted(self, content):
        return content.replace(b'"kind":"', b'"kind": "')

    def messages(self, content):
        """The messages of every whole line, and of one that follows the rest of a torn one."""
        for line in content.split(b"\n"):
            record = parsed(line) or parsed(line[line.rfind(b'{"id":"') :])
            if record and "id" in record:
                yield record

    def facts(self, content):
        return {(message["id"], text_of(message)) for message in self.messages(content)}

    def said(self, content):
        """The text of each message, by its id."""
        return {message["id"]: text_of(message) for message in self.messages(content)}

    def typed(self, content):
        typed = [message for message in self.messages(content) if message["type"] == "user"]
        return {message["id"]: text_of(message) for message in typed} if self.kind == "main" else {}

    def calls(self, content):
        return {message["id"]: message["tokens"] for message in self.messages(content) if "tokens" in message}


class Subagent(Log):
    kind = "subagent"

    def __init__(self, case):
        super().__init__(case)
        self.name = f"chats/{case.maker.id()}/{case.maker.id()}.jsonl"


class Document(Log):
    """A session's document, written whole each time."""

    ending = ".json"

    def born(self):
        return self.session().document()

    def grown(self, content):
        document = parsed(content)
        if not document:
            return self.born()
        document["messages"] += [self.maker.user(), self.maker.reply()]
        return json.dumps(document, indent=2).encode()

    def reformatted(self, content):
        return json.dumps(document).encode() if (document := parsed(content)) else content

    def messages(self, content):
        yield from elements(content, b'"messages": [')


class Prompts:
    """`logs.json`. Its facts are its entries."""

    name = "logs.json"

    def __init__(self, case):
        self.maker = case.maker
        self.sessions = [case.maker.id() for _ in range(2)]

    def entry(self, number):
        return self.maker.typed(self.maker.rng.choice(self.sessions), number)

    def born(self):
        return json.dumps([self.entry(0), self.entry(1)], indent=2).encode()

    def grown(self, content):
        entries = parsed(content)
        if not isinstance(entries, list):
            return self.born()
        return json.dumps([*entries, self.entry(len(entries))], indent=2).encode()

    def reformatted(self, content):
        return json.dumps(entries).encode() if (entries := parsed(content)) else content

    def facts(self, content):
        return {(entry["sessionId"], entry["messageId"], entry["message"]) for entry in elements(content, b"[")}

    def said(self, content):
        return {}

    def typed(self, content):
        return {fact: fact[2] for fact in self.facts(content)}

    def calls(self, content):
        return {}


class Plain:
    """A plan, an output or a shell history. Its only fact is its content."""

    def __init__(self, case, name):
        self.maker, self.name = case.maker, name

    def born(self):
        return f"make {self.maker.word()}\nless {self.maker.word()}\n".encode()

    def grown(self, content):
        return content + f"more {self.maker.word()}\n".encode()

    def reformatted(self, content):
        return content

    def facts(self, content):
        return {content} if content else set()

    def said(self, content):
        return {}

    def typed(self, content):
        lines = content.decode().splitlines() if self.name == "shell_history" else []
        return {line: line for line in lines}

    def calls(self, content):
        return {}


def parsed(content):
    try:
        return json.loads(content)
    except ValueError:
        return None


def elements(content, begin):
    """The whole elements of a list, also when the rest of it was cut off."""
    text, decoder = content.decode(), json.JSONDecoder()
    at = text.find(begin.decode())
    if at < 0:
        return
    at += len(begin)
    while at < len(text):
        try:
            element, at = decoder.raw_decode(text, re.compile(r"[\s,]*").match(text, at).end())
        except ValueError:
            return
        yield element


class Model:
    """Follows the files and knows what the archive must have of them after every command."""

    def __init__(self):
        self.newest, self.retained, self.seen, self.calls = {}, {}, {}, {}
        # For each message, the words of every text it ever had, in whatever file: answers show it once, with one of them.
        self.said, self.typed = {}, {}

    def look(self, files, words):
        for file, content in files.items():
            before = self.newest.get(file)
            if before == content:
                continue
            facts = file.facts(content)
            versions = self.retained.get(file, []) + ([before] if before is not None else [])
            lost = [
                version for version in versions if file.facts(version) - facts and not content.startswith(version)
            ]
            self.retained[file] = list(dict.fromkeys(lost))
            self.newest[file] = content
            self.seen.setdefault(file, set()).add(content)
            self.calls |= file.calls(content)
            for known, texts in ((self.said, file.said(content)), (self.typed, file.typed(content))):
                for message, text in texts.items():
                    known.setdefault(message, []).append((file.name, words_in([text], words)))

    def usage(self):
        total = dict.fromkeys(["input", "cached", "output", "thoughts", "tool", "total"], 0)
        for tokens in self.calls.values():
            for key in total:
                total[key] += tokens[key] - (tokens["cached"] if key == "input" else 0)
        return total | {"calls": len(self.calls)}


def words_in(texts, words):
    """The words that were made up for this life, as far as they are whole."""
    return {word for text in texts for word in WORD.findall(text) if word in words}


def lacking(known, found):
    """The files of messages of which no text is found as a whole, with the words of the last one."""
    for texts in known.values():
        if not any(words <= found for _, words in texts):
            name, words = texts[-1]
            yield name, " ".join(sorted(words - found))
