"""The frame around the cases of a suite: arguments, workers, the report."""

import argparse
import multiprocessing
import shutil
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from home import Home, Maker


@dataclass
class Case:
    """One numbered case of a suite, with a folder of its own. Its number and the seed decide what happens in it."""

    suite: str
    number: int
    args: argparse.Namespace
    folder: Path
    passed: int = 0
    failures: list = field(default_factory=list)

    def __post_init__(self):
        self.maker = Maker(f"{self.suite} {self.args.seed} {self.number}")
        self.rng = self.maker.rng

    def home(self, name="home", machine=None):
        return Home(self.args.program, self.folder / name, machine)

    def check(self, label, problems):
        """Counts one check; `problems` are the reasons why it failed."""
        if not problems:
            self.passed += 1
            return
        self.failures.append((label, problems))
        if self.args.keep_failures:
            kept = self.args.keep_failures / f"{self.suite}-{self.args.seed}-{self.number}-{len(self.failures)}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.folder, kept, symlinks=True)


def arguments(description, count):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True, type=Path, help="the backstory to attack")
    parser.add_argument("--count", type=int, default=count, help=f"number of cases [default: {count}]")
    parser.add_argument("--seed", type=int, default=1, help="decides what is made up [default: 1]")
    parser.add_argument("--only", type=int, metavar="N", help="only the case with this number")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once [default: 2]")
    parser.add_argument("--keep-failures", type=Path, metavar="DIR", help="copy folders of failed cases here")
    return parser


def run(run_case, args, total=None):
    """Runs the cases, prints failures and sums, and ends the process with 1 if any check failed."""
    args.program = args.program.resolve(strict=True)
    suite = Path(sys.argv[0]).stem
    numbers = range(args.count if total is None else total) if args.only is None else [args.only]
    passed = failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the scratch folder goes
    with tempfile.TemporaryDirectory(prefix=f"torture-{suite}-") as scratch:
        jobs = [(run_case, suite, number, args, Path(scratch).resolve()) for number in numbers]
        with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
            for number, good, failures in pool.imap(one, jobs):
                passed += good
                failed += len(failures)
                for label, problems in failures:
                    where = f"--seed {args.seed} --only {number}"
                    more = f" (and {len(problems) - 4} more)" if len(problems) > 4 else ""
                    print(
                        printable(f"FAILED {suite} {where}: {label}: {'; '.join(problems[:4])}{more}"), flush=True
                    )
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def printable(text):
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def one(job):
    run_case, suite, number, args, scratch = job
    folder = scratch / str(number)
    folder.mkdir()
    case = Case(suite, number, args, folder)
    try:
        run_case(case)
    except Exception as error:  # a suite that breaks is a failure too, never a pass
        where = traceback.extract_tb(error.__traceback__)[-1]
        case.check(
            "the suite broke", [f"{type(error).__name__}: {error} at {Path(where.filename).name}:{where.lineno}"]
        )
    shutil.rmtree(folder, ignore_errors=True)
    return number, case.passed, case.failures
