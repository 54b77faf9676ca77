# SPDX-License-Identifier: Apache-2.0
"""Runs commands with limits of time, several at once, and ends all of them.

Every command is a process group of its own, so that what it starts ends with it.
Standard library only.
"""

import dataclasses
import os
import shlex
import signal
import subprocess
import threading
import time

from results import CheckFailed, NotRun, last_lines

# A command that takes longer hangs: no check needs as much.
LONGEST_SECONDS = 150


@dataclasses.dataclass
class Finished:
    command: str  # as one types it
    status: int
    output: str
    seconds: float


class Commands:
    """`environment` is that of every command; `deadline` the time, on
    time.monotonic's clock, at which commands are ended."""

    def __init__(self, environment):
        self.environment = environment
        self.deadline = float("inf")
        self._running, self._lock, self._stopped = set(), threading.Lock(), False

    def run(self, words, limit=LONGEST_SECONDS):
        """Returns Finished. CheckFailed if the command hangs; NotRun if its
        section has no more time."""
        left = self.deadline - time.monotonic()
        if self._stopped or left <= 0:
            raise NotRun("out of time")
        command = shlex.join(map(str, words))
        started = time.monotonic()
        process = self._start(words)
        try:
            output, _ = process.communicate(timeout=min(left, limit))
        except subprocess.TimeoutExpired:
            kill(process)
            output, _ = process.communicate()
            if limit < left:
                raise CheckFailed(f"no end after {limit} s", command,
                                  last_lines(output)) from None
            raise NotRun("out of time", command,
                         last_lines(output)) from None
        finally:
            with self._lock:
                self._running.discard(process)
        if self._stopped:
            raise NotRun("interrupted")
        return Finished(command, process.returncode, output,
                        time.monotonic() - started)

    def require(self, words, limit=LONGEST_SECONDS):
        """As run; CheckFailed unless the command exits with 0."""
        finished = self.run(words, limit)
        if finished.status:
            raise CheckFailed(describe(finished), finished.command,
                              last_lines(finished.output))
        return finished

    def _start(self, words):
        with self._lock:
            if self._stopped:
                raise NotRun("interrupted")
            try:
                process = subprocess.Popen(
                    [str(word) for word in words], text=True, errors="replace",
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, start_new_session=True,
                    env=self.environment)
            except OSError as error:
                raise CheckFailed(f"cannot start {words[0]}: {error.strerror}",
                                  shlex.join(map(str, words))) from error
            self._running.add(process)
            return process

    def stop(self):
        """Ends every command, and lets none start any more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill(process)


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def describe(finished):
    """The line of a failed command that says what went wrong."""
    lines = [line for line in finished.output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    status = (f"killed by signal {-finished.status}" if finished.status < 0
              else f"exit status {finished.status}")
    return f"{status}: {(errors or lines or ['no output'])[0].strip()[:160]}"
