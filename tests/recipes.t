#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes run as they are, and say what they should."""
import os
import subprocess
import sys

from lib import sandbox, tap


def recipe(name):
    return subprocess.run([sys.executable, os.path.join(sandbox.SOURCE, "recipes", name)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, env=dict(os.environ, CORDON=sandbox.CORDON), check=False)


@tap.test("test-driven-loop: each candidate fails or passes its own tests and no other's")
def _():
    done = recipe("test-driven-loop.py")
    tap.equal(done.returncode, 0, "status\n%s" % done.stderr.decode())
    lines = {line.split()[0]: line for line in done.stdout.decode().splitlines()}
    for name, start in (("naive", "1/2"), ("regular", "2/2"), ("endless", "0/2"), ("curious", "0/2"), ("broken", "0/2")):
        tap.equal(lines[name].split()[1], start, "tests passed by %s" % name)
    tap.like(lines["endless"], r"sandbox execution timed out after 0\.50s", "the endless one")
    tap.like(lines["curious"], r"import of 'os' is not allowed", "the one that looks around")
    tap.like(lines["broken"], r"line 2.*never closed", "the one that is no Python")


tap.main()
