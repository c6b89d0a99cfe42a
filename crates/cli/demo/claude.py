"""The sessions of Claude Code in the sample tree: what happens, and the lines that Claude Code 2.1 writes.

Each line of a reply has one block and the usage of the whole call. A fork repeats the lines of its session under
its own id. A subagent has a file of its own.
"""

from common import HOME, Clock, compact, epoch_ms, token, uuid4

SONNET, OPUS, HAIKU = "claude-sonnet-5", "claude-opus-5", "claude-haiku-4-5-20251001"
HARBOR, TIDEPOOL = f"{HOME}/code/harbor-api", f"{HOME}/code/tidepool"

CALENDAR_OLD = """\
    let mut days = Vec::new();
    for berth in app.berths(harbor).await? {
        days.push(app.stays(berth.id, span).await?);
    }
"""
CALENDAR_NEW = """\
    let days = app.stays_of(&app.berths(harbor).await?, span).await?;
"""
MIGRATION = """\
create index concurrently stays_berth_arrival
    on stays (berth_id, arrival);
"""
EXPLAIN = """\
 Nested Loop  (cost=0.29..8211.40 rows=412 width=24) (actual time=0.052..1804.331 rows=398 loops=1)
   ->  Seq Scan on stays  (cost=0.00..8190.00 rows=1 width=24) (actual time=4.421..4.508 rows=1 loops=400)
 Execution Time: 1806.090 ms"""
PICKER_OLD = """\
    <ul className="stations">
      {stations.map((s) => <li key={s.id} onClick={() => pick(s)}>{s.name}</li>)}
    </ul>
"""
PICKER_NEW = """\
    <ul className="stations" role="listbox" tabIndex={0} onKeyDown={move}>
      {stations.map((s, n) => (
        <li key={s.id} role="option" aria-selected={n === at} onClick={() => pick(s)}>{s.name}</li>
      ))}
    </ul>
"""


def usage(fresh, read, written_5m, written_1h, output, speed="standard", searches=0):
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written_5m + written_1h,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "server_tool_use": {"web_search_requests": searches, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": written_1h, "ephemeral_5m_input_tokens": written_5m},
        "inference_geo": "not_available",
        "iterations": [],
        "speed": speed,
    }


def patch(start, old, new):
    """The difference as Claude Code stores it, without lines around it."""
    old, new = old.splitlines(), new.splitlines()
    lines = [f"-{line}" for line in old] + [f"+{line}" for line in new]
    return [{"oldStart": start, "oldLines": len(old), "newStart": start, "newLines": len(new), "lines": lines}]


class Session:
    """One run of Claude Code, or of one of its subagents."""

    calls = []  # of all sessions: model and usage

    def __init__(self, name, root, start, model, agent=None, of=None):
        self.name, self.root, self.model, self.agent = name, root, model, agent
        self.id = of.id if of else uuid4("claude", name)
        self.clock = Clock(start, name)
        self.lines, self.typed, self.last, self.made = [], [], None, 0
        self.prompt_id = None

    def path(self):
        folder = f".claude/projects/{self.root.replace('/', '-')}"
        return f"{folder}/{self.id}/subagents/agent-{self.agent}.jsonl" if self.agent else f"{folder}/{self.id}.jsonl"

    def write(self, record, head=None):
        """Appends a line that follows the last one, or `head`."""
        self.made += 1
        uuid = uuid4("line", self.name, self.made)
        agent = {"agentId": self.agent} if self.agent else {}
        line = {"parentUuid": self.last if head is None else head or None, "isSidechain": bool(self.agent), **agent}
        line |= record | {"uuid": uuid, "timestamp": self.clock.tick()}
        line |= {"userType": "external", "entrypoint": "cli", "cwd": self.root, "sessionId": self.id}
        self.lines.append(line | {"version": "2.1.104", "gitBranch": "main"})
        self.last = uuid
        return uuid

    def you(self, text, wait=30):
        self.clock.tick(wait)
        self.prompt_id = uuid4("prompt", self.name, self.made)
        if not self.agent:
            self.typed.append((epoch_ms(self.clock.now), text))
        self.user(text)

    def user(self, content, **extra):
        self.write({"promptId": self.prompt_id, "type": "user", "message": {"role": "user", "content": content}, **extra})

    def ai(self, numbers, *blocks, took=6, **special):
        """A reply: its usage, its blocks, and the results of its tools."""
        self.clock.tick(took)
        self.made += 1
        key = token(20, self.name, self.made)
        spent = usage(*numbers, **special)
        Session.calls.append((self.model, spent))
        head = {"id": f"msg_01{key}", "type": "message", "role": "assistant", "model": self.model}
        stop = {"stop_reason": "tool_use" if any(type(b) is tuple for b in blocks) else "end_turn", "stop_sequence": None}
        results = []
        for block in blocks:
            if type(block) is tuple:
                name, args, output, result = block
                self.made += 1
                block = {"type": "tool_use", "name": name, "input": args, "id": f"toolu_01{token(20, self.name, self.made)}"}
                results.append((block["id"], output, result))
            elif type(block) is str:
                block = {"type": "text", "text": block}
            line = self.write({"message": {**head, "content": [block], **stop, "usage": spent}, "requestId": f"req_01{key}", "type": "assistant"})
            results = [(*entry, line) if len(entry) == 3 else entry for entry in results]
        for call, output, result, line in results:
            self.clock.tick(1)
            failed = type(result) is str
            content = [{"tool_use_id": call, "type": "tool_result", "content": output, **({"is_error": True} if failed else {})}]
            message = {"role": "user", "content": content}
            record = {"promptId": self.prompt_id, "type": "user", "message": message}
            self.write(record | {"toolUseResult": result, "sourceToolAssistantUUID": line})

    def compact(self, summary):
        self.clock.tick(14)
        self.prompt_id = uuid4("prompt", self.name, self.made)
        boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        data = {"level": "info", "compactMetadata": {"trigger": "manual", "preTokens": 61240}}
        self.write({"logicalParentUuid": self.last, **boundary, **data}, head="")
        text = "This session is being continued from a previous conversation that ran out of context. "
        text += f"The summary below covers the earlier portion of the conversation.\n\nSummary:\n{summary}"
        self.user(text, isVisibleInTranscriptOnly=True, isCompactSummary=True)
        self.typed.append((epoch_ms(self.clock.now), "/compact"))
        name = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>"
        self.user(f"{name}\n            <command-args></command-args>")
        self.user("<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>")

    def fork(self, name, start):
        """A session that begins with a copy of this one."""
        new = Session(name, self.root, start, self.model)
        new.lines = [line | {"sessionId": new.id} for line in self.lines]
        new.last = self.last
        return new

    def text(self):
        return "".join(compact(line) + "\n" for line in self.lines)


def think(text):
    return {"type": "thinking", "thinking": text, "signature": "bWFkZSB1cA=="}


def read(path, content):
    lines = content.splitlines()
    numbered = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
    file = {"filePath": path, "content": content, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
    return ("Read", {"file_path": path}, numbered, {"type": "text", "file": file})


def bash(command, description, output, failed=False):
    if failed:
        return ("Bash", {"command": command, "description": description}, f"Exit code 1\n{output}", f"Error: Exit code 1\n{output}")
    result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return ("Bash", {"command": command, "description": description}, output, result)


def edit(path, old, new, start):
    args = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
    result = {"filePath": path, "oldString": old, "newString": new, "originalFile": old, "structuredPatch": patch(start, old, new)}
    return ("Edit", args, f"The file {path} has been updated successfully.", {**result, "userModified": False, "replaceAll": False})


def create(path, content):
    result = {"type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": None}
    return ("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}", result)


def slow_calendar():
    """A slow page: a subagent looks around, a test fails, the conversation is compacted, and a fork tries another way."""
    main = Session("slow-calendar", HARBOR, "2026-08-13T10:02:11.482Z", SONNET)
    agent = Session("slow-calendar-agent", HARBOR, "2026-08-13T10:03:04.120Z", HAIKU, agent=token(17, "agent"), of=main)
    task = "List every place that reads the stays table, with the number of queries per request. Report file and line only."
    agent.you(task, wait=1)
    grep = {"mode": "content", "numFiles": 0, "filenames": [], "content": "", "numLines": 3}
    hits = "src/calendar.rs:31:    for berth in app.berths(harbor).await? {\nsrc/routes.rs:58:    app.stays(id, span)\nsrc/booking.rs:44:    // stays"
    agent.ai((6, 0, 4120, 0, 88), ("Grep", {"pattern": "stays", "path": HARBOR, "output_mode": "content"}, hits, {**grep, "content": hits}), took=3)
    agent.ai((4, 4120, 611, 0, 141), "- src/calendar.rs:31: one query per berth, in a loop\n- src/routes.rs:58: one query", took=3)

    main.you("The berth calendar takes two seconds for large harbors. Find out why and fix it.", wait=41)
    found = agent.lines[-1]["message"]["content"][0]["text"]
    result = {"status": "completed", "prompt": task, "agentId": agent.agent, "agentType": "Explore", "content": [{"type": "text", "text": found}]}
    result |= {"totalDurationMs": 7812, "totalTokens": 4872, "totalToolUseCount": 1}
    main.ai(
        (9, 0, 2210, 18904, 412),
        think("Two seconds smells like one query per berth. Let an agent list the queries while I look at the plan."),
        "I'll have an agent list the queries while I look at the query plan.",
        ("Agent", {"description": "Find queries on stays", "prompt": task, "subagent_type": "Explore"}, [{"type": "text", "text": found}], result),
        bash("psql harbor -c 'explain analyze select * from stays where berth_id = 7'", "Show the query plan", EXPLAIN),
    )
    main.ai((5, 21114, 1480, 0, 356), read(f"{HARBOR}/src/calendar.rs", CALENDAR_OLD))
    main.ai(
        (5, 22594, 890, 0, 631),
        "Two problems: a query per berth, and a sequential scan in each. I'll ask for all berths at once and add an index.",
        edit(f"{HARBOR}/src/calendar.rs", CALENDAR_OLD, CALENDAR_NEW, 31),
        create(f"{HARBOR}/migrations/0042_stays_index.sql", MIGRATION),
    )
    main.ai((5, 23484, 1322, 0, 204), bash("cargo test --test calendar", "Run the calendar tests", "error[E0599]: no method named `stays_of`", failed=True))
    main.ai(
        (5, 24806, 701, 0, 588),
        edit(f"{HARBOR}/src/stays.rs", "}\n", "\n    /// The stays of several berths, in one query.\n    pub async fn stays_of(&self, berths: &[Berth], span: Span) -> Result<Vec<Stay>> {\n        self.query(STAYS_OF, &[&ids(berths), &span]).await\n    }\n}\n", 118),
        bash("cargo test --test calendar", "Run the calendar tests", "test result: ok. 9 passed; 0 failed; finished in 0.41s"),
    )
    main.ai((5, 25507, 940, 0, 297), "Done. The calendar now makes one query instead of one per berth, and `stays_berth_arrival` serves it: 1,806 ms became 12 ms.")
    main.clock.tick(95)
    main.compact("The calendar made one query per berth. It now makes one, with the index of migration 0042; its tests pass.")
    main.you("Write the entry for the changelog.", wait=20)
    main.ai((812, 0, 0, 6304, 121), "```markdown\n### Fixed\n- The berth calendar of large harbors loads in milliseconds again (one query instead of one per berth).\n```")

    fork = main.fork("materialized", "2026-08-13T15:20:40.009Z")
    fork.you("Would a materialized view be even better? Just compare, don't change anything.", wait=12)
    fork.ai(
        (640, 0, 2051, 6304, 409),
        think("Reads are cheap now; a view must be refreshed on each booking."),
        "Not here. The indexed query takes 12 ms, and a view would have to be refreshed after every booking. Keep the query.",
    )
    return [main, agent, fork]


def keyboard():
    """A change in fast mode, with web searches, in the last hours before the tree's present."""
    main = Session("keyboard", TIDEPOOL, "2026-08-14T14:41:52.730Z", OPUS)
    main.you("Make the station picker usable with the keyboard. Follow the listbox pattern, and check what it requires.", wait=33)
    main.ai((11, 0, 3018, 19877, 733), think("The pattern has changed over the years; look it up first."), "I'll check the pattern first.", read(f"{TIDEPOOL}/src/StationPicker.tsx", PICKER_OLD), speed="fast", searches=2)
    main.ai((5, 22895, 1204, 0, 1466), "The list needs focus, arrow keys, and `aria-selected`.", edit(f"{TIDEPOOL}/src/StationPicker.tsx", PICKER_OLD, PICKER_NEW, 22), speed="fast")
    main.ai((5, 24099, 1630, 0, 180), bash("npm test -- StationPicker", "Run the tests", "Tests: 1 failed, 6 passed\n  ● Home and End move to the first and last station", failed=True), took=9)
    main.ai((5, 25729, 918, 0, 702), edit(f"{TIDEPOOL}/src/useListbox.ts", "    case \"ArrowUp\": return at - 1;\n", "    case \"ArrowUp\": return at - 1;\n    case \"Home\": return 0;\n    case \"End\": return last;\n", 14), bash("npm test -- StationPicker", "Run the tests", "Tests: 7 passed"))
    main.ai((5, 26647, 388, 0, 214), "The picker now follows the listbox pattern: arrow keys, Home and End, and screen readers announce the selected station.")
    main.you("Looks good. Commit it.", wait=1340)
    main.ai((5, 27035, 402, 0, 96), bash("git commit -qam 'picker: keyboard navigation'", "Commit", ""), took=4)
    main.ai((5, 27437, 120, 0, 31), "Committed as `picker: keyboard navigation`.", took=3)
    return [main]


def sessions():
    Session.calls = []
    return slow_calendar() + keyboard()


def build():
    """Every file: path below the home -> text."""
    all_ = sessions()
    files = {session.path(): session.text() for session in all_}
    for session in all_:
        if session.agent:
            meta = {"agentType": "Explore", "description": "Find queries on stays"}
            files[session.path().replace(".jsonl", ".meta.json")] = compact(meta)
    typed = sorted(((at, text, session) for session in all_ for at, text in session.typed), key=lambda entry: entry[0])
    history = [
        {"display": text, "pastedContents": {}, "timestamp": at, "project": session.root, "sessionId": session.id}
        for at, text, session in typed
    ]
    files[".claude/history.jsonl"] = "".join(compact(line) + "\n" for line in history)
    return files


def truth():
    """Calls and tokens by model, from the stories."""
    sessions()
    rows = {}
    for model, spent in Session.calls:
        row = rows.setdefault(model, {"calls": 0, "input": 0, "output": 0, "cached": 0, "written": 0, "total": 0})
        prompt = [spent["input_tokens"], spent["cache_read_input_tokens"], spent["cache_creation_input_tokens"]]
        row["calls"] += 1
        row["input"] += sum(prompt)
        row["cached"] += prompt[1]
        row["written"] += prompt[2]
        row["output"] += spent["output_tokens"]
        row["total"] += sum(prompt) + spent["output_tokens"]
    return rows
