"""The sessions of Codex CLI in the sample tree: what happens, and the lines that Codex CLI 0.149 writes.

A file counts its tokens in a running total. Items of the model are followed by events that repeat them for display. A
fork refers to the history of its thread instead of repeating it.
"""

import re

from common import HOME, Clock, compact, copy, epoch_ms, iso, token, uuid7

GPT, SOL = "gpt-5.5", "gpt-5.6-sol"
HARBOR, DOTFILES = f"{HOME}/code/harbor-api", f"{HOME}/dotfiles"

TESTS = """\
*** Begin Patch
*** Update File: tests/booking.rs
@@
 }
+
+#[test]
+fn a_stay_of_one_night_clashes_with_itself() {
+    assert!(stay("2026-08-01", "2026-08-02").clashes(&stay("2026-08-01", "2026-08-02")));
+}
+
+#[test]
+fn a_stay_ends_before_it_begins() {
+    assert!(Stay::new(date("2026-08-02"), date("2026-08-01")).is_err());
+}
*** End Patch"""
TMUX = """\
*** Begin Patch
*** Add File: tmux/tmux.conf
+set -g mouse on
+set -g history-limit 50000
+set -g default-terminal "tmux-256color"
*** End Patch"""


class Thread:
    """One file of a thread."""

    calls = []  # of all threads: model and usage

    def __init__(self, name, root, start, model, base=None, tier=None):
        self.name, self.root, self.model, self.tier = name, root, model, tier
        self.clock = Clock(start, name)
        self.id = uuid7(self.clock.now, "thread", name)
        self.started = self.clock.now
        self.lines, self.typed, self.made = [], [], 0
        self.ordinal = base.ordinal if base else 0
        self.total = dict(base.total) if base else None
        self.turn = None
        meta = {"session_id": self.id, "id": self.id, **({"forked_from_id": base.id} if base else {}), "timestamp": iso(self.clock.now)}
        meta |= {"cwd": root, "originator": "codex-tui", "cli_version": "0.149.1", "source": "cli", "thread_source": "user"}
        meta |= {"model_provider": "openai", "history_mode": "paginated"}
        if base:
            size = sum(len(compact(line).encode()) + 1 for line in base.lines)
            meta["history_base"] = {"thread_id": base.id, "end_ordinal_exclusive": self.ordinal, "end_byte_offset": size}
        self.write("session_meta", meta | {"git": {"commit_hash": token(40, name, "commit"), "branch": "main"}})

    def path(self):
        day = self.started
        return f".codex/sessions/{day:%Y/%m/%d}/rollout-{day:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"

    def new_id(self):
        self.made += 1
        return uuid7(self.clock.now, self.name, self.made)

    def write(self, kind, payload):
        self.lines.append({"timestamp": self.clock.tick(), "ordinal": self.ordinal, "type": kind, "payload": payload})
        self.ordinal += 1

    def event(self, kind, **fields):
        self.write("event_msg", {"type": kind, **fields})

    def item(self, payload):
        self.write("response_item", payload | {"internal_chat_message_metadata_passthrough": {"turn_id": self.turn}})

    def shown(self, item):
        at = epoch_ms(self.clock.now)
        self.event("item_completed", thread_id=self.id, turn_id=self.turn, item=item, started_at_ms=at, completed_at_ms=at)

    def settings(self):
        tier = {"service_tier": self.tier} if self.tier else {}
        settings = {"model": self.model, "model_provider_id": "openai", **tier, "approval_policy": "on-request", "cwd": self.root}
        self.event("thread_settings_applied", thread_settings=settings)

    def start(self, wait):
        self.clock.tick(wait)
        if self.tier:
            self.settings()
        self.turn = self.new_id()
        self.event("task_started", turn_id=self.turn, started_at=epoch_ms(self.clock.now) // 1000, model_context_window=258400)

    def you(self, text, wait=30):
        is_first = self.turn is None
        self.start(wait)
        if is_first:
            context = f"<environment_context>\n  <cwd>{self.root}</cwd>\n  <shell>zsh</shell>\n</environment_context>"
            self.item({"type": "message", "id": f"msg_{self.new_id()}", "role": "user", "content": [{"type": "input_text", "text": context}]})
        self.write("turn_context", {"turn_id": self.turn, "cwd": self.root, "approval_policy": "on-request", "model": self.model, "summary": "auto"})
        self.typed.append((epoch_ms(self.clock.now) // 1000, text))
        self.item({"type": "message", "id": f"msg_{self.new_id()}", "role": "user", "content": [{"type": "input_text", "text": text}]})
        self.shown({"type": "UserMessage", "id": self.new_id(), "content": [{"type": "text", "text": text, "text_elements": []}]})

    def ai(self, numbers, *blocks, took=5):
        """A response: its tokens, its items, and the results of its tools."""
        self.clock.tick(took)
        done = []
        for block in blocks:
            self.made += 1
            call = f"call_{token(24, self.name, self.made)}"
            if type(block) is str:
                id_ = f"msg_{token(16, self.name, self.made)}"
                self.shown({"type": "AgentMessage", "id": id_, "content": [{"type": "Text", "text": block}]})
                self.item({"type": "message", "id": id_, "role": "assistant", "content": [{"type": "output_text", "text": block}]})
            elif block[0] == "think":
                id_ = f"rs_{token(16, self.name, self.made)}"
                self.shown({"type": "Reasoning", "id": id_, "summary_text": [block[1]], "raw_content": []})
                self.item({"type": "reasoning", "id": id_, "summary": [{"type": "summary_text", "text": block[1]}], "content": None, "encrypted_content": "bWFkZSB1cA=="})
            else:
                done.append((call, block))
                self.request(call, block)
        for call, block in done:
            self.clock.tick(1)
            self.result(call, block)
        self.count(numbers)

    def request(self, call, block):
        kind, *rest = block
        if kind == "patch":
            self.item({"type": "custom_tool_call", "id": f"ctc_{call[5:21]}", "status": "completed", "call_id": call, "name": "apply_patch", "input": rest[0]})
        else:
            name, args = ("exec_command", {"cmd": rest[0]}) if kind == "sh" else ("update_plan", {"plan": rest[0]})
            self.item({"type": "function_call", "id": f"fc_{call[5:21]}", "name": name, "arguments": compact(args), "call_id": call})

    def result(self, call, block):
        kind, *rest = block
        if kind == "sh":
            command, output, code = rest
            status = "completed" if code == 0 else "failed"
            run = {"type": "CommandExecution", "id": call, "command": ["/bin/zsh", "-lc", command], "cwd": f"file://{self.root}"}
            run |= {"parsed_cmd": [{"type": "unknown", "cmd": command}], "source": "unified_exec_startup", "status": status}
            run |= {"stdout": output, "stderr": "", "aggregated_output": output, "exit_code": code, "formatted_output": output}
            self.shown(run)
            text = f"Chunk ID: {call[5:11]}\nWall time: 0.4112 seconds\nProcess exited with code {code}\nOutput:\n{output}"
            self.item({"type": "function_call_output", "call_id": call, "output": text})
        elif kind == "patch":
            verb, name = re.search(r"\*\*\* (Update|Add) File: (.*)", rest[0]).groups()
            body = rest[0].split("\n")[2:-1]
            if verb == "Add":
                change = {"type": "add", "content": "".join(line[1:] + "\n" for line in body)}
            else:
                added = sum(line.startswith("+") for line in body)
                diff = "\n".join([f"@@ -60,1 +60,{added + 1} @@", *body[1:]]) + "\n"
                change = {"type": "update", "unified_diff": diff, "move_path": None}
            done = f"Success. Updated the following files:\n{verb[0].replace('U', 'M')} {name}\n"
            self.shown({"type": "FileChange", "id": call, "changes": {f"{self.root}/{name}": change}, "status": "completed", "stdout": done, "stderr": ""})
            self.item({"type": "custom_tool_call_output", "call_id": call, "output": f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{done}"})
        else:
            self.item({"type": "function_call_output", "call_id": call, "output": "Plan updated"})

    def count(self, numbers):
        input_, cached, written, output, reasoning = numbers
        last = {"input_tokens": input_, "cached_input_tokens": cached, "cache_write_input_tokens": written}
        last |= {"output_tokens": output, "reasoning_output_tokens": reasoning, "total_tokens": input_ + output}
        Thread.calls.append((self.model, last))
        self.total = {key: (self.total or {}).get(key, 0) + n for key, n in last.items()}
        window = {"used_percent": round(3 + self.total["total_tokens"] / 9000, 1), "window_minutes": 300, "resets_at": epoch_ms(self.started) // 1000 + 18000}
        limits = {"limit_id": "codex", "primary": window, "secondary": None, "plan_type": "plus"}
        info = {"total_token_usage": dict(self.total), "last_token_usage": last, "model_context_window": 258400}
        self.event("token_count", info=info, rate_limits=limits)

    def done(self, text=None):
        self.event("task_complete", turn_id=self.turn, last_agent_message=text, completed_at=epoch_ms(self.clock.now) // 1000, duration_ms=18211)

    def compact(self, numbers, summary, wait=60):
        """Replaces the history with the prompts and a summary."""
        self.start(wait)
        self.ai(numbers, summary)
        prompts = [line["payload"] for line in self.lines if is_prompt(line)]
        end = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{HANDOVER}\n{summary}"}]}
        self.write("compacted", {"message": f"{HANDOVER}\n{summary}", "replacement_history": [*copy(prompts), end]})
        self.shown({"type": "ContextCompaction", "id": self.new_id()})
        self.done()

    def text(self):
        return "".join(compact(line) + "\n" for line in self.lines)


HANDOVER = "Another language model started to solve this problem and produced a summary of its thinking process."


def is_prompt(line):
    payload = line["payload"]
    is_user = line["type"] == "response_item" and payload.get("role") == "user"
    return is_user and not payload["content"][0]["text"].startswith("<environment_context>")


def tests():
    """Tests for bookings, compacted halfway; then a fork that asks something else."""
    main = Thread("booking-tests", HARBOR, "2026-08-12T14:20:07.655Z", GPT)
    main.you("which cases do the booking tests miss? add them", wait=4)
    plan = [{"step": "Read the tests", "status": "in_progress"}, {"step": "Add the missing cases", "status": "pending"}]
    main.ai(
        (11840, 4096, 0, 402, 210),
        ("think", "**Looking at the tests** I compare them with the rules of `clashes`."),
        "I'll compare the tests with the rules in `booking.rs`.",
        ("plan", plan),
        ("sh", "rg -n '#\\[test\\]' -A1 tests/booking.rs", "12:#[test]\n13-fn nested_stays_clash() {\n28:#[test]\n29-fn back_to_back_stays_do_not_clash() {\n", 0),
    )
    main.ai((12610, 11776, 0, 655, 320), "Two cases are missing: a stay of one night, and one that ends before it begins.", ("patch", TESTS))
    main.ai((13922, 12544, 0, 118, 40), ("sh", "cargo test --test booking", "test a_stay_ends_before_it_begins ... FAILED\ntest result: FAILED. 7 passed; 1 failed\n", 101))
    main.ai((14208, 13824, 0, 298, 90), "The second one fails: `Stay::new` accepts any two days. That is a bug in the code, not in the test. Should I fix it?")
    main.done("The second one fails: `Stay::new` accepts any two days.")
    main.compact((14611, 13824, 0, 364, 0), "Two tests were added to tests/booking.rs. One fails because Stay::new accepts a departure before the arrival.", wait=540)
    base = Thread.__new__(Thread)
    base.__dict__.update(main.__dict__, lines=list(main.lines))
    main.you("yes, fix it", wait=75)
    main.ai(
        (6120, 0, 0, 511, 180),
        ("patch", "*** Begin Patch\n*** Update File: src/booking.rs\n@@\n     pub fn new(arrival: Date, departure: Date) -> Result<Self, Error> {\n+        if departure <= arrival {\n+            return Err(Error::EmptyStay);\n+        }\n*** End Patch"),
        ("sh", "cargo test --test booking", "test result: ok. 8 passed; 0 failed\n", 0),
    )
    main.ai((6890, 5888, 0, 74, 0), "Fixed: a stay must end after it begins. All eight tests pass.")
    main.done("Fixed: a stay must end after it begins. All eight tests pass.")

    fork = Thread("booking-types", HARBOR, "2026-08-12T16:03:31.020Z", GPT, base=base)
    fork.you("instead of a check, could a type rule it out?", wait=9)
    fork.ai((6344, 0, 0, 622, 380), ("think", "**Types** A `Nights(NonZeroU16)` makes the empty stay impossible."), "Yes: store the arrival and a `NonZeroU16` of nights. An empty stay is then impossible to write down, and `clashes` needs no check.")
    fork.done("Yes: store the arrival and a `NonZeroU16` of nights.")
    return [main, fork]


def tmux():
    """A short task with the priority service."""
    main = Thread("tmux", DOTFILES, "2026-08-14T09:10:44.301Z", SOL, tier="priority")
    main.you("add a minimal tmux config: mouse, long history, true color", wait=6)
    main.ai((10922, 4096, 0, 260, 96), ("patch", TMUX), ("sh", "tmux -f tmux/tmux.conf -L test new -d && tmux -L test kill-server", "", 0))
    main.ai((11436, 10752, 512, 88, 0), "`tmux/tmux.conf` has mouse support, 50,000 lines of history and 256 colors; tmux starts with it.")
    main.done("tmux starts with it.")
    return [main]


def threads():
    Thread.calls = []
    return tests() + tmux()


def build():
    """Every file: path below the home -> text."""
    all_ = threads()
    files = {thread.path(): thread.text() for thread in all_}
    typed = sorted((at, thread.id, text) for thread in all_ for at, text in thread.typed)
    history = [{"session_id": id_, "ts": at, "text": text} for at, id_, text in typed]
    files[".codex/history.jsonl"] = "".join(compact(line) + "\n" for line in history)
    return files


def truth():
    """Calls and tokens by model, from the stories."""
    threads()
    rows = {}
    for model, last in Thread.calls:
        row = rows.setdefault(model, {"calls": 0, "input": 0, "output": 0, "cached": 0, "written": 0, "total": 0})
        row["calls"] += 1
        keys = {"input": "input_tokens", "output": "output_tokens", "cached": "cached_input_tokens"}
        for ours, theirs in {**keys, "written": "cache_write_input_tokens", "total": "total_tokens"}.items():
            row[ours] += last[theirs]
    return rows
