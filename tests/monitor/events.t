#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--events: what happens during a run, each thing with its rule and process, and nothing that the schema does not know."""
import base64
import datetime
import json
import os
import platform
import select
import signal
import subprocess
import time

from lib import leaks, sandbox, tap
from lib.sandbox import PYTHON, run

SCHEMA = os.path.join(sandbox.BUILD, "isolate", "schemas", "event.schema.json")


def schema():
    with open(SCHEMA, encoding="utf-8") as file:
        document = sandbox.strict_json(file.read())
    return {rule["if"]["properties"]["type"]["const"]: rule["then"]["properties"]["data"] for rule in document["allOf"]}


KINDS = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def check(events):
    """Envelope, sequence and fields of every event."""
    types = schema()
    for number, event in enumerate(events):
        tap.equal(event["sequence"], number, "sequence of %r" % event)
        tap.equal(set(event), {"sequence", "specversion", "id", "source", "type", "subject", "time", "data"}, "envelope")
        tap.equal((event["specversion"], event["id"], event["subject"]), ("1.0", "%s-%d" % (event["subject"], number), events[0]["subject"]), "envelope")
        tap.like(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$", "time")
        data = types[event["type"]]
        tap.ok(set(data["required"]) <= set(event["data"]), "required fields: %r" % event)
        for name, value in event["data"].items():
            tap.ok(name in data["properties"], "%s is a field of %s" % (name, event["type"]))
            wanted = KINDS[data["properties"][name]["type"]]
            tap.ok(isinstance(value, wanted) and (wanted is not int or not isinstance(value, bool)), "%s of %r" % (name, event))
    tap.equal((events[0]["type"], events[-1]["type"]), ("sandbox.started", "sandbox.executed"), "the first and the last")


def watched(*arguments, status=0, **more):
    """Events of a run, and its Result."""
    directory = leaks.scratch()
    name = os.path.join(directory, "events")
    result = run(*arguments[:1], "--events", name, *arguments[1:], **more)
    tap.equal(result.status, status, "status\n%s" % result)
    with open(name, "rb") as file:
        events = [sandbox.strict_json(line.decode("utf-8")) for line in file]
    check(events)
    return events, result


def of(events, *types):
    return [event for event in events if event["type"] in types]


def need_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        tap.skip("/dev/fuse cannot be used here")


EVERYTHING = """
import ctypes, os, socket, sys
try:
    open(sys.argv[1] + '/.env')
except OSError as e:
    print('hidden', e.errno, flush=True)
libc = ctypes.CDLL(None, use_errno=True)
print('setns', libc.setns(0, 0), ctypes.get_errno(), flush=True)
try:
    socket.create_connection(('192.0.2.1', 80))
except OSError as e:
    print('connect', e.errno, flush=True)
child = os.fork()
if child == 0:
    os._exit(3)
os.waitpid(child, 0)
print('end', file=sys.stderr)
"""


# ioctl(2) of PIDFD_GET_INFO fails with ENOTTY, as before Linux 6.13: the low halves of the number and of the second argument decide.
NO_EXIT_INFO = ((0x20, 0, 0, 0), (0x15, 0, 3, 16), (0x20, 0, 0, 24), (0x54, 0, 0, 0xffff), (0x15, 1, 0, 0xff0b), (0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x00050019))


@tap.test("the status of the program is known where only PID 1 can tell it")
def _():
    if platform.machine() != "x86_64":
        tap.skip("the filter that makes this kernel an older one knows the numbers of x86_64")
    for turn in range(20):
        tier = ("namespace", "subprocess")[turn % 2]
        events, _ = watched("run", "--tier", tier, "--", "/bin/sh", "-c", "exit %d" % turn, status=turn,
                            preexec=sandbox.filtered(NO_EXIT_INFO))
        tap.equal(of(events, "process.exited")[-1]["data"].get("status"), turn, "status, " + tier)


@tap.test("a hidden file, setns, a connection, a fork and output are events with rule and process, in order")
def _():
    need_fuse()
    shown = leaks.scratch()
    for name in (".env", "code.py"):
        with open(os.path.join(shown, name), "w", encoding="utf-8") as file:
            file.write(EVERYTHING)
    events, result = watched("run", "--ro", shown, "--", PYTHON, os.path.join(shown, "code.py"), shown)
    tap.equal(result.out, b"hidden 2\nsetns -1 1\nconnect 101\n", "output passes as without events")
    hidden = of(events, "fs.denied")[0]
    tap.equal((hidden["data"]["path"], hidden["data"]["decision"], hidden["data"]["rule"]), (os.path.join(shown, ".env"), "deny", "secret:env"), "hidden file")
    call = of(events, "syscall.denied")[0]
    tap.equal((call["data"]["syscall"], call["data"]["arguments"], call["data"]["rule"]), ("setns", {"fd": 0, "type": 0}, "seccomp command"), "setns")
    tap.ok(call["data"]["comm"].startswith("python3"), "the name of the caller: %r" % call)
    main, child = of(events, "process.started")[:2]
    tap.equal((hidden["data"]["pid"], call["data"]["pid"]), (main["data"]["pid"],) * 2, "both name the program's process")
    tap.equal(child["data"]["parent_inside"], main["data"]["pid_inside"], "the child is the program's")
    tap.equal([e["data"]["pid_inside"] for e in of(events, "process.exited")], [child["data"]["pid_inside"], main["data"]["pid_inside"]], "both ended")
    tap.equal(of(events, "process.exited")[-1]["data"]["status"], 0, "status of the program")
    refused = of(events, "net.denied")[0]
    tap.equal([refused["data"][name] for name in ("host", "port", "syscall", "rule", "pid")], ["192.0.2.1", 80, "connect", "network none", main["data"]["pid"]], "connection")
    times = [e["time"] for e in (main, hidden, call, refused, child)]
    tap.equal(times, sorted(times), "in order by time")
    tap.equal("".join(e["data"]["text"] for e in of(events, "output.stdout")), result.out.decode(), "stdout")
    tap.equal("".join(e["data"]["text"] for e in of(events, "output.stderr")), "end\n", "stderr")
    tap.equal(sorted(events[-1]["data"]["observed"]), ["files", "network", "processes", "syscalls"], "observed")
    # Once by name, and once left out where Python lists the directory of its program.
    tap.like(result.errors, r"2 files refused, top: \S+/\.env \(2 times, rule secret:env\), allow with: --ro \S+/\.env", "summary")
    tap.like(result.errors, r"system calls? refused, top: setns", "summary of calls")


@tap.test("a refused call answers what it answers without events, and a flood of them is counted")
def _():
    code = "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nfor i in range(20000): r = l.setns(0, 0)\nprint(r, ctypes.get_errno())"
    plain = run("run", "--", PYTHON, "-c", code).expect(0)
    events, result = watched("run", "--", PYTHON, "-c", code)
    tap.equal((result.out, plain.out), (b"-1 1\n",) * 2, "answer")
    calls = of(events, "syscall.denied")
    tap.equal(sum(e["data"]["count"] for e in calls), 20000, "all are counted")
    tap.between(len(calls), 1, 60, "and not each told")
    tap.equal(events[-1]["data"]["refused"]["setns"], 20000, "sum")


@tap.test("a body's refused call is told")
def _():
    events, result = watched("exec", "--permit", "socket", "--allow", "socket", "-", status=1, stdin=b"import socket\nsocket.socket()\nreturn 1")
    tap.equal(of(events, "syscall.denied")[0]["data"]["syscall"], "socket", "call")
    tap.equal(of(events, "net.denied")[0]["data"]["rule"], "seccomp body", "net.denied")
    tap.equal(result.record["success"], False, "record")


@tap.test("a program may add a filter of its own, but no listener that could answer in the supervisor's place")
def _():
    code = """
import ctypes, platform
class F(ctypes.Structure): _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
allow = (ctypes.c_uint64 * 1)(0x7fff000000000006)
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, 8):
    r = libc.syscall({'x86_64': 317, 'aarch64': 277}[platform.machine()], 1, flags, ctypes.byref(F(1, ctypes.addressof(allow))))
    print(flags, r if r < 0 else 'ok', ctypes.get_errno() if r < 0 else 0)
"""
    events, result = watched("run", "--", PYTHON, "-c", code)
    plain = run("run", "--", PYTHON, "-c", code).expect(0)
    tap.equal((result.out, plain.out), (b"0 ok 0\n8 -1 1\n",) * 2, "answers")
    tap.equal([e["data"]["syscall"] for e in of(events, "syscall.denied")], ["seccomp"], "and it is told")


@tap.test("samples come four times a second, the first at the start")
def _():
    events, _ = watched("run", "--", "sleep", "1.1")
    tap.between(len(of(events, "resource.sample")), 4, 8, "samples")
    tap.ok(all(e["data"]["memory_bytes"] > 0 for e in of(events, "resource.sample")[:-1]), "memory of a live process")


@tap.cases("a limit that is hit is told: {}", [
    ("wall-time", ("--timeout", "0.3"), "import time; time.sleep(9)", 124), ("memory", ("--memory", "64"), "x = bytearray(900 << 20); print(len(x))", 137),
    ("output-size", ("--output-limit", "100"), "print('x' * 1000)", 0),
    ("processes", ("--pids", "20"), "import subprocess\ntry:\n    while True: subprocess.Popen(['sleep', '99'])\nexcept OSError: pass", 0),
    ("file-size", ("--fsize", "1"), "import signal\nsignal.signal(signal.SIGXFSZ, 0)\nopen('f', 'wb').write(bytes(2 << 20))", 153),
    ("workspace-size", ("--workspace-size", "1"), "try: open('f', 'wb').write(bytes(2 << 20))\nexcept OSError: pass", 0)])
def _(limit, options, code, status):
    events, result = watched("run", "--json", *options, "--", PYTHON, "-c", code, status=status)
    hit = [e["data"] for e in of(events, "limit.hit")]
    tap.equal([h["limit"] for h in hit], [limit], "limit.hit")
    tap.equal([(h["limit"], h["value"]) for h in result.record["limits_hit"]], [(limit, hit[0]["value"])], "record")
    option = result.record["limits_hit"][0]["option"]
    tap.ok(option in options, "its option: %s" % option)
    if status == 0:
        tap.like(result.errors, r"the limit %s was reached \(%d\), see %s\n" % (limit, hit[0]["value"], option), "summary")


@tap.test("output events stop at --output-limit, which is said once, and the output passes all the same")
def _():
    events, result = watched("run", "--output-limit", "10000", "--", PYTHON, "-c", "import sys\nfor f in sys.stdout, sys.stderr:\n for i in range(100): f.write('\\1' * 4000)")
    for kind in ("output.stdout", "output.stderr"):
        tap.equal(sum(len(e["data"]["text"]) for e in of(events, kind)), 10000, kind)
    tap.equal([(e["data"]["limit"], e["data"]["value"]) for e in of(events, "limit.hit")], [("output-size", 10000)], "limit.hit")
    tap.equal(len(result.out), 400000, "the output")


@tap.test("output that is no UTF-8 is there in base64, and no character is cut in two")
def _():
    events, result = watched("run", "--", PYTHON, "-c", "import sys; sys.stdout.buffer.write('\u00e9'.encode() * 5001 + b'\\xff\\xfe')")
    pieces = [e["data"] for e in of(events, "output.stdout")]
    got = b"".join(base64.b64decode(p["text_b64"]) if "text_b64" in p else p["text"].encode() for p in pieces)
    tap.equal(got, result.out, "bytes")
    tap.equal([p for p in pieces[:-1] if "\ufffd" in p["text"]], [], "whole characters")


@tap.test("equal policies have equal digests, others others")
def _():
    one, two, other = (watched("run", "--memory", memory, "--", "true")[0][0]["data"]["policy"] for memory in ("64", "64.0", "65"))
    tap.equal((one == two, one == other, len(one)), (True, False, 64), "digests")


@tap.test("a failure of cordon ends the stream with its code")
def _():
    events, _ = watched("run", "--tier", "namespace", "--python", "/nonexistent/python", "--code", "1", status=125)
    tap.equal(events[-1]["data"]["failure"], "interpreter_missing", "failure")


@tap.test("a pipe that nobody empties does not hold up the program, and what was lost is counted")
def _():
    directory = leaks.scratch()
    name = os.path.join(directory, "pipe")
    os.mkfifo(name)
    reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        result = run("run", "--events", name, "--", PYTHON, "-c", "import sys\nfor i in range(2000): sys.stdout.write('%05d' % i + 'x' * 4000); sys.stdout.flush()",
                     deadline=15).expect(0)
        tap.equal(len(result.out), 2000 * 4005, "output")
        tap.like(result.errors, r"\d+ events found no room", "said")
    finally:
        os.close(reader)


@tap.test("an event has the time at which it happened, however late the supervisor looks")
def _():
    need_fuse()
    directory = leaks.scratch()
    tree, name = os.path.join(directory, "tree"), os.path.join(directory, "events")
    os.mkdir(tree)
    os.chmod(directory, 0o755)
    open(os.path.join(tree, ".env"), "w").close()
    code = ("import os, signal, sys, time\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
            "print('up', flush=True)\nsignal.sigwait([signal.SIGUSR1])\n"
            "os.path.exists(sys.argv[1] + '/.env')\ntime.sleep(1)\n")
    process = sandbox.start("run", "--events", name, "--ro", tree, "--", PYTHON, "-c", code, tree)
    tap.equal(process.stdout.readline(), b"up\n", "it runs")
    with open(name, encoding="utf-8") as file:
        started = of(map(json.loads, file), "process.started")
    program = started[0]["data"]["pid"]
    process.send_signal(signal.SIGSTOP)
    try:
        stopped = datetime.datetime.now(datetime.timezone.utc)
        os.kill(program, signal.SIGUSR1)
        tap.eventually(lambda: leaks.is_gone(program), "the program has ended", 10)
        time.sleep(0.2)  # in which PID 1 says so
        resumed = datetime.datetime.now(datetime.timezone.utc)
    finally:
        process.send_signal(signal.SIGCONT)
    tap.equal(sandbox.finish(process)[0], 0, "status")
    with open(name, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    for kind in ("fs.denied", "resource.sample", "process.exited"):
        times = [datetime.datetime.fromisoformat(e["time"][:-1] + "+00:00") for e in of(events, kind)]
        tap.ok(any(stopped <= time <= resumed for time in times),
               "%s between %s and %s: %s" % (kind, stopped, resumed, times))


def through_pipe(count, slowness):
    """A run that opens count files, its events read from a pipe by a reader that begins when the run is over, or at once: (lines, record)."""
    directory = leaks.scratch()
    tree, name = os.path.join(directory, "tree"), os.path.join(directory, "pipe")
    os.mkdir(tree)
    for i in range(count):
        open(os.path.join(tree, "%06d" % i), "w").close()
    os.mkfifo(name)
    reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    process = sandbox.start("run", "--json", "--events", name, "--ro", tree, "--", PYTHON, "-c",
                            "import os, sys\nfor n in os.listdir(sys.argv[1]): open(os.path.join(sys.argv[1], n)).close()", tree)
    text = b""
    try:
        if slowness == "late":
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            poll = select.poll()
            poll.register(reader, select.POLLIN)
            tap.ok(poll.poll(10000), "something comes")
        os.set_blocking(reader, True)
        while True:
            piece = os.read(reader, 4096)
            if not piece:
                break
            text += piece
    finally:
        os.close(reader)
    result = sandbox.finish(process)
    tap.equal(text[-1:], b"\n", "the last line is whole")
    return [sandbox.strict_json(line.decode("utf-8")) for line in text.splitlines()], sandbox.strict_json(result[1].decode("utf-8"))


@tap.test("a reader that reads gets every event of a burst, the last one too")
def _():
    need_fuse()
    events, record = through_pipe(8000, "at once")
    tap.equal(sum(e["data"]["count"] for e in of(events, "fs.opened")), record["files"]["opened"] - record["files"]["dropped"], "every open")
    tap.equal(events[-1]["type"], "sandbox.executed", "the last")
    tap.equal(record["events"], {"lost": 0, "error": None}, "the record says that none is missing")


@tap.test("a reader that comes too late gets whole lines, and the record counts the rest")
def _():
    need_fuse()
    events, record = through_pipe(8000, "late")
    tap.ok(record["events"]["lost"] > 0, "some are missing")
    tap.ok(len(events) + record["events"]["lost"] >= 8000, "and counted: %d and %d" % (len(events), record["events"]["lost"]))


@tap.test("events that cannot be written are said to be missing, and the program's status stands")
def _():
    result = run("run", "--events", "/dev/full", "--", "sh", "-c", "exit 3").expect(3)
    tap.like(result.errors, r"the events could not be written: No space left on device; \d+ of them", "said")
    record = run("run", "--json", "--events", "/dev/full", "--", "true").expect(0).record
    tap.equal((record["events"]["error"], record["events"]["lost"] > 1), ("No space left on device", True), "the record")


@tap.test("the supervisor's death refuses what waits and leaves nothing")
def _():
    name = os.path.join(leaks.scratch(), "events")
    process = sandbox.start("run", "--events", name, "--", PYTHON, "-c",
                            "import ctypes\nl = ctypes.CDLL(None)\nprint(1, flush=True)\nwhile True: l.setns(0, 0)")
    tap.equal(process.stdout.readline(), b"1\n", "it runs")
    process.kill()
    sandbox.finish(process)


@tap.test("a plain run has the plain filter: no listener, no reports")
def _():
    record = run("run", "--json", "--", "/bin/sh", "-c", "grep -c '' /proc/self/status; cat /proc/self/status").expect(0).record
    tap.like(record["stdout"], r"(?m)^Seccomp_filters:\s+1$", "one filter")


@tap.test("the table of events gives a schema that names every type once")
def _():
    with open(os.path.join(sandbox.SOURCE, "isolate", "monitor", "events.def"), encoding="utf-8") as file:
        names = [line.split('"')[1] for line in file if line.startswith("EVENT_TYPE(")]
    tap.equal(sorted(schema()), sorted(names), "types")
    tap.equal(len(set(names)), len(names), "no name twice")


tap.main()
