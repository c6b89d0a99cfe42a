#!/usr/bin/env python3
"""Makes table.json, the embedded price table, out of the collected price data.

    python3 crates/core/src/pricing/make.py ../shared/data/pricing.json

Numbers stay text from end to end: a price is copied digit by digit, never through a float. One row a
line, so that a change of price is one line in a diff. Left out, because no call of ours has such
tokens: cache writes, separate thought prices (see docs/pricing.md), context sizes.
"""

import json
import pathlib
import sys

ABOUT = (
    "Made by make.py; do not edit. USD per million tokens, standard service, text. A row holds from its day "
    "to the next row of the model; the first also before, the last also after."
)


def plain(number):
    """1.250 and 10.0 as 1.25 and 10."""
    return number.rstrip("0").rstrip(".") if "." in number and "e" not in number.lower() else number


def row(model, since, prices):
    out = [("model", json.dumps(model))]
    if since:
        out.append(("from", json.dumps(since)))
    out += [(key, plain(prices[key])) for key in ("input", "output", "cache_read") if prices.get(key) is not None]
    tiers = prices.get("tiers") or []
    if len(tiers) > 1:
        sys.exit(f"{model}: more than one tier, which a row cannot hold")
    for tier in tiers:
        out.append(("above", tier["above_input_tokens"]))
        for key in ("input", "output", "cache_read"):
            if tier.get(key) is not None:
                out.append(("tier_" + key, plain(tier[key])))
    return out


def rows(model, entry):
    """The dated rows; neighbours that differ only in what is left out become one."""
    kept = []
    for past in entry.get("history", []):
        new = row(model, past["observed_from"], past)
        if not kept or without_date(kept[-1]) != without_date(new):
            kept.append(new)
    now = row(model, None, entry)
    if not kept:
        return [now]
    if without_date(kept[-1]) != without_date(now):
        sys.exit(f"{model}: the last row of its history is not its price of today")
    # A single row needs no date: it holds for all time anyway.
    return kept if len(kept) > 1 else [now]


def without_date(fields):
    return [field for field in fields if field[0] != "from"]


def main():
    source = pathlib.Path(sys.argv[1])
    data = json.loads(source.read_text(), parse_float=str, parse_int=str)
    about = data["_about"]
    lines = [
        "  {" + ", ".join(f'"{key}": {value}' for key, value in fields) + "}"
        for model, entry in data["models"].items()
        for fields in rows(model, entry)
    ]
    head = {
        "about": ABOUT,
        "date": about["source"]["date"],
        "extracted": about["extracted"],
        "sources": [about["source"], about["cross_check"]],
        "aliases": about["aliases"],
        "routing": about["gemini_cli_model_ids"]["not_billable_names"],
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    pathlib.Path(__file__).with_name("table.json").write_text(text)
    print(f"{len(data['models'])} models, {len(lines)} rows")


main()
