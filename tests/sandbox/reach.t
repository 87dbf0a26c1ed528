#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program must not reach: those who hold it, memory that nobody counts, its own verdict, other processes; and what must not be lost on the way out."""
import ctypes
import errno
import os
import signal
import struct
import subprocess
import sys

from lib import sandbox, tap
from lib.sandbox import body, environment, run, shell

SYSCALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(*numbers):
    ctypes.set_errno(0)
    return 'done' if libc.syscall(*numbers) >= 0 else 'errno %d' % ctypes.get_errno()
pair, mask = (ctypes.c_ulonglong * 2)(3, 3), ctypes.byref(ctypes.c_ulong(1))
"""


def script(code, *options, **more):
    return run("run", "--json", "--python", sandbox.PYTHON, *options, "--code", code, **more)


@tap.cases("a program cannot set {} of PID 1", [
    ("the limits", "302, {pid}, 7, pair, 0"), ("the limits, by an id that the kernel shortens,", "302, ctypes.c_long(0x100000000 + {pid}), 7, pair, 0"),
    ("the affinity", "203, {pid}, 8, mask"), ("the scheduler", "144, {pid}, 5, ctypes.byref(ctypes.c_int(0))"), ("the priority", "141, 0, {pid}, 19"),
    ("the priority, as one of its user's,", "141, 2, 0, 19"), ("the I/O priority", "251, 1, {pid}, 0x6000")])
def _(_name, numbers):
    if os.uname().machine != "x86_64":
        tap.skip("the numbers are those of x86-64")
    record = script(SYSCALLS + "print(call(%s))" % numbers.format(pid=1)).expect(0).record
    tap.equal(record["stdout"], "errno 1\n", "refused")
    record = script(SYSCALLS + "print(call(%s))" % numbers.format(pid="__import__('os').getppid()"), "--tier", "subprocess").expect(0).record
    tap.equal(record["stdout"], "errno 1\n", "refused without namespaces, of the process that holds it")


@tap.test("a program may still set its own limits, affinity and priority")
def _():
    record = script("import os, resource, threading\nresource.setrlimit(resource.RLIMIT_NOFILE, (50, 60)); os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(3)\n"
                    "os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0)); print(resource.getrlimit(resource.RLIMIT_NOFILE))").expect(0).record
    tap.equal(record["stdout"], "(50, 60)\n", "stdout")


@tap.test("a program that asks its parent to trace it goes on: PID 1 traces nothing")
def _():
    if os.uname().machine != "x86_64":
        tap.skip("the numbers are those of x86-64")
    source = SYSCALLS + "import os, signal\ncall(101, 0, 0, 0, 0)\nsignal.signal(signal.SIGUSR1, lambda *a: print('handled'))\nos.kill(os.getpid(), signal.SIGUSR1)\nprint('on')"
    tap.equal(script(source).expect(0).record["stdout"], "handled\non\n", "stdout")


@tap.test("memory that no process has mapped is refused where nobody counts it")
def _():
    if os.uname().machine != "x86_64":
        tap.skip("the numbers are those of x86-64")
    record = script(SYSCALLS + "print(call(319, b'x', 0), call(29, 0, 4096, 0o1600))").expect(0).record
    if record["confinement"]["cgroup_or_watchdog"] == "cgroup":
        tap.skip("a cgroup counts it here")
    tap.equal(record["stdout"], "errno 1 done\n", "memfd_create; PID 1 counts what shmget makes")
    tap.ok(any("in no process" in note for note in record["confinement"]["does_not_stop"]), "and the record says what else is not counted")


@tap.test("a body that writes over every shared page cannot make a failure of cordon's, nor a layer that is not there")
def _():
    code = ("import ctypes\nfor line in open('/proc/self/maps'):\n    f = line.split()\n    if f[1] == 'rw-s':\n        a, b = (int(x, 16) for x in f[0].split('-'))\n"
            "        ctypes.memset(a, 0xff, b - a)\nreturn 1")
    result = body(code, "--allow", "ctypes", "--permit", "ctypes,open")
    tap.equal(result.status, 1, "a failure of the program's\n%s" % result)
    tap.equal(result.record["confinement"]["landlock_scope"], False, "no layer that was not applied")
    tap.equal(result.record["confinement"]["seccomp"], "body", "and none is lost")


@tap.test("without namespaces a program cannot set the limits of the user's other processes")
def _():
    if os.uname().machine != "x86_64":
        tap.skip("the numbers are those of x86-64")
    victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        record = script(SYSCALLS + "print(call(302, %d, 0, pair, 0), call(141, 0, %d, 19))" % (victim.pid, victim.pid), "--tier", "subprocess").expect(0).record
        tap.equal(record["stdout"], "errno 1 errno 1\n", "limits and priority")
    finally:
        victim.communicate(b"\n")


def refuse(number, mask, error):
    """A filter that refuses a system call with an errno, where a bit of the mask is set in its first argument (0: always)."""
    if mask:
        steps = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x45, 0, 1, mask)]
    else:
        steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number)]
    steps += [(0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    bytes_of = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(bytes_of))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
            os._exit(99)
    install.keeps = bytes_of
    return install


@tap.cases("where a filter refuses {}, the failure names the settings that do", [
    ("new namespaces", 56, 0x10000000, errno.EPERM), ("mounts", 165, 0, errno.EPERM), ("mounts of the newer kind", 430, 0, errno.ENOSYS),
    ("netlink sockets", 41, 16, errno.EAFNOSUPPORT)])
def _(_name, number, mask, error):
    if os.uname().machine != "x86_64":
        tap.skip("the numbers are those of x86-64")
    result = run("run", "--json", "--", "true", preexec=refuse(number, mask, error))
    tap.equal(result.failure, "call_filtered", "failure code\n%s" % result)
    for word in ("seccomp=unconfined", "RestrictNamespaces=", "CONTAINERS AND SERVICES"):
        tap.ok(word in result.out.decode() + result.errors, "%s is named\n%s" % (word, result))


@tap.test("root without the capabilities to give another id is told to start as a user")
def _():
    sandbox.need_root()
    libc = ctypes.CDLL(None, use_errno=True)

    def drop():
        for capability in (6, 7):  # CAP_SETGID, CAP_SETUID
            libc.prctl(24, capability, 0, 0, 0)
    result = run("run", "--json", "--", "true", preexec=drop)
    tap.equal(result.failure, "uid_unmapped", "failure code\n%s" % result)
    tap.like(result.out.decode() + result.errors, "CAP_SETUID.*-u 1000", "what to do")


def keepers(pid):
    """The processes below one that are PID 1 of a sandbox."""
    found, queue = [], [pid]
    while queue:
        parent = queue.pop()
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open("/proc/%s/stat" % name) as file:
                    text = file.read()
            except OSError:
                continue
            if int(text.rpartition(")")[2].split()[1]) == parent:
                queue.append(int(name))
                if sandbox.is_init(int(name)):
                    found.append(int(name))
    return found


@tap.cases("without namespaces, KILL of keeper {} of two leaves nothing", [(1,), (2,)], deadline=30)
def _(which):
    process = subprocess.Popen([sandbox.CORDON, "run", "--tier", "subprocess", "--", "sh", "-c", "(setsid sleep 1000 &) ; sleep 1000 & echo up; wait"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment(TMPDIR=sandbox.leaks.scratch()))
    try:
        tap.equal(process.stdout.readline(), b"up\n", "it runs")
        found = keepers(process.pid)
        tap.equal(len(found), 2, "keepers")
        os.kill(found[which - 1], signal.SIGKILL)
        process.wait(tap.patience(10))
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


@tap.test("--stdin gives the program the bytes and nothing of the descriptor")
def _():
    path = os.path.join(sandbox.leaks.scratch(), "input")
    with open(path, "w+b") as file:
        file.write(b"x" * 300000)
        file.seek(0)
        result = run("run", "--json", "--stdin", "--", "sh", "-c", "wc -c; echo OVERWRITTEN >&0; ls -l /proc/self/fd/0 | grep -c pipe", stdin=file)
        tap.equal(result.record["stdout"], "300000\n1\n", "the bytes, through a pipe")
    with open(path, "rb") as file:
        tap.equal(set(file.read()), {ord("x")}, "the file is what it was")
    fd = os.open("/", os.O_RDONLY)
    try:
        tap.equal(run("run", "--json", "--stdin", "--", "true", stdin=fd).failure, "bad_input", "a directory is refused")
    finally:
        os.close(fd)


@tap.test("output that cannot be written is a failure, not a success")
def _():
    with open("/dev/full", "wb") as full:
        result = run("run", "--", "echo", "hi", stdout=full)
        tap.equal(result.status, 125, "status")
        tap.like(result.errors, "output_failed", "the code")
    result = run("run", "--json", "--", "true", preexec=lambda: os.close(1))
    tap.equal(result.status, 125, "a record that nobody can get")


@tap.cases("run and exec agree that {} is no interpreter", [("/bin/true",), ("/bin/cat",), ("/usr/bin/env",)])
def _(path):
    for arguments in (("run", "--json", "--python", path, "--code", "1"), ("exec", "--python", path, "-")):
        tap.equal(run(*arguments, stdin=b"return 1").failure, "interpreter_missing", "failure code of %s" % arguments[0])


@tap.test("a terminal gets its settings back even after KILL of cordon", deadline=30)
def _():
    import pty
    import termios
    pid, master = pty.fork()
    if pid == 0:
        # The session must outlive cordon, as a shell's does: at the end of its leader the terminal would be gone for everybody.
        child = subprocess.Popen([sandbox.CORDON, "run", "--tty", "--", "sh", "-c", "echo up; sleep 1000"])
        os.write(1, b"pid %d.\n" % child.pid)
        child.wait()
        os.read(0, 1)
        os._exit(0)
    text = b""
    try:
        while b"up" not in text:
            text += os.read(master, 1000)
        cordon = int(text.partition(b"pid ")[2].partition(b".")[0])
        tap.eventually(lambda: not termios.tcgetattr(master)[3] & termios.ICANON, "raw while the program has the terminal", 5)
        os.kill(cordon, signal.SIGKILL)
        tap.eventually(lambda: termios.tcgetattr(master)[3] & termios.ICANON, "canonical again", 5)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


@tap.test("a program that starts others is not counted twice while they share its memory", deadline=40)
def _():
    code = "import subprocess\nheld = bytearray(b'x') * (150 << 20)\nfor _ in range(150): subprocess.run(['/bin/true'], check=True)\nprint(len(held) >> 20)"
    limits = "--memory", "256", "--timeout", "%.0f" % tap.patience(30)
    record = script(code, *limits).expect(0).record
    tap.equal(record["stdout"], "150\n", "stdout")
    tap.equal(record["oom"], False, "no end for memory")
    tap.ok(record["usage"]["peak_memory_bytes"] < 256 << 20, "peak %d" % record["usage"]["peak_memory_bytes"])


@tap.test("copies that children change count each", deadline=40)
def _():
    code = ("import os, time\nheld = bytearray(b'x') * (60 << 20)\nfor _ in range(6):\n"
            "    if os.fork() == 0:\n        held[::4096] = b'y' * len(held[::4096])\n"
            "        time.sleep(1000)\ntime.sleep(1000)")
    record = script(code, "--memory", "200", "--timeout", "%.0f" % tap.patience(15)).record
    tap.equal(record["oom"], True, "ended for memory")


@tap.cases("--ro to {} is refused with the option's name", [("/proc",), ("/dev/null",), ("/workspace",), ("/tmp",), ("/etc",), ("/proc/self",)])
def _(target):
    result = run("run", "--json", "--ro", "/usr/share:" + target, "--", "true")
    tap.equal(result.status, 64, "status")
    tap.equal(result.json["failure"]["code"], "bad_option", "the object that --json promises")


@tap.test("a workspace that is too much to take out is said in the record, which is a record all the same")
def _():
    target = os.path.join(sandbox.leaks.scratch(), "out")
    result = shell("truncate -s 50G big; echo done", "--export", target, "--fsize", "100000")
    tap.equal(result.status, 125, "status: its files are not there")
    tap.like(result.json["exported"]["error"], "bytes", "the reason")
    tap.equal(result.json["stdout"], "done\n", "and what the program did")


tap.main()
