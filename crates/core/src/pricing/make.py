#!/usr/bin/env python3
"""Writes table.json, the embedded price table, from collected price data.

    python3 crates/core/src/pricing/make.py ../shared/data/pricing.json ../shared/data/prices-2026-11.json

The first file has the history up to its day, in USD per million tokens. Each further file has the prices of
one later day in LiteLLM's fields, in USD per token; where they differ from the last row of a model, a row
is added that holds from that day on. To refresh the table, add a file and run this again.

Numbers stay decimal from end to end: a price never goes through a float. One row per line, so that a
change of price is one line in a diff. Left out: separate thought prices (see docs/pricing.md), and prices of
other classes of service where no agent records the class.

Claude's cache writes follow the rule of Anthropic's price list (5 minutes 1.25 times, an hour twice the price of
input) where LiteLLM has no price or one that contradicts the rule. `extra.json` has what neither file contains,
each with its source.
"""

import json
import pathlib
import re
import sys
from decimal import Decimal

ABOUT = (
    "Written by make.py; do not edit. USD per million tokens, text; web_search per 1,000 searches. A row holds from its "
    "day to the next row of the model and service; the first also before, the last also after."
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
# Anthropic's fee for 1,000 searches, whatever the model.
WEB_SEARCH = 10
# The id of the source of the history.
FIRST = "litellm-2026-08-05"
# The endings of LiteLLM's fields for other classes of service.
CLASSES = {"flex": "_flex", "priority": "_priority", "ultrafast": "_ultrafast"}


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


def litellm_row(name, entry, ending=""):
    """The prices of an entry in LiteLLM's fields with an ending."""

    def prices(prefix, suffix):
        found = {ours: entry.get(field + suffix + ending) for ours, _, field in PRICES}
        return {prefix + ours: plain(Decimal(price) * MILLION) for ours, price in found.items() if price is not None}

    row = prices("", "")
    tier = rf"(?:input|output)_cost_per_token_above_(\d+)k_tokens{ending}"
    limits = {m[1] for key in entry if (m := re.fullmatch(tier, key))}
    if len(limits) > 1:
        sys.exit(f"{name}: more than one tier, which a row cannot hold")
    for limit in limits:
        # What the tier leaves out costs what it costs below.
        row |= {"above": limit + "000", "tier_input": row["input"], "tier_output": row["output"]}
        row |= prices("tier_", f"_above_{limit}k_tokens")
    return without_empty_tier(row)


def times(row, factor):
    """The row with every price multiplied."""
    return {key: price if key == "above" else plain(Decimal(price) * factor) for key, price in row.items()}


def with_cache_rule(model, row):
    """The row with the prices of cache writes that Anthropic's rule gives."""
    if not model.startswith("claude") or "cache_write_5m" not in row:
        return row
    rules = {"cache_write_5m": Decimal("1.25"), "cache_write_1h": Decimal(2)}
    for prefix in ["", "tier_"] if "above" in row else [""]:
        row |= {prefix + key: plain(Decimal(row[prefix + "input"]) * factor) for key, factor in rules.items()}
    return row


def first_rows(data):
    """Dated rows by model, out of the first file: the day, the prices, the source."""
    rows = {}
    for model, entry in data["models"].items():
        kept = []
        for past in entry.get("history", []):
            new = with_cache_rule(model, history_row(past))
            if not kept or kept[-1][1] != new:
                kept.append((past["observed_from"], new, FIRST))
        now = with_cache_rule(model, history_row(entry))
        if kept and kept[-1][1] != now:
            sys.exit(f"{model}: the last row of its history is not its price of today")
        rows[model] = kept or [(None, now, FIRST)]
    return rows


def add(rows, special, data):
    """Adds the prices of a later day."""
    day = data["_about"]["fetched"]
    found, entries = {}, {}
    # `gemini/X` is the Gemini API; a bare `X` is often another service.
    for name, entry in sorted(data["models"].items(), key=lambda item: not item[0].startswith("gemini/")):
        model = name.removeprefix("gemini/")
        if model not in found:
            found[model], entries[model] = with_cache_rule(model, litellm_row(name, entry)), entry
    for model, new in found.items():
        # Music and experiments have zeros there, which is not a price; Gemma is free.
        if new["input"] == new["output"] == "0" and not model.startswith("gemma"):
            continue
        old = rows.setdefault(model, [])
        if not old:
            old.append((None, new, source(data)["id"]))
        elif old[-1][1] != new:
            old.append((day, new, source(data)["id"]))
        special[model] = special_prices(model, new, entries[model], source(data)["id"])


def special_prices(model, standard, entry, origin):
    """What an entry has beyond the standard prices: other classes of service, and factors."""
    factors = entry.get("provider_specific_entry") or {}
    found = {"classes": {}}
    if entry["litellm_provider"] in ("openai", "anthropic"):
        for name, ending in CLASSES.items():
            row = litellm_row(model, entry, ending)
            if "input" in row and "output" in row:
                found["classes"][name] = (row, origin)
    if "fast" in factors:
        found["classes"]["fast"] = (times(standard, Decimal(factors["fast"])), origin)
    if "us" in factors:
        found["us_percent"] = plain(Decimal(factors["us"]) * 100)
    return found


def class_rows(dated, prices, origin):
    """The dated rows of a class of service. Its prices are known for the last standard row; earlier ones keep
    their ratio to the standard prices."""
    last = dated[-1][1]

    def ratio(row):
        same = {key: price for key, price in prices.items() if key == "above" or (key in row and key in last)}
        return {k: v if k == "above" else plain(Decimal(v) * Decimal(row[k]) / Decimal(last[k])) for k, v in same.items()}

    rows = [(day, prices if row is last else ratio(row), origin) for day, row, _ in dated]
    return [row for at, row in enumerate(rows) if at == 0 or rows[at - 1][1] != row[1]]


def source(data):
    """Id, name, revision and day of a later file."""
    about = data["_about"]
    name, version = re.match(r"(\S+) (\S+)", about["source"]).groups()
    full = f"{name} (PyPI) model_prices_and_context_window.json"
    return {"id": f"{name}-{version}", "name": full, "revision": version, "date": about["fetched"]}


def line(model, service, since, prices, special, origin):
    fields = [f'"model": {json.dumps(model)}']
    fields += [f'"service": "{service}"'] if service != "standard" else []
    fields += [f'"from": "{since}"'] if since else []
    fields += [f'"{key}": {price}' for key, price in prices.items()]
    fields += [f'"us_percent": {special["us_percent"]}'] if "us_percent" in special else []
    fields += [f'"web_search": {WEB_SEARCH}'] if model.startswith("claude") else []
    return "  {" + ", ".join([*fields, f'"source": "{origin}"']) + "}"


def lines_of(model, dated, special):
    """All lines of a model."""
    classes = {"standard": dated} | {name: class_rows(dated, *row) for name, row in special.get("classes", {}).items()}
    for service, rows in classes.items():
        for since, prices, origin in rows:
            # A single row needs no date: it holds for all time anyway.
            yield line(model, service, since if len(rows) > 1 else None, prices, special, origin)


def add_extra(rows, special, extra):
    """Adds what neither file has: models, prices of the fast class, days on which a price changed."""
    for model, prices in extra["models"].items():
        prices = with_cache_rule(model, {key: plain(price) for key, price in prices.items()})
        rows[model] = [(None, prices, extra["program"])]
        special[model] = {"classes": {}, "us_percent": "110"}
    for model, factor in extra["fast"].items():
        special[model]["classes"]["fast"] = (times(rows[model][-1][1], Decimal(factor)), extra["program"])
    for change in extra["changes"]:
        for model in change["models"]:
            at = next(at for at, row in enumerate(rows[model]) if row[0] == change["listed"])
            _, prices, _ = rows[model][at]
            rows[model][at] = (change["from"], prices, change["source"])


def main():
    first, *later = [json.loads(pathlib.Path(path).read_text(), parse_float=str, parse_int=str) for path in sys.argv[1:]]
    here = pathlib.Path(__file__)
    extra = json.loads(here.with_name("extra.json").read_text(), parse_float=str, parse_int=str)
    about = first["_about"]
    rows, special = first_rows(first), {}
    for data in later:
        add(rows, special, data)
    add_extra(rows, special, extra)
    lines = [line for model, dated in sorted(rows.items()) for line in lines_of(model, dated, special.get(model, {}))]
    sources = [source(data) for data in reversed(later)]
    sources += [{"id": FIRST} | about["source"], {"id": "models.dev"} | about["cross_check"], *extra["sources"]]
    head = {
        "about": ABOUT,
        "date": sources[0]["date"],
        "sources": sources,
        "aliases": about["aliases"],
        "routing": about["gemini_cli_model_ids"]["not_billable_names"],
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    here.with_name("table.json").write_text(text)
    print(f"{len(rows)} models, {len(lines)} rows")


main()
