#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests' own tools: a check that cannot fail proves nothing.

Small TAP programs with a fault in each are written out and run; what is asked is that the fault is reported, by name, and that a sound one passes.
"""
import os
import subprocess
import sys

from lib import leaks, sandbox, tap

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_program(body, deadline=20):
    """Runs a test program that holds one test with this body: (status, output)."""
    path = os.path.join(leaks.scratch(), "program.t")
    with open(path, "w") as file:
        file.write("import os, sys, subprocess, tempfile, time, threading\nsys.path.insert(0, %r)\nfrom lib import tap, leaks\n"
                   "@tap.test('the one', deadline=2)\ndef _():\n%s\ntap.main()\n" % (TESTS, "\n".join("    " + line for line in body.splitlines())))
    done = subprocess.run([sys.executable, path], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline)
    return done.returncode, done.stdout + done.stderr


@tap.test("a sound test passes")
def _():
    status, text = run_program("tap.equal(1, 1, 'sums')")
    tap.equal((status, text), (0, "1..1\nok 1 - the one\n"), "answer")


@tap.cases("a fault is reported: {}", [
    ("a wrong value", "tap.equal(1, 2, 'sums')", "sums"),
    ("an exception", "{}['missing']", "KeyError"),
    ("a test that never ends", "time.sleep(100)", "not done after 2 s"),
    ("a process left running", "subprocess.Popen(['sleep', '20'])", r"left behind[^!]*process \d+ \(sleep\) sleep 20"),
    ("an orphan left running", "subprocess.run(['sh', '-c', '(setsid sleep 20 &) &'])", r"left behind[^!]*process \d+ \(sleep\)"),
    ("a descriptor left open", "os.dup(1)", r"left behind[^!]*descriptor \d+"),
    ("a file left behind", "open(os.path.join(leaks.scratch(), 'cordon-left-%d' % os.getpid()), 'w').close()", r"left behind[^!]*file .*cordon-left"),
    ("a shared memory object left behind", "open('/dev/shm/cordon-left-%d' % os.getpid(), 'w').close()", r"left behind[^!]*file /dev/shm/cordon-left"),
])
def _(_name, body, pattern):
    status, text = run_program(body)
    for place in ("/tmp", "/dev/shm", os.environ.get("TMPDIR", "/tmp")):
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith("cordon-left-") and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    os.remove(entry.path)
    tap.equal(status, 1, "status: %s" % text)
    tap.like(text, "(?m)^not ok 1 - the one", "TAP")
    tap.like(text, "(?s)" + pattern, "the fault is named")


@tap.test("a namespace that is kept by a process is named")
def _():
    status, text = run_program("subprocess.Popen(['unshare', '-Ur', 'sleep', '20'])\ntime.sleep(0.3)")
    if "Operation not permitted" in text or "No space" in text:
        tap.skip("unshare -Ur is refused here")
    tap.equal(status, 1, "status: %s" % text)
    tap.like(text, r"user:\[\d+\]", "the namespace")


@tap.test("a mount that is left is named")
def _():
    if os.getuid() != 0:
        tap.skip("needs root to mount")
    place = leaks.scratch()
    status, text = run_program("subprocess.run(['mount', '-t', 'tmpfs', 'none', %r], check=True)" % place)
    subprocess.run(["umount", place], check=True)
    tap.equal(status, 1, "status: %s" % text)
    tap.like(text, "mount .*" + place, "the mount")


@tap.test("a program that dies half way fails")
def _():
    path = os.path.join(leaks.scratch(), "program.t")
    with open(path, "w") as file:
        file.write("#!/usr/bin/env python3\nimport os, sys\nsys.path.insert(0, %r)\nfrom lib import tap\n@tap.test('a')\ndef _(): pass\n@tap.test('b')\ndef _(): os._exit(0)\ntap.main()\n" % TESTS)
    os.chmod(path, 0o755)
    done = subprocess.run([os.environ.get("PROVE", "prove"), "-e", sys.executable, path], capture_output=True, text=True)
    tap.ok(done.returncode != 0, "prove says no: %s" % done.stdout)


@tap.test("a skip passes and keeps its reason")
def _():
    status, text = run_program("tap.skip('no such thing # here')")
    tap.equal(status, 0, "status")
    tap.like(text, r"ok 1 - the one # SKIP no such thing", "TAP")


@tap.test("every arrow between the rooms of the source goes down, and no files include each other")
def _():
    program = os.path.join(sandbox.SOURCE, "tests", "lib", "arrows")
    done = subprocess.run([sys.executable, "-I", program, sandbox.SOURCE], capture_output=True, text=True, check=False)
    tap.equal(done.returncode, 0, "arrows\n" + done.stdout + done.stderr)


tap.main()
