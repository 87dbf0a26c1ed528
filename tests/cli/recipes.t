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


@tap.test("doi-extractor: spawned, called, promoted, there the next day; what it may not do is refused")
def _():
    done = recipe("doi-extractor.py")
    tap.equal(done.returncode, 0, "status\n%s" % done.stderr.decode())
    lines = done.stdout.decode().splitlines()
    tap.like(lines[0], r"^spawned   extract_dois@1 [0-9a-f]{12}, trial$", "spawned")
    tap.equal([line[10:] for line in lines[1:4]], ['{"dois": ["10.1000/182."]}', '{"dois": ["10.5555/12345678", "10.1038/nphys1170"]}', '{"dois": []}'], "calls")
    tap.equal(lines[4], "promoted  extract_dois@1 by policy:threshold: 3 successful calls", "promoted")
    tap.equal(lines[5], 'next day  {"dois": ["10.1000/182"]}', "in another session")
    tap.like(lines[6], "/text: is of type number", "arguments")
    tap.like(lines[7], "import of 'os' is not allowed", "imports")
    tap.equal(lines[8], "bob has   []", "another user")


@tap.test("operator-approval: what is approved is what was read")
def _():
    done = recipe("operator-approval.py")
    tap.equal(done.returncode, 0, "status\n%s" % done.stderr.decode())
    text = done.stdout.decode()
    for line in ("total gave 6.5, and is pending", "event     ['tool.promotion_pending']", "approves what was read: tool_changed", "reads version 2, imports: base64", "rejects it: rejected",
                 "calls it: tool_rejected", "approves version 3, whose code was read: promoted", "history   version 2 rejected: encodes, and does not add", "history   version 3 promoted: as read before"):
        tap.ok(line in text, "%r is in:\n%s" % (line, text))


tap.main()
