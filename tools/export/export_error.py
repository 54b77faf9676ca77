# SPDX-License-Identifier: Apache-2.0
"""What an export that cannot be made or would train wrong ends in, and lines
for what the user should know of one that is made."""

import sys


class ExportError(Exception):
    """What is wrong with the model or its inputs, and what to do."""


def say(line):
    print(f"shardc_export: {line}", file=sys.stderr)
