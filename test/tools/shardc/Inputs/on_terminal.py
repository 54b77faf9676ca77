# SPDX-License-Identifier: Apache-2.0
"""Runs a command with a terminal as stderr, and prints what it printed there, escapes as <ESC>."""

import os
import pty
import subprocess
import sys

terminal, stderr = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=stderr)
os.close(stderr)
shown = b""
try:
    while part := os.read(terminal, 4096):
        shown += part
except OSError:  # The terminal's other side is closed.
    pass
process.wait()
print(shown.decode().replace("\x1b", "<ESC>").replace("\r", ""))
