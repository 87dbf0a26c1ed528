#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits: each holds, says in the record what enforces it, and none is claimed that is not there.

Where a fixed time is promised it is measured on cordon's own clock in the record and again from outside. Memory of the supervisor is read from
/proc while it works.
"""
# Field cases: I2 oom told honestly · I5 doctor and cgroups · I8 address space · I9 processes and root · I10 fork bomb · I12 endless output · I13 many files
# I14 I16 wall clock · I17 overshoot · I18 sizes of tmpfs · I20 hard limits
import os
import re
import resource
import statistics
import subprocess
import time

from lib import leaks, sandbox, tap
from lib.sandbox import body, record_of, run, run_code, shell


@tap.test("the wall clock overshoots by less than 50 ms")
def _():
    over = []
    for _ in range(10):
        record = shell("exec sleep 100", "--timeout", "0.2").expect(124).record
        over.append(record["duration_ms"] - 200)
    tap.ok(all(o >= -1 for o in over), "never early: %r" % over)
    allowed = tap.patience(50)
    tap.ok(statistics.median(over) < allowed and sorted(over)[-2] < allowed,
           "milliseconds over: %r" % over)


@tap.test("the wall clock of a body overshoots by less than 50 ms")
def _():
    over = []
    for _ in range(6):
        record = body("while True: pass", "--timeout", "0.3").record
        tap.equal(record["timed_out"], True, "timed_out")
        over.append(record["duration_ms"] - 300)
    tap.ok(statistics.median(over) < tap.patience(50), "milliseconds over: %r" % over)


@tap.test("a sleeper is ended by the wall clock although it uses no CPU")
def _():
    tap.equal(run_code("import time; time.sleep(1e9)", "--timeout", "0.4").expect(124).record["timed_out"], True, "timed_out")


@tap.test("the smallest and the fractional time limits work")
def _():
    for text, shown in (("0.05", "0.05"), ("0.5", "0.50"), ("1", "1.00")):
        record = shell("exec sleep 100", "--timeout", text).expect(124).record
        tap.equal(record["error"], "sandbox execution timed out after %ss" % shown, "error")


@tap.test("CPU time is counted and told in the record")
def _():
    usage = record_of("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")["usage"]
    tap.between(usage["cpu_user_ms"] + usage["cpu_system_ms"], 280, 2000, "CPU milliseconds in %r" % usage)


@tap.test("many processes that share the CPU are all ended by the clock")
def _():
    result = run_code("import os\nfor _ in range(8):\n    if os.fork() == 0:\n        while True: pass\nwhile True: pass", "--timeout", "0.5").expect(124)
    tap.ok(result.seconds < tap.patience(2), "after %.2f s" % result.seconds)


# ---- processes ----------------------------------------------------------------------------------------------------------------------

FORKS = """
import os, time
made = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(20); os._exit(0)
        made += 1
    except OSError as e:
        print('errno', e.errno); break
print(made)
"""


@tap.test("--pids holds, run by root as well, and the record says what holds it")
def _():
    record = run_code(FORKS, "--pids", "20", "--timeout", "10").record
    lines = record["stdout"].split()
    tap.equal(lines[:2], ["errno", "11"], "EAGAIN: %r" % record["stdout"])
    tap.between(int(lines[2]), 8, 20, "processes made under a limit of 20")
    tap.like(repr(record["confinement"]), r"(?i)rlimit|cgroup|watchdog", "confinement says what holds it")


@tap.test("--pids holds for an ordinary user")
def _():
    user = None
    if os.getuid() == 0:
        sandbox.need_nobody()
        user = sandbox.NOBODY
    lines = run_code(FORKS, "--pids", "20", "--timeout", "10", user=user).record["stdout"].split()
    tap.equal(lines[:2], ["errno", "11"], "EAGAIN")
    tap.between(int(lines[2]), 8, 20, "processes made under a limit of 20")


@tap.test("two sandboxes of one user do not use up each other's processes")
def _():
    first = sandbox.start("run", "--pids", "30", "--python", sandbox.PYTHON, "--code", "import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(20); os._exit(0)\nprint('up', flush=True); time.sleep(20)")
    tap.equal(first.stdout.readline(), b"up\n", "the first has its processes")
    try:
        record = run_code("import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(0.1); os._exit(0)\nprint('up')", "--pids", "30").record
    finally:
        first.kill()
        sandbox.finish(first)
    tap.equal(record["stdout"], "up\n", "the second has them too; %s" % record["stderr"])


@tap.test("a fork bomb is over within three seconds of its time limit and leaves nothing")
def _():
    user = None
    if os.getuid() == 0:
        sandbox.need_nobody()
        user = sandbox.NOBODY
    result = run_code("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "--pids", "30", "--timeout", "1", user=user)
    tap.ok(result.seconds < tap.patience(4), "after %.2f s" % result.seconds)


# ---- memory ---------------------------------------------------------------------------------------------------------------------------

GROW = "x = []\nimport time\nwhile True:\n    x.append(bytearray(b'x') * (4 << 20)); time.sleep(0.002)"


@tap.test("memory of a command is held and told as oom", deadline=60)
def _():
    result = run_code(GROW, "--memory", "80", "--timeout", "%.0f" % tap.patience(20))
    record = result.record
    tap.equal((record["oom"], record["timed_out"], record["success"]), (True, False, False), "record\n%s" % result)
    tap.like(record["error"], "(?i)memory", "error")


@tap.test("memory is the sum of all processes", deadline=60)
def _():
    source = ("import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
              "        x = bytearray(b'x') * (40 << 20); time.sleep(1000)\ntime.sleep(1000)")
    record = run_code(source, "--memory", "100", "--timeout", "%.0f" % tap.patience(15)).record
    tap.equal((record["oom"], record["timed_out"]), (True, False), "oom, timed_out: %r" % record["error"])


@tap.test("files in the workspace, /tmp and /dev/shm count or are capped")
def _():
    source = """
import os
total = 0
for d in ('/workspace', '/tmp', '/dev/shm'):
    try:
        with open(d + '/f', 'wb') as f:
            while total < 2000: f.write(bytes(1 << 20)); total += 1
    except OSError as e: pass
print(total < 1000)
"""
    result = run_code(source, "--memory", "100", "--workspace-size", "20", "--fsize", "1000", "--timeout", "15")
    tap.ok(result.record["oom"] or result.record["stdout"] == "True\n", "bounded\n%s" % result)


@tap.test("sizes of the writable places are shown and finite")
def _():
    source = "import os\nfor d in ('/workspace', '/tmp', '/dev/shm'):\n    s = os.statvfs(d); print(s.f_blocks * s.f_frsize >> 20, s.f_files)"
    lines = record_of(source, "--workspace-size", "20")["stdout"].splitlines()
    size, files = lines[0].split()
    tap.equal(int(size), 20, "MB of the workspace")
    for line in lines:
        size, files = line.split()
        tap.between(int(size), 1, 4096, "MB")
        tap.between(int(files), 10, 2000000, "files")


@tap.test("a program that only reserves address space runs under a small limit")
def _():
    source = "import mmap; m = mmap.mmap(-1, 8 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000); m[0] = 1; print('reserved')"
    tap.equal(record_of(source, "--memory", "128")["stdout"], "reserved\n", "stdout")
    limited = run_code(source, "--memory", "128", "--limit-address-space").record
    tap.ok("reserved" not in limited["stdout"], "and not where the address space is limited")


@tap.test("node runs with the defaults")
def _():
    node = os.path.realpath(sandbox.need("node"))
    options = [] if node.startswith("/usr") else ["--ro", os.path.dirname(os.path.dirname(node))]
    result = run("run", "--json", *options, "--", node, "-e", "console.log(1 + 1)")
    tap.equal(result.expect(0).record["stdout"], "2\n", "stdout")


@tap.test("128 MB mean the same for a body with and without preloaded modules")
def _():
    source = "x = bytearray(b'x') * (60 << 20)\nreturn len(x)"
    tap.equal(body(source).expect(0).record["output"], 60 << 20, "without")
    preloaded = body("import decimal\n" + source, "--preload", "decimal,json,datetime", "--allow", "decimal")
    tap.equal(preloaded.expect(0).record["output"], 60 << 20, "with")
    record = body("x = bytearray(b'x') * (200 << 20)\nreturn len(x)").expect(1).record
    tap.ok(record["oom"] or record["error"].startswith("MemoryError"), "200 MB do not fit: %r" % record["error"])


@tap.test("a file larger than the limit may be mapped and read; a copy of its pages counts")
def _():
    directory = leaks.scratch()
    with open(os.path.join(directory, "large"), "wb") as file:
        file.truncate(300 << 20)
    source = ("import mmap, time\nwith open('/n/large', 'rb') as f:\n    m = mmap.mmap(f.fileno(), 0, mmap.%s)\n"
              "for i in range(0, len(m), 4096):\n    %s\nprint('read')\ntime.sleep(0.2)\n")
    options = ("--memory", "64", "--ro", directory + ":/n")
    # Through a bind a file of the host's tmpfs is shared memory like the program's own.
    on_disk = subprocess.check_output(["stat", "-f", "-c", "%T", directory]) != b"tmpfs\n"
    for mode in ("fuse", "bind") if on_disk else ("fuse",):
        record = run_code(source % ("MAP_SHARED, mmap.PROT_READ", "m[i]"), *options, "--view", mode).expect(0).record
        tap.equal((record["stdout"], record["oom"]), ("read\n", False), mode)
    record = run_code(source % ("MAP_PRIVATE", "m[i] = 1"), *options).record
    tap.equal(record["oom"], True, "written to")


LEADERLESS = """
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *take(void *unused)
{
	char *p = mmap(0, 600 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < 600 << 20; i += 4096) p[i] = 1;
	sleep(5);
	_exit(0);
	return unused;
}
int main(void) { pthread_t t; pthread_create(&t, 0, take, 0); syscall(SYS_exit, 0); }
"""
PAGE_TABLES = """
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	unsigned long bytes = 256ul << 30, sum = 0;
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	char *p = mmap(0, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (unsigned long i = 0; p != MAP_FAILED && i < bytes; i += 2 << 20) sum += p[i];
	sleep(5);
	return sum;
}
"""
SEGMENTS = """
#include <sys/shm.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 30; i++) {
		char *p = shmat(shmget(IPC_PRIVATE, 20 << 20, 0600), 0, 0);
		memset(p, 1, 20 << 20);
		shmdt(p);
	}
	sleep(5);
	return 0;
}
"""
SEMAPHORES = """
#include <sys/sem.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 400; i++) semget(IPC_PRIVATE, 32000, 0600); sleep(5); return 0; }
"""


@tap.cases("memory counts: {0}", [
    ("of a process whose first thread has ended", LEADERLESS), ("in page tables", PAGE_TABLES),
    ("in System V shared memory that nobody has attached", SEGMENTS), ("in semaphores", SEMAPHORES)])
def _(_name, source):
    cc = sandbox.need("cc")
    place = leaks.scratch()
    with open(place + "/a.c", "w") as file:
        file.write(source)
    subprocess.run([cc, "-pthread", "-o", place + "/a", place + "/a.c"], check=True)
    os.chmod(place + "/a", 0o755)
    record = run("run", "--json", "--memory", "128", "--copy-in", place + "/a", "--timeout", "20", "--", "./a").record
    tap.equal((record["success"], record["oom"]), (False, True), "ended as out of memory: %r" % record["error"])


@tap.test("what processes share is not counted twice, also while they end")
def _():
    source = ("import os\nb = bytearray(90 << 20)\n"
              "children = []\nfor i in range(6):\n    pid = os.fork()\n    if pid == 0:\n        os.sched_yield(); os._exit(0)\n    children.append(pid)\n"
              "for pid in children: os.waitpid(pid, 0)\nprint('done')")
    for _turn in range(10):
        record = run_code(source, "--memory", "128", "--timeout", "%.0f" % tap.patience(10)).record
        tap.equal((record["stdout"], record["oom"]), ("done\n", False), record["error"])
        tap.ok(record["usage"]["peak_memory_bytes"] <= 128 << 20, "the peak is no more than the limit: %r" % record["usage"])


@tap.test("System V memory that is mapped counts once")
def _():
    cc = sandbox.need("cc")
    place = leaks.scratch()
    with open(place + "/a.c", "w") as file:
        file.write(SEGMENTS.replace("i < 30", "i < 2").replace("shmdt(p);", ""))
    subprocess.run([cc, "-o", place + "/a", place + "/a.c"], check=True)
    os.chmod(place + "/a", 0o755)
    record = run("run", "--json", "--memory", "64", "--copy-in", place + "/a", "--timeout", "1", "--", "./a").record
    tap.equal((record["oom"], record["timed_out"]), (False, True), "40 MB of 64: %r" % record["error"])


@tap.test("a program that asks how much memory there is hears of its limit")
def _():
    tap.like(shell("head -n 1 /proc/meminfo", "--memory", "100").expect(0).record["stdout"], r"^MemTotal: +102400 kB\n$", "MemTotal")


@tap.test("what can be written is bounded together, and beside the memory")
def _():
    source = "head -c 30M /dev/zero >/tmp/a && head -c 30M /dev/zero >/workspace/b && echo both; head -c 30M /dev/zero >/dev/shm/c; ls ~"
    record = shell(source, "--workspace-size", "64", "--memory", "40").record
    tap.equal(record["stdout"], "both\n", "two fit")
    tap.like(record["stderr"], "No space left", "a third does not")


@tap.test("oom is not claimed for a plain SIGKILL")
def _():
    record = shell("kill -KILL $$").expect(137).record
    tap.equal(record["oom"], False, "oom")
    tap.unlike(record["error"], "(?i)memory", "error")


# ---- files, descriptors, output ------------------------------------------------------------------------------------------------------------

@tap.test("--fsize, --nofile and no core file")
def _():
    source = """
import resource
print(resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))
"""
    record = record_of(source, "--fsize", "3", "--nofile", "50")
    tap.equal(record["stdout"], "(3145728, 3145728) (50, 50) (1, 1)\n", "limits inside")
    record = record_of("try:\n    open('f', 'wb').write(bytes(4 << 20))\nexcept OSError as e:\n    print(e.errno)", "--fsize", "3")
    tap.like(record["stdout"] or str(record["signal"]), r"27|25|XFSZ", "a file above the limit: %r" % record)


@tap.test("limits cannot be raised from inside")
def _():
    source = """
import resource
for name in ('NOFILE', 'FSIZE', 'NPROC', 'CORE'):
    r = getattr(resource, 'RLIMIT_' + name)
    try:
        resource.setrlimit(r, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); print(name, 'raised')
    except (OSError, ValueError): pass
print('end')
"""
    tap.equal(record_of(source)["stdout"], "end\n", "stdout")


@tap.test("a hard limit of the caller that is in the way is limit_denied, with its name")
def _():
    def low():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    if os.getuid() == 0:
        sandbox.need_nobody()
    result = run("run", "--json", "--fsize", "64", "--", "true", preexec=low, env=sandbox.environment(PATH="/usr/bin:/bin"), cwd="/")
    if result.status == 0:
        tap.like(repr(result.record["confinement"]), r"1048576|\b1(\.0)?\b", "the record says what was in force")
        return
    tap.equal(result.failure, "limit_denied", "failure code")
    tap.like(result.text, "(?i)fsize|file size", "the limit is named")


@tap.test("endless output leaves the supervisor's memory flat", deadline=60)
def _():
    process = sandbox.start("run", "--json", "--timeout", "3", "--output-limit", "1000000", "--", "sh", "-c", "yes & yes >&2")
    peak = 0
    end = time.monotonic() + 2.5
    while time.monotonic() < end and process.poll() is None:
        with open("/proc/%d/status" % process.pid) as file:
            match = re.search(r"VmRSS:\s+(\d+)", file.read())
        peak = max(peak, int(match.group(1)) if match else 0)
        time.sleep(0.05)
    status, out, _err = sandbox.finish(process)
    tap.equal(status, 124, "status")
    tap.ok(peak < (400 << 10 if sandbox.SANITIZED else 20 << 10), "peak resident set %d KiB" % peak)
    record = sandbox.strict_json(out.decode())
    tap.equal((len(record["stdout"]), len(record["stderr"])), (1000000, 1000000), "kept")


@tap.test("the end of the output is not lost when the program ends at once")
def _():
    for _ in range(10):
        record = shell("head -c 300000 /dev/zero | tr '\\0' x; printf END").expect(0).record
        tap.ok(record["stdout"].endswith("END") and len(record["stdout"]) == 300003, "all of it: %d" % len(record["stdout"]))


# ---- what the record claims ------------------------------------------------------------------------------------------------------------------

@tap.test("the record says for each limit what enforces it, and does not claim a cgroup that is not there")
def _():
    confinement = record_of("pass")["confinement"]
    text = repr(confinement)
    for word in ("seccomp", "network"):
        tap.like(text, word, "speaks of %s" % word)
    tap.like(text, r"cgroup|watchdog|rlimit", "says what enforces memory and processes")
    with open("/proc/self/cgroup") as file:
        own = [line.rstrip("\n").split(":", 2)[2] for line in file if line.startswith("0::")]
    v2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    if not v2 or not own:
        limits = repr(confinement.get("limits", confinement))
        tap.unlike(limits, r"'cgroup'", "no v2 hierarchy here, and no cgroup is claimed: %s" % limits)


@tap.test("doctor tells which kind of cgroups this host has")
def _():
    text = run("doctor").text
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        tap.like(text, r"(?i)hybrid|v1|not mounted|no cgroup|read-only|not delegated|not.*v2", "says what is in the way")


tap.main()
