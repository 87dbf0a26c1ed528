#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How a sandbox starts and dies: namespaces, ids, signals around cordon itself.

Each test is named by what goes wrong in programs of this kind. Faults are made for real (nested namespaces, strace's fault injection, killed
supervisors), and what is asked is always the same: the right answer or the right failure code, and nothing left over.
"""
# Field cases: B7 zombies hold namespaces · B10 setgroups and nogroup · B11 unmapped id · B13 B14 nesting · B15 S20 parent thread · B17 SIGCHLD · S16 death in the set-up
# B18 EINTR in setup · B19 descriptor 0 · B5 codes not prose · B6 in input.t
import ctypes
import json
import os
import re
import signal
import subprocess
import threading
import time

from lib import leaks, sandbox, tap
from lib.sandbox import run, run_code, shell


@tap.test("500 launches leave no namespace and no zombie behind", deadline=120)
def _():
    def namespaces():
        found = set()
        for pid in leaks.descendants():
            found |= leaks._namespaces_of(pid)
        return found
    before = namespaces()
    runs = [0, 0]

    def work(index):
        for _ in range(250):
            done = subprocess.run([sandbox.CORDON, "run", "--", "true"], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=tap.patience(30))
            if done.returncode:
                return
            runs[index] += 1
    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    tap.equal(runs, [250, 250], "all launches succeeded")
    tap.eventually(lambda: namespaces() <= before, "namespaces are gone")
    shell("true").expect(0)


@tap.cases("killed by signal {}, the supervisor takes everything along", [("KILL", signal.SIGKILL), ("SEGV", signal.SIGSEGV), ("ABRT", signal.SIGABRT)])
def _(_name, number):
    process = sandbox.start("run", "--", "sh", "-c", "echo up; sleep 1000 & setsid sleep 1000 & sleep 1000")
    tap.equal(process.stdout.readline(), b"up\n", "the program started")
    tap.eventually(lambda: len(leaks.descendants()) >= 5, "the sandbox is there", 5)
    process.send_signal(number)
    process.wait(tap.patience(2))
    tap.eventually(lambda: leaks.reap() or not leaks.descendants(), "all processes ended within a second", 1.0)
    process.stdout.close()
    process.stderr.close()


@tap.test("killed at any moment of its start, the supervisor leaves nothing", deadline=60)
def _():
    for step in range(60):
        process = sandbox.start("run", "--", "sleep", "1000")
        end = time.monotonic() + tap.patience(step * 0.0002)
        while time.monotonic() < end:
            pass
        process.kill()
        process.wait(tap.patience(2))
        process.stdout.close()
        process.stderr.close()

    def gone():
        leaks.reap()
        return not leaks.descendants()
    tap.eventually(gone, "all processes ended within a second", 1.0)


@tap.test("killed at any moment, the tier subprocess leaves no process and no directory", deadline=60)
def _():
    place = leaks.scratch()
    os.chmod(place, 0o1777)
    env = sandbox.environment(TMPDIR=place)
    for step in range(80):
        process = subprocess.Popen([sandbox.CORDON, "run", "--tier", "subprocess", "--", "sh", "-c", "mkdir -p a/b; touch a/b/c; exec sleep 1000"], env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + tap.patience(step * 0.0002)
        while time.monotonic() < end:
            pass
        process.kill()
        process.wait(tap.patience(2))

    tap.eventually(lambda: leaks.reap() or not leaks.descendants(), "all processes ended within a second", 1.0)
    tap.eventually(lambda: not os.listdir(place), "directories left in TMPDIR", 1.0)


@tap.test("a PID 1 that is killed while it sets up is told as that, and never as a broken pipe", deadline=60)
def _():
    for _ in range(30):
        process = sandbox.start("run", "--json", "--", "sleep", "5")
        os.kill(sandbox.init_of(process), signal.SIGKILL)
        status, out, err = sandbox.finish(process)
        tap.ok(status in (125, 137), "status %d" % status)
        answer = json.loads(out)
        tap.ok(answer["signal"] == 9 if status == 137 else answer["failure"]["code"], "a record or a failure with a code: %r" % out[:300])
        tap.unlike((out + err).decode(), "(?i)broken pipe|EPIPE", "the words")


@tap.test("the thread that started cordon ends, the run goes on")
def _():
    found = {}

    def start():
        found["process"] = sandbox.start("run", "--", "sh", "-c", "sleep 0.4; exit 6")
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    tap.equal(sandbox.finish(found["process"])[0], 6, "status")


@tap.test("a process that was given descriptor 0 as something else keeps its own stdin rules")
def _():
    # cordon's stdin is closed, so the first thing it opens gets number 0; nothing may take that for "unset".
    result = shell("readlink /proc/self/fd/0; echo ok", preexec=lambda: os.close(0)).expect(0)
    tap.like(result.record["stdout"], "null.*\nok", "stdin is /dev/null")


@tap.test("supplementary groups show as nogroup and nothing more")
def _():
    if os.getuid() == 0:
        sandbox.need_nobody()
        result = run_code("import os; print(sorted(set(os.getgroups())))", preexec=lambda: (os.setgroups([27, 44]), os.setgid(65534), os.setuid(65534)),
                          env=sandbox.environment(PATH="/usr/bin:/bin"), cwd="/")
    else:
        result = run_code("import os; print(sorted(set(os.getgroups())))")
    groups = eval(result.expect(0).record["stdout"], {})
    tap.ok(set(groups) <= {os.getgid() or 1000, 65534}, "groups inside: %r" % groups)


@tap.test("a caller whose own id is not mapped gets uid_unmapped")
def _():
    unshare = sandbox.need("unshare")
    result = run("run", "--json", "--", "true", command=[unshare, "-U", sandbox.CORDON])
    if result.status == 1 and b"unshare" in result.err:
        tap.skip("unshare -U is refused here")
    tap.equal(result.failure, "uid_unmapped", "failure code")


@tap.test("no further user namespace inside, by unshare, clone or clone3")
def _():
    source = """
import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    ctypes.set_errno(0)
    r = libc.syscall(*a)
    return 'had' if r >= 0 else errno.errorcode[ctypes.get_errno()]
print(call(272, 0x10000000))
print(call(272, 0x00020000))
r = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if r == 0: os._exit(0)
print('had' if r > 0 else errno.errorcode[ctypes.get_errno()])
import struct
args = ctypes.create_string_buffer(struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0))
r = libc.syscall(435, args, 64)
if r == 0: os._exit(0)
print('had' if r > 0 else errno.errorcode[ctypes.get_errno()])
try:
    print(open('/proc/sys/user/max_user_namespaces').read().strip())
except OSError as e:
    print(e)
"""
    if os.uname().machine != "x86_64":
        tap.skip("the call numbers are those of x86_64")
    lines = run_code(source).expect(0).record["stdout"].splitlines()
    tap.ok("had" not in lines[:4], "none was had: %r" % lines)
    tap.equal(lines[3], "ENOSYS", "clone3 looks absent, so that libc falls back")


@tap.test("nothing left in a program's reach after exec of a set-user-id file")
def _():
    record = shell("id -u; for f in /usr/bin/su /usr/bin/mount /usr/bin/passwd; do test -u $f && echo suid; done; cat /proc/self/mountinfo").expect(0).record
    tap.like(record["stdout"], r"^%d\n" % (os.geteuid() or 1000), "uid")
    for line in record["stdout"].splitlines():
        if re.match(r"\d+ \d+ ", line) and " /proc " not in line:
            tap.ok("nosuid" in line, "every mount is nosuid: %s" % line)


INTERRUPTIBLE = ["read", "write", "poll", "ppoll", "epoll_wait", "epoll_pwait", "waitid", "wait4", "recvmsg", "sendmsg", "sendto", "recvfrom", "openat"]


# The leak sanitizer of a sanitized build is a tracer itself, and there can be one only.
TRACED = sandbox.environment(ASAN_OPTIONS="detect_leaks=0")


@tap.cases("{} interrupted in the middle of the set-up is asked again", [(name,) for name in INTERRUPTIBLE], deadline=60)
def _(name):
    strace = sandbox.need("strace")
    probe = subprocess.run([strace, "-f", "-o", "/dev/null", "true"], capture_output=True)
    if probe.returncode:
        tap.skip("strace cannot trace here")
    # strace refuses names that this architecture does not have
    result = run("run", "--", "/bin/sh", "-c", "exit 3", deadline=40, env=TRACED,
                 command=[strace, "-o", "/dev/null", "-e", "trace=none", "-e", "inject=%s:error=EINTR:when=3+7" % name, sandbox.CORDON])
    if b"invalid system call" in result.err:
        tap.skip("no call of that name on this architecture")
    tap.equal(result.status, 3, "status\n%s" % result)


@tap.cases("{} refused in the set-up is a failure with a code", [("clone",), ("clone3",), ("socketpair",), ("pipe2",), ("epoll_create1",), ("timerfd_create",)], deadline=60)
def _(name):
    strace = sandbox.need("strace")
    if subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True).returncode:
        tap.skip("strace cannot trace here")
    result = run("run", "--json", "--timeout", "9", "--", "/bin/sh", "-c", "exit 3", deadline=40, env=TRACED,
                 command=[strace, "-o", "/dev/null", "-e", "trace=none", "-e", "inject=%s:error=EMFILE" % name, sandbox.CORDON])
    if result.status == 3:
        return  # this call is not one that the set-up needs, or there is another way
    tap.ok(result.failure, "a failure code\n%s" % result)


@tap.test("failures carry their name apart from the words")
def _():
    found = run("run", "--json", "--ro", "/no/such/directory", "--", "true").expect(125).json
    code = sandbox.find_code(found)
    tap.like(code, "^[a-z_]+$", "a short name")
    tap.ok("/no/such/directory" in repr(found), "what was tried is told")


@tap.test("run by root, no process of the sandbox is the host's root")
def _():
    sandbox.need_root()
    process = sandbox.start("run", "--", "sh", "-c", "echo up; sleep 1000")
    tap.equal(process.stdout.readline(), b"up\n", "the program started")
    wrong = []
    for pid in leaks.descendants():
        if pid == process.pid:
            continue
        try:
            with open("/proc/%d/status" % pid) as file:
                text = file.read()
        except OSError:
            continue  # it has ended
        if re.search(r"(?m)^Uid:.*\b0\b", text) and "sleep" in leaks.describe(pid):
            wrong.append(leaks.describe(pid))
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    tap.equal(wrong, [], "processes of the program with host uid 0")


@tap.test("run by root, a file that only root can read stays unreadable")
def _():
    sandbox.need_root()
    place = leaks.scratch()
    path = os.path.join(place, "secret")
    with open(path, "w") as file:
        file.write("secret")
    os.chmod(path, 0o600)
    record = shell("cat %s; cat /etc/shadow; echo end" % path, "--ro", place).record
    tap.equal(record["stdout"], "end\n", "stdout")


@tap.test("memory of PID 1 and its command line tell nothing of the host")
def _():
    env = sandbox.environment(SECRET_OF_THE_CALLER="hunter2")
    script = "tr '\\0' ' ' < /proc/1/cmdline; echo; cat /proc/1/environ 2>&1; echo; ls -l /proc/1/exe /proc/1/cwd /proc/1/fd 2>&1; ls /proc/1/task"
    text = shell(script, env=env).record["stdout"]  # M17
    for word in ("hunter2", sandbox.BUILD, "SECRET", "--json", os.path.expanduser("~/")):
        if word and word != "/":
            tap.ok(word not in text, "%r does not show in:\n%s" % (word, text))


tap.main()
