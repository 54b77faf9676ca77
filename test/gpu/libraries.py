# SPDX-License-Identifier: Apache-2.0
"""Where the shared libraries are that shardrun needs on the GPU machine.

Its own come with the pack. CUDA's are a toolkit's, or those that came with the
PyTorch of this Python: site-packages/nvidia/*/lib. Standard library only.
"""

import functools
import os
import pathlib
import re
import site
import subprocess
import sys
import sysconfig

# The libraries that the plug-in opens (runtime/cuda), of exactly these versions:
# an older CUDA that comes first on a path must not hide them.
CUDA = ("libcublasLt.so.13", "libcudnn.so.9")
# Every Linux with a C++ compiler has these, of a version that is new enough.
BASICS = re.compile(r"(ld-linux[^/]*|linux-vdso|libc|libm|libdl|librt|"
                    r"libpthread|libstdc\+\+|libgcc_s)\.so(\.\d+)*$")
LINE = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)


def needed(program):
    """[(name, path)] of the libraries of a program that are not BASICS."""
    output = subprocess.run(["ldd", program], check=True, capture_output=True,
                            text=True).stdout
    missing = re.search(r"(\S+) => not found", output)
    if missing:
        sys.exit(f"gpu_check: {program} needs {missing[1]}, which is not here")
    return [(name, pathlib.Path(path)) for name, path in LINE.findall(output)
            if not BASICS.match(name)]


@functools.cache
def cuda_folders():
    """{name: folder} of CUDA's libraries that were found."""
    packages = {*site.getsitepackages(), sysconfig.get_paths()["purelib"],
                site.getusersitepackages()}
    folders = [pathlib.Path(folder) for folder in
               os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for package in sorted(packages):
        folders += sorted(pathlib.Path(package).glob("nvidia/*/lib"))
    folders += [*sorted(pathlib.Path("/usr/local").glob("cuda*/lib64")),
                pathlib.Path("/usr/lib/x86_64-linux-gnu")]
    return {name: folder for folder in reversed(folders) for name in CUDA
            if (folder / name).exists()}


def environment_words(own):
    """The words before a command that let it find its libraries."""
    folders = dict.fromkeys([own, *cuda_folders().values()])
    path = ":".join(map(str, folders))
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return ["env", "LD_LIBRARY_PATH=" + (
        f"{path}:{inherited}" if inherited else path)]
