#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run can take from its neighbours: a program a line that takes all it can get, and a neighbour outside that goes on.

The neighbour is the same user as the program is on the host, which shares every number that the kernel keeps per user: as root both become an ordinary user.
"""
import os
import resource
import select
import subprocess

from lib import sandbox, tap
from lib.sandbox import PYTHON, record_of, run_code

CALL = """
import array, ctypes, errno, os, resource, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
taken = []
def failed(): return errno.errorcode.get(ctypes.get_errno(), "?")
def until(take, most=200000):
    for n in range(most):
        if take() < 0: return n
    return most
"""

# name, what is taken inside, most of it that a run may get, what the neighbour does then
TAKEN = [
    ("inotify instances", "print(until(lambda: libc.inotify_init1(0)))", 8, "libc.inotify_init1(0)"),
    ("queued signals",
     "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 5])\n"
     "print(until(lambda: libc.sigqueue(os.getpid(), signal.SIGRTMIN + 5, None)))", 2048,
     "libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))"),
    ("timers", "print(until(lambda: libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))))", 2048,
     "libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))"),
    ("pseudo-terminals", "print(until(lambda: libc.open(b'/dev/ptmx', os.O_RDWR | os.O_NOCTTY)))", 64,
     "libc.open(b'/dev/ptmx', os.O_RDWR | os.O_NOCTTY)"),
    ("contexts of asynchronous I/O", "print(until(lambda: libc.syscall(206, 1024, ctypes.byref(ctypes.c_ulong()))))", 0,
     "libc.syscall(206, 1, ctypes.byref(ctypes.c_ulong()))"),
    ("locked memory", "print(until(lambda: -1 if libc.mmap(None, 1 << 20, 3, 0x2022, -1, 0) == -1 else 0, 100))", 4,
     "0 if libc.mmap(None, 1 << 16, 3, 0x2022, -1, 0) != -1 else -1"),
    ("groups of fanotify", "print(until(lambda: libc.syscall(300, 0x200, 0)))", 0, None),
    ("bytes in message queues",
     "class Attr(ctypes.Structure): _fields_ = [(n, ctypes.c_long) for n in ('flags', 'maxmsg', 'msgsize', 'curmsgs')] + [('r', ctypes.c_long * 4)]\n"
     "attr = Attr(0, 10, 8192, 0)\n"
     "rt = ctypes.CDLL('librt.so.1', use_errno=True)\n"
     "print(until(lambda: rt.mq_open(b'/q%d' % len(os.listdir('/proc/self/fd')), os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(attr))))", 10, None),
    ("user namespaces", "print(until(lambda: libc.unshare(0x10000000), 10))", 0, None),
]


def neighbour(code):
    """Runs a call as a process of its own and returns what it answered."""
    script = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.mmap.restype = ctypes.c_long\nprint(%s, ctypes.get_errno())" % code
    return subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, preexec_fn=drop())


def drop():
    return sandbox.become(sandbox.NOBODY) if os.getuid() == 0 else None


def taking(source, *options):
    """Starts a program that takes what it can, says how much, and holds it until its input ends."""
    code = CALL + "libc.mmap.restype = ctypes.c_long\n" + source + "\nsys.stdout.flush()\nos.read(0, 1)\n"
    return sandbox.start("run", "--stdin", "--python", PYTHON, *options, "--code", code, stdin=subprocess.PIPE, preexec_fn=drop())


def line_of(process):
    ready, _, _ = select.select([process.stdout], [], [], 20)
    tap.ok(ready, "the program says what it has taken")
    return process.stdout.readline().decode().strip()


def need_user():
    if os.getuid() == 0:
        sandbox.need_nobody()
    if os.uname().machine != "x86_64":
        tap.skip("the call numbers are those of x86_64")


@tap.cases("a run that takes {0} leaves enough to its neighbours", TAKEN)
def _(name, source, most, after):
    need_user()
    process = taking(source)
    try:
        said = line_of(process)
        tap.ok(said.isdigit(), "a number is said: %r %s" % (said, b"" if said else process.stderr.read1(2000)))
        tap.between(int(said), 0, most, "%s taken" % name)
        if after:
            answer = neighbour(after)
            tap.ok(answer.stdout and int(answer.stdout.split()[0]) >= 0, "the neighbour goes on: %r" % (answer,))
    finally:
        sandbox.finish(process)  # which closes its input


IN_FLIGHT = """
sent, fds = 0, array.array('i', [0] * 250)
try:
    while True:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        taken.append(pair)
        pair[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        sent += 250
except OSError: pass
print(sent)
"""


@tap.test("descriptors in flight: the user's other runs go on, and the record says what is left open")
def _():
    need_user()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def small():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    process = taking(IN_FLIGHT, "--nofile", "1024")
    try:
        tap.between(int(line_of(process)), 250, 2048, "descriptors in flight")
        user = sandbox.NOBODY if os.getuid() == 0 else None
        record = run_code("print('on')", user=user, preexec=small).expect(0).record
        tap.equal(record["stdout"], "on\n", "another run of the same user")
        tap.equal(sandbox.body("return 1", user=user, preexec=small).expect(0).record["output"], 1, "and a body")
        tap.like(" ".join(record["confinement"]["does_not_stop"]), "in flight", "does_not_stop")
    finally:
        sandbox.finish(process)  # which closes its input


@tap.test("a crash starts no core handler: the limit on core files is the one at which none is started")
def _():
    record = record_of("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    tap.equal(record["stdout"], "(1, 1)\n" if hard != 0 else "(0, 0)\n", "RLIMIT_CORE (core(5): at 1 no handler is started)")


@tap.test("where the caller's hard limit forbids that, the record says so if there is a handler")
def _():
    def no_core():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    record = run_code("pass", preexec=no_core).expect(0).record
    with open("/proc/sys/kernel/core_pattern") as file:
        piped = file.read(1) in "|@"
    tap.equal("core" in " ".join(record["confinement"]["does_not_stop"]), piped, "does_not_stop: %r" % record["confinement"]["does_not_stop"])


@tap.test("the host's keys and what else of /proc is not about the sandbox are covered")
def _():
    record = record_of("for p in ('keys', 'key-users'):\n    print(repr(open('/proc/' + p).read()))")
    tap.equal(record["stdout"], "''\n''\n", "keys, key-users\n%s" % record["stderr"])


@tap.test("leases are refused, by every form of the number, and other commands of fcntl are not")
def _():
    source = ("import fcntl, os, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nfd = os.open('/workspace/f', os.O_CREAT | os.O_RDONLY)\n"
              "for command in (1024, 1024 + (1 << 32)):\n"
              "    print(libc.syscall(72, fd, ctypes.c_long(command), 0), ctypes.get_errno())\n"
              "print(fcntl.fcntl(fd, 1025), fcntl.fcntl(fd, fcntl.F_GETFL) & 3)\n")
    need_user()
    tap.equal(record_of(source)["stdout"], "-1 1\n-1 1\n2 0\n", "F_SETLEASE twice, F_GETLEASE, F_GETFL")


@tap.test("internet sockets are TCP, UDP and ICMP; other protocols are refused")
def _():
    source = ("import socket\nfor kind, protocol in ((1, 0), (1, 6), (2, 17), (2, 1), (1, 132), (1, 262), (2, 136), (6, 33)):\n"
              "    try: socket.socket(socket.AF_INET, kind, protocol).close(); print(protocol, 'had')\n"
              "    except OSError as e: print(protocol, e.errno)\n")
    lines = dict(line.split() for line in record_of(source)["stdout"].splitlines())
    tap.equal({p: lines[p] for p in ("0", "6", "17")}, {"0": "had", "6": "had", "17": "had"}, "TCP, UDP")
    tap.ok(lines["1"] in ("had", "13"), "ICMP is for the kernel's ping_group_range to say: %r" % lines)
    tap.equal([lines[p] for p in ("132", "262", "136", "33")], ["1"] * 4, "SCTP, MPTCP, UDP-Lite, DCCP")


tap.main()
