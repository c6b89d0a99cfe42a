#!/usr/bin/env python3
"""Measures the browser on an archive, in a pseudo-terminal of 120 by 40.

    bench/browse.py BACKSTORY HOME    HOME has agents' files and an archive that is up to date (`backstory sync`)

Prints the CPU time until the first screen is complete, the time from a key to its echo, and the time from the last
letter of a search to its hits. CPU times are those of all threads; the machine's other work does not count.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import sys
import termios
import time
from pathlib import Path

BARS = {"first screen, CPU ms": 100, "key to echo, ms, median": 16, "hits, ms, median": 100}
# The end of a frame: one echoes the key, the next one has the hits.
FRAME = b"\x1b[?2026l"
WORDS = ("parser", "retry", "config", "schema", "timeout")


class Browser:
    def __init__(self, program, variables):
        environment = {"TERM": "xterm-256color", "TZ": "UTC", "LANG": "C.UTF-8", "PATH": os.environ["PATH"], **variables}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(program, [program, "browse", "--no-mouse"], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def cpu_ms(self):
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def until(self, is_enough, patience=20):
        """Reads the screen until enough of it has been written."""
        seen, end = b"", time.monotonic() + patience
        while not is_enough(seen):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                sys.exit(f"the browser does not answer; the last it wrote: {seen[-300:]!r}")
            seen += os.read(self.terminal, 1 << 16)
        return seen

    def rest(self):
        """Waits until nothing more is drawn."""
        while select.select([self.terminal], [], [], 0.5)[0]:
            os.read(self.terminal, 1 << 16)

    def press(self, keys, is_enough):
        began = time.monotonic()
        os.write(self.terminal, keys)
        self.until(is_enough)
        return (time.monotonic() - began) * 1e3


def measure(program, variables):
    """Returns the figures of one run with these environment variables."""
    browser = Browser(program, variables)
    # The footer is drawn last.
    browser.until(lambda seen: b"help" in seen)
    figures = {"first screen, CPU ms": browser.cpu_ms()}
    browser.rest()
    echoes = []
    for letter in b"parsertimeout":
        echoes.append(browser.press(bytes([letter]), lambda seen: bytes([letter]) in seen))
        time.sleep(0.05)
    echoes += [browser.press(b"\x1b[B", lambda seen: len(seen) > 0) for _ in range(10)]
    figures["key to echo, ms, median"] = statistics.median(echoes)
    figures["key to echo, ms, longest"] = max(echoes)
    browser.rest()
    os.write(browser.terminal, b"\x1b")
    time.sleep(0.3)
    os.write(browser.terminal, b"\t2")
    browser.rest()
    hits = []
    for word in WORDS:
        os.write(browser.terminal, b"\x15" + word[:-1].encode())
        browser.rest()
        hits.append(browser.press(word[-1:].encode(), lambda seen: seen.count(FRAME) >= 2))
        browser.rest()
    figures["hits, ms, median"] = statistics.median(hits)
    figures["hits, ms, longest"] = max(hits)
    browser.rest()
    before = browser.cpu_ms()
    time.sleep(5)
    figures["at rest, CPU ms per second"] = (browser.cpu_ms() - before) / 5
    os.write(browser.terminal, b"\x03")
    os.waitpid(browser.pid, 0)
    os.close(browser.terminal)
    return figures


def main():
    figures = measure(os.path.abspath(sys.argv[1]), {"HOME": sys.argv[2]})
    for name, value in figures.items():
        bar = BARS.get(name)
        verdict = "" if bar is None else f"  (bar {bar}: {'met' if value <= bar else 'MISSED'})"
        print(f"{name:30} {value:8.1f}{verdict}")


if __name__ == "__main__":
    main()
