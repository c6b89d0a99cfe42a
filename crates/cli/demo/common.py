"""What the recorders of all three agents share: made-up ids, times, and JSON."""

import hashlib
import json
from datetime import datetime, timedelta, timezone

SEED = "backstory demo 1"
HOME = "/home/sam"


def digest(*parts):
    return hashlib.sha256("\x1f".join((SEED, *map(str, parts))).encode()).digest()


def uuid4(*parts):
    raw = bytearray(digest("uuid", *parts)[:16])
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def number(low, high, *parts):
    return low + int.from_bytes(digest("number", *parts)[:6], "big") % (high - low)


def parse_time(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


def iso(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def epoch_ms(time):
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pretty(value):
    return json.dumps(value, ensure_ascii=False, indent=2)


def copy(value):
    return json.loads(json.dumps(value))


def uuid7(time, *parts):
    """A UUID that begins with its time, as Codex CLI makes them."""
    raw = bytearray(epoch_ms(time).to_bytes(6, "big") + digest("uuid7", *parts)[:10])
    raw[6] = raw[6] & 0x0F | 0x70
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def token(length, *parts):
    """Letters and digits, as in the ids of a vendor."""
    return digest("token", *parts).hex()[:length]


class Clock:
    """The time of a session: some seconds pass, and a few odd milliseconds."""

    def __init__(self, start, name):
        self.now, self.name, self.ticks = parse_time(start), name, 0

    def tick(self, seconds=0):
        self.ticks += 1
        self.now += timedelta(seconds=seconds, milliseconds=number(7, 640, self.name, "ms", self.ticks))
        return iso(self.now)
