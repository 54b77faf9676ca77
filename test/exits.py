#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exits.py STATUS COMMAND…: whether the command ends with that exit status.

lit's `not` accepts every failure; an exit code is part of what a tool promises.
"""

import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    print(f"expected exit status {sys.argv[1]}, got {status}", file=sys.stderr)
    sys.exit(1)
