#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that are told of before they are made: processes that live for a moment, addresses outside; and that a program gets the same answers whether or not anybody watches."""
import json
import os
import platform
import re
import resource
import shlex
import signal
import socket
import struct
import subprocess
import time

from lib import leaks, sandbox, tap
from lib.sandbox import PYTHON, run


def watched(*arguments, **more):
    """Events of a run of this program, and its Result."""
    name = os.path.join(leaks.scratch(), "events")
    result = run("run", "--events", name, *arguments, **more)
    with open(name, "rb") as file:
        return [sandbox.strict_json(line.decode("utf-8")) for line in file], result


def of(events, *types):
    return [event for event in events if event["type"] in types]


def below(pid):
    """Children of a process."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def is_sorted(events):
    """Whether each has a time that is not before that of the last."""
    times = [event["time"] for event in events]
    return times == sorted(times)


def is_zombie(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "Z"


ORDER = """
import ctypes, os, socket
def say(text): os.write(1, (text + '\\n').encode())
libc = ctypes.CDLL(None, use_errno=True)
def child(status):
    pid = os.fork()
    if pid == 0: os._exit(status)
    os.waitpid(pid, 0)
libc.setns(0, 0)
say('one')
try: socket.create_connection(('192.0.2.1', 80))
except OSError as e: say('two')
child(3)
say('three')
libc.setns(0, 1)
child(4)
try: socket.create_connection(('2001:db8::1', 443))
except OSError as e: pass
say('four')
"""


@tap.test("a refused call, a connection and a fork are told in the order they were made in, with rule and process")
def _():
    events, result = watched("--", PYTHON, "-c", ORDER)
    tap.equal((result.status, result.out), (0, b"one\ntwo\nthree\nfour\n"), "output")
    main = of(events, "process.started")[0]["data"]
    story = []
    for event in of(events, "process.started", "syscall.denied", "net.denied"):
        data = event["data"]
        if event["type"] == "process.started":
            story.append(("started", data["parent_inside"]))
        elif event["type"] == "syscall.denied":
            story.append((data["syscall"], data["pid"] == main["pid"], data["rule"]))
        else:
            story.append((data["host"], data["port"], data["pid"] == main["pid"], data["rule"]))
    text = "".join(e["data"]["text"] for e in of(events, "output.stdout"))
    tap.equal(text.split(), ["one", "two", "three", "four"], "its output in order")
    started, call = ("started", main["pid_inside"]), ("setns", True, "seccomp command")
    connections = [(host, port, True, "network none")
                   for host, port in (("192.0.2.1", 80), ("2001:db8::1", 443))]
    tap.equal(story, [("started", 1), call, connections[0], started, call, started, connections[1]], "story")
    tap.ok(is_sorted(of(events, "process.started", "syscall.denied", "net.denied")), "by time, too")
    tap.equal([e["data"].get("status") for e in of(events, "process.exited")], [3, 4, 0], "how each ended")
    tap.equal(events[-1]["data"]["hosts"], {"192.0.2.1:80": 1, "[2001:db8::1]:443": 1}, "sum")
    tap.like(result.errors, r"2 connections refused, top: \S+ \(1 time\), allow with: --network allow",
             "summary")


# Something on every channel, again and again.
STORY = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def say(stream, text): os.write(stream, (text + ' ').encode())
for turn in range(20):
    say(1, 'before-open')
    try: open(sys.argv[1] + '/.env.%d' % turn)
    except FileNotFoundError: say(2, 'before-write')
    try: open(sys.argv[1] + '/note-%d' % turn, 'w')
    except OSError: say(1, 'before-setns')
    libc.setns(0, turn)
    say(2, 'before-connect')
    try: socket.create_connection(('192.0.2.1', 80 + turn))
    except OSError: say(1, 'before-fork')
    pid = os.fork()
    if pid == 0:
        say(1, 'child')
        os._exit(0)
    say(2, 'after-fork')
    os.waitpid(pid, 0)
"""


def kind_of(event):
    """The channel that an event came by, and what it says there."""
    data = event["data"]
    if event["type"].startswith("output."):
        return event["type"], data["text"].split()
    if event["type"] == "fs.denied":
        return "view", ["open" if "/.env." in data["path"] else "write"]
    names = {"process.started": "fork", "syscall.denied": "setns", "net.denied": "connect"}
    return "filter", [names[event["type"]]] if event["type"] in names else []


@tap.test("each channel is told in order, and refusals of view and filter lie in order by time", deadline=60)
def _():
    top = leaks.scratch()
    for turn in range(20):
        with open(os.path.join(top, ".env.%d" % turn), "w", encoding="utf-8") as file:
            file.write("secret")
    os.chmod(top, 0o755)
    events, result = watched("--ro", top, "--", PYTHON, "-c", STORY, top)
    tap.equal(result.status, 0, "status\n%s" % result)
    main = of(events, "process.started")[0]
    told = {"output.stdout": [], "output.stderr": [], "view": [], "filter": []}
    for event in events[events.index(main) + 1:]:
        channel, words = kind_of(event)
        told[channel] += words
        if event["type"] in ("fs.denied", "syscall.denied", "net.denied"):
            tap.equal((event["data"]["pid"], bool(event["data"]["rule"])), (main["data"]["pid"], True),
                      "who was refused and by which rule: %s" % event)
    # A child and its maker go on at the same time.
    printed = [word for word in told["output.stdout"] if word != "child"]
    tap.equal(len(told["output.stdout"]) - len(printed), 20, "children")
    tap.equal(printed, ["before-open", "before-setns", "before-fork"] * 20, "standard output")
    tap.equal(told["output.stderr"], ["before-write", "before-connect", "after-fork"] * 20, "standard error")
    tap.equal(told["view"], ["open", "write"] * 20, "the view")
    tap.equal(told["filter"], ["setns", "connect", "fork"] * 20, "the filter")
    # What the program waits for has a time from while it waits.
    refused = sorted(of(events, "fs.denied", "syscall.denied", "net.denied"), key=lambda e: e["time"])
    tap.equal([kind_of(event)[1][0] for event in refused], ["open", "write", "setns", "connect"] * 20,
              "refusals by time")


LAST = """
import os
if os.fork() == 0: os._exit(7)
os.write(1, b'made\\n')
os._exit(0)
"""


@tap.test("a process that was made last is told, though the program ends before it has begun", deadline=60)
def _():
    for command, count in ((("sh", "-c", "(exit 7) & (exit 8) & (exit 9) & echo made"), 4), ((PYTHON, "-I", "-S", "-c", LAST), 2)):
        for _turn in range(15):
            events, result = watched("--", *command)
            tap.equal((result.status, result.out), (0, b"made\n"), "status and output")
            started, exited = of(events, "process.started"), of(events, "process.exited")
            tap.equal((len(started), len(exited)), (count, count), "processes: %r" % events)


LEFT = """
import os, signal
for i in range(900):
    if os.fork() == 0:
        signal.pause()
os.write(1, b'made')
os._exit(0)
"""


@tap.test("900 processes that are left behind are told, each once", deadline=60)
def _():
    events, result = watched("--pids", "1000", "--", PYTHON, "-I", "-S", "-c", LEFT)
    tap.equal((result.status, result.out), (0, b"made"), "status and output")
    for kind in ("process.started", "process.exited"):
        told = [e["data"]["pid_inside"] for e in of(events, kind)]
        tap.equal((len(told), len(set(told))), (901, 901), kind)


SHORT = """
import os, subprocess
for i in range(200):
    pid = os.fork()
    if pid == 0: os._exit(i)
    os.waitpid(pid, 0)
for i in range(20):
    subprocess.run(['/bin/true'])
"""


@tap.test("200 processes that end at once, and 20 programs, are each told once, with parent, command and status", deadline=60)
def _():
    events, result = watched("--", PYTHON, "-c", SHORT)
    tap.equal(result.status, 0, "status")
    started, exited = of(events, "process.started"), of(events, "process.exited")
    tap.equal(len({e["data"]["pid_inside"] for e in started}), 221, "processes")
    tap.equal(len(started), 221, "each once")
    tap.equal(sorted(e["data"]["pid_inside"] for e in exited), sorted(e["data"]["pid_inside"] for e in started), "each ended")
    tap.equal({e["data"]["parent_inside"] for e in started[1:]}, {started[0]["data"]["pid_inside"]}, "parent")
    # One that PID 1 saw between vfork(2) and execve(2) was told with the command of its parent, and then what it became.
    commands = {e["data"]["pid_inside"]: e["data"]["command"] for e in of(events, "process.started", "process.executed")}
    tap.equal([commands[e["data"]["pid_inside"]] for e in started[-20:]], ["/bin/true"] * 20, "commands")
    if "status" in exited[0]["data"]:
        tap.equal([e["data"].get("status") for e in exited], list(range(200)) + [0] * 21, "how each ended")
    else:
        tap.equal(exited[-1]["data"]["status"], 0, "before Linux 6.15 at least the program's")


@tap.test("processes that have ended are told once, however long nobody collects them", deadline=60)
def _():
    code = ("import os, time\nfor i in range(40):\n if os.fork() == 0: os._exit(i)\n"
            "time.sleep(0.3)\nfor i in range(40):\n if os.fork() == 0: os._exit(i)\n os.write(1, b'x')\nfor i in range(80): os.wait()")
    events, result = watched("--pids", "200", "--", PYTHON, "-c", code)
    tap.equal(result.status, 0, "status\n%s" % result)
    for kind in ("process.started", "process.exited"):
        told = [e["data"]["pid_inside"] for e in of(events, kind)]
        tap.equal((len(told), len(set(told))), (81, 81), kind)


@tap.test("a process that becomes another program is told, a thread is not a process")
def _():
    events, result = watched("--", "/bin/sh", "-c", "exec /bin/sleep 0")
    tap.equal(result.status, 0, "status")
    tap.equal([(e["type"], e["data"]["command"]) for e in of(events, "process.started", "process.executed")],
              [("process.started", "/bin/sh -c exec /bin/sleep 0"), ("process.executed", "/bin/sleep 0")], "both programs")
    events, _ = watched("--", PYTHON, "-c", "import threading\nfor i in range(50):\n t = threading.Thread(target=int)\n t.start()\n t.join()")
    tap.equal(len(of(events, "process.started", "process.executed")), 1, "threads")


@tap.test("a process that makes no call of the C library's is found when PID 1 looks")
def _():
    code = ("import ctypes, os, platform, select\nl = ctypes.CDLL(None)\n"
            "pid = l.syscall({'x86_64': 56, 'aarch64': 220}[platform.machine()], 17, 0, 0, 0, 0)\n"
            "if pid == 0:\n select.select([], [], [], 0.3)\n l.syscall({'x86_64': 231, 'aarch64': 94}[platform.machine()], 5)\nos.waitpid(pid, 0)")
    events, result = watched("--", PYTHON, "-c", code)
    tap.equal(result.status, 0, "status\n%s" % result)
    started, exited = of(events, "process.started"), of(events, "process.exited")
    tap.equal((len(started), len(exited)), (2, 2), "started and exited")
    tap.ok(started[1]["data"]["pid"] > 0, "its number on the host: %r" % started[1])
    tap.equal(exited[0]["data"].get("pid"), started[1]["data"]["pid"], "and that of the end")


@tap.test("a process that only the view knows yet is told before what it asks for, and once")
def _():
    top = leaks.scratch()
    os.chmod(top, 0o755)
    with open(os.path.join(top, ".env"), "w", encoding="utf-8") as file:
        file.write("secret")
    # The child makes no call of the C library's that is notified.
    code = """
import ctypes, os, platform, sys
libc = ctypes.PyDLL(None)
clone, end = {'x86_64': (56, 231), 'aarch64': (220, 94)}[platform.machine()]
path = (sys.argv[1] + '/.env').encode()
for i in range(8):
    pid = libc.syscall(clone, 17, 0, 0, 0, 0)
    if pid == 0:
        libc.access(path, 0)
        libc.usleep(100000)
        libc.syscall(end, 3)
    os.waitpid(pid, 0)
"""
    events, result = watched("--ro", top, "--", PYTHON, "-c", code, top)
    tap.equal(result.status, 0, "status\n%s" % result)
    known, unknown = set(), []
    for event in of(events, "process.started", "fs.denied"):
        if event["type"] == "process.started":
            known.add(event["data"]["pid"])
        elif event["data"]["pid"] not in known:
            unknown.append(event)
    started = [e["data"]["pid_inside"] for e in of(events, "process.started")]
    tap.equal((len(started), len(set(started))), (9, 9), "each once")
    tap.equal(unknown, [], "and before what it asked for")
    tap.ok(is_sorted(of(events, "process.started")), "in order by time, too")
    tap.equal(sorted(e["data"]["pid_inside"] for e in of(events, "process.exited")), sorted(started), "ends")


# Every kind of address, in every call that takes one, and what is no address at all. Prints what each answers.
MATRIX = """
import ctypes, errno, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen(64)
port = listener.getsockname()[1]
six = socket.socket(socket.AF_INET6); six.bind(('::1', 0)); six.listen(64)
path = '/tmp/a.socket'
unix = socket.socket(socket.AF_UNIX); unix.bind(path); unix.listen(64)
abstract = socket.socket(socket.AF_UNIX); abstract.bind(b'\\0abstract'); abstract.listen(64)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); receiver.bind(('127.0.0.1', 0))
def v4(host, port): return struct.pack('=H', socket.AF_INET) + struct.pack('!H', port) + socket.inet_aton(host) + bytes(8)
def v6(host, port): return struct.pack('=H', socket.AF_INET6) + struct.pack('!HI', port, 0) + socket.inet_pton(socket.AF_INET6, host) + bytes(4)
def un(name): return struct.pack('=H', socket.AF_UNIX) + name
def show(name, value): print(name, value if value >= 0 else errno.errorcode[ctypes.get_errno()])
ADDRESSES = [('loopback', v4('127.0.0.1', port)), ('other loopback', v4('127.9.9.9', port)), ('any', v4('0.0.0.0', port)), ('outside', v4('192.0.2.1', 80)), ('broadcast', v4('255.255.255.255', 9)),
    ('multicast', v4('224.0.0.1', 9)), ('v6 loopback', v6('::1', six.getsockname()[1])), ('v6 any', v6('::', six.getsockname()[1])), ('v6 outside', v6('2001:db8::1', 80)), ('mapped loopback', v6('::ffff:127.0.0.1', port)),
    ('mapped outside', v6('::ffff:192.0.2.1', 80)), ('path', un(path.encode())), ('abstract', un(b'\\0abstract')), ('nothing', un(b'/tmp/none')), ('unspecified', bytes(16)), ('short', v4('192.0.2.1', 80)[:8]),
    ('long', v4('192.0.2.1', 80) + bytes(112)), ('too long', v4('192.0.2.1', 80) + bytes(200)), ('unknown family', struct.pack('=H', 77) + bytes(26)), ('empty', b'')]
KINDS = [('tcp', socket.AF_INET, socket.SOCK_STREAM), ('tcp6', socket.AF_INET6, socket.SOCK_STREAM), ('udp', socket.AF_INET, socket.SOCK_DGRAM), ('udp6', socket.AF_INET6, socket.SOCK_DGRAM),
    ('unix', socket.AF_UNIX, socket.SOCK_STREAM)]
class Vector(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
class Header(ctypes.Structure): _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint), ('iov', ctypes.c_void_p), ('iovlen', ctypes.c_size_t), ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]
class Many(ctypes.Structure): _fields_ = [('header', Header), ('length', ctypes.c_uint)]
payload = ctypes.create_string_buffer(b'x')
vector = Vector(ctypes.addressof(payload), 1)
for name, address in ADDRESSES:
    a = ctypes.create_string_buffer(address, max(1, len(address)))
    at, size = ctypes.c_void_p(ctypes.addressof(a)), len(address)
    for kind, family, type in KINDS:
        with socket.socket(family, type) as s: show('%s connect %s' % (kind, name), libc.connect(s.fileno(), at, size))
        if not kind.startswith('udp'): continue
        header = Header(at.value, size, ctypes.addressof(vector), 1, None, 0, 0)
        with socket.socket(family, type) as s:
            show('%s sendto %s' % (kind, name), libc.sendto(s.fileno(), payload, 1, 0, at, size))
            show('%s sendmsg %s' % (kind, name), libc.sendmsg(s.fileno(), ctypes.byref(header), 0))
            show('%s sendmmsg %s' % (kind, name), libc.sendmmsg(s.fileno(), ctypes.byref(Many(header, 0)), 1, 0))
outside = ctypes.create_string_buffer(v4('192.0.2.1', 80))
for name, fd in (('closed', 99), ('negative', -1), ('file', os.open('/dev/null', os.O_RDWR))):
    show('connect of a %s descriptor' % name, libc.connect(fd, outside, 16))
    show('sendto of a %s descriptor' % name, libc.sendto(fd, payload, 1, 0, outside, 16))
with socket.socket() as s:
    for name, at in (('null', 0), ('unmapped', 8), ('kernel', 0xffff888000000000)):
        show('connect to a %s address' % name, libc.connect(s.fileno(), ctypes.c_void_p(at), 16))
        show('sendmsg of a %s header' % name, libc.sendmsg(s.fileno(), ctypes.c_void_p(at), 0x4000))
# Over a connection the address is of no account.
with socket.create_connection(('127.0.0.1', port)) as s:
    header = Header(ctypes.addressof(outside), 16, ctypes.addressof(vector), 1, None, 0, 0)
    show('sendto over a connection', libc.sendto(s.fileno(), payload, 1, 0, outside, 16))
    show('sendmsg over a connection', libc.sendmsg(s.fileno(), ctypes.byref(header), 0))
    show('connect of a connection', libc.connect(s.fileno(), outside, 16))
show('connect of a listener', libc.connect(listener.fileno(), outside, 16))
# What the kernel refuses for another reason, or does not: sent to itself.
def attempt(name, act):
    try: print(name, act())
    except OSError as e: print(name, errno.errorcode.get(e.errno, e))
def multicast():
    r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(('', 5353)); r.settimeout(5)
    r.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('224.0.0.251') + socket.inet_aton('127.0.0.1'))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('127.0.0.1'))
    s.sendto(b'hi', ('224.0.0.251', 5353))
    return r.recv(9)
def on_lo(type, act):
    s = socket.socket(socket.AF_INET, type); s.settimeout(0.2); s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo')
    return act(s)
attempt('multicast on lo', multicast)
attempt('datagram on lo', lambda: on_lo(socket.SOCK_DGRAM, lambda s: s.sendto(b'x', ('192.0.2.1', 9))))
attempt('connection on lo', lambda: on_lo(socket.SOCK_STREAM, lambda s: s.connect(('192.0.2.1', 9))))
attempt('too large', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(70000), ('192.0.2.1', 9)))
attempt('by way of lo', lambda: on_lo(socket.SOCK_DGRAM, lambda s: (s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b''), s.setsockopt(0, 50, struct.pack('!I', 1)), s.sendto(b'x', ('192.0.2.1', 9)))[2]))
attempt('out of band', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', socket.MSG_OOB, ('192.0.2.1', 9)))
attempt('no port', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 0)))
attempt('no link', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('fe80::1', 9)))
attempt('not connected', lambda: socket.socket().sendto(b'x', socket.MSG_NOSIGNAL, ('192.0.2.1', 9)))
"""


@tap.test("every address in every call gets the same answer whether or not anybody watches", deadline=60)
def _():
    plain = run("run", "--", PYTHON, "-c", MATRIX)
    events, result = watched("--", PYTHON, "-c", MATRIX)
    tap.equal(plain.status, 0, "status\n%s" % plain)
    answers = plain.out.decode().splitlines()
    tap.between(len(answers), 150, 400, "answers")
    for mine, theirs in zip(result.out.decode().splitlines(), answers):
        tap.equal(mine, theirs, "watched, and not")
    tap.equal(len(result.out.splitlines()), len(answers), "answers")
    for kind, call in (("tcp", "connect"), ("udp", "connect"), ("udp", "sendto"), ("udp", "sendmsg"), ("udp", "sendmmsg")):
        tap.ok("%s %s outside ENETUNREACH" % (kind, call) in answers, "%s %s" % (kind, call))
    tap.ok("multicast on lo b'hi'" in answers, "multicast")
    told = {(e["data"].get("syscall"), e["data"].get("host")) for e in of(events, "net.denied")}
    for call in ("connect", "sendto", "sendmsg", "sendmmsg"):
        for host in ("192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "255.255.255.255"):
            if (call, host) not in told:
                tap.ok(False, "%s to %s is told: %r" % (call, host, told))
    # Each that the kernel refused for want of a route is told, and no other; multicast is left to its count.
    refused = [line.split()[1] for line in answers if line.endswith(" ENETUNREACH") and re.match(r"(tcp|udp)6? \w+ (mapped |v6 |too )?(outside|broadcast|long) ", line)]
    counts = {call: sum(e["data"]["count"] for e in of(events, "net.denied") if e["data"].get("syscall") == call) for call in ("connect", "sendto", "sendmsg", "sendmmsg")}
    tap.equal(counts, {call: refused.count(call) for call in counts}, "told as often as refused")
    tap.ok(not [t for t in told if t[1] in ("224.0.0.1", "224.0.0.251")], "what may be sent to oneself is not told for one outside: %r" % told)
    tap.ok(not [t for t in told if t[1] and re.search(r"127\.|::1$|^0\.0\.0\.0$|^::$", t[1]) and t[1] != "2001:db8::1"], "no address of its own is told: %r" % told)


UNDUMPABLE = """
import ctypes, os, socket, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for i in range(6):
    pid = os.fork()
    if pid == 0: os._exit(7 + i)
    if i % 2: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    os.waitpid(pid, 0)
pid = os.fork()
if pid == 0: os.kill(os.getpid(), 9)
os.waitpid(pid, 0)
try: socket.create_connection(('192.0.2.77', 99))
except OSError: os._exit(5)
"""


# Who a refused call is told of: threads, and processes that make no call of the C library's, among many.
CALLERS = """
import ctypes, os, platform, signal, threading
libc = ctypes.PyDLL(None) # keeps the interpreter's lock: a child that is made without its knowledge has it, too
clone, end = {'x86_64': (56, 231), 'aarch64': (220, 94)}[platform.machine()]
def raw(number):
    pid = libc.syscall(clone, signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        libc.setns(0, number)
        libc.syscall(end, 0)
    os.waitpid(pid, 0)
def other(act, *arguments):
    thread = threading.Thread(target=act, args=arguments)
    thread.start()
    thread.join()
others = []
for i in range(12):
    others.append(os.fork())
    if others[-1] == 0: signal.pause()
raw(1)
other(raw, 2)
other(libc.setns, 0, 3)
other(lambda: libc.setns(0, 4) + sum(libc.setns(0, 5) for i in range(10)))
for pid in others: os.kill(pid, 9)
for pid in others: os.waitpid(pid, 0)
"""


@tap.test("a refused call is told with its process, which was told of before and has not ended, whichever thread made it")
def _():
    events, result = watched("--", PYTHON, "-c", CALLERS)
    tap.equal(result.status, 0, "status\n%s" % result)
    alive, seen = set(), []
    for event in of(events, "process.started", "process.exited", "syscall.denied"):
        pid = event["data"]["pid"]
        if event["type"] == "process.started":
            alive.add(pid)
        elif event["type"] == "process.exited":
            alive.remove(pid)
        else:
            seen.append((event["data"]["arguments"]["type"], pid in alive, event["data"]["count"]))
    tap.equal(seen[:5], [(1, True, 1), (2, True, 1), (3, True, 1), (4, True, 1), (5, True, 1)], "calls")
    # The other nine are told as one number, or as more where a busy machine let the second of a count go by.
    tap.equal(([call[:2] for call in seen[5:]], sum(call[2] for call in seen[5:])), ([(5, True)] * len(seen[5:]), 9), "the rest")


@tap.test("a hidden file that a thread asks for is told with its process")
def _():
    top = leaks.scratch()
    os.chmod(top, 0o755)
    with open(os.path.join(top, ".env"), "w", encoding="utf-8") as file:
        file.write("secret")
    code = "import os, sys, threading\nt = threading.Thread(target=lambda: os.path.exists(sys.argv[1] + '/.env'))\nt.start()\nt.join()"
    events, result = watched("--ro", top, "--", PYTHON, "-c", code, top)
    tap.equal(result.status, 0, "status\n%s" % result)
    tap.equal([e["data"]["pid"] for e in of(events, "fs.denied")], [of(events, "process.started")[0]["data"]["pid"]], "process")


@tap.test("a program that writes a new command line again and again is told some times in a second, and then with a number")
def _():
    source = os.path.join(leaks.scratch(), "flip.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("""#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **argv)
{
	(void)count;
	for (int i = 0; i < 2000; i++) {
		argv[0][0] = (char)('A' + i % 26);
		argv[0][1] = (char)('A' + i / 26 % 26);
		syscall(SYS_set_robust_list, 0, 24);
	}
	return 0;
}
""")
    program = source[:-2]
    subprocess.run(shlex.split(os.environ.get("CC") or "cc") + ["-o", program, source], check=True)
    os.chmod(os.path.dirname(source), 0o755)
    events, result = watched("--ro", program, "--", program)
    tap.equal(result.status, 0, "status\n%s" % result)
    counts = [e["data"]["count"] for e in of(events, "process.executed")]
    tap.equal(counts[:16], [1] * 16, "the first of them")
    tap.between(sum(counts), 1900, 2000, "all")
    tap.between(len(counts), 17, 200, "events")
    kinds = [e["type"] for e in of(events, "process.executed", "process.exited")]
    tap.equal(kinds.index("process.exited"), len(kinds) - 1, "and all of them before its end")


@tap.test("a program without a name becomes one, too")
def _():
    events, result = watched("--", PYTHON, "-c", "import ctypes\nctypes.CDLL(None).execv(b'/bin/true', (ctypes.c_char_p * 2)(b'', None))")
    tap.equal(result.status, 0, "status\n%s" % result)
    tap.equal([e["data"]["command"] for e in of(events, "process.executed")], [""], "told")


@tap.test("an address in a page of a file of the view that nobody has read yet is told with its host")
def _():
    top = leaks.scratch()
    os.chmod(top, 0o755)
    with open(os.path.join(top, "address"), "wb") as file:
        file.write(struct.pack("=H", socket.AF_INET) + struct.pack("!H", 80) + socket.inet_aton("192.0.2.9") + bytes(8))
    code = ("import ctypes, os, socket, sys\nl = ctypes.CDLL(None)\nl.mmap.restype = ctypes.c_void_p\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
            "at = l.mmap(None, 4096, 1, 2, fd, 0)\ns = socket.socket()\nprint(l.connect(s.fileno(), ctypes.c_void_p(at), 16))")
    events, result = watched("--ro", top, "--", PYTHON, "-c", code, os.path.join(top, "address"))
    tap.equal((result.status, result.out), (0, b"-1\n"), "status\n%s" % result)
    tap.equal([e["data"].get("host") for e in of(events, "net.denied")], ["192.0.2.9"], "told")


@tap.test("of many messages the one with an address outside is told, whichever it is")
def _():
    code = MATRIX[:MATRIX.index("for name, address in ADDRESSES:")] + (
        "own, out = ctypes.create_string_buffer(v4('127.0.0.1', receiver.getsockname()[1])), ctypes.create_string_buffer(v4('192.0.2.3', 5))\n"
        "headers = (Many * 3)(*[Many(Header(ctypes.addressof(a), 16, ctypes.addressof(vector), 1, None, 0, 0), 0) for a in (own, own, out)])\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nprint(libc.sendmmsg(s.fileno(), headers, 3, 0))")
    events, result = watched("--", PYTHON, "-c", code)
    tap.equal((result.status, result.out), (0, b"2\n"), "two were sent\n%s" % result)
    tap.equal([(e["data"].get("host"), e["data"].get("syscall"), e["data"]["count"]) for e in of(events, "net.denied")], [("192.0.2.3", "sendmmsg", 1)], "the third is told")


@tap.test("what was told with its address is not told again as a count")
def _():
    code = ("import socket, time\nend = time.monotonic() + 1.5\ncount = 0\nwhile time.monotonic() < end:\n s = socket.socket()\n count += s.connect_ex(('192.0.2.1', 80)) == 101\n s.close()\nprint(count)")
    events, result = watched("--", PYTHON, "-c", code)
    tap.between(int(result.out), 100, 10 ** 9, "connections")
    tap.equal([e for e in of(events, "net.denied") if "host" not in e["data"]], [], "counts without an address")
    tap.equal(sum(e["data"]["count"] for e in of(events, "net.denied")), int(result.out), "sum")


@tap.test("a supervisor that is stopped while the program is refused much and ends tells of all of it afterwards", deadline=60)
def _():
    top = leaks.scratch()
    os.chmod(top, 0o755)
    for number in range(2000):
        os.close(os.open(os.path.join(top, "%0200d.p12" % number), os.O_CREAT | os.O_WRONLY, 0o644))
    code = ("import os, sys, time\nos.write(1, b'up\\n')\nwhile not os.path.exists(sys.argv[1] + '/go'): time.sleep(0.01)\n"
            "for i in range(2000): os.path.exists('%s/%0200d.p12' % (sys.argv[1], i))")
    name = os.path.join(leaks.scratch(), "events")
    process = sandbox.start("run", "--events", name, "--ro", top, "--", PYTHON, "-c", code, top)
    tap.equal(process.stdout.readline(), b"up\n", "it runs")

    def program():
        with open(name, encoding="utf-8") as file:
            return [e["data"]["pid"] for e in map(json.loads, file) if e["type"] == "process.started"]
    tap.eventually(program, "it is told", 10)
    pid = program()[0]
    process.send_signal(signal.SIGSTOP)
    try:
        os.close(os.open(os.path.join(top, "go"), os.O_CREAT | os.O_WRONLY, 0o644))
        tap.eventually(lambda: not os.path.exists("/proc/%d" % pid), "it has ended", 20)
        # The view's server does not give up meanwhile, which it would do by ending.
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            tap.ok(any(not is_zombie(child) for child in below(process.pid)), "it waits for its reader")
    finally:
        process.send_signal(signal.SIGCONT)
    status, _out, errors = sandbox.finish(process)[:3]
    tap.equal(status, 0, "status: %r" % errors)
    with open(name, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    tap.equal(sum(e["data"]["count"] for e in of(events, "fs.denied")), 2000, "refusals")
    tap.equal((events[-1]["data"]["files"]["denied"], events[-1]["data"]["lost"]), (2000, 0), "and their sum")


@tap.test("a program that nobody may look into is told of as others are")
def _():
    events, result = watched("--", PYTHON, "-c", UNDUMPABLE)
    tap.equal(result.status, 5, "status")
    ends = [e["data"].get("status") for e in of(events, "process.exited")]
    tap.equal(len(ends), 8, "ends")
    for mine, real in zip(ends, [7, 8, 9, 10, 11, 12, 137, 5]):
        tap.ok(mine == real or (mine is None and os.uname().release < "6.15"), "status %r of one that ended with %d" % (mine, real))
    tap.equal([(e["data"].get("host"), e["data"].get("port")) for e in of(events, "net.denied")], [("192.0.2.77", 99)], "address")


@tap.test("more processes than there are descriptors for are each told once, and each end", deadline=60)
def _():
    code = ("import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\npids = []\nfor i in range(300):\n p = os.fork()\n"
            " if p == 0:\n  signal.sigwait([signal.SIGTERM])\n  os._exit(1)\n pids.append(p)\nfor p in pids:\n os.kill(p, signal.SIGTERM)\n os.waitpid(p, 0)")
    name = os.path.join(leaks.scratch(), "events")
    process = sandbox.start("run", "--pids", "400", "--memory", "2048", "--events", name, "--", PYTHON, "-c", code, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    tap.equal(sandbox.finish(process, 50)[0], 0, "status")
    with open(name, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    started, exited = ([e["data"]["pid_inside"] for e in of(events, kind)] for kind in ("process.started", "process.exited"))
    tap.equal((len(started), len(set(started))), (301, 301), "started")
    tap.equal(sorted(exited), sorted(started), "exited")


SLOW = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
size = os.stat(sys.argv[1]).st_size
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
at = libc.mmap(None, ctypes.c_size_t(size), 1, 2, fd, ctypes.c_long(0))
libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print('up', flush=True)
for page in range(0, size, 33 * 4096):
    libc.sendto(s.fileno(), b'x', 1, 0, ctypes.c_void_p(at + page), 16)
"""


@tap.test("an address in a file whose server stands still holds nobody up: view_lost, and at once", deadline=30)
def _():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        tap.skip("/dev/fuse cannot be used here")
    place = leaks.scratch()
    with open(os.path.join(place, "large"), "wb") as file:
        file.truncate(8 << 30)
    os.chmod(place, 0o755)
    process = sandbox.start("run", "--timeout", "20", "--events", os.path.join(place, "events"), "--ro", place + "/large", "--", PYTHON, "-c", SLOW, place + "/large")
    tap.equal(process.stdout.readline(), b"up\n", "it sends")
    server = next(pid for pid in below(process.pid) if open("/proc/%d/comm" % pid, encoding="utf-8").read() == "cordon-view\n")
    os.kill(server, signal.SIGSTOP)
    stopped = time.monotonic()
    status, _, errors = sandbox.finish(process, 15)
    tap.equal(status, 125, "status\n%s" % errors)
    tap.ok(b"view_lost" in errors, "why: %r" % errors)
    tap.ok(time.monotonic() - stopped < 10, "long before its limit")


@tap.test("signals in a hurry break no connection, fork or thread of a watched program", deadline=60)
def _():
    code = """
import os, signal, socket, subprocess, threading
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen(256)
for i in range(100):
    socket.create_connection(listener.getsockname()).close(); listener.accept()[0].close()
    t = threading.Thread(target=int); t.start(); t.join()
    pid = os.fork()
    if pid == 0: os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
for i in range(20): assert subprocess.run(['/bin/sh', '-c', 'exit 5']).returncode == 5
signal.setitimer(signal.ITIMER_REAL, 0)
print('done')
"""
    events, result = watched("--timeout", "50", "--", PYTHON, "-c", code)
    tap.equal((result.status, result.out), (0, b"done\n"), "it does what it would\n%s" % result)
    tap.between(len(of(events, "process.started")), 121, 121, "and every process is told")


@tap.test("a number that is watched means another call under a foreign ABI, and is refused there as without anybody who watches")
def _():
    if platform.machine() != "x86_64":
        tap.skip("the foreign ABI of the probe is i386, and this machine is no x86-64")
    compiler, place = sandbox.need("cc"), leaks.scratch()
    with open(place + "/i386.c", "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\nint main(void) { for (int n = 1; n < 470; n++) { int r = n; __asm__ volatile("int $0x80" : "+a"(r) : "b"(0), "c"(0), "d"(0), "S"(0), "D"(0) : "memory");\n'
                   'printf("%d %d\\n", n, r); } return 0; }\n')
    if subprocess.run([compiler, "-o", place + "/i386", place + "/i386.c"], capture_output=True, check=False).returncode:
        tap.skip("the compiler cannot build the probe")
    plain = run("run", "--copy-in", place + "/i386", "--", "./i386")
    if plain.status == 139:
        return  # a kernel without the i386 interface
    events, result = watched("--copy-in", place + "/i386", "--", "./i386")
    tap.equal((result.status, plain.status), (0, 0), "status\n%s" % result)
    tap.equal({line.split()[1] for line in result.out.decode().splitlines()} - {"-1", "-38"}, set(), "answers")
    tap.equal(result.out, plain.out, "the same as without events")
    tap.equal({e["data"]["syscall"].split("_")[0] for e in of(events, "syscall.denied")}, {"foreign"}, "what they are called")


@tap.test("an address that is changed while it is looked at comes to nothing outside, and to no end of the run", deadline=60)
def _():
    code = """
import ctypes, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen(4096)
port = struct.pack('!H', listener.getsockname()[1])
inside, outside = (struct.pack('=H', 2) + port + socket.inet_aton(a) + bytes(8) for a in ('127.0.0.1', '192.0.2.1'))
a = ctypes.create_string_buffer(inside, 16)
stop = False
def swap():
    while not stop:
        ctypes.memmove(a, outside, 16); ctypes.memmove(a, inside, 16)
t = threading.Thread(target=swap); t.start()
answers = set()
for i in range(2000):
    with socket.socket() as s:
        ctypes.set_errno(0)
        answers.add((libc.connect(s.fileno(), a, 16), ctypes.get_errno()))
stop = True
t.join()
print(answers <= {(0, 0), (-1, 101)}, len(answers) > 0)
"""
    _, result = watched("--", PYTHON, "-c", code)
    tap.equal((result.status, result.out), (0, b"True True\n"), "only an own connection or none\n%s" % result)


@tap.test("a program that may use the host's network is not asked where to")
def _():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        code = "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\nprint(s.recv(9).decode())"
        name = os.path.join(leaks.scratch(), "events")
        process = sandbox.start("run", "--network", "allow", "--events", name, "--", PYTHON, "-c", code, str(listener.getsockname()[1]))
        connection = listener.accept()[0]
        connection.sendall(b"hello")
        connection.close()
        status, out, _ = sandbox.finish(process)
    tap.equal((status, out), (0, b"hello\n"), "it connects")
    with open(name, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    tap.equal(of(events, "net.denied"), [], "nothing is refused")
    tap.ok("hosts" not in events[-1]["data"], "and no sum of what was")


@tap.test("what is sent in a way that is not looked at is counted")
def _():
    # The flags that the filter's own message has: the kernel refuses, and its count is read.
    code = ("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "try: s.sendmsg([b'x'], [], socket.MSG_NOSIGNAL | socket.MSG_EOR, ('192.0.2.1', 9))\nexcept OSError as e: print(e.errno)")
    events, result = watched("--", PYTHON, "-c", code)
    tap.equal(result.out, b"101\n", "refused")
    data = of(events, "net.denied")[0]["data"]
    tap.equal((data["rule"], data["count"], "host" in data), ("network none", 1, False), "counted")


tap.main()
