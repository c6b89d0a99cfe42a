#!/usr/bin/env python3
"""Write the sample tree that `backstory --demo` shows.

    make.py            write home/ beside this script
    make.py --check    exit 1 unless home/ is exactly what this script writes
    make.py --truth    print what the tree holds: calls and tokens by model

The sessions are made up; the shapes are not. Everything below mirrors what
Gemini CLI 0.61 writes (0.27 for the old project), as observed by running it;
`class Session` follows its recorder step by step. `claude.py` and `codex.py`
do the same for Claude Code and Codex CLI.

The same input always gives the same bytes: ids come from a seed, times from
the steps, and nothing is read from the machine. The stories come first; the
program that turns them into files starts at "The recorder".
"""

import json
import re
import sys
from datetime import timedelta
from difflib import SequenceMatcher
from pathlib import Path

import claude
import codex
from common import HOME, compact, copy, digest, epoch_ms, iso, number, parse_time, pretty, sha256, uuid4

NOW = "2026-08-14T16:30:00.000Z"  # the "today" of the demo, a Friday

PRO_25 = "gemini-2.5-pro"
FLASH_25 = "gemini-2.5-flash"
PRO_3 = "gemini-3-pro-preview"
FLASH_3 = "gemini-3-flash-preview"
PRO_31 = "gemini-3.1-pro-preview"

# --- Projects --------------------------------------------------------------
# path, the tree that Gemini CLI shows the model, and what else is kept:
# logs (logs.json), history (a marker in history/ as well).

PROJECTS = {
    "harbor-api": {
        "path": "/home/sam/code/harbor-api",
        "logs": True,
        "history": True,
        "tree": """\
├───Cargo.toml
├───src/
│   ├───booking.rs
│   ├───pool.rs
│   └───routes.rs
└───tests/
""",
    },
    "tidepool": {
        "path": "/home/sam/code/tidepool",
        "logs": True,
        "history": True,
        "tree": """\
├───package.json
├───docs/
└───src/
    ├───chart/
    └───hooks/
""",
    },
    "dotfiles": {
        "path": "/home/sam/dotfiles",
        "tree": """\
├───bin/
├───nvim/
└───zsh/
""",
    },
    "ledger-etl": {
        "path": "/home/sam/work/ledger-etl",
        "tree": """\
├───data/
├───ledger/
│   └───nightly.py
├───scripts/
└───tests/
""",
    },
}

# Known by its hash directory only: last used before Gemini CLI had slugs.
OLD_PROJECT = "/home/sam/code/tern-notes"

# Typed in sessions that Gemini CLI has deleted since: only logs.json knows.
LOST_PROMPTS = {
    "harbor-api": [
        ("lost-locks", "2026-07-03T09:14:22.310Z", "what does the berth_locks table do, and who still writes to it?"),
        ("lost-locks", "2026-07-03T09:19:05.118Z", "ok. draft a migration that drops it, but keep a copy of the rows"),
        ("lost-locks", "2026-07-03T09:31:47.902Z", "/quit"),
    ],
    "tidepool": [
        ("lost-offline", "2026-07-09T15:02:40.027Z", "sketch how offline mode could work with a service worker, no code yet"),
    ],
}

SHELL_HISTORY = {
    "harbor-api": [
        "git fetch --all --prune",
        "docker run --rm -p 5432:5432 \\\n  postgres:16",
        "cargo tree -d",
        "git status",
    ],
}

# --- Files that the sessions read and change -------------------------------

BOOKING_RS = """\
pub struct Stay {
    pub arrival: Date,
    pub departure: Date,
}

impl Stay {
    /// Two stays clash when they share at least one night.
    pub fn clashes(&self, other: &Stay) -> bool {
        self.arrival <= other.departure
            && other.arrival <= self.departure
    }
}
"""

CARGO_RED = """\
   Compiling harbor-api v0.9.2 (/home/sam/code/harbor-api)

running 6 tests
test back_to_back_stays_do_not_clash ... FAILED
test nested_stays_clash ... ok

---- back_to_back_stays_do_not_clash stdout ----
thread panicked at tests/booking.rs:31:5:
assertion failed: !first.clashes(&second)

test result: FAILED. 5 passed; 1 failed; finished in 0.01s
error: test failed, to rerun pass `--test booking`"""

CARGO_GREEN = """\
running 6 tests
test result: ok. 6 passed; 0 failed; finished in 0.01s"""

POOL_RS = """\
pub async fn connect(url: &str) -> Result<PgPool, Error> {
    PgPoolOptions::new()
        .max_connections(5)
        .connect(url)
        .await
}
"""

CALENDAR_RS = """\
use axum::extract::{Path, Query, State};
use axum::Json;

use crate::booking::Stay;
use crate::month::Month;
use crate::{AppState, Error};

/// `GET /berths/{id}/calendar?month=2026-08`: the stays that touch a month.
pub async fn calendar(
    State(app): State<AppState>,
    Path(berth): Path<i64>,
    Query(month): Query<Month>,
) -> Result<Json<Vec<Stay>>, Error> {
    Ok(Json(app.stays(berth, month.span()?).await?))
}
"""

USE_TIDE_FEED_TS = """\
export function useTideFeed(station: string) {
  const [tides, setTides] = useState<Tide[]>([]);

  useEffect(() => {
    let socket = open(station);
    function open(id: string) {
      const ws = new WebSocket(`/feed/${id}`);
      ws.onmessage = (e) => setTides((t) => [...t, JSON.parse(e.data)]);
      ws.onclose = () => {
        socket = open(id);
      };
      return ws;
    }
    return () => socket.close();
  }, []);

  return tides;
}
"""

# The body of the effect.
USE_TIDE_FEED_OLD = USE_TIDE_FEED_TS[USE_TIDE_FEED_TS.index("    let socket") : USE_TIDE_FEED_TS.index("\n  return tides")]
USE_TIDE_FEED_NEW = """\
    let live = true;
    let socket = open(station);
    function open(id: string) {
      const ws = new WebSocket(`/feed/${id}`);
      ws.onmessage = (e) => setTides((t) => [...t, JSON.parse(e.data)]);
      ws.onclose = () => {
        const wait = 1000 + Math.random() * 4000;
        setTimeout(() => live && (socket = open(id)), wait);
      };
      return ws;
    }
    return () => {
      live = false;
      socket.close();
    };
  }, [station]);
"""

TIDE_AXIS_TSX = """\
export const TideAxis = ({ scale, ticks }: AxisProps) => (
  <g className="axis">
    {ticks.map((t) => <text key={+t} x={scale(t)}>{t.getHours()}:00</text>)}
  </g>
);
"""

I18N_MD = """\
# Adding a language 🌊

1. Copy `src/i18n/en.json` to `src/i18n/<code>.json`.
2. Translate the values, never the keys.
3. Run `npm run i18n:check`. It lists missing and unused keys.

| key | English | 日本語 |
| --- | --- | --- |
| `tide.high` | High tide | 満潮 |
| `tide.low` | Low tide | 干潮 |
| `alert.storm` | Storm surge ⚠️ | 高潮 ⚠️ |

Placeholders such as `{time}` stay as they are.
"""

MIGRATE_PY = '''\
"""Copy the monthly CSV ledgers into one Parquet dataset."""

import sys
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq

source, target = map(Path, sys.argv[1:])
for file in sorted(source.glob("ledger-*.csv")):
    table = csv.read_csv(file)
    pq.write_table(table, target / file.with_suffix(".parquet").name)
    print(f"{file.name}: {table.num_rows:,} rows")
'''

# Longer than Sam's limit for tool output, so Gemini CLI keeps it in a file of its own.
CSV_CENSUS = "\n".join(
    ["file                 rows  encoding  separator  odd rows"]
    + [
        f"ledger-{2019 + n // 12}-{n % 12 + 1:02}.csv  {18211 + n * 977 % 6400}  "
        f"{'cp1252' if n < 9 else 'utf-8 '}    {';' if n < 15 else ','}          {n * 7 % 5 if n % 3 == 0 else 0}"
        for n in range(24)
    ]
)
TOOL_OUTPUT_LIMIT = 800  # Sam's setting; the default is 40,000

NIGHTLY_PY = """\
from datetime import datetime, timedelta


def closing_day() -> str:
    return (datetime.utcnow() - timedelta(days=1)).date().isoformat()
"""

NOT_FOUND_DESCRIPTION = (  # failed calls are recorded with the tool's own description
    "Reads and returns the content of a specified file. If the file is large, the content will be truncated. "
    "The tool's response will clearly indicate if truncation has occurred and will provide details on how to read more "
    "of the file using the 'start_line' and 'end_line' parameters. Handles text, images (PNG, JPG, GIF, WEBP, SVG, BMP), "
    "audio files (MP3, WAV, AIFF, AAC, OGG, FLAC), and PDF files. For text files, it can read specific line ranges."
)

# --- Sessions --------------------------------------------------------------
# A session is a list of steps, in order; "wait" and "took" are seconds.
#
#   {"you": text, "wait"}            a prompt; "files" are its @references, "as" names it
#   {"ai": text, "took", "tok"}      a reply; tok = (input, output, cached, thoughts[, tool]);
#                                    "think", "do" (tool calls), "ran" (their seconds), "model"
#   {"bang": command, "out"}         a `!` command
#   {"slash": "/…", "says"}          a slash command, and the notice it leaves, if any
#   {"stop": notice}                 Esc while the model is thinking; the prompt is rolled back
#   {"fails": text}                  the API refuses; the prompt is rolled back
#   {"rewind": name}                 /rewind to the prompt called name
#   {"compress": snapshot, "keep"}   /compress; the messages from "keep" on stay
#   {"save": tag}                    /resume save: a checkpoint
#   {"sums up": text}                the summary that the next start adds
#   {"resume": time}                 gemini --resume, later: a stub file and a rewritten list
#   {"torn": n}                      killed n bytes into writing the last tool calls

SESSIONS = [
    {
        "name": "zsh-startup",
        "project": "dotfiles",
        "start": "2026-07-12T19:48:05.214Z",
        "model": FLASH_25,
        "steps": [
            {"you": "a new zsh takes almost two seconds to start. where does the time go?", "wait": 21},
            {
                "ai": "I'll measure it instead of guessing.",
                "took": 3,
                "tok": (8914, 74, 0, 151),
                "think": [("Measuring startup", "`zprof` shows which function costs what; run it in a throwaway shell.")],
                "do": [
                    (
                        "sh",
                        "zsh -ic 'zmodload zsh/zprof; source ~/.zshrc; zprof' | head -5",
                        "num  calls                time                       self            name\n"
                        " 1)    1        1104.52  1104.52   61.30%   1104.52  1104.52   61.30%  nvm_auto\n"
                        " 2)    2         402.77   201.39   22.35%    371.02   185.51   20.59%  compinit\n"
                        " 3)    1         118.09   118.09    6.55%    118.09   118.09    6.55%  _fzf_setup",
                        0,
                    )
                ],
                "ran": 3,
            },
            {
                "ai": "Two things make up 84% of it:\n\n"
                "1. **`nvm_auto`, 1.1 s.** Node is set up in every shell, used or not. Load it on first use:\n"
                "   ```zsh\n"
                "   nvm() { unset -f nvm node npm; source \"$NVM_DIR/nvm.sh\"; nvm \"$@\"; }\n"
                "   node() { nvm use --silent default && command node \"$@\"; }\n"
                "   ```\n"
                "2. **`compinit`, 0.4 s, called twice.** Keep one call, and use `compinit -C` so that it trusts its cache.\n\n"
                "That should bring you to about 0.3 s.",
                "took": 5,
                "tok": (9471, 236, 8702, 318),
            },
            {"you": "down to 0.28. thanks", "wait": 214},
            {"ai": "Good. Run `rm ~/.zcompdump*` once if a completion ever goes missing.", "took": 2, "tok": (9760, 27, 9402, 0)},
            {"sums up": "Find out why zsh starts slowly and load nvm lazily"},
        ],
    },
    {
        "name": "rate-limit",
        "project": "harbor-api",
        "start": "2026-07-16T12:20:33.871Z",
        "model": PRO_3,
        "steps": [
            {
                "you": "We need a rate limit on POST /bookings: 10 a minute per API key, 429 with Retry-After. "
                "What are the options with axum, and which one would you take?",
                "wait": 48,
            },
            {"fails": '[API Error: {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]'},
            {
                "you": "We need a rate limit on POST /bookings: 10 a minute per API key, 429 with Retry-After. "
                "What are the options with axum, and which one would you take?",
                "wait": 35,
            },
            {
                "ai": "",
                "took": 6,
                "tok": (10233, 41, 0, 240),
                "think": [("Reviewing the stack", "Check which tower layers are in use before proposing a new one.")],
                "do": [
                    (
                        "grep_search",
                        "layer\\(",
                        [
                            ("src/main.rs", 31, "        .layer(TraceLayer::new_for_http())"),
                            ("src/main.rs", 32, "        .layer(CompressionLayer::new())"),
                            ("src/main.rs", 33, "        .layer(TimeoutLayer::new(LIMIT))"),
                            ("src/routes.rs", 12, "        .route_layer(from_fn(require_key))"),
                        ],
                    )
                ],
            },
            {
                "ai": "Three ways that fit what you have:\n\n"
                "| option | state | exact? | cost |\n"
                "| --- | --- | --- | --- |\n"
                "| `tower::limit::RateLimit` | one per service | no, global | no dependency |\n"
                "| a governor layer, keyed by API key | memory of one process | yes | one crate |\n"
                "| a counter row in Postgres | shared | yes | one query a request |\n\n"
                "**I would take the governor layer**, next to `require_key` in `src/routes.rs`, because the key is already known "
                "there. With two instances behind the proxy a client gets at most 20 a minute, which is fine for the purpose "
                "(a runaway script), and it needs no migration.",
                "took": 14,
                "tok": (11508, 322, 9830, 1187),
            },
            {"you": "agreed, but not this week", "wait": 96},
            {"ai": "Then leave it at that. The place is `src/routes.rs`, right after `require_key`.", "took": 3, "tok": (12044, 31, 11266, 93)},
            {"slash": "/quit"},
            {"sums up": "Compare ways to rate-limit POST /bookings in axum"},
        ],
    },
    {
        "name": "nightly-zone",
        "project": "ledger-etl",
        "start": "2026-07-30T14:10:52.660Z",
        "model": PRO_25,
        "steps": [
            {"you": "The nightly close on the Tokyo box is always a day late. The code is in ledger/nightly.py. Why?", "wait": 39},
            {
                "ai": "I'll look at how it picks the day.",
                "took": 6,
                "tok": (9688, 52, 0, 203),
                "do": [("read_file", "ledger/nightly.py", NIGHTLY_PY)],
            },
            {
                "ai": "`closing_day` asks for *yesterday in UTC*. The Tokyo box runs the job at 06:00 local time, which is 21:00 UTC "
                "of the day before. So on the 29th it closes the 27th.\n\n"
                "The fix is to ask for the day in the ledger's own zone:\n\n"
                "```python\n"
                "def closing_day(zone: str) -> str:\n"
                "    return (datetime.now(ZoneInfo(zone)) - timedelta(days=1)).date().isoformat()\n"
                "```\n\n"
                "Shall I change it?",
                "took": 12,
                "tok": (10307, 214, 9125, 840),
            },
            {"you": "Not yet, I have to ask accounting which zone counts.", "wait": 64},
            {"ai": "Fine. Until then the job can be run by hand with `--day`.", "took": 3, "tok": (10590, 29, 10112, 0)},
            {"sums up": "Explain why the nightly close is a day late in Tokyo"},
            {"resume": "2026-08-13T13:02:11.480Z", "model": PRO_31},
            {"you": "Accounting says: always Europe/Lisbon, for every box. Please change it and keep it simple.", "wait": 27},
            {
                "ai": "",
                "took": 8,
                "tok": (12846, 301, 0, 377),
                "think": [("One zone for all", "No parameter is needed now that there is only one answer.")],
                "do": [
                    (
                        "write_file!",
                        "ledger/nightly.py",
                        NIGHTLY_PY,
                        "from datetime import datetime, timedelta\n"
                        "from zoneinfo import ZoneInfo\n\n\n"
                        "def closing_day() -> str:\n"
                        "    books = ZoneInfo(\"Europe/Lisbon\")  # the zone that accounting closes in\n"
                        "    return (datetime.now(books) - timedelta(days=1)).date().isoformat()\n",
                    ),
                    ("sh", "uv run pytest -q tests/test_nightly.py", "....  [100%]\n4 passed in 0.31s", 0),
                ],
                "ran": 4,
            },
            {
                "ai": "Done: it closes by Lisbon time everywhere, `datetime.utcnow` (deprecated anyway) is gone, and the four tests pass.",
                "took": 4,
                "tok": (13702, 47, 12480, 66),
            },
        ],
    },
    {
        "name": "translators",
        "project": "tidepool",
        "start": "2026-08-05T10:31:17.093Z",
        "model": FLASH_25,
        "steps": [
            {
                "you": "Write docs/i18n.md for translators: how to add a language, with Japanese as the example. Half a page, friendly 🌊",
                "wait": 55,
            },
            {
                "ai": "",
                "took": 9,
                "tok": (9240, 388, 0, 266),
                "think": [("Planning the page", "Steps first, then one table with real keys in English and Japanese.")],
                "do": [("write_file", "docs/i18n.md", I18N_MD)],
            },
            {
                "ai": "Written: `docs/i18n.md`, three steps and a table of sample keys.\n\n"
                "One thing to settle: I used 高潮 for *storm surge*. It is the correct term, but some readers take it for a "
                "plain high tide (満潮). If that worries you, 高潮警報 (“storm surge warning”) cannot be misread.",
                "took": 4,
                "tok": (9985, 96, 8800, 141),
            },
            {"you": "take the longer one. also say thank you at the end 🎉", "wait": 88},
            {
                "ai": "I'd rather show you the end before I write it:\n\n> 翻訳してくれて、ありがとう! Thank you for translating! 🎉\n\nGood like that?",
                "took": 5,
                "tok": (10410, 74, 9604, 188),
            },
            {"you": "perfect, I'll paste it in myself", "wait": 19},
            {"ai": "どういたしまして 🙂", "took": 2, "tok": (10598, 8, 10240, 0)},
            {"slash": "/quit"},
            {"sums up": "Write a page for translators with Japanese as the example"},
        ],
    },
    {
        "name": "big-files",
        "project": "dotfiles",
        "start": "2026-08-10T18:22:40.350Z",
        "model": FLASH_25,
        "steps": [
            {"you": "find files over 100 MB below ~ changed in the last week, without going into .cache", "wait": 16},
            {
                "ai": "```sh\n"
                "find ~ -path ~/.cache -prune -o -type f -size +100M -mtime -7 -print\n"
                "```\n\n"
                "- `-path ~/.cache -prune` skips that directory *before* anything else is tested;\n"
                "- `-o` is the “otherwise” branch: plain files, over 100 MiB, changed in the last 7×24 hours;\n"
                "- the explicit `-print` is needed, or `find` would print the pruned directory too.",
                "took": 4,
                "tok": (8733, 141, 0, 309),
            },
            {"you": "and biggest first, with readable sizes?", "wait": 33},
            {
                "ai": "Print the size in front, sort by it, then make it readable:\n\n"
                "```sh\n"
                "find ~ -path ~/.cache -prune -o -type f -size +100M -mtime -7 -printf '%s\\t%p\\n' \\\n"
                "  | sort -rn | numfmt --field=1 --to=iec\n"
                "```\n\n"
                "`-printf` is GNU only; on macOS use `-exec stat -f '%z%t%N' {} +` instead.",
                "took": 4,
                "tok": (8961, 133, 8512, 254),
            },
        ],
    },
    {
        "name": "parquet",
        "project": "ledger-etl",
        "start": "2026-08-11T08:11:29.704Z",
        "model": PRO_25,
        "steps": [
            {
                "you": "I want the CSV ledgers (data/ledger-*.csv, 2019 and 2020) in one Parquet dataset, a file per month. "
                "First tell me what could go wrong with these files.",
                "wait": 71,
            },
            {
                "ai": "I'll take stock of all 24 files: rows, encoding, separator, odd rows.",
                "took": 9,
                "tok": (10102, 188, 0, 655),
                "think": [("Taking stock", "Two years of exports rarely share one dialect. A census first, the script later.")],
                "do": [("sh", "uv run python scripts/census.py data/ledger-*.csv", CSV_CENSUS, 0)],
                "ran": 21,
            },
            {
                "ai": "What I see:\n\n"
                "1. **Encoding:** the first 9 files are cp1252, the rest UTF-8.\n"
                "2. **Separator:** `;` until March 2020, `,` after that.\n"
                "3. **Odd rows:** thirteen rows have a different number of columns. They need a look by eye.\n\n"
                "I'd read those rows in context before writing anything.",
                "took": 17,
                "tok": (61877, 163, 9216, 1420),
            },
            {"you": "ok, read them, and everything around them", "wait": 40},
            {
                "ai": "They are unquoted semicolons in the memo column, from the old terminal at the pier. Rule: everything between "
                "column 3 and the currency is memo.",
                "took": 38,
                "tok": (196412, 121, 60416, 2210),
            },
            {"slash": "/stats"},
            {"you": "Good rule. Write scripts/migrate_ledger.py", "wait": 120},
            {
                "ai": "Starting with the plain path; dialects come next.",
                "took": 33,
                "tok": (197208, 611, 195584, 1804),
                "do": [("write_file", "scripts/migrate_ledger.py", MIGRATE_PY)],
            },
            {"ai": "Written. It is untested so far.", "took": 5, "tok": (198030, 9, 196608, 0)},
            {"you": "run it", "wait": 25, "as": "run it"},
            {
                "ai": "",
                "took": 15,
                "tok": (199114, 52, 197632, 120),
                "do": [
                    (
                        "sh",
                        "uv run scripts/migrate_ledger.py data out/ledger",
                        "Traceback (most recent call last):\n"
                        '  File "scripts/migrate_ledger.py", line 11, in <module>\n'
                        "    table = csv.read_csv(file)\n"
                        "pyarrow.lib.ArrowInvalid: In CSV column #2: invalid UTF8 data",
                        1,
                    )
                ],
                "ran": 3,
            },
            {
                "ai": "As expected: `ledger-2019-01.csv` is cp1252. I'll give `read_csv` its encoding and separator per file.",
                "took": 8,
                "tok": (203587, 64, 198656, 233),
            },
            {
                "compress": "<state_snapshot>\n"
                "    <overall_goal>\n        Move data/ledger-*.csv (24 files, 2019-2020) into one Parquet dataset, a file a month.\n    </overall_goal>\n\n"
                "    <key_knowledge>\n"
                "        - Files 1-9 are cp1252, later ones UTF-8; `;` until 2020-03, `,` after.\n"
                "        - Odd rows: unquoted `;` in the memo. Rule: everything between column 3 and the currency is memo.\n"
                "    </key_knowledge>\n\n"
                "    <artifact_trail>\n        - `scripts/migrate_ledger.py`: written, fails on the first cp1252 file.\n    </artifact_trail>\n\n"
                "    <task_state>\n"
                "        1. [DONE] Census of the files.\n"
                "        2. [IN PROGRESS] Encoding and separator per file. <-- CURRENT FOCUS\n"
                "        3. [TODO] Apply the memo rule; compare row counts.\n"
                "    </task_state>\n"
                "</state_snapshot>",
                "keep": "run it",
                "wait": 50,
            },
            {"you": "go on with the encoding", "wait": 18},
            {
                "ai": "`read()` now picks encoding and separator for each file. Running it over everything.",
                "took": 9,
                "tok": (12980, 240, 0, 418),
                "do": [
                    (
                        "sh",
                        "sed -i 's/csv.read_csv(file)/read(file)/' scripts/migrate_ledger.py && uv run scripts/migrate_ledger.py data out/ledger | tail -n 2",
                        "ledger-2020-11.csv: 20,505 rows\nledger-2020-12.csv: 21,482 rows",
                        0,
                        "Run the migration over all files",
                    )
                ],
                "ran": 48,
            },
            {
                "ai": "All 24 files are in: **508,316 rows**, the same number the census counted. The memo rule touched 13 of them; "
                "they are listed in `out/ledger/_repaired.txt` so that somebody can check them by eye.",
                "took": 6,
                "tok": (13644, 83, 12544, 190),
            },
            {"slash": "/quit"},
            {"sums up": "Migrate two years of CSV ledgers to a Parquet dataset"},
        ],
    },
    {
        "name": "upgrade-all",
        "project": "tidepool",
        "start": "2026-08-11T15:40:03.128Z",
        "model": FLASH_3,
        "steps": [
            {"you": "upgrade every dependency to its latest major version", "wait": 12},
            {
                "ai": "First the list of what is behind.",
                "took": 3,
                "tok": (9877, 58, 0, 97),
                "do": [
                    (
                        "sh",
                        "npm outdated --long=false",
                        "Package     Current  Wanted  Latest  Location\n"
                        "react        18.3.1  18.3.1  19.2.0  node_modules/react\n"
                        "vite          5.4.8  5.4.20   7.1.9  node_modules/vite",
                        1,
                    )
                ],
                "ran": 4,
            },
            {
                "ai": "Two majors are behind: React and Vite. Installing both.",
                "took": 4,
                "tok": (10418, 71, 9728, 112),
                "cancelled": ("sh", "npm install react@latest react-dom@latest vite@latest", "⠙ idealTree: timing idealTree:#root"),
                "ran": 11,
            },
            {"you": "stop, one at a time please. vite first, and only after reading its migration guide", "wait": 26},
            {"stop": 9},
            {"slash": "/memory show", "says": "Memory is currently empty."},
            {"slash": "/quit"},
            {"sums up": "Upgrade dependencies to their latest major versions"},
        ],
    },
    {
        "name": "one-pool",
        "project": "harbor-api",
        "start": "2026-08-12T08:33:46.512Z",
        "model": PRO_3,
        "steps": [
            {"you": "Where do we open database connections? I have a feeling there is more than one pool.", "wait": 44},
            {
                "ai": "That is a question for the whole code base; I'll send an investigator.",
                "took": 5,
                "tok": (10640, 104, 0, 288),
                "think": [("Delegating", "A broad search is better done by a subagent, so that the findings alone come back.")],
                "do": [
                    {
                        "agent": "codebase_investigator",
                        "name": "one-pool-investigator",
                        "model": FLASH_3,
                        "prompt": "Find every place that opens a database connection or builds a pool, and say which of them run in production.",
                        "steps": [
                            {
                                "took": 4,
                                "tok": (6120, 44, 0, 73),
                                "think": ("Searching", "Look for pool builders first."),
                                "do": (
                                    "grep_search",
                                    "PgPool|PgConnection",
                                    [
                                        ("src/main.rs", 18, "    let pool = pool::connect(&config.database).await?;"),
                                        ("src/pool.rs", 1, "pub async fn connect(url: &str) -> Result<PgPool, Error> {"),
                                        ("src/pool.rs", 2, "    PgPoolOptions::new()"),
                                        ("src/routes.rs", 57, "    let mut one = PgConnection::connect(&app.url).await?;"),
                                    ],
                                ),
                            },
                            {"took": 3, "tok": (6874, 38, 5632, 51), "do": ("read_file", "src/pool.rs", POOL_RS)},
                        ],
                        "took": 6,
                        "tok": (7209, 216, 6656, 182),
                        "found": "One pool of 5 connections (src/pool.rs), plus a single connection opened on every health check.",
                        "trace": ["grep_search for PgPool and PgConnection", "read src/pool.rs"],
                        "where": [
                            ("src/pool.rs", "builds the only pool", ["connect"]),
                            ("src/routes.rs", "the health check opens its own connection", ["health"]),
                        ],
                    }
                ],
            },
            {
                "ai": "Your feeling is right, nearly: **one pool and one stray connection**.\n\n"
                "- `src/pool.rs` builds the pool, five connections at most.\n"
                "- `src/routes.rs:57`, the health check, connects on its own for *every* request. The proxy asks every two "
                "seconds, from two places: that is one new connection a second.\n\n"
                "Using `app.pool.acquire()` there would be enough, and a health check that waits for the pool also tells you when it is exhausted.",
                "took": 11,
                "tok": (11502, 173, 10240, 604),
            },
            {"save": "one-pool", "wait": 30},
            {"you": "good. I'll change the health check myself. anything else that could starve the pool?", "wait": 17},
            {
                "ai": "Only one candidate: the booking import holds a connection while it waits for the mail server. "
                "With five connections, five slow mails are enough.",
                "took": 9,
                "tok": (11940, 44, 11264, 410),
            },
            {"slash": "/quit"},
            {"sums up": "Find every database connection and route them through one pool"},
        ],
    },
    {
        "name": "chart-split",
        "project": "tidepool",
        "start": "2026-08-12T13:05:58.007Z",
        "model": FLASH_3,
        "steps": [
            {"you": "src/chart/TideChart.tsx has 600 lines. Split it into parts that make sense, no change in behaviour.", "wait": 37},
            {
                "ai": "Three parts share only the scale: axis, line and cursor. The axis first.",
                "took": 9,
                "tok": (31260, 340, 0, 433),
                "think": [("Refactoring plan", "Axis, line and cursor share only the scale; they can move out one by one.")],
                "do": [("write_file", "src/chart/TideAxis.tsx", TIDE_AXIS_TSX)],
            },
            {"ai": "The axis has its own file now (5 lines). Shall I go on with the line?", "took": 3, "tok": (32688, 31, 31744, 0)},
            {"you": "yes, and use d3-scale for the scales while you are there", "wait": 52, "as": "d3"},
            {
                "ai": "Adding `d3-scale` first.",
                "took": 5,
                "tok": (33120, 66, 32256, 154),
                "do": [("sh", "npm install d3-scale @types/d3-scale", "added 9 packages, and audited 412 packages in 6s", 0)],
                "ran": 7,
            },
            {
                "ai": "Installed: nine packages, about 60 kB in the bundle. Note that `d3-scale` wants numbers where our scale takes dates, "
                "so every caller changes as well.",
                "took": 6,
                "tok": (33904, 88, 32768, 371),
            },
            {"rewind": "d3", "wait": 29},
            {"you": "yes, go on with the line, but without a new dependency", "wait": 14},
            {
                "ai": "",
                "took": 7,
                "tok": (33011, 152, 31744, 120),
                "do": [
                    ("sh", "npm uninstall d3-scale @types/d3-scale && npx vitest run src/chart", " Test Files  3 passed (3)\n      Tests  21 passed (21)", 0),
                ],
                "ran": 6,
            },
            {"ai": "The stray package is gone again and all 21 tests pass. The line moves next, with the scale we have.", "took": 4, "tok": (33870, 45, 32768, 0)},
            {"slash": "/quit"},
            {"sums up": "Split TideChart.tsx into smaller components"},
        ],
    },
    {
        "name": "feed-review",
        "project": "tidepool",
        "start": "2026-08-13T09:16:21.945Z",
        "model": PRO_31,
        "steps": [
            {
                "you": "Review @src/hooks/useTideFeed.ts please. I am not happy with how it reconnects.",
                "files": [("src/hooks/useTideFeed.ts", USE_TIDE_FEED_TS)],
                "wait": 58,
            },
            {
                "ai": "Four findings, the first two are bugs:\n\n"
                "| # | line | what happens | weight |\n"
                "| --- | --- | --- | --- |\n"
                "| 1 | 9 | closing on purpose triggers `onclose`, which opens a new socket: every unmount leaks one | **high** |\n"
                "| 2 | 15 | `[]` hides `station`: changing it keeps the old feed | **high** |\n"
                "| 3 | 10 | reconnects at once, for ever; a down server gets hammered | medium |\n"
                "| 4 | 8 | the list grows without end | low |\n\n"
                "For 1 and 3 together: remember that we are done, and wait before opening again.",
                "took": 19,
                "tok": (14380, 262, 0, 1933),
                "think": [
                    ("Following the socket", "Cleanup calls close, close fires onclose, and onclose opens again. That is the leak."),
                    ("Checking the effect", "The dependency list is empty although `station` is used inside."),
                ],
            },
            {"you": "is number 1 what issue 42 is about?", "wait": 75},
            {
                "ai": "",
                "took": 4,
                "tok": (15012, 49, 13824, 102, 61),
                "do": [
                    (
                        "mcp",
                        "github",
                        "get_issue",
                        {"owner": "sam-example", "repo": "tidepool", "issue_number": 42},
                        '{"number":42,"title":"Memory climbs when switching stations","state":"open","labels":["bug"],'
                        '"body":"After an hour of clicking through stations the tab uses 1.4 GB. 31 open sockets in the network panel."}',
                    )
                ],
                "ran": 2,
            },
            {
                "ai": "Yes, 1 and 2 in one report: “31 open sockets” is the leak, and it shows when *switching stations* because each switch "
                "should have closed the old one.",
                "took": 6,
                "tok": (15390, 58, 14336, 316),
            },
            {"you": "fix 1, 2 and 3", "wait": 41},
            {
                "ai": "",
                "took": 12,
                "tok": (15744, 341, 14848, 702),
                "do": [
                    (
                        "replace",
                        "src/hooks/useTideFeed.ts",
                        USE_TIDE_FEED_TS,
                        USE_TIDE_FEED_OLD,
                        USE_TIDE_FEED_NEW,
                        "Do not reconnect after cleanup, wait between attempts, and follow the station.",
                    ),
                ],
            },
            {
                "ai": "Fixed: it follows the station, waits one to five seconds before it opens again, and never does so after cleanup. "
                "Number 4 is still open.",
                "took": 5,
                "tok": (17130, 51, 15360, 88),
            },
            {"slash": "/quit"},
        ],
    },
    {
        "name": "back-to-back",
        "project": "harbor-api",
        "start": "2026-08-14T07:42:10.233Z",
        "model": PRO_31,
        "steps": [
            {
                "you": "cargo test is red since yesterday's merge: `back_to_back_stays_do_not_clash`. Find out why. "
                "Don't touch the test, I'm sure it is right.",
                "wait": 33,
            },
            {
                "ai": "I'll run it first.",
                "took": 5,
                "tok": (11842, 61, 0, 412),
                "think": [("Reproducing", "See the failure before reading any code.")],
                "do": [("sh", "cargo test --test booking", CARGO_RED, 101)],
                "ran": 9,
            },
            {
                "ai": "",
                "took": 4,
                "tok": (12936, 71, 11240, 188),
                "do": [("read_file", "src/booking.rs", BOOKING_RS), ("read_file?", "src/clash.rs")],
            },
            {
                "ai": "Found it. A guest who leaves on the 10th and one who arrives on the 10th share a *day*, not a *night*; "
                "`<=` counts the day.",
                "took": 11,
                "tok": (13954, 342, 12288, 906),
                "think": [("Half-open ranges", "Nights are [arrival, departure). Two half-open ranges overlap with strict comparisons.")],
                "do": [
                    (
                        "replace",
                        "src/booking.rs",
                        BOOKING_RS,
                        "        self.arrival <= other.departure\n            && other.arrival <= self.departure\n",
                        "        self.arrival < other.departure && other.arrival < self.departure\n",
                        "Compare strictly: the day of departure is not a night.",
                    )
                ],
            },
            {"ai": "", "took": 3, "tok": (14602, 38, 13310, 74), "do": [("sh", "cargo test --test booking", CARGO_GREEN, 0)], "ran": 8},
            {
                "ai": "Green again, all six.\n\n"
                "- **Cause:** yesterday's merge replaced `<` by `<=` in `Stay::clashes`.\n"
                "- **Fix:** strict comparison; a stay is the half-open range from arrival to departure.\n"
                "- **Not changed:** the test. You were right about it.\n\n"
                "`src/clash.rs`, which I looked for as well, was removed in that merge.",
                "took": 6,
                "tok": (15120, 134, 14334, 131),
            },
            {
                "bang": "git status",
                "out": "On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n"
                "\tmodified:   src/booking.rs",
                "wait": 62,
            },
            {"you": "write me a commit message, one line and a short body", "wait": 20},
            {
                "ai": "```\n"
                "booking: let stays follow each other on the same day\n\n"
                "A departure and an arrival on one day share no night. The merge of\n"
                "the clash module had turned the strict comparison into `<=`.\n"
                "```",
                "took": 4,
                "tok": (15480, 58, 14848, 176),
            },
            {"slash": "/quit"},
            {"sums up": "Fix back-to-back bookings that were taken for a clash"},
        ],
    },
    {"name": "closed-window", "project": "tidepool", "start": "2026-08-14T16:05:12.640Z", "header only": True},
    {
        "name": "calendar",
        "project": "harbor-api",
        "start": "2026-08-14T16:21:37.418Z",
        "model": PRO_31,
        "steps": [
            {"you": "Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.", "wait": 46},
            {
                "ai": "Three steps; the route comes last.",
                "took": 8,
                "tok": (11970, 133, 0, 540),
                "think": [("Shaping the endpoint", "Parsing a month deserves its own small module; the handler stays thin.")],
                "do": [
                    (
                        "write_todos",
                        [
                            ("Handler in src/calendar.rs", "in_progress"),
                            ("Parse a month in src/month.rs", "pending"),
                            ("Register the route, with a test", "pending"),
                        ],
                    )
                ],
            },
            {"ai": "", "took": 14, "tok": (12514, 404, 11776, 213), "do": [("write_file", "src/calendar.rs", CALENDAR_RS)]},
            {"ai": "The handler is there. `month.rs` is next.", "took": 3, "tok": (13011, 15, 12288, 0)},
            {"you": "a wrong month must be a 400, not a 500", "wait": 31},
            {
                "ai": "Yes: `month::parse` will return `Error::BadRequest`. Checking that the variant exists.",
                "took": 6,
                "tok": (13277, 57, 12288, 164),
                "do": [("sh", "grep -n BadRequest src/*.rs", "src/main.rs:44:    BadRequest(String),", 0)],
            },
            {"torn": 700},
        ],
    },
]

# The old project: one document, rewritten whole at each change.
OLD_SESSION = {
    "name": "tern-import",
    "start": "2026-03-18T20:07:44.119Z",
    "model": PRO_25,
    "summary": "Write an importer for bird-watching notes",
    "steps": [
        {"you": "This folder has my old bird notes as text files. Which formats are in there?", "wait": 0},
        {
            "ai": "Let me look.",
            "took": 5,
            "tok": (7212, 33, 0, 120),
            "think": [("Listing the notes", "The names should already show how many formats there are.")],
            "do": [("list_directory", "notes", ["2009-gull-island.txt", "2014-spring.tsv", "2019-terns.md"])],
        },
        {
            "ai": "Three, one for each phase of your life with a keyboard:\n\n"
            "- **2009:** plain prose, one paragraph a sighting\n"
            "- **2014:** tab-separated, with a header\n"
            "- **2019:** Markdown, a heading for each day\n\n"
            "The last two can be read by a program. The first wants a human, or patience.",
            "took": 7,
            "tok": (7588, 92, 6144, 381),
        },
        {"you": "start with the tsv: an importer that prints one line of JSON per sighting", "wait": 51},
        {
            "ai": "Here it is.",
            "took": 9,
            "tok": (7903, 205, 7168, 266),
            "do": [
                (
                    "write_file",
                    "import_tsv.py",
                    "import csv\nimport json\nimport sys\n\nfor row in csv.DictReader(open(sys.argv[1]), delimiter=\"\\t\"):\n    print(json.dumps(row, ensure_ascii=False))\n",
                )
            ],
        },
    ],
}


# === The recorder ===========================================================
# From here on: how Gemini CLI turns what happens into lines.

BOOTSTRAP_ID = "d04923d38bb0f6017037e74183378ef4"  # the same in every session


def tokens(tok):
    input_, output, cached, thoughts, *rest = tok
    tool = rest[0] if rest else 0
    return {
        "input": input_,
        "output": output,
        "cached": cached,
        "thoughts": thoughts,
        "tool": tool,
        "total": input_ + output + thoughts + tool,
    }


# --- Tool calls ------------------------------------------------------------
# Each gives (args, output, display, description); an output of {"error": …} is a failure.


def js_length(text):
    return len(text.encode("utf-16-le")) // 2


def changed_lines(before, after):
    """Opcodes over lines, and the lines."""
    old, new = before.splitlines(), after.splitlines()
    return SequenceMatcher(None, old, new, autojunk=False), old, new


def file_diff(name, before, after, labels):
    matcher, old, new = changed_lines(before, after)
    out = [f"Index: {name}", "=" * 67, f"--- {name}\t{labels[0]}", f"+++ {name}\t{labels[1]}"]
    for group in matcher.get_grouped_opcodes(3):
        a1, a2, b1, b2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        start_a, start_b = a1 + (a2 > a1), b1 + (b2 > b1)
        out.append(f"@@ -{start_a},{a2 - a1} +{start_b},{b2 - b1} @@")
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                out += [" " + line for line in old[i1:i2]]
            else:
                out += ["-" + line for line in old[i1:i2]] + ["+" + line for line in new[j1:j2]]
    return "\n".join(out) + "\n"


def diff_stat(before, after):
    matcher, old, new = changed_lines(before, after)
    ops = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    removed = [line for _, i1, i2, _, _ in ops for line in old[i1:i2]]
    added = [line for _, _, _, j1, j2 in ops for line in new[j1:j2]]
    return {
        "model_added_lines": len(added),
        "model_removed_lines": len(removed),
        "model_added_chars": sum(map(js_length, added)),
        "model_removed_chars": sum(map(js_length, removed)),
        "user_added_lines": 0,
        "user_removed_lines": 0,
        "user_added_chars": 0,
        "user_removed_chars": 0,
    }


def updated_code(before, after, context=5):
    """What the model is shown of a file it changed."""
    if not before:
        return after
    matcher, _, _ = changed_lines(before, after)
    lines = after.split("\n")
    merged = []
    for kind, _, _, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            continue
        start, end = max(0, j1 - context), min(len(lines), j2 + context)
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    out, last = [], 0
    for start, end in merged:
        out += ["..."] * (start > last) + ["\n".join(lines[start:end])]
        last = end
    return "\n".join(out + ["..."] * (last < len(lines)))


def edit_display(root, path, before, after, labels):
    return {
        "fileDiff": file_diff(path.split("/")[-1], before, after, labels),
        "fileName": path.split("/")[-1],
        "filePath": f"{root}/{path}",
        "originalContent": before,
        "newContent": after,
        "diffStat": diff_stat(before, after),
        "isNewFile": before == "",
        "isBuildFile": False,
    }


def read_file(root, path, content):
    return {"file_path": path}, content, "", path


def missing_file(root, path):
    return {"file_path": path}, {"error": f"File not found: {root}/{path}"}, "File not found.", NOT_FOUND_DESCRIPTION


def write_file(root, path, content):
    return overwrite_file(root, path, "", content)


def overwrite_file(root, path, before, content):
    done = "Successfully overwrote file" if before else "Successfully created and wrote to new file"
    said = f"{done}: {root}/{path}. Here is the updated code:\n{updated_code(before, content)}"
    display = edit_display(root, path, before, content, ("Original", "Written"))
    return {"file_path": path, "content": content}, said, display, f"Writing to {path}"


def replace(root, path, before, old, new, instruction):
    assert before.count(old) == 1, path
    after = before.replace(old, new)
    said = f"Successfully modified file: {root}/{path} (1 replacements). "
    said += f"Here is the updated code:\n{updated_code(before, after)}"
    args = {"file_path": path, "instruction": instruction, "old_string": old, "new_string": new}

    def snippet(text):
        return text.split("\n")[0][:30] + ("..." if len(text) > 30 else "")

    display = edit_display(root, path, before, after, ("Current", "Proposed"))
    return args, said, display, f"{path}: {snippet(old)} => {snippet(new)}"


def shell(root, command, output, code, description=None):
    group = number(3000, 29000, "pgid", root, command, output)
    said = f"<untrusted_context>\nOutput: {output or '(empty)'}\n"
    said += f"Exit Code: {code}\n" if code else ""
    said += f"Process Group PGID: {group}\n</untrusted_context>"
    args = {"command": command, **({"description": description} if description else {})}
    shown = output or (f"Command exited with code: {code}" if code else "")
    return args, said, shown, description if description and len(command) > 150 else command


def list_directory(root, path, names):
    said = f"Directory listing for {root}/{path}:\n" + "\n".join(names)
    return {"dir_path": path}, said, {"summary": f"Found {len(names)} item(s).", "files": names}, path


def grep_search(root, pattern, matches):
    said = f'Found {len(matches)} matches for pattern "{pattern}" in the workspace directory:\n---\n'
    for path in dict.fromkeys(m[0] for m in matches):
        said += f"File: {path}\n" + "".join(f"L{n}: {line}\n" for p, n, line in matches if p == path) + "---\n"
    shown = [{"filePath": p, "absolutePath": f"{root}/{p}", "lineNumber": n, "line": line} for p, n, line in matches]
    return {"pattern": pattern}, said.strip(), {"summary": f"Found {len(matches)} matches", "matches": shown}, f"'{pattern}'"


def write_todos(root, items):
    todos = [{"description": text, "status": status} for text, status in items]
    said = "Successfully updated the todo list. The current list is now:\n"
    said += "\n".join(f"{n}. [{status}] {text}" for n, (text, status) in enumerate(items, 1))
    return {"todos": todos}, said, {"todos": todos}, f"Set {len(items)} todo(s)"


def mcp(root, server, tool, args, text):
    return args, f"<untrusted_context>\n{text}\n</untrusted_context>", text, compact(args)


# name in the stories: name in the files, name on screen, is its output Markdown, function
TOOLS = {
    "read_file": ("read_file", "ReadFile", True, read_file),
    "read_file?": ("read_file", "ReadFile", True, missing_file),
    "write_file": ("write_file", "WriteFile", True, write_file),
    "write_file!": ("write_file", "WriteFile", True, overwrite_file),
    "replace": ("replace", "Edit", True, replace),
    "sh": ("run_shell_command", "Shell", False, shell),
    "list_directory": ("list_directory", "ReadFolder", True, list_directory),
    "grep_search": ("grep_search", "SearchText", True, grep_search),
    "write_todos": ("write_todos", "WriteTodos", True, write_todos),
    "mcp": (None, None, True, mcp),
}


def tool_names(call):
    name, shown, markdown, function = TOOLS[call[0]]
    if call[0] == "mcp":
        name, shown = f"mcp_{call[1]}_{call[2]}", f"{call[2]} ({call[1]} MCP Server)"
    return name, shown, markdown, function


def response(call_id, name, output):
    body = output if isinstance(output, dict) else {"output": output}
    return {"functionResponse": {"id": call_id, "name": name, "response": body}}


# --- A session -------------------------------------------------------------


class Session:
    """One run of Gemini CLI: the lines it appends, and what it holds in memory.

    `messages` is the recorder's own list, `history` the conversation that the
    model sees, as (message id, role, parts). The two differ, and the recorder
    brings them into line (`sync`) by writing the whole list again.
    """

    def __init__(self, tree, story):
        self.tree, self.story = tree, story
        self.project = PROJECTS[story["project"]]
        self.root = self.project["path"]
        self.folder = f"tmp/{story['project']}"
        self.id = uuid4("session", story["name"])
        self.clock = parse_time(story["start"])
        self.model = story.get("model")
        self.lines, self.messages, self.history, self.names = [], [], [], {}
        self.made = self.typed = 0
        self.start(story["start"])

    # Time and ids

    def tick(self, seconds):
        """Lets some seconds pass, and a few odd milliseconds."""
        self.made += 1
        self.clock += timedelta(seconds=seconds, milliseconds=number(7, 640, self.id, "ms", self.made))
        return iso(self.clock)

    def new_id(self):
        self.made += 1
        return uuid4(self.id, self.made)

    # Lines

    def append(self, record):
        self.lines.append(compact(record))

    def push(self, message):
        self.append(message)
        for n, known in enumerate(self.messages):
            if known["id"] == message["id"]:
                self.messages[n] = message
                return
        self.messages.append(message)

    def record(self, type_, content, **extra):
        message = {"id": self.new_id(), "timestamp": iso(self.clock), "type": type_, "content": content, **extra}
        self.push(message)
        self.append({"$set": {"lastUpdated": iso(self.clock)}})
        return message

    def sync(self):
        """`updateMessagesFromHistory`: rewrites the list from the model's history."""
        known = {m["id"]: m for m in self.messages}
        messages = []
        for id_, role, parts in self.history:
            new = {"id": id_, "timestamp": iso(self.clock), "type": "user" if role == "user" else "gemini"}
            messages.append({**known.get(id_, new), "content": copy(parts)})
        for _, role, parts in self.history:
            for part in parts:
                for message in messages if "functionResponse" in part else ():
                    for call in message.get("toolCalls", ()):
                        if call["id"] == part["functionResponse"]["id"]:
                            call["result"] = copy(parts)
        self.messages = messages
        self.append({"$set": {"messages": messages, "lastUpdated": iso(self.clock)}})

    # Starting

    def header(self):
        now = iso(self.clock)
        return {"sessionId": self.id, "projectHash": sha256(self.root), "startTime": now, "lastUpdated": now, "kind": "main"}

    def context(self):
        day = self.clock.strftime("%A, %B ") + str(self.clock.day) + self.clock.strftime(", %Y")
        return [
            {
                "text": "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n"
                f"Today's date is {day} (formatted according to the user's locale).\n"
                "My operating system is: linux\n"
                f"The project's temporary directory is: {HOME}/.gemini/{self.folder}\n"
                f"- **Workspace Directories:**\n  - {self.root}\n- **Directory Structure:**\n\n"
                f"Showing up to 200 items (files + folders).\n\n{self.root}/\n{self.project['tree']}\n\n</session_context>"
            }
        ]

    def start(self, time):
        self.path = f"{self.folder}/chats/session-{time[:16].replace(':', '-')}-{self.id[:8]}.jsonl"
        self.append(self.header())
        if not self.story.get("header only"):
            self.history = [(BOOTSTRAP_ID, "user", self.context())]
            self.sync()

    def log(self, text):
        """What was typed goes to logs.json, a moment before the session file."""
        entry = {"sessionId": self.id, "messageId": self.typed, "type": "user", "message": text}
        entry["timestamp"] = iso(self.clock - timedelta(milliseconds=number(9, 60, self.id, "typed", self.typed)))
        self.tree.logs[self.story["project"]].append(entry)
        self.typed += 1

    # Steps

    def play(self):
        kinds = ("you", "ai", "bang", "slash", "stop", "fails", "rewind", "compress", "save", "sums up", "resume", "torn")
        torn = None
        for step in self.story.get("steps", ()):
            kind = next(k for k in kinds if k in step)
            if kind == "torn":
                torn = step["torn"]
            else:
                getattr(self, "do_" + kind.replace(" ", "_"))(step)
        assert iso(self.clock) < NOW, self.story["name"]
        text = "\n".join(self.lines) + "\n"
        if torn:
            last = max(n for n, line in enumerate(self.lines) if '"toolCalls"' in line)
            text = "\n".join(self.lines[:last]) + "\n" + self.lines[last][:torn]
        self.tree.add(self.path, text)

    def do_you(self, step):
        self.tick(step["wait"])
        self.log(step["you"])
        parts = [{"text": step["you"]}]
        extra = {}
        if "files" in step:
            extra["displayContent"] = copy(parts)
            parts.append({"text": "\n--- Content from referenced files ---"})
            for path, content in step["files"]:
                parts += [{"text": f"\nContent from @{path}:\n"}, {"text": content.removesuffix("\n")}]
            parts.append({"text": "\n--- End of content ---"})
        message = self.record("user", parts, **extra)
        self.history.append((message["id"], "user", parts))
        self.names[step.get("as")] = message["id"]

    def do_ai(self, step):
        now = self.tick(step["took"])
        thoughts = [{"subject": s, "description": d, "timestamp": now} for s, d in step.get("think", ())]
        counts, model = tokens(step["tok"]), step.get("model", self.model)
        message = self.record("gemini", step["ai"], thoughts=thoughts, tokens=counts, model=model)
        calls = list(step.get("do", ())) + ([step["cancelled"]] if "cancelled" in step else [])
        parts = [{"text": step["ai"]}] if step["ai"] else []
        self.history.append((message["id"], "model", parts))
        if not calls:
            return
        said_at = self.clock
        self.tick(step.get("ran", 0))
        records = []
        for n, call in enumerate(calls):
            ms = epoch_ms(said_at) - number(12, 320, message["id"]) + 3 * n
            record = self.cancelled_call(call, ms, n) if "cancelled" in step else self.call(call, ms, n)
            records.append(record)
            parts.append({"functionCall": {key: record[key] for key in ("name", "args", "id")}})
        for record in records:
            record["timestamp"] = iso(self.clock)
        if "cancelled" in step:
            self.record("info", "Request cancelled.")
            self.clock += timedelta(milliseconds=52)
            records[0]["timestamp"] = iso(self.clock)
            head = {"id": self.new_id(), "timestamp": iso(self.clock), "type": "gemini", "content": ""}
            self.push({**head, "toolCalls": records, "thoughts": [], "model": model})
        else:
            self.push({**message, "toolCalls": records})
        self.clock += timedelta(milliseconds=2)
        answers = [part for record in records for part in copy(record["result"])]
        self.history.append((self.record("user", answers)["id"], "user", answers))

    def call(self, call, ms, n):
        if isinstance(call, dict):
            return self.agent_call(call, ms, n)
        name, shown, markdown, function = tool_names(call)
        args, output, display, description = function(self.root, *call[1:])
        call_id = f"{name}__{name}_{ms}_{n}"
        if isinstance(output, str) and len(output) > TOOL_OUTPUT_LIMIT and name == "run_shell_command":
            output = self.keep_output(call_id, output)
        return {
            "id": call_id,
            "name": name,
            "args": args,
            "result": [response(call_id, name, output)],
            "status": "error" if isinstance(output, dict) else "success",
            "timestamp": None,
            "resultDisplay": display,
            "description": description,
            "displayName": shown,
            "renderOutputAsMarkdown": markdown,
        }

    def cancelled_call(self, call, ms, n):
        record = self.call((*call, 0), ms, n)
        reason = {"error": "[Operation Cancelled] Reason: Operation cancelled by user"}
        return {**record, "result": [response(record["id"], record["name"], reason)], "status": "cancelled"}

    def keep_output(self, call_id, output):
        path = f"{self.folder}/tool-outputs/session-{self.id}/{call_id}.txt"
        self.tree.add(path, output)
        head = TOOL_OUTPUT_LIMIT // 5
        tail = TOOL_OUTPUT_LIMIT - head
        return (
            f"Output too large. Showing first {head:,} and last {tail:,} characters. "
            f"For full output see: {HOME}/.gemini/{path}\n"
            f"{output[:head]}\n\n... [{len(output) - head - tail:,} characters omitted] ...\n\n{output[-tail:]}"
        )

    def do_bang(self, step):
        self.tick(step["wait"])
        self.log(step["bang"])
        text = f"I ran the following shell command:\n```sh\n{step['bang']}\n```\n\n"
        text += f"This produced the following result:\n```\n{step['out']}\n```"
        message = self.record("user", [{"text": text}])
        self.history.append((message["id"], "user", message["content"]))

    def do_slash(self, step):
        self.tick(step.get("wait", 15))
        self.log(step["slash"])
        if "says" in step:
            self.tick(0)
            self.record("info", step["says"])

    def do_stop(self, step):
        self.tick(step["stop"])
        self.record("info", "Request cancelled.")
        self.history.pop()
        self.sync()

    def do_fails(self, step):
        self.tick(4)
        self.history.pop()
        self.sync()
        self.record("error", step["fails"])
        self.record(
            "info",
            "This request failed. Press F12 for diagnostics, or run /settings "
            'and change "Error Verbosity" to full for full details.',
        )

    def stored_history(self):
        """The history as rebuilt from the recorded messages: thoughts come back, and every tool result twice."""
        history = []
        for m in self.messages:
            if m["type"] == "user":
                history.append((m["id"], "user", copy(m["content"])))
            elif m["type"] == "gemini":
                parts = [{"text": f"**{t['subject']}** {t['description']}", "thought": True} for t in m.get("thoughts", ())]
                parts += [{"text": m["content"]}] if m["content"] else []
                calls = m.get("toolCalls", ())
                parts += [{"functionCall": {"id": c["id"], "name": c["name"], "args": c["args"]}} for c in calls]
                history.append((m["id"], "model", parts))
                if calls:
                    history.append((m["id"] + "_response", "user", [part for c in calls for part in copy(c["result"])]))
        return history

    def do_rewind(self, step):
        self.tick(step["wait"])
        self.log("/rewind")
        target = self.names[step["rewind"]]
        keep = next(n for n, m in enumerate(self.messages) if m["id"] == target)
        self.messages = self.messages[:keep]
        self.append({"$rewindTo": target})
        self.history = [turn for turn in self.stored_history() if turn[0] != BOOTSTRAP_ID]
        self.tick(7)
        self.sync()

    def do_compress(self, step):
        self.tick(step["wait"])
        self.log("/compress")
        self.tick(11)
        keep = next(n for n, turn in enumerate(self.history) if turn[0] == self.names[step["keep"]])
        tail = [(self.new_id(), role, parts) for _, role, parts in self.history[keep:]]
        self.append({"$set": {"sessionId": self.id}})
        summary = (self.new_id(), "user", [{"text": step["compress"]}])
        thanks = (self.new_id(), "model", [{"text": "Got it. Thanks for the additional context!"}])
        self.history = [self.history[0], summary, thanks, *tail]
        self.sync()
        self.record("info", "")

    def do_save(self, step):
        self.tick(step["wait"])
        self.log(f"/resume save {step['save']}")
        history = []
        for _, role, parts in self.history:
            if history and history[-1]["role"] == role:
                history[-1]["parts"] += copy(parts)
            else:
                history.append({"role": role, "parts": copy(parts)})
        document = {"history": history, "authType": "gemini-api-key"}
        self.tree.add(f"{self.folder}/checkpoint-{step['save']}.json", pretty(document))
        self.tick(0)
        self.record("info", f"Conversation checkpoint saved with tag: {step['save']}.")

    def do_sums_up(self, step):
        self.append({"$set": {"summary": step["sums up"], "memoryScratchpad": self.scratchpad()}})

    def scratchpad(self):
        """A few words on what the session did, derived from its tool calls."""
        steps, paths, validated = [], [], False
        for call in (c for m in self.messages for c in m.get("toolCalls", ())):
            command = call["args"].get("command")
            steps.append(f"{call['name']}: {command.split()[0]}" if command else call["name"])
            paths += [v for k, v in call["args"].items() if re.search("path|file|dir", k) and isinstance(v, str)]
            if command and re.search(r"\b(tests?|vitest|pytest|check)\b", command):
                validated = "failed" if call["status"] != "success" else "passed"
        steps, paths = list(dict.fromkeys(steps))[:6], list(dict.fromkeys(paths))[:4]
        words = [" -> ".join(steps)] * bool(steps) + ["paths " + ", ".join(paths)] * bool(paths)
        words += [{"passed": "validated", "failed": "validation failed"}[validated]] if validated else []
        text = " | ".join(words)
        return {
            "version": 1,
            **({"workflowSummary": text if len(text) <= 160 else text[:157] + "..."} if text else {}),
            **({"toolSequence": steps} if steps else {}),
            **({"touchedPaths": paths} if paths else {}),
            **({"validationStatus": validated} if validated else {}),
        }

    def do_resume(self, step):
        """The new process makes its own file, then goes on in the old one."""
        real, lines = self.path, self.lines
        self.clock, self.model = parse_time(step["resume"]), step["model"]
        self.lines, messages = [], self.messages
        self.messages = []
        self.start(step["resume"])
        self.tree.add(self.path, "\n".join(self.lines) + "\n")
        self.path, self.lines, self.messages = real, lines, messages
        self.append({"$set": {"sessionId": self.id}})
        self.tick(0)
        self.history = self.stored_history()
        self.history[0] = (BOOTSTRAP_ID, "user", self.context())
        self.sync()

    # Subagents

    def agent_call(self, agent, ms, n):
        """Plays a subagent, which has a file of its own, and gives the call that the parent records."""
        id_ = uuid4("session", agent["name"])
        clock, made = self.clock, 0
        lines, activity = [], []

        def stamp(seconds):
            nonlocal clock, made
            made += 1
            clock += timedelta(seconds=seconds, milliseconds=number(7, 640, id_, made))
            return iso(clock)

        def write(record):
            lines.append(compact(record))

        def note():
            write({"$set": {"lastUpdated": iso(clock)}})

        began = stamp(0)
        header = {"sessionId": id_, "projectHash": sha256(self.root), "startTime": began, "lastUpdated": began}
        write({**header, "kind": "subagent", "directories": [self.root]})
        task = (
            "Your task is to do a deep investigation of the codebase to find all relevant files, code locations, "
            "architectural mental map and insights to solve  for the following user objective:\n"
            f"<objective>\n{agent['prompt']}\n</objective>"
        )
        write({"id": uuid4(id_, "task"), "timestamp": began, "type": "user", "content": [{"text": task}]})
        note()
        report = {
            "SummaryOfFindings": agent["found"],
            "ExplorationTrace": agent["trace"],
            "RelevantLocations": [
                {"FilePath": path, "Reasoning": why, "KeySymbols": symbols} for path, why, symbols in agent["where"]
            ],
        }
        last = {"took": agent["took"], "tok": agent["tok"]}
        for turn, step in enumerate([*agent["steps"], last]):
            now = stamp(step["took"])
            thoughts = []
            if "think" in step:
                subject, description = step["think"]
                thoughts = [{"subject": subject, "description": description, "timestamp": now}]
                thought = uuid4(id_, "thought", turn)
                activity.append({"id": thought, "type": "thought", "content": subject, "status": "running"})
            message = {
                "id": uuid4(id_, turn),
                "timestamp": now,
                "type": "gemini",
                "content": "",
                "thoughts": thoughts,
                "tokens": tokens(step["tok"]),
                "model": agent["model"],
            }
            write(message)
            note()
            if "do" in step:
                name, shown, markdown, function = tool_names(step["do"])
                args, output, display, description = function(self.root, *step["do"][1:])
            else:
                name, shown, markdown = "complete_task", "Complete Task", True
                args, description = {"report": report}, "Completing task and submitting results."
                output = display = "Output submitted and task completed."
            call_id = f"{id_}#{turn}-0"
            record = {
                "id": call_id,
                "name": name,
                "args": args,
                "result": [response(call_id, name, output)],
                "status": "success",
                "timestamp": stamp(0),
                "resultDisplay": display,
                "description": description,
                "displayName": shown,
                "renderOutputAsMarkdown": markdown,
            }
            write({**message, "toolCalls": [record]})
            activity.append(
                {
                    "id": call_id,
                    "type": "tool_call",
                    "content": name,
                    "displayName": shown,
                    "description": description,
                    "args": compact(args),
                    "status": "completed",
                }
            )
            if step is not last:
                answer = {"id": uuid4(id_, "answer", turn), "timestamp": iso(clock), "type": "user"}
                write({**answer, "content": record["result"]})
                note()
        result = pretty(report)
        write({"$set": {"summary": result if len(result) <= 200 else result[:197] + "..."}})
        self.tree.add(f"{self.folder}/chats/{self.id}/{id_}.jsonl", "\n".join(lines) + "\n")
        self.clock = clock + timedelta(milliseconds=9)
        call_id = f"invoke_agent__invoke_agent_{ms}_{n}"
        said = f"Subagent '{agent['agent']}' finished.\nTermination Reason: GOAL\nResult:\n{result}"
        return {
            "id": call_id,
            "name": "invoke_agent",
            "args": {"agent_name": agent["agent"], "prompt": agent["prompt"]},
            "result": [response(call_id, "invoke_agent", said)],
            "status": "success",
            "timestamp": None,
            "agentId": id_,
            "resultDisplay": {
                "isSubagentProgress": True,
                "agentName": agent["agent"],
                "recentActivity": activity,
                "state": "completed",
                "result": result,
                "terminateReason": "GOAL",
            },
            "description": f"Delegating to agent '{agent['agent']}'",
            "displayName": "Invoke Subagent",
            "renderOutputAsMarkdown": True,
        }


# --- The old project -------------------------------------------------------

OLD_DESCRIPTIONS = {
    "list_directory": "Lists the names of files and subdirectories directly within a specified directory path. "
    "Can optionally ignore entries matching provided glob patterns.",
    "write_file": "Writes content to a specified file in the local filesystem.\n\n"
    "      The user has the ability to modify `content`. If modified, this will be stated in the response.",
}


def old_session(tree):
    """A document as Gemini CLI 0.27 wrote it: prompts are plain strings, the summary comes last."""
    story = OLD_SESSION
    id_ = uuid4("session", story["name"])
    clock = parse_time(story["start"])
    messages = []
    for n, step in enumerate(story["steps"]):
        clock += timedelta(seconds=step.get("wait", step.get("took")), milliseconds=number(7, 640, id_, n))
        head = {"id": uuid4(id_, n), "timestamp": iso(clock)}
        if "you" in step:
            messages.append({**head, "type": "user", "content": step["you"]})
            continue
        thoughts = [{"subject": s, "description": d, "timestamp": iso(clock)} for s, d in step.get("think", ())]
        message = {**head, "type": "gemini", "content": step["ai"], "thoughts": thoughts}
        message |= {"tokens": tokens(step["tok"]), "model": story["model"]}
        for call in step.get("do", ()):
            name, shown, markdown, function = tool_names(call)
            args, output, display, _ = function(OLD_PROJECT, *call[1:])
            args = {key: f"{OLD_PROJECT}/{value}" if "path" in key else value for key, value in args.items()}
            output = output.split(" Here is the updated code:")[0]
            if name == "list_directory":
                display = f"Listed {len(display['files'])} item(s)."
            else:
                display = {key: value for key, value in display.items() if key != "isBuildFile"}
            call_id = f"{name}-{epoch_ms(clock)}-{digest(id_, n).hex()[:13]}"
            message["toolCalls"] = [
                {
                    "id": call_id,
                    "name": name,
                    "args": args,
                    "result": [response(call_id, name, output)],
                    "status": "success",
                    "timestamp": iso(clock + timedelta(milliseconds=61)),
                    "resultDisplay": display,
                    "displayName": shown,
                    "description": OLD_DESCRIPTIONS[name],
                    "renderOutputAsMarkdown": markdown,
                }
            ]
        messages.append(message)
    document = {
        "sessionId": id_,
        "projectHash": sha256(OLD_PROJECT),
        "startTime": story["start"],
        "lastUpdated": iso(clock),
        "messages": messages,
        "summary": story["summary"],
    }
    name = f"session-{story['start'][:16].replace(':', '-')}-{id_[:8]}.json"
    tree.add(f"tmp/{sha256(OLD_PROJECT)}/chats/{name}", pretty(document))


# --- The tree --------------------------------------------------------------


class Tree:
    def __init__(self):
        self.files = {}
        self.logs = {project: [] for project in PROJECTS}

    def add(self, path, text):
        path = f".gemini/{path}"
        assert path not in self.files, path
        self.files[path] = text.encode()


def build():
    """Gives every file of the tree: path below the home -> bytes."""
    tree = Tree()
    for project, prompts in LOST_PROMPTS.items():
        for n, (name, time, text) in enumerate(prompts):
            entry = {"sessionId": uuid4("session", name), "messageId": n, "type": "user"}
            tree.logs[project].append({**entry, "message": text, "timestamp": time})
    for story in sorted(SESSIONS, key=lambda s: s["start"]):
        Session(tree, story).play()
    old_session(tree)
    for project, info in PROJECTS.items():
        tree.add(f"tmp/{project}/.project_root", info["path"])
        if info.get("history"):
            tree.add(f"history/{project}/.project_root", info["path"])
        if info.get("logs"):
            tree.add(f"tmp/{project}/logs.json", pretty(tree.logs[project]))
    for project, commands in SHELL_HISTORY.items():
        tree.add(f"tmp/{project}/shell_history", "\n".join(commands))
    tree.add("projects.json", pretty({"projects": {info["path"]: project for project, info in PROJECTS.items()}}))
    for path, text in {**claude.build(), **codex.build()}.items():
        tree.files[path] = text.encode()
    return tree.files


def truth(files):
    """Calls and tokens by model, from the files: every message id that ever carried tokens, once."""
    calls = {}

    def visit(value):
        if isinstance(value, list):
            for item in value:
                visit(item)
        elif isinstance(value, dict):
            if isinstance(value.get("tokens"), dict):
                known = calls.setdefault(value["id"], (value["model"], value["tokens"]))
                assert known == (value["model"], value["tokens"])
            for item in value.values():
                visit(item)

    for path, data in files.items():
        if path.startswith(".gemini/") and "/chats/" in path:
            for line in [data] if path.endswith(".json") else data.split(b"\n"):
                try:
                    visit(json.loads(line))
                except ValueError:
                    pass  # the torn line, and the end of the file
    rows = {**claude.truth(), **codex.truth()}
    total = rows.setdefault("all", {"calls": 0})
    for row in [row for model, row in rows.items() if model != "all"]:
        for key, n in row.items():
            total[key] = total.get(key, 0) + n
    for model, t in calls.values():
        assert t["total"] == t["input"] + t["output"] + t["thoughts"] + t["tool"] and t["cached"] <= t["input"]
        for row in (rows.setdefault(model, {"calls": 0}), total):
            row["calls"] += 1
            for key, n in t.items():
                row[key] = row.get(key, 0) + n
    return dict(sorted(rows.items(), key=lambda item: (item[0] == "all", item[0])))


def main():
    home = Path(__file__).resolve().parent / "home"
    files = build()
    if "--truth" in sys.argv:
        for model, row in truth(files).items():
            print(model, *(f"{key}={n}" for key, n in row.items()))
        return 0
    found = {p.relative_to(home).as_posix(): p for p in home.rglob("*") if p.is_file()}
    if "--check" in sys.argv:
        on_disk = {path: file.read_bytes() for path, file in found.items()}
        wrong = sorted(path for path in {*files, *found} if files.get(path) != on_disk.get(path))
        for path in wrong:
            print(f"differs: {path}", file=sys.stderr)
        return 1 if wrong else 0
    for path, data in files.items():
        target = home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for path in found.keys() - files.keys():
        found[path].unlink()
    print(f"{len(files)} files, {sum(map(len, files.values())):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
