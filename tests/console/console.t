#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The console on a terminal: keys that are typed in tmux, pictures that are taken of its screen, and the bytes that reach a terminal.

What is waited for is always something on a screen, or the end of a process.
"""
# Field cases: A1 no byte of a program reaches the terminal · A3 the program's status is unchanged by who watches · A11 events come from outside the sandbox · S5 S18 stopped and
# continued · console bugs: raw terminal after a crash, busy after a hang-up, blank after ^Z, resizes, no terminal
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from lib import leaks, sandbox, tap
from lib.console import Pretended, Terminal, environment, event
from lib.daemon import Client, Daemon, command
from lib.sandbox import CORDON, PYTHON, run

LOOP = "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.05; done"

SCRIPT = r"""
import ctypes, os, socket
def say(text): os.write(1, (text + "\n").encode())
try: open(TREE + "/.env")
except OSError as e: say("hidden: %d" % e.errno)
ctypes.CDLL(None).setns(0, 0)
try: socket.create_connection(("192.0.2.1", 80), 1)
except OSError as e: net = e.errno
pid = os.fork()
if pid == 0: os._exit(3)
os.waitpid(pid, 0)
say("net: %d, end" % net)
"""


def secret_tree():
    tree = leaks.scratch()
    for name in (".env", "seen.txt"):
        with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
            file.write("x\n")
    return tree


def console(daemon, *options, **more):
    return Terminal(CORDON, "console", "--socket", getattr(daemon, "socket", None) or daemon.path, *options, **more)


@tap.test("a run of the daemon's is watched, filtered, paused, resumed and killed by keys", deadline=60)
def _():
    with Daemon() as daemon, Client(daemon) as client, Client(daemon) as watcher, console(daemon) as terminal:
        watcher.call("events.subscribe", {"type": "sandbox.*"})
        terminal.expect("0 live", "No run is known")
        client.send("sandbox.run", command("sh", "-c", LOOP), 1)
        terminal.expect("1 live", "running")
        terminal.keys("o")
        terminal.expect("OUTPUT of", "tick 3")
        terminal.keys("2")
        terminal.expect("tick", "start")
        terminal.keys("f")
        terminal.text("tick 1")
        terminal.keys("Enter")
        tap.eventually(lambda: re.search(r"(?s)filter: tick 1.*tick 12|tick 12.*filter: tick 1", terminal.picture()) and not re.search(r"tick [2-9]", terminal.picture()),
                       "what does not match is hidden", 10)
        terminal.keys("1", "p")
        terminal.expect("paused", "done")
        watcher.event("sandbox.paused")
        terminal.keys("p")
        terminal.expect("running")
        watcher.event("sandbox.resumed")
        terminal.keys("K")
        terminal.expect("End ", "[y/N]")
        terminal.reply("Enter")
        terminal.expect("running")
        terminal.keys("K")
        terminal.reply("y")
        terminal.expect("killed: operator", "0 live")
        tap.equal(client.answer(1)["result"]["status"], 137, "the run's status")
        terminal.keys("q")
        tap.equal(terminal.status(), 0, "status of the console")
        before, after = terminal.modes()
        tap.equal(after, before, "the terminal's settings")


@tap.test("what waits, what holds a run and who ended it, with the daemon itself", deadline=60)
def _():
    with Daemon("--jobs", "1") as daemon, Client(daemon) as client, Client(daemon) as other, console(daemon, columns=120) as terminal:
        client.send("sandbox.run", command("sh", "-c", LOOP), 1)
        terminal.expect("1 live, 1 runs", "sh -c i=0; while")
        client.send("sandbox.run", command("echo", "queued", "one"), 2)
        terminal.expect("1 live, 1 waiting, 2 runs", "echo queued one")
        terminal.text("/sh -c\r4")
        terminal.expect("held by", "seccomp command", "network none")
        terminal.keys("K")
        terminal.reply("y")
        terminal.expect("state     killed: operator: an operator ended it", "of CPU time, at most")
        terminal.keys("q")
        terminal.expect("done", "0 live, 2 runs")
        tap.equal([client.answer(number)["result"]["status"] for number in (1, 2)], [137, 0], "statuses")
        for end, word in ((lambda subject: client.call("sandbox.kill", {"execution_id": subject}), "killed: client"), (lambda subject: other.close(), "client gone")):
            client.call("events.subscribe", {"type": "sandbox.confined"})
            other.send("sandbox.run", command("sleep", "1000"), 3)
            subject = client.event("sandbox.confined")["subject"]
            client.call("events.unsubscribe", {})
            terminal.expect("1 live")
            end(subject)
            terminal.expect(word, "0 live")
        with Client(daemon) as third:
            third.send("sandbox.run", command("sh", "-c", LOOP), 4)
            terminal.expect("1 live")
            third.send("sandbox.run", command("true"), 5)
            terminal.expect("1 live, 1 waiting")
        terminal.expect("0 live, 6 runs")
        data = [e["data"] for e in daemon.log() if e["type"] == "sandbox.executed"]
        tap.equal([d.get("ended_by") for d in data], ["operator", None, "client", "client_gone", "client_gone", "client_gone"], "in the log: %r" % data)
        tap.ok("failure" not in data[-1] and "failure" not in data[-2], "what was not begun did not fail")


@tap.test("a script that is refused this and that shows each as an event with rule and process, in order, on the console and in --events", deadline=60)
def _():
    tree, name = secret_tree(), os.path.join(leaks.scratch(), "events")
    source = os.path.join(leaks.scratch(), "s.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write("TREE = %r\n%s" % (tree, SCRIPT))
    with Terminal(CORDON, "run", "--watch", "--ro", tree, "--python", PYTHON, "--events", name, "--script", source, columns=160, rows=50) as terminal:
        terminal.expect("The program has ended")
        terminal.keys("2", "f")
        terminal.text("!use")
        terminal.keys("Enter")
        picture = terminal.expect("filter: !use", "end    success")
        terminal.keys("q", "q")
        tap.equal(terminal.status(), 0, "status: the program's")
        printed = terminal.expect_printed("1 file refused", "--ro %s/.env" % tree)
        tap.like(printed, "1 system call refused, top: setns", "summary")
    with open(name, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    tap.equal([e["sequence"] for e in events], list(range(events[0]["sequence"], events[0]["sequence"] + len(events))), "numbers")
    pid = next(e["data"]["pid"] for e in events if e["type"] == "process.started")
    wanted = [r"start .*script", r"proc .*host %d" % pid, r"DENY .*\[%d\] %s/\.env read rule secret:env" % (pid, re.escape(tree)),
              r"DENY .*\[%d\] setns rule seccomp" % pid,
              r"DENY .*\[%d\] network 192\.0\.2\.1 port 80 rule network none" % pid,
              r"proc .*child of 2", r"proc +3 ended, status 3", r"end .*success true"]
    at = 0
    for pattern in wanted:
        found = re.compile(pattern).search(picture, at)
        tap.ok(found, "%s is on the screen, after what came before it:\n%s" % (pattern, picture))
        at = found.end()
    tap.like(picture, r"(?s)out .*hidden: 2.*out .*net: 101, end", "the output is on the screen, in order")
    kinds = [e["type"] for e in events]
    firsts = [events[kinds.index(kind)] for kind in
              ("sandbox.started", "process.started", "fs.denied", "syscall.denied", "net.denied",
               "process.exited", "sandbox.executed")]
    times = [event["time"] for event in firsts]
    tap.equal(times, sorted(times), "in order by time in the file: %r" % kinds)
    for kind in ("fs.denied", "syscall.denied", "net.denied"):
        data = events[kinds.index(kind)]["data"]
        tap.ok(data["rule"] and data["pid"] == pid, "rule and process of %s: %r" % (kind, data))
    data = events[kinds.index("net.denied")]["data"]
    tap.equal((data["host"], data["port"], data["rule"]), ("192.0.2.1", 80, "network none"), "network")
    tap.equal(kinds.count("process.started"), 2, "the fork shows")


@tap.test("what a program prints acts on no terminal: not one byte of it gets there raw", deadline=60)
def _():
    evil = os.path.join(leaks.scratch(), "evil.py")
    with open(evil, "w", encoding="utf-8") as file:
        file.write("import sys, os\n"
                   "w = os.write\n"
                   "for c in range(32): w(1, b'K%dK' % c + bytes([27, c]) + bytes([c]))\n"
                   "for c in range(64, 128): w(1, b'\\x1b' + bytes([c]) + b'MARK')\n"
                   "for s in ('[2J', '[31m', ']0;PWNED\\a', ']52;c;cHduZWQ=\\a', 'P+q544e\\x1b\\\\', '_Gx\\x1b\\\\', '^x\\x1b\\\\', '[?1049l', '[6n', '[c', ']8;;http://evil\\a', 'c', '(0', '#8'):\n"
                   "    w(1, b'\\x1b' + s.encode()); w(2, b'\\x1b' + s.encode())\n"
                   "w(1, bytes(range(128, 256)))\n"
                   "w(1, ''.join(chr(c) for c in list(range(0x80, 0xa0)) + list(range(0x200b, 0x2070)) + [0xfeff, 0xad]).encode())\n"
                   "w(1, b'\\nLAST\\n')\n")
    for options in ((), ("--plain",)):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process = sandbox.start("run", "--watch", *options, "--python", PYTHON, "--script", evil, stdin=slave, stdout=slave, stderr=slave, env=environment())
        got, seen, typed = b"", 0, b"o2G3"
        end = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < end:
            if select.select([master], [], [], 0.02)[0]:
                got += os.read(master, 65536)
            elif b"has ended" in got and typed and not options:
                os.write(master, typed[:1])
                typed = typed[1:]
            elif b"has ended" in got and not options:
                os.write(master, b"q")
        tap.equal(process.wait(1), 0, "status")
        while select.select([master], [], [], 0.05)[0]:
            got += os.read(master, 65536)
        os.close(master)
        os.close(slave)
        text = got.decode("utf-8", "replace")
        tap.like(text, "LAST", "its last line was shown")
        tap.like(text, r"<U\+001B>", "and its first ones as text")
        for what in ("PWNED\a", "\x1bMARK", "\x1b]52", "\x1b]0;", "\x1b]8", "\x1bP", "\x1b_", "\x1b^", "\x1bc", "\x1b#8", "\x1b[6n", "\x1b[c"):
            tap.ok(what not in text, "%r did not get to the terminal" % what)
        rest = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\([B0]|\x1b[=>]|[\r\n\b\t\x0e\x0f]", "", text)
        bad = re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\xad]", rest)
        tap.ok(not bad, "nothing but the console's own control sequences: %r" % (bad and rest[max(0, bad.start() - 30):bad.end() + 30]))
        own = set(re.findall(r"\x1b\[[0-9;?]*([a-zA-Z])", text.replace("\x1b[22;0;0t", "").replace("\x1b[23;0;0t", "")))
        tap.ok(own <= set("HJKmhlrdGXABCDPLMST@nb"), "sequences: %r" % own)


@tap.test("the daemon is killed while the console is up: it says so, and goes on with the next one", deadline=60)
def _():
    sandbox.need("tmux")
    daemon = Daemon()
    with Client(daemon) as client:
        client.call("sandbox.run", command("true"))
    with console(daemon) as terminal:
        terminal.expect("0 live, 1 runs")
        daemon.stop(signal.SIGKILL)
        terminal.expect("NO DAEMON", "The daemon is gone. Trying again")
        terminal.keys("2")
        terminal.expect("start")
        terminal.keys("1", "K")
        terminal.expect("has ended already")
        daemon.start()
        with daemon, Client(daemon) as client:
            terminal.expect("connected again")
            terminal.expect_gone("NO DAEMON")
            client.call("sandbox.run", command("sh", "-c", "exit 5"))
            terminal.expect("exit 5", "0 live, 2 runs")
            terminal.keys("q")
            tap.equal(terminal.status(), 0, "status")


@tap.test("^Z stops it and gives the terminal back; fg brings the picture again, in the new size", deadline=60)
def _():
    with Pretended([event(1, "sandbox.started", "a" * 32, 1, program="script", name="x.py", tier="namespace", limits={})], [{"execution_id": "a" * 32, "method": "sandbox.run", "state": "running"}]) as daemon:
        with Terminal(shell=True) as terminal:
            terminal.text("set -m; stty -g > %s/one; %s console --socket %s" % (terminal.directory, CORDON, daemon.path))
            terminal.keys("Enter")
            terminal.expect("[1 Runs]", "x.py")
            terminal.keys("C-z")
            terminal.expect_gone("[1 Runs]")
            terminal.text("stty -g > %s/two; echo between $((40+2))" % terminal.directory)
            terminal.keys("Enter")
            terminal.expect("between 42")
            terminal.call("resize-window", "-x", "110", "-y", "30")
            terminal.text("fg")
            terminal.keys("Enter")
            picture = terminal.expect("[1 Runs]", "x.py")
            tap.eventually(lambda: len(terminal.picture().splitlines()[0]) > 100, "the title has the new width\n%s" % picture, 5)
            terminal.keys("q")
            terminal.expect_gone("[1 Runs]")
            terminal.text("stty -g > %s/three; echo over $((40+3))" % terminal.directory)
            terminal.keys("Enter")
            terminal.expect("over 43")
            modes = [open(os.path.join(terminal.directory, name)).read() for name in ("one", "two", "three")]
            tap.equal(modes[1:], [modes[0]] * 2, "the terminal's settings")


@tap.test("vigorous resizing, from nothing to very large", deadline=60)
def _():
    with Daemon() as daemon, Client(daemon) as client, console(daemon) as terminal:
        client.send("sandbox.run", command("sh", "-c", LOOP), 1)
        terminal.expect("running")
        for view in "1234":
            terminal.keys(view)
            for columns, rows in ((300, 100), (1, 1), (41, 11), (2, 50), (200, 3), (80, 24), (39, 9), (120, 40)):
                terminal.call("resize-window", "-x", str(columns), "-y", str(rows))
        terminal.call("resize-window", "-x", "30", "-y", "8")
        terminal.expect("terminal too small")
        terminal.call("resize-window", "-x", "300", "-y", "100")
        terminal.expect("6 Tools") # keys do nothing while it is too small
        terminal.keys("1")
        tap.eventually(lambda: len(terminal.expect("running").splitlines()[0]) > 290, "wide", 5)
        terminal.keys("q")
        tap.equal(terminal.status(), 0, "status")


@tap.cases("the terminal is restored after {0}", [(name,) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGABRT", "SIGBUS")], deadline=30)
def _(name):
    with Pretended() as daemon, console(daemon) as terminal:
        terminal.expect("No run is known")
        os.kill(terminal.child("cordon-operate"), getattr(signal, name))
        tap.equal(terminal.status(), 128 + getattr(signal, name), "the signal shows in the status")
        before, after = terminal.modes()
        tap.equal(after, before, "the terminal's settings")
        tap.equal(terminal.call("display", "-p", "#{alternate_on}").strip(), "0", "the main screen")


@tap.test("a terminal that goes away ends the console, at once and without a spin")
def _():
    with Pretended() as daemon:
        master, slave = pty.openpty()

        def lead():
            os.setsid()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = sandbox.start("console", "--socket", daemon.path, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead, env=environment())
        os.close(slave)
        shown = b""
        while b"No run is known" not in shown:
            shown += os.read(master, 65536)
        os.close(master)
        tap.eventually(lambda: process.poll() is not None, "it ended", 5)


@tap.cases("{0} ends a console whose terminal takes nothing, and what it watches", [(name,) for name in ("SIGTERM", "SIGHUP", "SIGINT")])
def _(name):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    before, mark = termios.tcgetattr(slave), "stalled%d" % os.getpid()
    noise = "i=0; while :; do i=$((i+1)); echo $i %s $i; sleep 0.002; done" % mark
    process = sandbox.start("run", "--watch", "--", "sh", "-c", noise, stdin=slave, stdout=slave, stderr=slave, env=environment(TERM="xterm"))
    shown = b""
    while b"running" not in shown:
        shown += os.read(master, 65536)
    os.write(master, b"2")

    def is_waiting():
        """Nobody reads: a picture has no more room."""
        return not select.select([], [slave], [], 0)[1]
    tap.eventually(is_waiting, "the terminal is full", 15)
    begun = time.monotonic()
    process.send_signal(getattr(signal, name))
    tap.eventually(lambda: process.poll() is not None, "it ended", 5)
    tap.diag("after %.1f s" % (time.monotonic() - begun))
    tap.equal(process.poll(), -getattr(signal, name), "the signal shows")
    tap.equal(termios.tcgetattr(slave), before, "the terminal's settings")
    tap.eventually(lambda: not watched(mark), "nothing is left of what it watched", 5)
    os.close(master)
    os.close(slave)


def watched(mark):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if mark.encode() in file.read():
                    return True
        except OSError:
            pass
    return False


@tap.test("Esc is answered at once")
def _():
    with Pretended() as daemon:
        master, slave = pty.openpty()
        process = sandbox.start("console", "--socket", daemon.path, stdin=slave, stdout=slave, stderr=slave, env=environment())

        def until(word, seconds):
            shown, end = b"", time.monotonic() + seconds
            while word not in shown:
                tap.ok(time.monotonic() < end, "%r came within %.1f s; there is %r" % (word, seconds, shown[-200:]))
                if select.select([master], [], [], 0.01)[0]:
                    shown += os.read(master, 65536)
        until(b"No run is known", 5)
        times = []
        for _ in range(5):
            os.write(master, b"?")
            until(b"Everywhere", 5)
            started = time.monotonic()
            os.write(master, b"\x1b")
            until(b"PROGRAM", 5)
            times.append(time.monotonic() - started)
        tap.ok(min(times) < 0.2, "it does not wait for the rest of a sequence: %r" % times)
        os.write(master, b"q")
        while process.poll() is None:
            if select.select([master], [], [], 0.01)[0]:
                os.read(master, 65536)
        os.close(master)
        os.close(slave)


@tap.test("nothing that is written to standard error shows on the screen; it is said afterwards, made visible")
def _():
    with Pretended() as daemon, Terminal("sh", "-c", "%s console --socket %s" % (CORDON, daemon.path)) as terminal:
        terminal.expect("No run is known")
        pid = terminal.child("cordon-operate")
        with open("/proc/%d/fd/2" % pid, "w", encoding="utf-8") as file:
            file.write("noise \x1b]0;x\x07 from a library\n")
        terminal.keys("2")
        tap.unlike(terminal.expect("No events yet"), "noise", "the screen")
        terminal.keys("q", "q")
        terminal.status()
        terminal.expect_printed("noise <U+001B>]0;x<U+0007> from a library")


@tap.test("a size in the environment that no terminal has is not taken")
def _():
    for size in ({"LINES": "99999", "COLUMNS": "99999"}, {"LINES": "-1", "COLUMNS": "0"}, {"LINES": "x"}):
        with Pretended() as daemon, Terminal("env", *["%s=%s" % pair for pair in size.items()], CORDON, "console", "--socket", daemon.path) as terminal:
            terminal.expect("No run is known")
            terminal.keys("q")
            tap.equal(terminal.status(), 0, "status with %r" % size)


@tap.test("without a terminal, with TERM=dumb and with --plain it is lines that are appended")
def _():
    tree = secret_tree()
    with Daemon() as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("sh", "-c", "cat %s/.env; printf '\\033[31mx\\n'; exit 4" % tree, ro=[tree]))
        for options, env in (((), environment()), (("--plain",), environment()), ((), environment(TERM="dumb"))):
            process = sandbox.start("console", "--socket", daemon.socket, *options, stdin=subprocess.PIPE, env=env)
            shown = b""
            while b"sandbox.executed" not in shown:
                shown += os.read(process.stdout.fileno(), 65536)
            process.stdin.write(b"runs\nshow 1\noutput 1\nkill 7\nnonsense\nfilter zzz\nhelp\n")
            process.stdin.flush()
            while b"quit: leave" not in shown or b"Record" not in shown:
                shown += os.read(process.stdout.fileno(), 65536)
            process.stdin.write(b"quit\n")
            process.stdin.flush()
            status, rest, errors = sandbox.finish(process)
            tap.equal((status, errors), (0, b""), "status, standard error")
            text = (shown + rest).decode()
            tap.ok("\x1b" not in text, "no control sequence")
            for what in (r"fs\.denied DENY cat\[\d+\] %s/\.env read rule secret:env" % re.escape(tree), r"output\.stdout out <U\+001B>\[31mx", r"1\. \w{8} sh -c cat .*, exit 4, memory", "There is no run of that number",
                         "There is no such command", "state     exit 4", r"(?m)^<U\+001B>\[31mx$"):
                tap.like(text, what, "lines")


@tap.test("plain, and nobody to type: it goes on until the reader leaves; a daemon that goes is waited for")
def _():
    daemon = Daemon()
    process = sandbox.start("console", "--socket", daemon.socket, env=environment())
    with Client(daemon) as client:
        client.call("sandbox.run", command("true"))
    shown = b""
    while b"sandbox.executed" not in shown:
        shown += os.read(process.stdout.fileno(), 65536)
    daemon.stop(signal.SIGKILL)
    while b"The daemon is gone" not in shown:
        shown += os.read(process.stdout.fileno(), 65536)
    daemon.start()
    with daemon, Client(daemon) as client:
        while b"connected again" not in shown:
            shown += os.read(process.stdout.fileno(), 65536)
        process.stdout.close()
        client.call("sandbox.run", command("true"))
        tap.eventually(lambda: process.poll() is not None, "it ended with its reader", 5)
        process.stderr.close()


@tap.test("--watch gives the program's status and record, whoever watches", deadline=60)
def _():
    tap.like(run("run", "--watch", "--", "sh", "-c", "echo x; exit 7").expect(7).text, r"output\.stdout out x", "events as lines")
    tap.equal(json.loads(run("run", "--watch", "--json", "--", "sh", "-c", "echo x; exit 7").expect(7).text.splitlines()[-1])["stdout"], "x\n", "record")
    run("run", "--watch", "--", "sh", "-c", "kill -9 $$").expect(137)
    run("run", "--watch", "--timeout", "0.2", "--", "sleep", "9").expect(124)
    run("run", "--watch", "--", "no-such-command").expect(127)
    tap.equal(json.loads(run("exec", "--watch", "--python", PYTHON, "-", stdin=b"return 5").expect(0).text.splitlines()[-1])["output"], 5, "a body")
    run("exec", "--watch", "--python", PYTHON, "-", stdin=b"import os").expect(2)
    tap.like(run("run", "--watch", "--ro", "/nonexistent", "--", "true").expect(125).errors, r"\[path_missing\]", "failures keep their code")
    for option in ("--daemon", "--stdin", "--tty"):
        tap.like(run("run", "--watch", option, "--", "true").expect(64).errors, "--watch", "with %s" % option)
    run("run", "--watch", "--theme", "pink", "--", "true").expect(64)


@tap.test("leaving while the program runs asks, and ends it with yes; its record is printed", deadline=60)
def _():
    with Terminal(CORDON, "run", "--watch", "--json", "--", "sh", "-c", LOOP) as terminal:
        terminal.expect("running")
        terminal.keys("q")
        terminal.expect("still runs", "[y/N]")
        terminal.reply("n")
        terminal.expect("running")
        terminal.keys("q")
        terminal.reply("y")
        tap.equal(terminal.status(), 137, "status")
        terminal.expect_printed('"signal":9')


@tap.test("a watched run ends with its console, however that ends", deadline=60)
def _():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        with Terminal(CORDON, "run", "--watch", "--", "sh", "-c", LOOP) as terminal:
            terminal.expect("running")
            os.kill(terminal.child("cordon-operate"), number)
            tap.equal(terminal.status(), 128 + number, "status")
        # The leak check of the test sees to the rest.


@tap.test("keys that were typed before a question is there do not answer it")
def _():
    with Daemon() as daemon, Client(daemon) as client, console(daemon) as terminal:
        client.send("sandbox.run", command("sh", "-c", LOOP), 1)
        terminal.expect("running")
        os.kill(terminal.child("cordon-operate"), signal.SIGSTOP)
        terminal.text("Kyyyy")
        os.kill(terminal.child("cordon-operate"), signal.SIGCONT)
        terminal.expect("[y/N]")
        terminal.reply("n")
        terminal.expect("running")


@tap.test("NO_COLOR and --theme mono send no colour; dark and light do, and keep to eight on the terminal's own background", deadline=60)
def _():
    with Daemon() as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("sh", "-c", "exit 3"))
        for options, env, coloured in (((), environment(NO_COLOR="1"), False), (("--theme", "mono"), environment(), False), ((), environment(), True), (("--theme", "light"), environment(), True)):
            with console(daemon, *options, env=env) as terminal:
                terminal.expect("exit 3")
                shown = terminal.picture("-e")
                colours = set(re.findall(r"\x1b\[(?:[0-9;]*;)?([34][0-7]|[34]8[;0-9]*|9[0-7]|10[0-7])(?=[;m])", shown))
                tap.ok(bool(colours) == coloured, "colours %r" % colours)
                tap.ok(not any(c.startswith(("4", "38", "9", "10")) for c in colours - {"30", "37"}), "eight colours, no background: %r" % colours)
                terminal.keys("q")
                tap.equal(terminal.status(), 0, "status")


@tap.test("idle, the console does nothing at all")
def _():
    with Daemon() as daemon, Client(daemon) as client, console(daemon) as terminal:
        client.call("sandbox.run", command("true"))
        terminal.expect("done")
        pid = terminal.child("cordon-operate")

        def waits():
            with open("/proc/%d/status" % pid) as file:
                return re.search(r"voluntary_ctxt_switches:\t(\d+)", file.read()).group(1)
        previous = [None, time.monotonic()]

        def still():
            now = waits()
            if now != previous[0]:
                previous[:] = [now, time.monotonic()]
            return time.monotonic() - previous[1] > 1.5
        tap.eventually(still, "it wakes for nothing during a second and a half", 10)


tap.main()
