#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system call filter from inside: what works must work, what is refused is refused in the right way, and nothing is killed.

Calls are made by number through ctypes, so that libc's own fallbacks do not hide the answer. Refused calls give EPERM, calls that the table does not know give
ENOSYS, so that a newer libc falls back as it does on an older kernel.
"""
# Field cases: K1 unknown calls · K2 asyncio, multiprocessing, node · K3 the long list of refused calls · K6 pipelines · S1 in tty.t · N2 N7 names and sockets
import os

from lib import sandbox, tap
from lib.sandbox import body, record_of, run, run_code, shell

PRELUDE = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *a):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *[x if not isinstance(x, int) else ctypes.c_long(x) for x in a])
    return 'ok' if r >= 0 else errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
"""


def need_x86():
    if os.uname().machine != "x86_64":
        tap.skip("the call numbers are those of x86_64")


REFUSED = [
    ("ptrace of PID 1", 101, (16, 1, 0, 0)), ("seizing PID 1", 101, (0x4206, 1, 0, 0)), ("process_vm_readv", 310, (1, b"", 1, b"", 1, 0)),
    ("process_vm_writev", 311, (1, b"", 1, b"", 1, 0)), ("bpf", 321, (0, 0, 0)),
    ("perf_event_open", 298, (0, 0, -1, -1, 0)), ("add_key", 248, (0, 0, 0, 0, 0)), ("request_key", 249, (0, 0, 0, 0)), ("keyctl", 250, (0, 0, 0, 0, 0)),
    ("userfaultfd", 323, (0,)), ("io_uring_setup", 425, (8, 0)), ("io_uring_enter", 426, (0, 0, 0, 0, 0, 0)), ("io_uring_register", 427, (0, 0, 0, 0)),
    ("open_by_handle_at", 304, (0, 0, 0)), ("name_to_handle_at", 303, (0, 0, 0, 0, 0)), ("kexec_load", 246, (0, 0, 0, 0)), ("kexec_file_load", 320, (0, 0, 0, 0, 0)),
    ("init_module", 175, (0, 0, 0)), ("finit_module", 313, (0, 0, 0)), ("delete_module", 176, (0, 0)), ("mount", 165, (0, 0, 0, 0, 0)), ("umount2", 166, (0, 0)),
    ("pivot_root", 155, (0, 0)), ("chroot", 161, (0,)), ("move_mount", 429, (0, 0, 0, 0, 0)), ("open_tree", 428, (0, 0, 0)), ("fsopen", 430, (0, 0)),
    ("fsmount", 432, (0, 0, 0)), ("fsconfig", 431, (0, 0, 0, 0, 0)), ("fspick", 433, (0, 0, 0)), ("mount_setattr", 442, (0, 0, 0, 0, 0)), ("setns", 308, (0, 0)),
    ("unshare (user)", 272, (0x10000000,)), ("unshare (mount)", 272, (0x00020000,)), ("unshare (net)", 272, (0x40000000,)), ("swapon", 167, (0, 0)),
    ("reboot", 169, (0, 0, 0, 0)), ("sethostname", 170, (0, 0)), ("settimeofday", 164, (0, 0)), ("clock_settime", 227, (0, 0)), ("acct", 163, (0,)),
    ("quotactl", 179, (0, 0, 0, 0)), ("syslog", 103, (3, 0, 0)), ("iopl", 172, (3,)), ("ioperm", 173, (0, 1, 1)), ("modify_ldt", 154, (0, 0, 0)),
    ("pidfd_getfd", 438, (0, 0, 0)), ("lookup_dcookie", 212, (0, 0, 0)), ("fanotify_init", 300, (0, 0)), ("kcmp", 312, (1, 1, 0, 0, 0)), ("vhangup", 153, ()),
    ("mknodat (a device)", 259, (-100, b"/tmp/device", 0o020666, 0x103)), ("personality (executable data)", 135, (0x0400000,)), ("migrate_pages", 256, (0, 0, 0, 0)),
]


@tap.test("every call of the refused list is refused, for commands")
def _():
    need_x86()
    source = PRELUDE + "for name, n, a in %r:\n    print(name, call(n, *a), sep='|')\n" % (REFUSED,)
    result = run_code(source).expect(0)
    lines = [line.split("|") for line in result.record["stdout"].splitlines()]
    tap.equal(len(lines), len(REFUSED), "all were tried and none killed")
    wrong = [line for line in lines if line[1] not in ("EPERM", "ENOSYS")]
    tap.equal(wrong, [], "neither EPERM nor ENOSYS")


@tap.test("every call of the refused list is refused in the tier subprocess too")
def _():
    need_x86()
    source = PRELUDE + "for name, n, a in %r:\n    print(name, call(n, *a), sep='|')\n" % (REFUSED,)
    lines = [line.split("|") for line in run_code(source, "--tier", "subprocess").expect(0).record["stdout"].splitlines()]
    wrong = [line for line in lines if line[1] not in ("EPERM", "ENOSYS")]
    tap.equal((len(lines), wrong), (len(REFUSED), []), "neither EPERM nor ENOSYS")


@tap.test("every call of the refused list is refused for a body that has got hold of ctypes")
def _():
    need_x86()
    source = PRELUDE + "out = []\nfor name, n, a in %r:\n    out.append([name, call(n, *a)])\nreturn out\n" % (REFUSED,)
    result = body(source, "--allow", "ctypes,errno,os,struct", "--permit", "ctypes,os,CDLL,syscall,set_errno,get_errno,c_long,errorcode")
    if result.status == 2:
        tap.skip("the validator keeps ctypes from a body whatever is permitted")
    wrong = [line for line in result.expect(0).record["output"] if line[1] not in ("EPERM", "ENOSYS")]
    tap.equal(wrong, [], "neither EPERM nor ENOSYS")


@tap.test("a call that nobody knows is ENOSYS and kills nothing")
def _():
    need_x86()
    source = PRELUDE + "print(call(9999), call(600), call(511))"
    tap.like(record_of(source)["stdout"], r"^ENOSYS ENOSYS (ENOSYS|EPERM)\n$", "answers")


@tap.test("the foreign ABIs of this machine are refused and do not get round the filter")
def _():
    need_x86()
    source = PRELUDE + "print(call(0x40000000 | 39), call(0x40000000 | 165, 0, 0, 0, 0, 0), call(0x40000000 | 272, 0x10000000))"
    for word in record_of(source)["stdout"].split():
        tap.ok(word in ("EPERM", "ENOSYS"), "x32: %s" % word)
    compiler = sandbox.need("cc")
    import subprocess
    from lib import leaks
    place = leaks.scratch()
    with open(place + "/i386.c", "w") as file:
        file.write("#include <stdio.h>\nint main(void) { long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); printf(\"%ld\\n\", r); return 0; }\n")
    if subprocess.run([compiler, "-o", place + "/i386", place + "/i386.c"], capture_output=True).returncode:
        tap.skip("the compiler cannot build the probe")
    result = run("run", "--json", "--copy-in", place + "/i386", "--", "./i386")
    if result.status == 139:
        return  # a kernel without the i386 interface
    tap.like(result.expect(0).record["stdout"], r"^-(1|38)\n$", "int 0x80")


@tap.cases("sockets of the family {} are {}", [
    ("UNIX", "had", "socket.AF_UNIX, socket.SOCK_STREAM, 0"), ("INET", "had", "socket.AF_INET, socket.SOCK_STREAM, 0"), ("INET6", "had", "socket.AF_INET6, socket.SOCK_DGRAM, 0"),
    ("route netlink", "had", "16, socket.SOCK_RAW, 0"), ("VSOCK", "refused", "40, socket.SOCK_STREAM, 0"), ("PACKET", "refused", "17, socket.SOCK_RAW, 0"),
    ("netlink audit", "refused", "16, socket.SOCK_RAW, 9"), ("netlink netfilter", "refused", "16, socket.SOCK_RAW, 12"), ("ALG", "refused", "38, socket.SOCK_SEQPACKET, 0"),
    ("BLUETOOTH", "refused", "31, socket.SOCK_RAW, 0"), ("CAN", "refused", "29, socket.SOCK_RAW, 1"), ("TIPC", "refused", "30, socket.SOCK_STREAM, 0"),
    ("raw INET", "refused", "socket.AF_INET, socket.SOCK_RAW, 1"), ("XDP", "refused", "44, socket.SOCK_RAW, 0")])
def _(_family, wanted, arguments):
    source = "import socket\ntry:\n    socket.socket(%s); print('had')\nexcept OSError as e:\n    print('refused')" % arguments
    tap.equal(record_of(source)["stdout"], wanted + "\n", "answer")


WORKS = [
    ("asyncio", "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n    print((await p.communicate())[0].decode().strip())\nasyncio.run(f())", "x\n"),
    ("asyncio over loopback", """import asyncio
async def main():
    async def serve(r, w):
        w.write(await r.read(2)); await w.drain(); w.close()
    s = await asyncio.start_server(serve, '127.0.0.1', 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b'hi'); print((await r.read()).decode()); w.close()
asyncio.run(main())""", "hi\n"),
    ("threads", "import threading\nx = []\nt = [threading.Thread(target=x.append, args=(i,)) for i in range(8)]\n[i.start() for i in t]; [i.join() for i in t]\nprint(len(x))", "8\n"),
    ("a thread pool", "import concurrent.futures as c\nwith c.ThreadPoolExecutor(4) as p: print(sum(p.map(abs, range(-5, 0))))", "15\n"),
    ("subprocess", "import subprocess; print(subprocess.check_output(['sh', '-c', 'echo a | tr a b']).decode().strip())", "b\n"),
    ("a pipeline of five", "import os; print(os.popen('seq 1000 | sort -r | sort -n | tail -1 | tr -d \"\\\\n\"').read())", "1000\n"),
    ("os.fork and os.wait", "import os\np = os.fork()\nif p == 0: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))", "7\n"),
    ("socketpair, select and epoll", "import socket, select\na, b = socket.socketpair(); a.send(b'x'); e = select.epoll(); e.register(b, 1); print(len(e.poll(1)), b.recv(1))", "1 b'x'\n"),
    ("file locks and mmap", "import fcntl, mmap\nf = open('f', 'w+b'); f.write(b'x' * 4096); f.flush(); fcntl.flock(f, 2); fcntl.lockf(f, 2); m = mmap.mmap(f.fileno(), 0); print(len(m))", "4096\n"),
    ("timers and signals", "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.setitimer(0, 0.01); signal.pause()", "alarm\n"),
    ("inotify and eventfd", "import ctypes\nl = ctypes.CDLL(None)\nprint(l.inotify_init1(0) > 0, l.eventfd(0, 0) > 0)", "True True\n"),
    ("tempfile and shutil", "import tempfile, shutil, os\nd = tempfile.mkdtemp(); open(d + '/a', 'w').write('x'); shutil.copytree(d, d + '2'); print(os.listdir(d + '2')); shutil.rmtree(d)", "['a']\n"),
    ("sqlite", "import sqlite3\nc = sqlite3.connect('x.db'); c.execute('create table t(a)'); c.execute('insert into t values (1)'); c.commit(); print(c.execute('select * from t').fetchall())", "[(1,)]\n"),
    ("getrandom and uuid", "import os, uuid, secrets; print(len(os.urandom(8)), len(str(uuid.uuid4())), len(secrets.token_hex(4)))", "8 36 8\n"),
    ("a pseudo-terminal", "import pty, os\nm, s = os.openpty(); os.write(s, b'x'); print(os.read(m, 1))", "b'x'\n"),
    ("process priorities and affinity", "import os; os.nice(1); print(len(os.sched_getaffinity(0)) > 0)", "True\n"),
]


@tap.cases("{} works inside", WORKS)
def _(_name, source, wanted):
    result = run_code(source)
    tap.equal(result.expect(0).record["stdout"], wanted, "stdout\n%s" % result)


@tap.cases("multiprocessing by {} works inside", [("fork",), ("spawn",), ("forkserver",)])
def _(method):
    from lib import leaks
    path = os.path.join(leaks.scratch(), "m.py")
    with open(path, "w") as file:
        file.write("import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == '__main__':\n    with m.get_context(%r).Pool(2) as p:\n        print(p.map(f, [1, 2, 3]))\n" % method)
    result = run("run", "--json", "--timeout", "15", "--copy-in", path, "--", sandbox.PYTHON, "m.py")
    tap.equal(result.expect(0).record["stdout"], "[1, 4, 9]\n", "stdout\n%s" % result)


@tap.test("numpy works inside, as a command and as a body")
def _():
    import subprocess
    if subprocess.run([sandbox.PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        tap.skip("numpy is not installed for %s" % sandbox.PYTHON)
    tap.equal(record_of("import numpy as np; print(int(np.dot(np.arange(3), np.arange(3))))")["stdout"], "5\n", "stdout")
    tap.equal(body("import numpy as np\nreturn int(np.linalg.norm(np.array([3, 4])))", "--allow", "numpy").expect(0).record["output"], 5, "output")


@tap.test("git works inside: init, commit, clone")
def _():
    sandbox.need("git")
    script = ("git init -q a && cd a && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm one && cd .. && "
              "git clone -q a b && cat b/f")
    result = shell(script)
    tap.equal(result.expect(0).record["stdout"], "x\n", "stdout\n%s" % result)


@tap.test("node works inside, with threads and children")
def _():
    node = os.path.realpath(sandbox.need("node"))
    options = [] if node.startswith("/usr") else ["--ro", os.path.dirname(os.path.dirname(node))]
    source = ("const {Worker}=require('worker_threads');const {execSync}=require('child_process');"
              "new Worker('require(\"worker_threads\").parentPort.postMessage(7)',{eval:true}).on('message',m=>console.log(m,execSync('echo x').toString().trim()))")
    result = run("run", "--json", *options, "--", node, "-e", source)
    tap.equal(result.expect(0).record["stdout"], "7 x\n", "stdout\n%s" % result)


@tap.test("a shell pipeline with a signal in the middle ends")
def _():
    result = shell("trap : USR1; (sleep 0.05; kill -USR1 $$) & yes | head -100000 | wc -l; wait; exit 0")
    tap.equal(result.expect(0).record["stdout"].strip(), "100000", "stdout")


@tap.test("without a network a name fails to resolve at once")
def _():
    source = "import socket, time\nt = time.monotonic()\ntry:\n    socket.gethostbyname('example.com'); print('resolved')\nexcept OSError:\n    print('failed', time.monotonic() - t < 0.2)\nprint(socket.gethostbyname('localhost'))"
    tap.equal(record_of(source)["stdout"], "failed True\n127.0.0.1\n", "stdout")


@tap.test("abstract sockets of the host cannot be reached")
def _():
    import socket
    server = socket.socket(socket.AF_UNIX)
    name = "\0cordon-test-%d" % os.getpid()
    server.bind(name)
    server.listen()
    try:
        source = "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0cordon-test-%d'); print('reached')\nexcept OSError:\n    print('refused')" % os.getpid()
        tap.equal(record_of(source)["stdout"], "refused\n", "stdout")
    finally:
        server.close()


@tap.test("the filter costs little in a program that makes many calls", deadline=60)
def _():
    source = "import os, time\nt = time.perf_counter()\nfor _ in range(200000): os.getppid()\nprint(time.perf_counter() - t)"
    import subprocess
    outside = min(float(subprocess.check_output([sandbox.PYTHON, "-c", source])) for _ in range(3))
    inside = min(float(record_of(source)["stdout"]) for _ in range(3))
    tap.ok(inside < outside * 2 + 0.05, "seconds for 200,000 calls: %.3f inside, %.3f outside" % (inside, outside))


tap.main()
