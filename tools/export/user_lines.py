# SPDX-License-Identifier: Apache-2.0
"""The lines of the user's files that a call or an exception comes from.

Everything is the user's that is not PyTorch's, numpy's, Python's or of this folder:
a model's library, as transformers, counts as the user's.
"""

import functools
import os
import re
import sysconfig

import torch

FOLDERS = [os.path.dirname(torch.__file__), os.path.dirname(__file__)]
try:
    import numpy
    FOLDERS.append(os.path.dirname(numpy.__file__))
except ImportError:  # Only models that use it need it.
    pass
LIBRARIES = tuple(os.path.join(os.path.realpath(folder), "") for folder in FOLDERS)
STANDARD = tuple(os.path.join(os.path.realpath(sysconfig.get_paths()[each]), "")
                 for each in ("stdlib", "platstdlib"))
INSTALLED = ("site-packages", "dist-packages")


@functools.cache
def is_users(path):
    if path.startswith("<"):  # generated, as by dataclasses
        return False
    path = os.path.realpath(path)
    if path.startswith(LIBRARIES):
        return False
    return not path.startswith(STANDARD) or any(
        part in INSTALLED for part in path.split(os.sep))


def line_of_frame(frame):
    """"file.py:12" of the innermost frame of the user's, or None."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def line_in(trace):
    """" at file.py:12" of the innermost frame of the user's in the text of a
    traceback, or nothing."""
    found = [(path, number) for path, number in re.findall(
        r'File "([^"]+)", line (\d+)', trace or "") if is_users(path)]
    return f" at {os.path.basename(found[-1][0])}:{found[-1][1]}" if found else ""


def line_of_exception(error):
    """The same of where `error`, or what caused it, was raised."""
    innermost = error.__cause__ or (
        None if error.__suppress_context__ else error.__context__)
    found = line_of_exception(innermost) if innermost is not None else None
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if is_users(path):
            line = f"{os.path.basename(path)}:{trace.tb_lineno}"
            found = line if found is None or innermost is None else found
        trace = trace.tb_next
    return found
