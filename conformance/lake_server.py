"""A PostgreSQL server of one's own, in a scratch folder, on a port of the loopback interface."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path


def find_programs():
    """The folder of the newest server's programs, or none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return Path(program).parent if program else None


class Server:
    def __enter__(self):
        self.programs = find_programs()
        self.folder = tempfile.TemporaryDirectory(prefix="lake-postgres-", ignore_cleanup_errors=True)
        self.data = Path(self.folder.name) / "data"
        # The server refuses to run as root.
        self.user = None
        if os.getuid() == 0:
            self.user = "postgres"
            shutil.chown(self.folder.name, self.user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "owner", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8")
        self.control("start")
        subprocess.run([self.programs / "createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "owner", "lake"], check=True)
        return self

    def __exit__(self, *_):
        self.control("stop")
        self.folder.cleanup()

    def run(self, program, *args):
        command = [str(self.programs / program), *map(str, args)]
        log = Path(self.folder.name) / "output"
        done = subprocess.run(command, user=self.user, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stdout}{log.read_text() if log.exists() else ''}")

    def control(self, action):
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder.name}"
        log = Path(self.folder.name) / "log"
        arguments = ["-o", options] if action != "stop" else []
        command = [str(self.programs / "pg_ctl"), "-D", str(self.data), "-m", "fast", "-l", str(log), "-w", *arguments, action]
        if action == "start":
            command.remove("-m")
            command.remove("fast")
        done = subprocess.run(command, user=self.user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.returncode}\n{log.read_text()}")

    def restart(self):
        self.control("restart")

    def use_tls(self):
        """Lets the server speak TLS, and returns the certificate of the authority that signed its own."""
        folder = Path(self.folder.name)
        (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
        for command in (
            [*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.pem"],
            [*new, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
            ["openssl", "x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
             "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem"],
        ):
            subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
        (folder / "server.key").chmod(0o600)
        if self.user:
            shutil.chown(folder / "server.key", self.user)
        for name, value in (("ssl_cert_file", folder / "server.pem"), ("ssl_key_file", folder / "server.key"), ("ssl", "on")):
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.restart()
        return folder / "authority.pem"

    def url(self, user):
        return f"postgres://{user}@127.0.0.1:{self.port}/lake"

    def try_sql(self, sql, user="owner"):
        """Runs statements and returns what psql prints, errors included."""
        command = ["psql", "-X", "-q", "-A", "-t", "-d", self.url(user), "-c", sql]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout

    def sql(self, sql, user="owner"):
        out = self.try_sql(sql, user)
        if "ERROR" in out or "FATAL" in out:
            sys.exit(f"{sql}: {out}")
        return out

    def lines(self, sql, user="owner"):
        return self.sql(sql, user).splitlines()
