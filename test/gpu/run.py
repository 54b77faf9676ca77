# SPDX-License-Identifier: Apache-2.0
"""The second half of gpu_check: runs the checks of a pack on the GPU machine.

Sections follow each other, each with a share of the time; checks of one section
run side by side where they measure no speed. What fails stops nothing else, and
is shown with the command to repeat it. What time did not allow is `not run`.
Last come one table and a JSON file. Exits with 0 only if nothing failed, with 1
if something did, with 130 after Ctrl-C. Standard library only.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sys
import tarfile
import time
import traceback
from typing import Callable

import cases
from context import Context
from environment_checks import environment
from function_checks import functions
from memory_checks import memory
from processes import Commands
from results import (BELOW, FAILED, NOT_RUN, CheckFailed, NotRun, Result,
                     counts, exit_status, last_lines, print_table, write_json)
from sanitizer_checks import sanitizer
from speed_checks import bandwidth, speed
from training_checks import graph, parity, ranks, repeat


@dataclasses.dataclass(frozen=True)
class Section:
    checks: Callable
    seconds: float  # that it may take at most, of LIMIT_SECONDS
    parallel: bool

    @property
    def name(self):
        return self.checks.__name__


LIMIT_SECONDS = 540
# Of a section; commands and output of the others are in the JSON file.
SHOWN_FAILURES = 5
SECTIONS = [Section(environment, 60, False), Section(parity, 150, True),
            Section(repeat, 50, True), Section(ranks, 60, True),
            Section(graph, 40, True), Section(functions, 40, False),
            Section(sanitizer, 90, True),
            Section(memory, 60, False), Section(bandwidth, 60, False),
            Section(speed, 400, False)]


def unpack(pack):
    """Unpacks the parts beside them; returns the folder."""
    parts = json.loads((pack / "parts.json").read_text())
    folder = pack / "unpacked"
    stamp = folder / "parts.json"
    if stamp.exists() and json.loads(stamp.read_text()) == parts:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for name, digest in parts.items():
        content = (pack / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            sys.exit(f"run: {pack / name} is damaged: its SHA-256 is not that "
                     f"of parts.json")
        with tarfile.open(pack / name) as archive:
            # Python before 3.11.4 has no filters; the digest vouches then.
            archive.extractall(folder, **(
                {"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    stamp.write_text(json.dumps(parts))
    return folder


class Checks:
    """Runs the checks of the sections, and keeps their results."""

    def __init__(self, context, limit_seconds, jobs):
        self.context, self.jobs = context, jobs
        self.limit_seconds = limit_seconds
        self.end = time.monotonic() + limit_seconds
        self.results = []

    def run(self, section):
        started = time.monotonic()
        share = section.seconds / LIMIT_SECONDS * self.limit_seconds
        self.context.commands.deadline = min(self.end, started + share)
        checks = section.checks(self.context)
        workers = self.jobs if section.parallel else 1
        with concurrent.futures.ThreadPoolExecutor(workers) as executor:
            futures = {executor.submit(self.results_of, section, check): check
                       for check in checks}
            try:
                for future in concurrent.futures.as_completed(futures):
                    for result in future.result():
                        self.add(result, not section.parallel
                                 and result.state != NOT_RUN)
            except KeyboardInterrupt:
                self.context.commands.stop()
                executor.shutdown(cancel_futures=True)
                self.keep(section, futures)
                raise
        self.sum_up(section, started)

    def keep(self, section, futures):
        """After Ctrl-C: what was done stays, the rest was not run."""
        known = {id(result) for result in self.results}
        for future, check in futures.items():
            found = ([Result(section.name, check.name, check.group, NOT_RUN,
                             "interrupted")]
                     if future.cancelled() else future.result())
            self.results += [each for each in found if id(each) not in known]

    def add(self, result, shown):
        """Keeps a result; prints it if it is `shown` or wrong, or was ended
        with output."""
        self.results.append(result)
        ended = result.state == NOT_RUN and result.output
        if shown or ended or result.state in (FAILED, BELOW):
            print(f"{result.state:12} {result.section}: {result.name} "
                  f"({result.seconds:.1f} s) {result.text}".rstrip(),
                  flush=True)
        failures = sum(each.state == FAILED and each.section == result.section
                       for each in self.results)
        if ended or (result.state == FAILED and failures <= SHOWN_FAILURES):
            print(indented(f"$ {result.command}\n{result.output}"), flush=True)

    def sum_up(self, section, started):
        found = [each for each in self.results if each.section == section.name]
        print(f"{section.name}: {counts(found)} in "
              f"{time.monotonic() - started:.0f} s", flush=True)

    def results_of(self, section, check):
        """The Results of one check, whatever it does."""
        started = time.monotonic()

        def result(state, text, name=check.name, **more):
            return Result(section.name, name, check.group, state, text,
                          seconds=time.monotonic() - started, **more)

        try:
            unusable = self.context.facts.get("unusable")
            if unusable and section.checks is not environment:
                raise NotRun(unusable)
            if time.monotonic() > self.context.commands.deadline:
                raise NotRun("out of time")
            outcomes = check.function()
        except NotRun as error:
            return [result(NOT_RUN, str(error), command=error.command,
                           output=error.output)]
        except CheckFailed as error:
            return [result(FAILED, str(error), command=error.command,
                           output=error.output)]
        except Exception as error:  # a mistake of the check: say so, go on
            return [result(FAILED, f"{type(error).__name__}: {error}",
                           output=last_lines(traceback.format_exc()))]
        several = outcomes if isinstance(outcomes, list) else [outcomes]
        return [result(each.state, each.text,
                       f"{check.name} {each.name}".strip(), share=each.share,
                       numbers=each.numbers, command=each.command)
                for each in several]


def indented(text):
    return "\n".join("    " + line for line in text.splitlines() if line)


def selected(names):
    """The sections of `--only`; all for None. The environment always comes
    first."""
    if names is None:
        return SECTIONS
    wanted = set(names.split(","))
    unknown = wanted - {section.name for section in SECTIONS}
    if unknown:
        sys.exit(f"run: no section '{sorted(unknown)[0]}'; there are "
                 f"{', '.join(section.name for section in SECTIONS)}")
    return [section for section in SECTIONS
            if section.name in wanted or section.checks is environment]


def options_of(arguments):
    parser = argparse.ArgumentParser(
        prog="run", description=__doc__.partition("\n")[0],
        epilog="sections: " + ", ".join(each.name for each in SECTIONS))
    parser.add_argument("--device", default="auto",
                        choices=["auto", "emulated"])
    parser.add_argument("--only", metavar="SECTION,...",
                        help="run only these sections")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="default: results.json beside this program")
    parser.add_argument("--limit-seconds", type=float, default=LIMIT_SECONDS,
                        help=f"for all checks together (default "
                             f"{LIMIT_SECONDS})")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count()),
                        help="non-timing checks to run in parallel")
    return parser.parse_args(arguments)


def interrupt(*_):
    raise KeyboardInterrupt


def main(pack, arguments=None):
    started = time.time()
    options = options_of(arguments)
    sections = selected(options.only)
    signal.signal(signal.SIGTERM, interrupt)
    commands = Commands(os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    context = Context(unpack(pack), options.device, commands,
                      cases.read_manifest(pack / "manifest.json"))
    needs_benchmarks = not context.emulated and any(
        section.checks in (memory, bandwidth, speed) for section in sections)
    checks, interrupted = Checks(context, options.limit_seconds,
                                 options.jobs), False
    try:
        for section in sections:
            checks.run(section)
            if needs_benchmarks and not context.facts.get("unusable"):
                context.prepare()
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted", flush=True)
    finally:
        commands.stop()
        context.close()
    if not context.benchmarks:
        checks.results.append(Result(
            "speed", "benchmarks", "benchmarks", NOT_RUN,
            "the pack was made without --bench-models"))
    path = options.json or pack / "results.json"
    write_json(path, checks.results, {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": time.time() - started, "device": options.device,
        "interrupted": interrupted})
    print()
    print_table(checks.results)
    return exit_status(checks.results, interrupted)
