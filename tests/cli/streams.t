#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of descriptor as standard input, output and error: a run ends, and while its program computes the supervisor sleeps.

A supervisor that spins takes as much processor time as the program does meanwhile; so the two are compared, over the program's own steps, and the wake-ups counted.
"""
import contextlib
import os
import pty
import socket
import subprocess
import tempfile
import time

from lib import leaks, sandbox, tap
from lib.daemon import Daemon

# A line is read, if there is one, and then a fixed number of steps are made. A terminal would keep zeros for a line that never ends.
READ = {False: "read -r line; ", True: "[ -t 0 ] && stty -icanon -echo; head -c 5 >/dev/null; "}
STEPS = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done; exit 7'

# Standard input, output, error.
COMBINATIONS = [row.split() for row in """
null null null
closed null null
closed closed closed
file file file
file pipe pipe
pipe pipe pipe
pipe null file
pipe closed null
socket socket socket
socket pipe null
terminal terminal terminal
terminal null null
terminal pipe file
zero null null
zero pipe pipe
zero zero zero
ended pipe pipe
ended closed socket
""".strip().splitlines()]


class Ends:
    """A descriptor of a kind for cordon, and what the test keeps open of its other side."""

    def __init__(self, stack):
        self.stack, self.read = stack, []

    def keep(self, fd):
        self.stack.callback(os.close, fd)
        return fd

    def make(self, kind, is_input):
        if kind == "closed":
            return None
        if kind in ("null", "zero"):
            return self.keep(os.open("/dev/" + kind, os.O_RDWR))
        if kind == "file":
            with tempfile.NamedTemporaryFile(dir=leaks.scratch(), delete=False) as file:
                file.write(b"line\n")
            return self.keep(os.open(file.name, os.O_RDWR | os.O_APPEND))
        if kind == "ended":
            ours, theirs = os.pipe()
            os.close(theirs)
            return self.keep(ours)
        if kind == "terminal":
            theirs, ours = pty.openpty()
        elif kind == "socket":
            theirs, ours = (s.detach() for s in socket.socketpair())
        else:
            ours, theirs = os.pipe()
            if not is_input:
                ours, theirs = theirs, ours
        if is_input:
            os.write(theirs, b"line\n")
        else:
            os.set_blocking(theirs, False)
            self.read.append(theirs)
        self.keep(theirs)
        return self.keep(ours)

    def drain(self):
        """A terminal echoes the zeros that are typed before the program turns that off: more than a pipe holds, and who writes there then waits."""
        for fd in self.read:
            with contextlib.suppress(OSError):
                os.read(fd, 1 << 20)


def place(fds):
    """The descriptors of a child to be, as 0, 1, 2; None: closed."""
    def before():
        high = [None if fd is None else os.dup(fd) for fd in fds]
        for number, fd in enumerate(high):
            if fd is None:
                with contextlib.suppress(OSError):
                    os.close(number)
            else:
                os.dup2(fd, number)
                os.set_inheritable(number, True)
    return before


def stat(pid):
    with open("/proc/%d/stat" % pid, encoding="latin-1") as file:
        rest = file.read().rsplit(") ", 1)[1].split()
    return int(rest[1]), int(rest[11]) + int(rest[12])  # the parent, ticks


def wakes(pid):
    with open("/proc/%d/status" % pid, encoding="latin-1") as file:
        return int([line for line in file if line.startswith("voluntary_ctxt")][0].split()[1])


def find(marker):
    """The program with the marker as an argument, but not cordon, which has it, too."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and open("/proc/%s/cmdline" % name, "rb").read().split(b"\0")[:1] == [b"/bin/sh"]:
                if marker in open("/proc/%s/cmdline" % name, "rb").read().split(b"\0"):
                    return int(name)
    return None


def measure(process, marker, ends):
    """Samples of (ticks of the program, ticks of each other process, their wake-ups) until the program ends."""
    program = None
    while program is None and process.poll() is None:
        ends.drain()
        program = find(marker)
    samples = []
    with contextlib.suppress(OSError, IndexError):
        watched = {process.pid, stat(stat(program)[0])[0]}
        while True:
            ends.drain()
            time.sleep(0.004)  # else the sampler competes with what it samples
            ticks = stat(program)[1]
            if not samples or ticks > samples[-1][0]:
                samples.append((ticks, sum(stat(p)[1] for p in watched), sum(wakes(p) for p in watched)))
    return samples


def check(combination, options):
    marker = ("m" + os.urandom(8).hex()).encode()
    with contextlib.ExitStack() as stack:
        ends = Ends(stack)
        fds = [ends.make(kind, number == 0) for number, kind in enumerate(combination)]
        process = subprocess.Popen([sandbox.CORDON, "run", "--stdin", *options, "--", "/bin/sh", "-c", READ[combination[0] == "zero"] + STEPS, marker], preexec_fn=place(fds), cwd=leaks.scratch())
        stack.callback(process.wait)
        stack.callback(process.kill)
        samples = measure(process, marker, ends)
        until = time.monotonic() + tap.patience(30)
        while process.poll() is None and time.monotonic() < until:
            ends.drain()
            time.sleep(0.004)
        status = process.poll()
    what = "%s %s" % (" ".join(combination), " ".join(options[:1]))
    # Nothing can be written to a descriptor that is open for reading only, or not at all, which the answer of --json says by its status.
    tap.ok(status == 7 or (status in (1, 125) and combination[1] == "closed"), "%s: status %r" % (what, status))
    tap.ok(len(samples) > 2, "%s: the program was seen at work (%d samples)" % (what, len(samples)))
    steps, spent, woken = (samples[-1][i] - samples[1][i] for i in range(3))
    tap.ok(spent <= 1 + steps // 4, "%s: %d ticks beside the program's %d" % (what, spent, steps))
    tap.ok(woken <= 20, "%s: %d wake-ups" % (what, woken))


def register(name, options, with_daemon=False):
    @tap.test("18 combinations of streams end, and cost nothing while idle: " + name, deadline=120)
    def _():
        with Daemon() if with_daemon else contextlib.nullcontext() as daemon:
            more = ["--daemon", "--socket", daemon.socket] if with_daemon else []
            for combination in COMBINATIONS:
                check(combination, options + more)


register("plain", [])
register("--tty", ["--tty"])
register("--json", ["--json"])
register("--daemon", [], with_daemon=True)
register("--tty --daemon", ["--tty"], with_daemon=True)


@tap.test("what is typed by a file, a pipe or /dev/null ends as typed")
def _():
    for text in (b"", b"one\n", b"one\ntwo"):
        with tempfile.TemporaryFile(dir=leaks.scratch()) as file:
            file.write(text)
            file.seek(0)
            for stdin in (text, file):
                out = sandbox.run("run", "--tty", "--", "/bin/sh", "-c", "stty -echo 2>/dev/null; cat | od -An -c; exit 3", stdin=stdin).expect(3)
    tap.like(out.text, r"o\s+n\s+e\s+\\n\s+t\s+w\s+o", "all of it")


tap.main()
