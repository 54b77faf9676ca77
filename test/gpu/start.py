#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the checks of the pack that this file lies in, as `run`.

  ./run [--device auto|emulated] [--only SECTION,...] [--json FILE]
        [--limit-seconds 540]

Python 3.11 or later; `./run --help` says what it does.
"""

import pathlib
import sys

PACK = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(PACK / "checks" / "test" / "gpu"))
import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run.main(PACK))
