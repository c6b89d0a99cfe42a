#!/usr/bin/env python3
"""Measures the web app: CPU of each page, a long transcript, search as you type, load, event streams, memory.

    bench/web.py PROGRAM HOME [--seconds 60]

HOME is a home with sessions, such as `bench/homes.py` makes. The archive is made below a temporary folder. CPU is that
of the server process, from /proc, so this runs on Linux only."""

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

TICK = os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, program, home, scratch):
        env = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(scratch / "data"), "XDG_CONFIG_HOME": str(scratch / "config")}
        start = time.monotonic()
        self.process = subprocess.Popen(
            [program, "serve", "--no-open", "--port", "0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        url = self.process.stdout.readline().strip()
        self.started = time.monotonic() - start
        self.host, self.token = url.removeprefix("http://").split("/?token=")

    def connect(self):
        host, port = self.host.split(":")
        return http.client.HTTPConnection(host, int(port), timeout=60)

    def get(self, path, connection=None):
        connection = connection or self.connect()
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, body

    def cpu(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self, name="VmRSS"):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1000
        return 0

    def wait(self):
        """Waits until the files have been read and indexed."""
        while b"reading files" in self.get("/")[1]:
            time.sleep(0.5)
        idle, last = 0, self.cpu()
        while idle < 3:
            time.sleep(1)
            now = self.cpu()
            idle, last = (idle + 1 if now - last < 0.02 else 0), now


def p95(values):
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def pages(server, session):
    print(f"{'page':40} {'CPU ms':>8} {'ms':>8} {'kB':>8}")
    for path in [
        "/", "/?period=all", "/sessions", "/sessions?period=all&sort=cost", "/search?q=error", "/usage/daily", "/usage/model?period=all",
        "/usage/session?period=all", "/tools", "/commands", "/files", "/projects", "/insights", "/health", session, f"{session}?view=focused",
    ]:
        server.get(path)
        rounds = 5
        before, start = server.cpu(), time.monotonic()
        for _ in range(rounds):
            status, body = server.get(path)
        took = (time.monotonic() - start) / rounds
        cpu = (server.cpu() - before) / rounds
        note = "" if status == 200 else f"  {status}"
        print(f"{path[:40]:40} {cpu * 1000:8.0f} {took * 1000:8.0f} {len(body) / 1000:8.0f}{note}")


def typing(server):
    times = []
    for words in ["parser error", "failed to compile", "database", "the test"]:
        for end in range(2, len(words) + 1):
            start = time.monotonic()
            server.get(f"/search?part=typing&q={quote(words[:end])}")
            times.append((time.monotonic() - start) * 1000)
    print(f"search as you type: median {statistics.median(times):.0f} ms, p95 {p95(times):.0f} ms, {len(times)} keys")


def load(server, paths, seconds, home):
    times, errors = {}, []
    stop = time.monotonic() + seconds

    def reader():
        connection = server.connect()
        time.sleep(random.random() * 2)
        while time.monotonic() < stop:
            path = random.choice(paths)
            start = time.monotonic()
            try:
                status, _ = server.get(path, connection)
                if status != 200:
                    errors.append(f"{path}: {status}")
            except OSError as error:
                errors.append(f"{path}: {error}")
                connection = server.connect()
            times.setdefault(path, []).append((time.monotonic() - start) * 1000)
            time.sleep(max(0.0, 2 - (time.monotonic() - start)))

    def writer():
        folder = home / ".claude/projects/-bench-web"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "beefbeef-0000-4000-8000-00000000beef.jsonl"
        n = 0
        while time.monotonic() < stop:
            record = {
                "type": "user", "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "beefbeef-0000-4000-8000-00000000beef",
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "cwd": "/bench/web", "version": "2.0.0",
                "message": {"role": "user", "content": f"prompt {n}"},
            }
            with file.open("a") as out:
                out.write(json.dumps(record) + "\n")
            n += 1
            time.sleep(1)
        file.unlink()

    threads = [threading.Thread(target=reader) for _ in range(50)] + [threading.Thread(target=writer)]
    before = server.cpu()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"load, 50 readers for {seconds} s while a session is written: {len(errors)} errors, {server.cpu() - before:.1f} s CPU")
    for path, values in times.items():
        print(f"  {path[:40]:40} {len(values):5} requests, median {statistics.median(values):.0f} ms, p95 {p95(values):.0f} ms")
    for error in errors[:5]:
        print(f"  {error}")


def streams(server):
    host, port = server.host.split(":")
    open_streams = []
    for _ in range(200):
        stream = socket.create_connection((host, int(port)))
        stream.sendall(f"GET /events HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        open_streams.append(stream)
    ok = sum(b"200 OK" in stream.recv(4096) for stream in open_streams)
    start = time.monotonic()
    server.get("/")
    print(f"event streams: {ok} of 200 open, then a page in {(time.monotonic() - start) * 1000:.0f} ms")
    for stream in open_streams:
        stream.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("home", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        server = Server(args.program, args.home, Path(scratch))
        try:
            print(f"address printed after {server.started * 1000:.0f} ms")
            server.wait()
            print(f"memory after reading: {server.memory():.0f} MB (peak {server.memory('VmHWM'):.0f} MB)")
            sessions = json.loads(server.get("/api/v1/sessions")[1])["sessions"]
            longest = max(sessions, key=lambda session: session["messages_full"])
            session = f"/sessions/{longest['agent']}/{quote(longest['id'], safe='')}"
            print(f"{len(sessions)} sessions, the longest has {longest['messages_full']} messages")
            base = server.memory()
            pages(server, session)
            typing(server)
            load(server, ["/", "/search?q=error", "/sessions", session], args.seconds, args.home)
            streams(server)
            print(f"memory: {base:.0f} MB before, {server.memory():.0f} MB after (peak {server.memory('VmHWM'):.0f} MB)")
        finally:
            server.process.terminate()
            server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
