"""An S3 server on loopback, `s3s-fs` from crates.io, behind a proxy that fails every tenth request."""

import http.client
import itertools
import shutil
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KEY, SECRET = "AKIAEXAMPLEEXAMPLE00", "a secret of the test"


def program(tools):
    """The server's program, or None if it cannot be installed."""
    found = shutil.which("s3s-fs") or Path(tools) / "bin" / "s3s-fs"
    if Path(found).exists():
        return found
    install = ["cargo", "install", "--locked", "--debug", "--features", "binary", "--root", tools, "s3s-fs@0.14.1"]
    done = subprocess.run(install, capture_output=True)
    return found if done.returncode == 0 else None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Store:
    """A bucket `lake`; `failures` is the number of requests that failed so far."""

    def __init__(self, program, folder, every=10):
        self.folder, self.failures, self.every = Path(folder), 0, every
        (self.folder / "lake").mkdir(parents=True)
        self.behind = free_port()
        command = [program, "--host", "127.0.0.1", "--port", str(self.behind), "--access-key", KEY, "--secret-key", SECRET, self.folder]
        self.server = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait()
        self.proxy = Quiet(("127.0.0.1", 0), handler(self))
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        self.env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
                    "AWS_ENDPOINT": f"http://127.0.0.1:{self.proxy.server_port}"}

    def wait(self):
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.behind)).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the S3 server does not answer")

    def stop(self):
        self.proxy.shutdown()
        self.server.terminate()
        self.server.wait()


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Passes over clients that were killed."""


def handler(store):
    numbers = itertools.count(1)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            number = next(numbers)
            if number % store.every == 0:
                store.failures += 1
                # Half of the failures are an answer, and half are none. Some happen after the work was done.
                if number % (2 * store.every) == 0:
                    self.forward(body)
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                else:
                    self.reply(503, [], b"")
                return
            self.reply(*self.forward(body))

        def forward(self, body):
            upstream = http.client.HTTPConnection("127.0.0.1", store.behind)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            response = upstream.getresponse()
            return response.status, response.getheaders(), response.read()

        def reply(self, status, headers, body):
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

        def log_message(self, *_):
            pass

    return Proxy
