# SPDX-License-Identifier: Apache-2.0
"""Runs a sweep with a terminal as stderr, sends Ctrl-C behind its third cell, and prints what it printed and its exit
code."""

import os
import pty
import re
import signal
import subprocess
import sys

terminal, stderr = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=stderr, text=True)
os.close(stderr)
lines = [process.stdout.readline() for _ in range(4)]
process.send_signal(signal.SIGINT)
rest = process.stdout.read()
shown = b""
try:
    while part := os.read(terminal, 4096):
        shown += part
except OSError:  # The terminal's other side is closed.
    pass
print("".join(lines) + rest)
text = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown.decode()).replace("\r", "\n")
print("\n".join(line for line in text.splitlines() if line))
print("exit code", process.wait())
