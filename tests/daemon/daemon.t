#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon: what it runs, whom it answers, what it survives."""
import fcntl
import json
import os
import random
import resource
import signal
import socket
import subprocess
import termios
import threading
import time

from lib import leaks, sandbox, tap
from lib.console import Terminal
from lib.daemon import Client, Daemon, body, command
from lib.sandbox import PYTHON, run


def through(daemon, *arguments, **more):
    return run(arguments[0], "--daemon", "--socket", daemon.socket, *arguments[1:], **more)


@tap.test("the socket is its user's alone, and a daemon that lives is not replaced")
def _():
    with Daemon() as daemon:
        tap.equal(os.stat(daemon.socket).st_mode & 0o777, 0o600, "mode")
        result = run("serve", "--socket", daemon.socket, "--audit", os.path.join(leaks.scratch(), "other")).expect(125)
        tap.like(result.errors, r"\[daemon_running\]", "a second daemon")
        other = run("serve", "--socket", os.path.join(leaks.scratch(), "s"), "--audit", daemon.audit).expect(125)
        tap.like(other.errors, r"\[daemon_running\]", "a second daemon on one log")
        tap.equal(daemon.answers(), True, "the first goes on")


@tap.test("a dead daemon's socket is replaced, and the numbers go on")
def _():
    daemon = Daemon()
    with Client(daemon) as client:
        client.call("sandbox.run", command("true"))
    daemon.stop(signal.SIGKILL)
    last = daemon.log()[-1]["sequence"]
    with open(daemon.audit, "ab") as file:
        file.write(b'{"sequence":77,"torn')
    daemon.start()
    with daemon, Client(daemon) as client:
        tap.equal(client.call("daemon.info")["next"], last + 1, "next")
        client.call("sandbox.run", command("true"))
        tap.equal([e["sequence"] for e in daemon.log()], list(range(1, daemon.log()[-1]["sequence"] + 1)), "no gap, no torn line")


@tap.test("no daemon: --daemon says so")
def _():
    result = run("run", "--daemon", "--socket", os.path.join(leaks.scratch(), "none"), "--", "true").expect(125)
    tap.like(result.errors, r"\[daemon_missing\]", "failure")


@tap.test("run, exec and validate give through it what they give without it")
def _():
    with Daemon() as daemon:
        tap.equal(through(daemon, "run", "--", "sh", "-c", "echo out; echo err >&2; exit 7").expect(7).out, b"out\n", "streams and status")
        tap.equal(through(daemon, "run", "--stdin", "--", "cat", stdin=b"in\xff").expect(0).out, b"in\xff", "stdin, to the byte")
        through(daemon, "run", "--", "sh", "-c", "kill -9 $$").expect(137)
        through(daemon, "run", "--timeout", "0.3", "--", "sleep", "9").expect(124)
        through(daemon, "run", "--", "no-such-command").expect(127)
        record = through(daemon, "exec", "--python", PYTHON, "--args", '{"n": 12345678901234567890}', "-", stdin=b"return args['n']").expect(0).record
        tap.equal(record["output"], 12345678901234567890, "a large number")
        through(daemon, "exec", "--python", PYTHON, "-", stdin=b"import os").expect(2)
        through(daemon, "validate", "--python", PYTHON, "-", stdin=b"return 1").expect(0)
        tap.like(through(daemon, "validate", "--python", PYTHON, "-", stdin=b"import os").expect(2).text, "import of 'os'", "violations")
        tap.equal(through(daemon, "run", "--json", "--python", PYTHON, "--code", "print('\u00e9')").expect(0).record["stdout"], "\u00e9\n", "a script")
        tap.like(through(daemon, "run", "--ro", "/nonexistent", "--", "true").expect(125).errors, r"\[path_missing\]", "failures keep their code")


@tap.test("--events gives through the daemon the events of this execution alone, all of them, and the same summary")
def _():
    directory = leaks.scratch()
    code = "import ctypes\nl = ctypes.CDLL(None)\nfor _ in range(3): l.setns(0, 0)\nfor i in range(500): print('x' * 4000)"

    def watched(name, *options):
        result = run("run", "--output-limit", "4000000", "--events", os.path.join(directory, name), *options, "--", PYTHON, "-c", code).expect(0)
        with open(os.path.join(directory, name), "rb") as file:
            events = [sandbox.strict_json(line.decode("utf-8")) for line in file]
        return result, [e for e in events if e["type"] not in ("resource.sample", "process.started", "process.exited", "output.stdout")], events
    with Daemon() as daemon, Client(daemon) as other:
        other.send("sandbox.run", command("sleep", "1"), 1)  # whose events are nobody's business
        plain, few, _ = watched("plain")
        remote, same, events = watched("remote", "--daemon", "--socket", daemon.socket)
        tap.equal([(e["type"], set(e["data"])) for e in same], [(e["type"], set(e["data"])) for e in few], "the same events")
        tap.equal(len({e["subject"] for e in events}), 1, "of one execution")
        tap.equal((events[0]["type"], events[-1]["type"]), ("sandbox.started", "sandbox.executed"), "the first and the last")
        tap.equal("".join(e["data"]["text"] for e in events if e["type"] == "output.stdout"), remote.out.decode(), "output")
        tap.equal((remote.err, len(remote.out)), (plain.err, 500 * 4001), "summary")
        tap.like(remote.errors, "3 system calls refused, top: setns", "summary")
        # A client that reads only when all is over has every event before its answer, however much there is.
        with Client(daemon) as late:
            late.send("sandbox.run", dict(command(PYTHON, "-c", code, **{"output-limit": 1 << 22}), follow=True), 7)
            tap.eventually(lambda: other.call("daemon.info")["executions"] >= 3, "it has begun", 10)
            tap.eventually(lambda: len(other.call("sandbox.list")) == 0, "and is over", 20)
            tap.ok("result" in late.answer(7), "an answer")
            tap.equal(late.events[-1]["type"], "sandbox.executed", "the last event came before the answer")
            tap.ok(sum(len(e["data"]["text"]) for e in late.events if e["type"] == "output.stdout") == 500 * 4001, "and so did all the others")
        full = run("run", "--daemon", "--socket", daemon.socket, "--events", "/dev/full", "--", "sh", "-c", "exit 3").expect(3)
        tap.like(full.errors, "could not be written: No space left on device", "a full disk is said")
        answer = other.request("sandbox.run", dict(command("true"), follow=True, detach=True))
        tap.equal(answer["error"]["code"], -32602, "not with detach")


@tap.test("paths and variables are the caller's")
def _():
    with Daemon(env=dict(os.environ, ONE="daemon")) as daemon:
        here = leaks.scratch()
        with open(os.path.join(here, "file"), "w", encoding="utf-8") as file:
            file.write("content")
        result = through(daemon, "run", "--copy-in", "file", "--inherit-env", "ONE", "--", "sh", "-c", "cat file; echo $ONE", cwd=here, env=dict(os.environ, ONE="caller"))
        tap.equal(result.out, b"contentcaller\n", "output")


@tap.test("SIGINT of the caller reaches the program, and its end ends the execution")
def _():
    with Daemon() as daemon, Client(daemon) as client:
        process = sandbox.start("run", "--daemon", "--socket", daemon.socket, "--", "sh", "-c", "trap 'echo got; exit 5' INT; echo up; while :; do sleep 0.05; done",
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        tap.equal(process.stdout.readline(), b"up\n", "it runs")
        process.send_signal(signal.SIGINT)
        tap.equal(sandbox.finish(process)[:2], (5, b"got\n"), "status and output")
        process = sandbox.start("run", "--daemon", "--socket", daemon.socket, "--", "sh", "-c", "echo up; sleep 60")
        tap.equal(process.stdout.readline(), b"up\n", "it runs")
        process.kill()
        sandbox.finish(process)
        tap.eventually(lambda: client.call("sandbox.list") == [], "the execution ended with its client", 10)


def on_terminal(slave, daemon, script):
    """A run through the daemon that leads a session whose terminal is slave, as a shell's would."""
    def lead():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    return sandbox.start("run", "--daemon", "--socket", daemon.socket, "--tty", "--", "sh", "-c", script, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lead)


@tap.test("--tty gives the program a terminal, and the caller's is as it was afterwards")
def _():
    with Daemon() as daemon:
        master, slave = os.openpty()
        before = termios.tcgetattr(slave)
        process = on_terminal(slave, daemon, "test -t 0 && echo ready; read word; echo got $word; exit 4")
        shown = b""
        while b"ready\r\n" not in shown:
            shown += os.read(master, 4096)
        os.write(master, b"typed\n")  # once: the echo comes back in as many pieces as it likes
        while b"got typed\r\n" not in shown:
            shown += os.read(master, 4096)
        tap.equal(process.wait(10), 4, "status")
        tap.equal((shown.count(b"typed"), b"\r\r" in shown), (2, False), "typed keys are echoed once, by the program's terminal: %r" % shown)
        tap.equal(termios.tcgetattr(slave), before, "the terminal")
        os.close(master)
        os.close(slave)


@tap.test("a client that is killed leaves its terminal as it was")
def _():
    with Daemon() as daemon:
        master, slave = os.openpty()
        before = termios.tcgetattr(slave)
        process = on_terminal(slave, daemon, "echo ready; sleep 100")
        shown = b""
        while b"ready" not in shown:
            shown += os.read(master, 4096)
        tap.ok(termios.tcgetattr(slave) != before, "keys go through as they are meanwhile")
        process.kill()
        process.wait(10)
        tap.eventually(lambda: termios.tcgetattr(slave) == before, "the terminal", 5)
        os.close(master)
        os.close(slave)


@tap.test("kill, pause and resume; the clock stands still meanwhile")
def _():
    with Daemon() as daemon, Client(daemon) as one, Client(daemon) as two:
        two.call("events.subscribe", {"type": "sandbox.*"})
        one.send("sandbox.run", command("sh", "-c", "i=0; while [ $i -lt 20 ]; do sleep 0.02; i=$((i+1)); done; echo end", timeout=2), 1)
        subject = two.event("sandbox.started")["subject"]
        tap.eventually(lambda: "result" in two.request("sandbox.pause", {"execution_id": subject}), "paused", 5)
        two.event("sandbox.paused")
        tap.equal(two.call("sandbox.list")[0]["state"], "paused", "state")
        one.connection.settimeout(2.5)
        try:
            tap.fail("a paused program ended: %r" % one.line())
        except socket.timeout:
            pass
        one.connection.settimeout(30)
        two.call("sandbox.resume", {"execution_id": subject})
        record = one.answer(1)["result"]["record"]
        tap.equal((record["stdout"], record["timed_out"]), ("end\n", False), "record")
        tap.between(record["duration_ms"], 300, 2000, "the pause does not count")
        one.send("sandbox.run", command("sleep", "60"), 2)
        subject = two.event("sandbox.started")["subject"]
        tap.equal(two.call("sandbox.kill", {"execution_id": subject}), {"ok": True}, "kill")
        tap.equal(one.answer(2)["result"]["status"], 137, "status")
        tap.equal(two.request("sandbox.kill", {"execution_id": subject})["error"]["code"], -32002, "no such execution")


@tap.test("files that are opened through the view are events of the daemon's, too")
def _():
    tree = leaks.scratch()
    with open(os.path.join(tree, "seen"), "w", encoding="utf-8") as file:
        file.write("x")
    with Daemon() as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("cat", tree + "/seen", ro=[tree]))
        opened = [e["data"] for e in daemon.log() if e["type"] == "fs.opened"]
        tap.equal([(o["path"], o["rule"], o["comm"]) for o in opened], [(tree + "/seen", "ro:1", "cat")], "events")


@tap.test("what was asked for, and what came of it, can be had while it runs and afterwards")
def _():
    with Daemon() as daemon, Client(daemon) as client, Client(daemon) as watcher:
        watcher.call("events.subscribe", {})
        client.send("sandbox.run", {"program": {"kind": "script", "text": "import time\nprint('x')\ntime.sleep(0.3)"}, "options": {"memory": 99, "python": PYTHON}}, 1)
        subject = watcher.event("sandbox.started")["subject"]
        shown = watcher.call("sandbox.show", {"execution_id": subject})
        tap.equal((shown["state"], shown["method"], shown["options"]["memory"], shown["record"]), ("running", "sandbox.run", 99, None), "while it runs")
        tap.equal(shown["program"]["text"].splitlines()[1], "print('x')", "program")
        record = client.answer(1)["result"]["record"]
        shown = watcher.call("sandbox.show", {"execution_id": subject})
        tap.equal((shown["state"], shown["record"]), ("ended", record), "afterwards")
        tap.equal(watcher.request("sandbox.show", {"execution_id": "none"})["error"]["code"], -32002, "no such execution")
        for number in range(260):
            client.send("sandbox.run", {"program": {"kind": "command", "argv": ["true"]}, "options": {"ro": ["/nonexistent"]}}, 100 + number)
        for number in range(260):
            client.answer()
        tap.equal(watcher.request("sandbox.show", {"execution_id": subject})["error"]["code"], -32002, "and forgotten when many came after it")


@tap.test("a detached execution outlives its client")
def _():
    with Daemon() as daemon, Client(daemon) as watcher:
        watcher.call("events.subscribe", {})
        with Client(daemon) as client:
            subject = client.call("sandbox.run", dict(command("sleep", "0.4"), detach=True))["execution_id"]
        executed = watcher.event("sandbox.executed")
        tap.equal((executed["subject"], executed["data"]["success"]), (subject, True), "it ran to its end")


@tap.test("a detached execution that cannot begin is told to have ended, with the failure")
def _():
    with Daemon() as daemon, Client(daemon) as client:
        client.call("events.subscribe", {"type": "sandbox.executed"})
        for options, failure, said in (({"no-such": 1}, "bad_option", "no-such"), ({"ro": ["/nonexistent"]}, "path_missing", "/nonexistent")):
            subject = client.call("sandbox.run", dict(command("true"), options=options, detach=True))["execution_id"]
            executed = client.event("sandbox.executed")
            tap.equal((executed["subject"], executed["data"]["success"], executed["data"]["failure"]), (subject, False, failure), "the end")
            tap.like(executed["data"]["error"], said, "the reason")


@tap.test("events are replayed from a number, filtered by type and subject, and printed by cordon events")
def _():
    with Daemon() as daemon, Client(daemon) as client:
        first = client.call("sandbox.run", command("echo", "one"))["record"]["execution_id"]
        second = client.call("sandbox.run", command("echo", "two"))["record"]["execution_id"]
        log = daemon.log()
        client.call("events.subscribe", {"since": 0})
        tap.equal([client.event() for _ in log], log, "replay of everything")
        tap.ok({first, second} == {e["subject"] for e in log}, "subjects")
        printed = run("events", "--audit", daemon.audit, "--type", "output.*", "--subject", second).expect(0)
        tap.equal([json.loads(line)["data"]["text"] for line in printed.text.splitlines()], ["two\n"], "cordon events")
        middle = log[len(log) // 2]["sequence"]
        printed = run("events", "--audit", daemon.audit, "--since", str(middle)).expect(0)
        tap.equal([json.loads(line)["sequence"] for line in printed.text.splitlines()], [e["sequence"] for e in log if e["sequence"] > middle], "--since")
        process = sandbox.start("events", "--follow", "--since", str(middle), "--audit", daemon.audit, "--socket", daemon.socket)
        client.call("sandbox.run", command("echo", "three"))
        lines = []
        while not lines or lines[-1]["type"] != "sandbox.executed" or len(lines) < len(log) - middle + 3:
            lines.append(json.loads(process.stdout.readline()))
        process.terminate()
        sandbox.finish(process)
        tap.equal([e["sequence"] for e in lines], list(range(middle + 1, middle + 1 + len(lines))), "--follow goes on without a gap")


def daemon_numbers(daemon):
    """The sequence numbers of every line of the log that is an event."""
    numbers = []
    for name in [daemon.audit + ".%d" % n for n in range(100, 0, -1)] + [daemon.audit]:
        if os.path.exists(name):
            with open(name, "rb") as file:
                numbers += [json.loads(line)["sequence"] for line in file if line.startswith(b"{")]
    return numbers


@tap.cases("numbers go on after a log whose end is damaged: {}", [("a line that is no event", b"garbage line\n"), ("half a line", b'{"sequence":99'), ("zeros and a newline", b"\0" * 70000 + b"\n"),
                                                                 ("many zeros", b"\0" * (1 << 20))])
def _(_name, damage):
    directory = leaks.scratch()
    with Daemon(directory=directory) as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("true"))
    with open(daemon.audit, "ab") as file:
        file.write(damage)
    with Daemon(directory=directory) as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("true"))
        log = daemon.log()
        tap.equal([e["sequence"] for e in log], list(range(1, len(log) + 1)), "the log is whole and in sequence")
        tap.equal(sum(e["type"] == "sandbox.executed" for e in log), 2, "both runs")
        tap.like(daemon.said(), "are no whole event, and are cut", "said")


@tap.test("numbers go on after a log of which only the older files are whole")
def _():
    directory = leaks.scratch()
    with Daemon("--audit-size", "0.005", "--audit-keep", "50", directory=directory) as daemon, Client(daemon) as client:
        for _ in range(6):
            client.call("sandbox.run", command("true"))
    with open(daemon.audit, "wb") as file:
        file.write(b"garbage\n")
    kept = daemon_numbers(daemon)
    with Daemon("--audit-size", "0.005", "--audit-keep", "50", directory=directory) as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("true"))
        numbers = daemon_numbers(daemon)
    tap.ok(kept and numbers[:len(kept)] == kept and len(numbers) > len(kept), "the older ones are as they were")
    tap.equal(numbers, list(range(1, len(numbers) + 1)), "and the numbers go on after them")


@tap.test("what a full disk has no room for is counted in the log")
def _():
    directory = leaks.scratch()
    # A file size limit stands in for the disk: EFBIG instead of ENOSPC, and it can be raised again from outside.
    with Daemon(directory=directory) as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("true"))
        size = os.path.getsize(daemon.audit)
        limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (size + 10, limits[1]))
        client.call("sandbox.run", command("true"))
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, limits)
        client.call("sandbox.run", command("true"))
        log = daemon.log()
        dropped = [e for e in log if e["type"] == "events.dropped"]
        tap.equal(len(dropped), 1, "one line")
        at = log.index(dropped[0])
        tap.equal(dropped[0]["data"], {"count": dropped[0]["sequence"] - log[at - 1]["sequence"], "since": log[at - 1]["sequence"]}, "how many, and since when")
        tap.equal(log[at + 1]["sequence"], dropped[0]["sequence"] + 1, "the numbers go on")
        tap.like(daemon.said(), r"(?s)cannot be written.*is written again", "said")


@tap.test("a subscriber that half-closed and went away gives its place back, and all subscribers together leave some")
def _():
    with Daemon("--connections", "8") as daemon:
        for _ in range(8):
            client = Client(daemon)
            client.request("events.subscribe", {"type": "nothing.*"})
            client.connection.shutdown(socket.SHUT_WR)
            client.close()
        tap.eventually(lambda: run("run", "--daemon", "--socket", daemon.socket, "--", "true").status == 0, "a new client is served", 15)
        with Client(daemon) as info:
            tap.eventually(lambda: info.call("daemon.info")["connections"] == 1, "all eight are gone", 10)
        watchers = [Client(daemon) for _ in range(7)]
        answers = [watcher.request("events.subscribe", {}) for watcher in watchers]
        tap.equal([("error" in answer and answer["error"]["code"]) for answer in answers], [False] * 6 + [-32001], "six of eight may subscribe")
        tap.equal(run("run", "--daemon", "--socket", daemon.socket, "--", "true").status, 0, "and others are served")
        [watcher.close() for watcher in watchers]


@tap.test("a client whose requests overlap the ends of its writes is not thrown out", deadline=60)
def _():
    with Daemon() as daemon, Client(daemon) as client:
        request = b'{"jsonrpc":"2.0","id":%d,"method":"daemon.info"}\n'
        client.connection.sendall((request % 0)[:20])
        for number in range(13):  # longer than a client may take over one request
            client.connection.sendall((request % number)[20:] + (request % (number + 1))[:20])
            tap.equal(client.answer(number)["id"], number, "answered")
            time.sleep(1)


ASKS = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"daemon.info"}\\n')
    print("answer", s.recv(100))
except OSError as problem:
    print("refused", problem)
"""


@tap.cases("a program in the tier subprocess, which sees the socket, is not spoken to by a daemon {}", [
    ("as it is", None), ("that is held by more filters than the program", sandbox.filtered(times=8))])
def _(_name, preexec):
    with Daemon(preexec=preexec) as daemon, Client(daemon) as client:
        record = client.call("sandbox.run", command(PYTHON, "-c", ASKS, daemon.socket, tier="subprocess"))["record"]
        tap.unlike(record["stdout"], "version", "nothing is told: %r" % record["stderr"])
        tap.like(record["stdout"], "answer b''|refused", "it was tried")


@tap.test("a client that is held by a filter of its own is served")
def _():
    if os.getuid() == 0:
        tap.skip("root may speak to a daemon whatever holds it")
    with Daemon() as daemon:
        said = subprocess.run([PYTHON, "-c", ASKS, daemon.socket], preexec_fn=sandbox.filtered(), stdout=subprocess.PIPE, check=True).stdout
        tap.like(said.decode(), "version", "answer")


@tap.test("a log that is deleted is begun anew")
def _():
    with Daemon() as daemon, Client(daemon) as client:
        client.call("sandbox.run", command("true"))
        last = daemon.log()[-1]["sequence"]
        os.unlink(daemon.audit)
        client.call("sandbox.run", command("true"))
        tap.equal(daemon.log()[0]["sequence"], last + 1, "the numbers go on")
        tap.like(daemon.said(), "was deleted; a new one is begun", "said")


@tap.test("a file that is no socket is not replaced by one")
def _():
    directory = leaks.scratch()
    name = os.path.join(directory, "notes")
    with open(name, "w") as file:
        file.write("precious")
    os.symlink(name, os.path.join(directory, "link"))
    for path in (name, os.path.join(directory, "link"), directory):
        result = run("serve", "--socket", path, "--audit", os.path.join(directory, "log")).expect(125)
        tap.like(result.errors, "is no socket", "said")
    with open(name) as file:
        tap.equal(file.read(), "precious", "the file")


@tap.test("cordon events reads the log of the daemon at a socket, and no file of it is missed while it is rotated", deadline=60)
def _():
    with Daemon("--audit-size", "0.02", "--audit-keep", "500") as daemon, Client(daemon) as client:
        stop = threading.Event()

        def work():
            with Client(daemon) as other:
                while not stop.is_set():
                    other.call("sandbox.run", command("true"))
        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(25):
                lines = run("events", "--socket", daemon.socket, "--since", "1").expect(0).out.splitlines()
                numbers = [json.loads(line)["sequence"] for line in lines]
                tap.equal(numbers, list(range(2, len(numbers) + 2)), "no number is missing")
        finally:
            stop.set()
            worker.join(20)


@tap.test("the log is rotated by size and stays in sequence")
def _():
    with Daemon("--audit-size", "0.02", "--audit-keep", "100") as daemon, Client(daemon) as client:
        for _ in range(40):
            client.call("sandbox.run", command("echo", "x"))
        tap.ok(os.path.exists(daemon.audit + ".2"), "older files")
        log = daemon.log()
        tap.equal([e["sequence"] for e in log], list(range(1, len(log) + 1)), "sequence")


# A11: the log is written from outside, with a descriptor that only appends, and nothing inside can touch it or speak to the daemon.
@tap.cases("a program that is shown the daemon's own directory cannot touch the log or reach the socket: {}", [("through the view", "mixed"), ("as a bind", "bind")])
def _(_name, view):
    if view == "mixed" and not os.access("/dev/fuse", os.R_OK | os.W_OK):
        tap.skip("/dev/fuse cannot be used here")
    code = """
import os, socket, sys
def tried(what, call):
    try:
        call()
        print(what, "done")
    except OSError as e:
        print(what, type(e).__name__, e.errno)
socket_path, audit = sys.argv[1:]
tried("append", lambda: os.open(audit, os.O_WRONLY | os.O_APPEND))
tried("truncate", lambda: os.truncate(audit, 0))
tried("unlink", lambda: os.unlink(audit))
tried("rename", lambda: os.rename(audit, audit + ".gone"))
def speak():
    s = socket.socket(socket.AF_UNIX)
    s.connect(socket_path)
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"daemon.info"}\\n')
    if not s.recv(100):
        raise ConnectionError(0, "closed")
tried("speak", speak)
"""
    with Daemon() as daemon, Client(daemon) as client:
        record = client.call("sandbox.run", command(PYTHON, "-c", code, daemon.socket, daemon.audit, ro=[daemon.directory], view=view))["record"]
        tap.unlike(record["stdout"], "done", "nothing was let through\n%r" % record["stderr"])
        tap.equal(len(record["stdout"].splitlines()), 5, "each was tried: %r %r" % (record["stdout"], record["stderr"]))
        log = daemon.log()
        tap.equal([e["sequence"] for e in log], list(range(1, len(log) + 1)), "the log is whole")
        with open("/proc/%d/fdinfo/%s" % (daemon.process.pid, next(n for n in os.listdir("/proc/%d/fd" % daemon.process.pid)
                                                                  if os.path.realpath("/proc/%d/fd/%s" % (daemon.process.pid, n)) == os.path.realpath(daemon.audit)))) as file:
            flags = int(next(line for line in file if line.startswith("flags:")).split()[1], 8)
        tap.ok(flags & os.O_APPEND, "the daemon only appends")


@tap.test("TERM ends what runs and delivers the records")
def _():
    daemon = Daemon("--jobs", "1")
    with Client(daemon) as client:
        client.send("sandbox.run", command("sleep", "60"), 1)
        client.send("sandbox.run", command("sleep", "60"), 2)
        tap.eventually(lambda: any(e["type"] == "process.started" for e in daemon.log()), "it runs", 10)
        daemon.process.terminate()
        answers = {answer["id"]: answer for answer in (client.answer(), client.answer())}
        tap.equal(answers[1]["result"]["record"]["signal"] is not None, True, "the record of the one that ran")
        tap.equal(answers[2]["error"]["code"], -32000, "the one that waited is told")
        tap.equal(daemon.process.wait(15), 0, "status")
        tap.equal(daemon.log()[-1]["type"], "sandbox.executed", "the log has its end")
        daemon.errors.close()


@tap.test("the daemon's death ends everything")
def _():
    daemon = Daemon()
    with Client(daemon) as client:
        for number in range(4):
            client.send("sandbox.run", command("sleep", "60"), number)
        tap.eventually(lambda: len({e["subject"] for e in daemon.log() if e["type"] == "process.started"}) == 4, "all run", 10)
        daemon.stop(signal.SIGKILL)
        tap.equal(client.answer(), None, "the client sees the end")
    # (the leak check of the test finds what is left)


@tap.test("a supervisor that is killed ends one execution, which is answered and has an end in the log")
def _():
    with Daemon() as daemon, Client(daemon) as client:
        client.send("sandbox.run", command("sleep", "60"), 1)
        worker = tap.eventually(lambda: [j["supervisor"] for j in Client(daemon).call("sandbox.list") if j["supervisor"] > 0], "it runs", 10)[0]
        tap.eventually(lambda: any(e["type"] == "process.started" for e in daemon.log()), "it runs", 10)
        os.kill(worker, signal.SIGKILL)
        tap.like(client.answer(1)["error"]["message"], "ended by signal 9", "answer")
        tap.equal(daemon.log()[-1]["type"], "sandbox.executed", "the log has its end")
        tap.equal(client.call("sandbox.run", command("true"))["status"], 0, "the next one runs")


@tap.test("a socket that a service manager passes is taken")
def _():
    directory = leaks.scratch()
    name = os.path.join(directory, "passed.sock")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(name)
    listener.listen(8)
    script = 'unset XDG_RUNTIME_DIR; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve --audit "$1"'
    process = subprocess.Popen(["/bin/sh", "-c", script, sandbox.CORDON, os.path.join(directory, "log")], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: os.dup2(listener.fileno(), 3), pass_fds=(3,) if listener.fileno() != 3 else (listener.fileno(),))
    listener.close()
    try:
        result = run("run", "--daemon", "--socket", name, "--", "echo", "yes").expect(0)
        tap.equal(result.out, b"yes\n", "output")
    finally:
        process.terminate()
        tap.equal(process.wait(15), 0, "status")
    tap.ok(os.path.exists(name), "a socket that was passed stays")


HOSTILE = [
    ("no JSON", b"hello\n", -32700), ("an array", b"[]\n", -32700), ("a key twice", b'{"id":1,"id":2}\n', -32700), ("a NUL", b'{"id":"\\u0000"}\n', -32700),
    ("depth", b'{"params":' + b"[" * 10000 + b"\n", -32700), ("no method", b'{"jsonrpc":"2.0","id":1}\n', -32600),
    ("an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"sandbox.fly"}\n', -32601), ("params of another kind", b'{"jsonrpc":"2.0","id":1,"method":"daemon.info","params":[]}\n', -32602),
    ("an unknown parameter", b'{"jsonrpc":"2.0","id":1,"method":"daemon.info","params":{"x":1}}\n', -32602), ("an object as id", b'{"jsonrpc":"2.0","id":{},"method":"daemon.info"}\n', -32600),
    ("a string of invalid UTF-8", b'{"jsonrpc":"2.0","id":"\xff","method":"daemon.info"}\n', -32700), ("a frame that is too long", b" " * (5 << 20) + b"\n", -32700),
    ("a program of another kind", b'{"jsonrpc":"2.0","id":1,"method":"sandbox.run","params":{"program":5}}\n', -32000),
    ("unknown options", b'{"jsonrpc":"2.0","id":1,"method":"sandbox.run","params":{"program":{"kind":"command","argv":["true"]},"options":{"fly":1}}}\n', -32000),
    ("a flag that is none", b'{"jsonrpc":"2.0","id":1,"method":"sandbox.run","params":{"program":{"kind":"command","argv":["true"]},"streams":5}}\n', -32602),
    ("a wrong subscription", b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":-1}}\n', -32602),
]


@tap.test("malformed requests are refused one by one, and the daemon goes on")
def _():
    with Daemon() as daemon:
        for what, line, code in HOSTILE:
            with Client(daemon) as client:
                client.connection.sendall(line)
                answer = client.answer()
                tap.equal(answer and answer["error"]["code"], code, what)
                tap.ok("result" in client.request("daemon.info"), "the connection goes on after %s" % what)


@tap.test("slow, silent, half-closed and rude clients cost others nothing")
def _():
    with Daemon("--connections", "16") as daemon:
        before = daemon.descriptors()
        rude = [Client(daemon) for _ in range(40)]
        for client in rude[::4]:
            try:
                client.connection.sendall(b'{"jsonrpc":"2.0","id":1')
            except OSError:
                pass
        with Client(daemon) as client:
            tap.equal(client.call("sandbox.run", command("true"))["status"], 0, "a new client is served")
        for client in rude:
            client.close()
        with Client(daemon) as client:
            client.send("sandbox.run", command("echo", "late"), 1)
            client.connection.shutdown(socket.SHUT_WR)
            tap.equal(client.answer(1)["result"]["record"]["stdout"], "late\n", "one that only stopped asking gets its answer")
            tap.equal(client.line(), None, "and then the end")
        flood = Client(daemon)
        flood.connection.setblocking(False)
        request = b'{"jsonrpc":"2.0","id":1,"method":"daemon.info"}\n'
        sent = 0
        try:
            while sent < 64 << 20:
                sent += flood.connection.send(request * 1000)
        except BlockingIOError:
            pass
        tap.ok(sent < 64 << 20, "one that never reads is not read from for ever")
        with Client(daemon) as client:
            tap.equal(client.call("sandbox.run", command("true"))["status"], 0, "others are served")
        flood.close()
        passing = Client(daemon)
        for _ in range(20):
            socket.send_fds(passing.connection, [b"\n"], [0, 1, 2, 0, 1])
        passing.call("daemon.info")
        tap.between(daemon.descriptors(), 0, before + 8, "descriptors that nobody asked for are closed")
        passing.close()
        tap.eventually(lambda: daemon.descriptors() <= before + 1, "no descriptor left", 5)


@tap.test("what waits is bounded, and so is what one connection asks for")
def _():
    with Daemon("--jobs", "1", "--queue", "3") as daemon, Client(daemon) as client:
        for number in range(1, 7):
            client.send("sandbox.run", command("sleep", "0.2"), number)
        answers = {answer["id"]: answer for answer in (client.answer() for _ in range(6))}
        tap.equal(sorted(n for n in answers if "error" in answers[n]), [5, 6], "refused")
        tap.equal({answers[n]["error"]["code"] for n in (5, 6)}, {-32001}, "code")


@tap.test("executions with three subscribers, one never reading: every record once, the log in sequence, memory flat", deadline=240)
def _():
    load(total=int(os.environ.get("CORDON_SOAK", "200")), at_once=32)


def load(total, at_once):
    with Daemon("--jobs", "8") as daemon:
        silent = Client(daemon)
        silent.call("events.subscribe", {})
        readers = [Client(daemon), Client(daemon)]
        seen = [[], []]

        def follow(reader, into):
            reader.connection.settimeout(None)
            while True:
                line = reader.line()
                if line is None:
                    return
                if line.get("method") == "event":
                    into.append(line["params"])
        for reader, into in zip(readers, seen):
            reader.call("events.subscribe", {})
        threads = [threading.Thread(target=follow, args=pair, daemon=True) for pair in zip(readers, seen)]
        for thread in threads:
            thread.start()
        records, sizes = [], []
        with Client(daemon, timeout=60) as client:
            client.call("daemon.info")  # it is accepted by now
            descriptors = daemon.descriptors()
            for number in range(total + at_once):
                if number >= at_once:
                    answer = client.answer()
                    tap.equal(answer["result"]["record"]["stdout"], "%d\n" % answer["id"], "record")
                    records.append(answer["id"])
                    if len(records) % 50 == 0:
                        sizes.append(daemon.resident())
                if number < total:
                    client.send("sandbox.run", command("sh", "-c", "echo %d" % number), number)
            tap.equal(sorted(records), list(range(total)), "every record once")
            log = daemon.log()
            tap.equal([e["sequence"] for e in log], list(range(1, len(log) + 1)), "the log is in sequence")
            tap.equal(sum(e["type"] == "sandbox.executed" for e in log), total, "and complete")
            tap.eventually(lambda: all(s and s[-1]["sequence"] == log[-1]["sequence"] for s in seen), "both readers have come to the end", 20)
            for events in seen:
                told = [e["sequence"] for e in events if not e["id"].startswith("dropped-")]
                tap.equal(told, sorted(set(told)), "each event at most once, in order")
                missed = sum(e["data"]["count"] for e in events if e["id"].startswith("dropped-"))
                tap.equal(len(told) + missed, len(log), "every event, or how many were missed")
            tap.eventually(lambda: daemon.descriptors() <= descriptors, "no descriptor left", 5)
            tap.equal(client.call("sandbox.list"), [], "no execution left")
        if not sandbox.SANITIZED:  # which keeps what was freed for a while
            tap.ok(sizes[-1] - sizes[len(sizes) // 3] < 8 << 20, "memory: %r" % sizes)
        tap.diag("%d executions, %d events, resident %d KiB" % (total, len(log), sizes[-1] // 1024))
        for client in readers + [silent]:
            client.connection.shutdown(socket.SHUT_RDWR)
            client.close()
        for thread in threads:
            thread.join(5)


def below(top):
    """Every process below top: [(pid, name)]."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    line = file.read()
            except OSError:
                continue
            parents[int(name)] = (int(line.rsplit(")", 1)[1].split()[1]), line.split("(", 1)[1].rsplit(")", 1)[0])
    found, before = {top}, 0
    while len(found) != before:
        before = len(found)
        found |= {pid for pid, (parent, _) in parents.items() if parent in found}
    return [(pid, parents[pid][1]) for pid in found if pid != top and pid in parents]


def kill_some(chance, daemon, names, most):
    """Kills processes below the daemon with one of these names, at random; says how many."""
    victims = [pid for pid, name in below(daemon.process.pid) if name in names]
    chance.shuffle(victims)
    killed = 0
    for pid in victims[:most]:
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass
    return killed


class Victims:
    """Who watches and who works while a daemon runs executions, and who of them is killed next. Whoever watches is replaced at once."""

    KINDS = {"supervisor": 5, "view server": 5, "follower": 2, "console": 2, "daemon": 1}

    def __init__(self, daemon, chance):
        self.daemon, self.chance = daemon, chance
        self.killed = dict.fromkeys(self.KINDS, 0)
        self.follower = self.console = self.silent = None
        self.complete()

    def complete(self):
        """Starts whoever is not there: one that follows, one that subscribes and never reads, and a console with its screen."""
        if self.follower is None or self.follower.poll() is not None:
            if self.follower is not None:
                sandbox.finish(self.follower)
            self.follower = sandbox.start("events", "--follow", "--socket", self.daemon.socket, stdout=subprocess.DEVNULL)
        if self.silent is None:
            self.silent = Client(self.daemon)
            self.silent.call("events.subscribe", {})
        if self.console is None:
            self.console = Terminal(sandbox.CORDON, "console", "--socket", self.daemon.socket)
            self.console.expect("Runs")

    def kill_console(self):
        os.kill(self.console.child("cordon-operate"), signal.SIGKILL)
        self.console.__exit__()
        self.console = None
        return 1

    def kill_daemon(self):
        self.daemon.stop(signal.SIGKILL)
        self.silent.close()
        self.silent = None
        return 1

    def kill_follower(self):
        self.follower.kill()
        self.follower.wait()
        return 1

    def kill(self):
        """Kills one, or a few of those that there are more of. Returns what kind it was."""
        kind = self.chance.choices(list(self.KINDS), self.KINDS.values())[0]
        ways = {"daemon": self.kill_daemon, "console": self.kill_console, "follower": self.kill_follower}
        names = {"supervisor": {"cordon-worker"}, "view server": {"cordon-view"}}
        self.killed[kind] += ways[kind]() if kind in ways else kill_some(self.chance, self.daemon, names[kind], self.chance.randint(1, 4))
        return kind

    def end(self):
        self.follower.kill()
        sandbox.finish(self.follower)
        self.console.__exit__()
        self.silent.close()


def soak(client, requests, victims, at_once, each):
    """Sends the requests, so many at once, and kills somebody after each so many answers. Returns those that were lost with a daemon, and the client for the next one."""
    waiting, at, answered = {}, 0, 0
    while at < len(requests) or waiting:
        while at < len(requests) and len(waiting) < at_once:
            number, parameters = requests[at]
            client.send("sandbox.run", parameters, number)
            waiting[number] = parameters
            at += 1
        answer = client.answer()
        tap.ok(answer is not None and answer["id"] in waiting, "an answer to what waits for one: %r" % answer)
        del waiting[answer["id"]]
        answered += 1
        if answered % each == 0 and victims.kill() == "daemon":
            while True:
                answer = client.answer()
                if answer is None:
                    return list(waiting.items()) + requests[at:]
                tap.ok(waiting.pop(answer["id"], None), "one answer to each: %r" % answer)
        elif answered % each == 0:
            victims.complete()
    return []


@tap.test("KILL at random of supervisors, view servers, followers, consoles and the daemon during a load: nothing hangs, nothing is left, a new daemon works", deadline=600)
def _():
    sandbox.need("tmux")
    seed = int(os.environ.get("CORDON_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
    tap.diag("CORDON_SEED=%d" % seed)
    directory, tree = leaks.scratch(), leaks.scratch()
    for number in range(200):
        with open(os.path.join(tree, "%d" % number), "w") as file:
            file.write("x" * number)
    named = {"ro": [tree]} if os.access("/dev/fuse", os.R_OK | os.W_OK) else {}
    total = int(os.environ.get("CORDON_SOAK", "0")) or 160
    left = [(number, command("sh", "-c", "cat %s/* > /dev/null; sleep 0.%d" % (tree, number % 10), **(named if number % 2 else {}))) for number in range(total)]
    daemon = Daemon("--jobs", "8", directory=directory)
    victims = Victims(daemon, random.Random(seed))
    while left:
        with Client(daemon) as client:
            left = soak(client, left, victims, 32, 5)
        if daemon.process is None:
            daemon.start()
        victims.complete()
    with daemon, Client(daemon) as client:
        tap.equal(client.call("sandbox.run", command("true"))["status"], 0, "it works")
        tap.eventually(lambda: client.call("sandbox.list") == [], "no execution is left", 10)
        log = daemon.log()
        tap.equal([e["sequence"] for e in log], list(range(1, len(log) + 1)), "the log is in sequence")
        victims.console.keys("2")
        victims.console.expect("end    success true exit 0")
        victims.end()
    tap.diag("killed: %r" % victims.killed)
    wanted = {kind for kind in victims.killed if total >= 1000 or kind in ("supervisor", "view server")} - (set() if named else {"view server"})
    tap.equal({kind for kind in wanted if victims.killed[kind] == 0}, set(), "some of each were killed: %r" % victims.killed)


tap.main()
