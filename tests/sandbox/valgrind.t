#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit tests and each command under valgrind: no memory that is definitely lost, and no use of what was never written.

Only the process that was started is looked at: what it makes inside the sandbox is another program. In a sanitized build the sanitizers do this work.
"""
import concurrent.futures
import glob
import os
import re
import subprocess

from lib import leaks, sandbox, tap


def valgrind(argv, stdin=b"", statuses=(0,)):
    """Runs a program under valgrind and fails on what it found."""
    tool = sandbox.need("valgrind")
    if sandbox.SANITIZED:
        tap.skip("the sanitizers are at work in this build")
    log = os.path.join(leaks.scratch(), "log")
    process = subprocess.Popen([tool, "--fair-sched=yes", "--leak-check=full", "--errors-for-leak-kinds=definite", "--log-file=" + log + ".%p", *argv],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(stdin, timeout=230)
    failed = re.findall(rb"(?m)^not ok.*\n(?:#.*\n)*", out)
    tap.ok(process.returncode in statuses, "%s: status %d: %r %r %r" % (argv[0], process.returncode, failed[:9], out[-500:], err[-500:]))
    with open("%s.%d" % (log, process.pid), errors="replace") as file:
        text = file.read()
    summary = re.search(r"ERROR SUMMARY: (\d+) errors", text)
    tap.ok(summary, "a summary: %s" % text[-500:])
    tap.equal(int(summary.group(1)), 0, "errors:\n%s" % text[:3000])


COMMANDS = [
    ("run", ["run", "--json", "--", "true"], b"", (0,)),
    ("run with files and limits", ["run", "--json", "--timeout", "9", "--ro", "/etc/passwd:/opt/p", "--env", "A=1", "--copy-in", "/etc/passwd", "--", "sh", "-c", "echo x; exit 3"], b"", (3,)),
    ("run of a command that is not there", ["run", "--json", "--", "no-such-command"], b"", (127,)),
    ("run that runs out of time", ["run", "--json", "--timeout", "0.5", "--", "sleep", "9"], b"", (124,)),
    ("run with a bad option", ["run", "--timeout", "soon", "--", "true"], b"", (64,)),
    ("run with a missing path", ["run", "--json", "--ro", "/no/such/path", "--", "true"], b"", (125,)),
    ("exec", ["exec", "--args", '{"a":[1,{"b":null}]}', "--python", sandbox.PYTHON, "-"], b"return args", (0,)),
    ("exec that is refused", ["exec", "--python", sandbox.PYTHON, "-"], b"import os", (2,)),
    ("validate", ["validate", "--json", "--python", sandbox.PYTHON, "-"], b"eval(1)", (2,)),
    ("doctor", ["doctor", "--json"], b"", (0, 125)),
    ("help", ["run", "--help"], b"", (0,)),
]


@tap.cases("{} is clean", COMMANDS, deadline=60)
def _(_name, arguments, stdin, statuses):
    valgrind([sandbox.CORDON] + arguments, stdin, statuses)


@tap.test("each unit test is clean", deadline=300)
def _():
    programs = [p for p in sorted(glob.glob(os.path.join(sandbox.BUILD, "tests", "unit", "unit_*"))) if os.access(p, os.X_OK) and "." not in os.path.basename(p)]
    # Its reader has milliseconds before it counts as held up, and valgrind knows no userfaultfd(2).
    programs = [p for p in programs if os.path.basename(p) != "unit_receiver"]
    tap.ok(len(programs) > 10, "they are there: %r" % programs)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for run in [pool.submit(valgrind, [program]) for program in programs]:
            run.result()


tap.main()
