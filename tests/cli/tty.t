#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Terminals, standard input, signals, and which exit status comes out.

The terminal tests put cordon on a pseudo-terminal of the test's own, as a shell would, type at it, and look at the terminal's settings afterwards. What is
waited for is always a word on the screen or the end of a process.
"""
# Field cases: S1 keystroke injection · S2 job control in an own terminal · S4 background start · S5 signals forwarded · S6 a small init · S9 orphans
# S10 stdout held open · S12 pids of inside · S13 stdin · S14 statuses · S17 no resize without a terminal · S18 stopped programs · A3 status unchanged
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from lib import leaks, sandbox, tap
from lib.sandbox import record_of, run, shell


class Terminal:
    """cordon on a terminal of its own, in a session of its own."""

    def __init__(self, *arguments, rows=24, columns=80):
        self.screen = b""
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns, tell=False)
        self.before = termios.tcgetattr(self.slave)
        slave = self.slave

        def lead():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([sandbox.CORDON] + list(arguments), stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead, cwd=leaks.scratch(),
                                        env=sandbox.environment(TERM="xterm"))

    def resize(self, rows, columns, tell=True):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                self.screen += os.read(self.master, 65536)
            except OSError:
                pass

    def expect(self, word, seconds=5):
        """Reads until the word is on the screen; what stood before it is dropped."""
        end = time.monotonic() + tap.patience(seconds)
        while word not in self.screen:
            if time.monotonic() > end:
                tap.fail("%r did not appear; the screen has %r" % (word, self.screen[-500:]))
            self.read(0.05)
        self.screen = self.screen.split(word, 1)[1]

    def type(self, text):
        os.write(self.master, text)

    def wait(self, seconds=5):
        end = time.monotonic() + tap.patience(seconds)
        while self.process.poll() is None:
            if time.monotonic() > end:
                tap.fail("cordon did not end; the screen has %r" % self.screen[-500:])
            self.read(0.02)
        self.read(0)
        return self.process.returncode

    def restored(self):
        tap.equal(termios.tcgetattr(self.slave), self.before, "the terminal's settings are what they were")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def terminal(test):
    """Runs a test function with a list to put terminals in, and closes them."""
    def call():
        made = []
        try:
            test(made)
        finally:
            [t.close() for t in made]
    return call


def launch(made, *arguments, **more):
    made.append(Terminal(*arguments, **more))
    return made[-1]


# ---- standard input ----------------------------------------------------------------------------------------------------------------

@tap.test("without --stdin the program reads the end of file at once")
def _():
    reader, writer = os.pipe()
    try:
        result = sandbox.run_code("try:\n    input()\nexcept EOFError:\n    print('EOF')", stdin=reader).expect(0)
    finally:
        os.close(reader)
        os.close(writer)
    tap.equal(result.record["stdout"], "EOF\n", "stdout")
    tap.ok(result.seconds < tap.patience(3), "at once")


@tap.test("with --stdin the program reads the caller's bytes to the end")
def _():
    data = bytes(range(256)) * 1000
    result = run("run", "--stdin", "--", "cat", stdin=data).expect(0)
    tap.ok(result.out == data, "every byte came through")


@tap.test("with --stdin and a caller who keeps it open the run still ends with the program")
def _():
    reader, writer = os.pipe()
    try:
        run("run", "--stdin", "--", "true", stdin=reader).expect(0)
    finally:
        os.close(reader)
        os.close(writer)


# ---- terminals -----------------------------------------------------------------------------------------------------------------------

@tap.test("--tty gives a terminal that is not the caller's, with job control")
@terminal
def _(made):
    t = launch(made, "run", "--tty", "--", "sh", "-i")
    t.type(b"tty; echo d''one1\n")
    t.expect(b"done1")
    t.type(b"sleep 100 & jobs; echo d''one2\n")
    t.expect(b"done2")
    tap.ok(b"job control" not in t.screen, "no complaint about job control")
    t.type(b"sh -c \"echo wai''ting; exec cat\"\n")
    t.expect(b"waiting")
    t.type(b"\x03")
    t.expect(b"^C")
    t.expect(b"$ ")
    t.type(b"echo int''errupted\n")
    t.expect(b"interrupted")
    t.type(b"exit 5\n")
    tap.equal(t.wait(), 5, "status")
    t.restored()


@tap.test("with --tty the program's terminal is its own and controls it")
@terminal
def _(made):
    source = "import os, sys; print([os.isatty(n) for n in (0, 1, 2)], os.getsid(0) == os.tcgetsid(0) if hasattr(os, 'tcgetsid') else True, os.tcgetpgrp(0) == os.getpgrp(), 'end')"
    t = launch(made, "run", "--tty", "--python", sandbox.PYTHON, "--code", source)
    t.expect(b"[True, True, True] True True end")
    tap.equal(t.wait(), 0, "status")
    t.restored()


@tap.test("with --tty the window's size comes in and follows a change")
@terminal
def _(made):
    t = launch(made, "run", "--tty", "--", "sh", "-c", "stty size; trap 'stty size; exit 0' WINCH; echo re''ady; while :; do read x; done", rows=33, columns=101)
    t.expect(b"33 101")
    t.expect(b"ready")
    t.resize(44, 55)
    t.expect(b"44 55")
    tap.equal(t.wait(), 0, "status")


@tap.cases("the terminal is restored when it ends by {}", [("its exit", "stty -echo raw; exit 3", None), ("a signal", "stty -echo raw; kill -SEGV $$", None),
                                                           ("the clock", "stty -echo raw; echo up; sleep 100", None), ("a signal to cordon", "stty -echo raw; echo up; sleep 100", signal.SIGTERM)])
def _(_name, script, number):
    t = Terminal("run", "--tty", "--timeout", "1", "--", "sh", "-c", script)
    try:
        if number:
            t.expect(b"up")
            t.process.send_signal(number)
        t.wait()
        t.restored()
    finally:
        t.close()


@tap.test("a failure of cordon's own leaves the terminal as it was")
@terminal
def _(made):
    t = launch(made, "run", "--tty", "--ro", "/no/such/directory", "--", "sh")
    tap.equal(t.wait(), 125, "status")
    t.restored()


@tap.test("without --tty the caller's terminal is out of the program's reach")
@terminal
def _(made):
    source = "import os\nfor p in ('/dev/tty',):\n    try:\n        os.open(p, os.O_RDWR); print('had')\n    except OSError as e:\n        print('errno', e.errno)\nprint(os.isatty(0), 'end')"
    t = launch(made, "run", "--python", sandbox.PYTHON, "--code", source)
    t.expect(b"errno")
    t.expect(b"False end")
    tap.equal(t.wait(), 0, "status")


@tap.cases("keystrokes cannot be put into a terminal: {}", [("TIOCSTI", "0x5412"), ("TIOCSTI with high bits", "0x100005412"), ("TIOCLINUX", "0x541c"), ("TIOCLINUX with high bits", "0x500000541c")])
def _(_name, request):
    source = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
b = ctypes.create_string_buffer(b'x')
r = libc.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_ulong(%s), b)
print(r, ctypes.get_errno(), 'end')
""" % request
    if os.uname().machine != "x86_64":
        tap.skip("the call numbers are those of x86_64")
    for options in (["--tty"], ["--stdin"]):
        t = Terminal("run", *options, "--python", sandbox.PYTHON, "--code", source)
        try:
            t.expect(b"-1 1 end")  # EPERM
            t.wait()
        finally:
            t.close()


@tap.test("nothing of the sandbox is in the caller's session, where each key would signal it a second time")
@terminal
def _(made):
    for options in ([], ["--tty"], ["--tier", "subprocess"]):
        t = launch(made, "run", *options, "--", "sh", "-c", "echo up; exec sleep 100")
        t.expect(b"up")
        session = os.getsid(t.process.pid)
        inside = [pid for pid in leaks.descendants() if pid != t.process.pid]
        tap.ok(len(inside) >= 2, "the sandbox is there")
        tap.equal([leaks.describe(pid) for pid in inside if os.getsid(pid) == session], [], "processes in the caller's session, with %r" % options)
        t.type(b"\x03")
        tap.equal(t.wait(), 130, "the key ends it, once, with %r" % options)


@tap.test("started in the background of a terminal, cordon is not stopped")
@terminal
def _(made):
    # A shell with job control starts cordon as a background job; the terminal has "tostop", so even a write would stop one that asks for it.
    made.append(Terminal.__new__(Terminal))
    t = made[-1]
    t.screen = b""
    t.master, t.slave = pty.openpty()
    slave = t.slave

    def lead():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    script = "set -m; %s run --json -- sh -c 'echo background' > out.json & wait $!; echo status $?; cat out.json" % sandbox.CORDON
    t.process = subprocess.Popen(["sh", "-c", script], stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead, cwd=leaks.scratch())
    t.expect(b"status 0")
    t.expect(b"background")
    t.wait()


@tap.test("without a terminal a change of size disturbs nothing")
def _():
    process = sandbox.start("run", "--", "sh", "-c", "echo up; sleep 0.3; exit 4")
    process.stdout.readline()
    process.send_signal(signal.SIGWINCH)
    tap.equal(sandbox.finish(process)[0], 4, "status")


@tap.test("--tty without a terminal is a plain answer, not a hang")
def _():
    result = run("run", "--tty", "--", "sh", "-c", "exit 3")
    tap.ok(result.status in (3, 64, 125), "status\n%s" % result)


# ---- signals -----------------------------------------------------------------------------------------------------------------------------

@tap.cases("{} sent to cordon reaches the program", [("TERM",), ("INT",), ("HUP",), ("USR1",), ("USR2",), ("CONT",), ("WINCH",)])
def _(name):
    script = "trap 'echo got %s; exit 9' %s; echo up; while :; do sleep 0.02; done" % (name, name)
    process = sandbox.start("run", "--", "sh", "-c", script)
    tap.equal(process.stdout.readline(), b"up\n", "the program started")
    process.send_signal(getattr(signal, "SIG" + name))
    status, out, _err = sandbox.finish(process)
    tap.equal((status, out), (9, ("got %s\n" % name).encode()), "status and output")


@tap.cases("a program that does not handle {} ends by it", [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10)])
def _(name, number):
    process = sandbox.start("run", "--", "sh", "-c", "echo up; exec sleep 100")
    process.stdout.readline()
    process.send_signal(number)
    tap.equal(sandbox.finish(process)[0], 128 + number, "status")


@tap.test("signals of the program to itself have their default action, abort too")
def _():
    tap.equal(sandbox.run_code("import os; os.abort()").expect(134).record["exit_code"], None, "abort is no exit code")
    shell("kill -TERM $$").expect(143)


@tap.test("the program is not PID 1, and PID 1 reaps orphans")
def _():
    source = """
import os, time
print(os.getpid() != 1)
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
end = time.monotonic() + 20
def zombies():
    n = 0
    for p in os.listdir('/proc'):
        if p.isdigit():
            try:
                n += open('/proc/%s/stat' % p).read().rpartition(')')[2].split()[0] == 'Z'
            except OSError: pass
    return n
while zombies() and time.monotonic() < end: pass
print(zombies())
"""
    tap.equal(record_of(source)["stdout"], "True\n0\n", "stdout")


@tap.test("the status is that of the program, never that of the last orphan")
def _():
    shell("(sleep 0.2; exit 77) & exit 3").expect(3)
    shell("(sleep 0.2; exit 77) & exit 3", "--wait-all").expect(3)


@tap.test("the end of the program ends everything, --wait-all waits for the rest")
def _():
    quick = shell("sleep 1.2 & echo now").expect(0)
    tap.ok(quick.seconds < tap.patience(1.1), "ended after %.2f s" % quick.seconds)
    slow = shell("(sleep 0.5; echo later) & echo now", "--wait-all").expect(0)
    tap.equal(slow.record["stdout"], "now\nlater\n", "stdout")


@tap.test("a grandchild in a session of its own that holds stdout ends with the clock")
def _():
    result = shell("setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000", "--timeout", "0.5").expect(124)
    tap.ok(result.seconds < tap.patience(2), "ended after %.2f s" % result.seconds)


@tap.test("a stopped program is ended by the clock, and by a signal to cordon")
def _():
    result = shell("kill -STOP $$; echo never", "--timeout", "0.4").expect(124)
    tap.ok(result.seconds < tap.patience(1.5), "ended after %.2f s" % result.seconds)


@tap.test("200 runs at once in four threads each give their own status", deadline=90)
def _():
    import threading
    wrong = []

    def work(offset):
        for i in range(50):
            code = (offset * 50 + i) % 120
            done = subprocess.run([sandbox.CORDON, "run", "--", "sh", "-c", "exit %d" % code],
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=tap.patience(30))
            if done.returncode != code:
                wrong.append((code, done.returncode, done.stderr))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    tap.equal(wrong, [], "statuses")


tap.main()
