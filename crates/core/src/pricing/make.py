#!/usr/bin/env python3
"""Writes table.json, the embedded price table, from collected price data.

    python3 crates/core/src/pricing/make.py ../shared/data/pricing.json ../shared/data/prices-2026-11.json

The first file has the history up to its day, in USD per million tokens. Each further file has the prices of
one later day in LiteLLM's fields, in USD per token; where they differ from the last row of a model, a row
is added that holds from that day on. To refresh the table, add a file and run this again.

Numbers stay decimal from end to end: a price never goes through a float. One row per line, so that a
change of price is one line in a diff. Left out, because a row has no room for them: separate thought prices
(see docs/pricing.md), flex, priority and batch prices, regional factors, fees beside tokens.
"""

import json
import pathlib
import re
import sys
from decimal import Decimal

ABOUT = (
    "Written by make.py; do not edit. USD per million tokens, standard service, text. A row holds from its day "
    "to the next row of the model; the first also before, the last also after."
)
# Our key, the key in the history, the field of LiteLLM.
PRICES = [
    ("input", "input", "input_cost_per_token"),
    ("output", "output", "output_cost_per_token"),
    ("cache_read", "cache_read", "cache_read_input_token_cost"),
    ("cache_write_5m", "cache_write", "cache_creation_input_token_cost"),
    ("cache_write_1h", "cache_write_1h", "cache_creation_input_token_cost_above_1hr"),
]
MILLION = Decimal(10) ** 6


def plain(number):
    """1.250 and 10.0 as 1.25 and 10."""
    text = format(Decimal(number).quantize(Decimal(10) ** -6), "f")
    return text.rstrip("0").rstrip(".")


def without_empty_tier(row):
    """The row without a tier that changes nothing."""
    tier = {key: price for key, price in row.items() if key.startswith("tier_")}
    if any(row.get(key.removeprefix("tier_")) != price for key, price in tier.items()):
        return row
    return {key: price for key, price in row.items() if key != "above" and key not in tier}


def history_row(entry):
    """The prices of an entry of the first file."""
    row = {ours: plain(entry[key]) for ours, key, _ in PRICES if entry.get(key) is not None}
    tiers = entry.get("tiers") or []
    if len(tiers) > 1:
        sys.exit(f"{entry}: more than one tier, which a row cannot hold")
    for tier in tiers:
        row["above"] = tier["above_input_tokens"]
        row |= {"tier_" + ours: plain(tier[key]) for ours, key, _ in PRICES if tier.get(key) is not None}
    return without_empty_tier(row)


def litellm_row(name, entry):
    """The prices of an entry in LiteLLM's fields."""

    def prices(prefix, suffix):
        found = {ours: entry.get(field + suffix) for ours, _, field in PRICES}
        return {prefix + ours: plain(Decimal(price) * MILLION) for ours, price in found.items() if price is not None}

    row = prices("", "")
    limits = {m[1] for key in entry if (m := re.fullmatch(r"(?:input|output)_cost_per_token_above_(\d+)k_tokens", key))}
    if len(limits) > 1:
        sys.exit(f"{name}: more than one tier, which a row cannot hold")
    for limit in limits:
        # What the tier leaves out costs what it costs below.
        row |= {"above": limit + "000", "tier_input": row["input"], "tier_output": row["output"]}
        row |= prices("tier_", f"_above_{limit}k_tokens")
    return without_empty_tier(row)


def first_rows(data):
    """Dated rows by model, out of the first file."""
    rows = {}
    for model, entry in data["models"].items():
        kept = []
        for past in entry.get("history", []):
            new = history_row(past)
            if not kept or kept[-1][1] != new:
                kept.append((past["observed_from"], new))
        now = history_row(entry)
        if kept and kept[-1][1] != now:
            sys.exit(f"{model}: the last row of its history is not its price of today")
        rows[model] = kept or [(None, now)]
    return rows


def add(rows, data):
    """Adds the prices of a later day."""
    day = data["_about"]["fetched"]
    found = {}
    # `gemini/X` is the Gemini API; a bare `X` is often another service.
    for name, entry in sorted(data["models"].items(), key=lambda item: not item[0].startswith("gemini/")):
        found.setdefault(name.removeprefix("gemini/"), litellm_row(name, entry))
    for model, new in found.items():
        # Music and experiments have zeros there, which is not a price; Gemma is free.
        if new["input"] == new["output"] == "0" and not model.startswith("gemma"):
            continue
        old = rows.setdefault(model, [])
        if not old:
            old.append((None, new))
        elif old[-1][1] != new:
            old.append((day, new))


def source(data):
    """Name, revision and day of a later file."""
    about = data["_about"]
    name, version = re.match(r"(\S+) (\S+)", about["source"]).groups()
    return {"name": f"{name} (PyPI) model_prices_and_context_window.json", "revision": version, "date": about["fetched"]}


def line(model, since, prices):
    fields = [f'"model": {json.dumps(model)}'] + ([f'"from": "{since}"'] if since else [])
    return "  {" + ", ".join(fields + [f'"{key}": {price}' for key, price in prices.items()]) + "}"


def main():
    first, *later = [json.loads(pathlib.Path(path).read_text(), parse_float=str, parse_int=str) for path in sys.argv[1:]]
    about = first["_about"]
    rows = first_rows(first)
    for data in later:
        add(rows, data)
    # A single row needs no date: it holds for all time anyway.
    lines = [
        line(model, since if len(dated) > 1 else None, prices)
        for model, dated in sorted(rows.items())
        for since, prices in dated
    ]
    sources = [source(data) for data in reversed(later)] + [about["source"], about["cross_check"]]
    head = {
        "about": ABOUT,
        "date": sources[0]["date"],
        "sources": sources,
        "aliases": about["aliases"],
        "routing": about["gemini_cli_model_ids"]["not_billable_names"],
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    pathlib.Path(__file__).with_name("table.json").write_text(text)
    print(f"{len(rows)} models, {len(lines)} rows")


main()
