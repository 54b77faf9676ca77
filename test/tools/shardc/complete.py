# SPDX-License-Identifier: Apache-2.0
"""Prints what a shell completes a command line of shardc to, sorted.

    complete.py SHELL "shardc compile --resh"

The cursor is at the end of the line. A line `FILES` says that names of files
are offered besides. A shell that is not installed prints what is expected of
it with --without TEXT, so that a test can be the same for all.
"""

import shutil
import subprocess
import sys

# bash completes in interactive use alone; this calls the function as it would.
BASH = r'''
compopt() { echo FILES; }
eval "$1"
COMP_WORDS=(${2//=/ = })
[[ $2 == *" " || $2 == *"=" ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shardc
printf '%s\n' "${COMPREPLY[@]}"
'''


def script_for(shell):
    return subprocess.run(["shardc", "completion", shell], check=True,
                          capture_output=True, text=True).stdout


def complete(shell, line):
    if shell == "bash":
        command = ["bash", "-c", BASH, "complete", script_for(shell), line]
    elif shell == "fish":
        command = ["fish", "--no-config", "-c",
                   f"{script_for(shell)}\ncomplete -C '{line}'"]
    else:  # zsh completes in its line editor only: check the script's syntax.
        command = ["zsh", "-f", "-n", "-c", script_for(shell)]
    output = subprocess.run(command, check=True, capture_output=True,
                            text=True).stdout
    # fish adds a description after a tab.
    return sorted(word.split("\t")[0] for word in output.splitlines() if word)


def main():
    shell, line = sys.argv[1:3]
    if "--without" in sys.argv and not shutil.which(shell):
        words = sys.argv[sys.argv.index("--without") + 1].split()
    else:
        words = complete(shell, line)
    sys.stdout.writelines(word + "\n" for word in words)


if __name__ == "__main__":
    main()
