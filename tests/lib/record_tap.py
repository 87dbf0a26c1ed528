# SPDX-License-Identifier: Apache-2.0
"""Runs one TAP program and keeps a copy of what it printed.

prove calls this as `python record_tap.py PROGRAM`. The program's lines pass through unchanged as they come, so prove sees them live; the copy in
tests/results is what the summary of skips is made from. The program's own exit status is handed on.
"""
import os
import subprocess
import sys


def command(path):
    with open(path, "rb") as file:
        first = file.readline()
    if first.startswith(b"#!") and b"python" in first:
        return [sys.executable, path]
    return [os.path.abspath(path)]


def environment(name):
    """The validator's test meets the sanitized runner where there is one; its interpreter then needs the run-time preloaded."""
    changed = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if name == "validator.t" and os.environ.get("CORDON_SANITIZER_RUNTIME"):
        changed["LD_PRELOAD"] = os.environ["CORDON_SANITIZER_RUNTIME"]
        changed["CORDON_RUNNER_DIR"] = os.path.join(os.environ["CORDON_BUILD"], "tests", "sanitized", ".libs")
        changed["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"  # interpreters keep what they have to the end
    return changed


def main():
    path = sys.argv[1]
    results = os.environ["CORDON_RESULTS"]
    name = os.path.basename(path)
    process = subprocess.Popen(command(path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(name))
    with open(os.path.join(results, name + ".tap"), "wb") as copy:
        for line in process.stdout:
            copy.write(line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    status = process.wait()
    sys.exit(status if status >= 0 else 128 - status)


main()
