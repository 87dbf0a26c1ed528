# SPDX-License-Identifier: Apache-2.0
"""`make bench`: cordon against bubblewrap, and the view against a bind, as ratios of medians measured in one run.

The two commands of a pair take turns (A B A B ...), so that whatever else the machine does meets both alike. Bubblewrap is given the same namespaces and mounts and the
same habits as cordon: lo up, a private /proc, six device nodes, three tmpfs, uid 1000, no capabilities, a new session, death with its parent, an
empty environment, and a system call filter (cordon's own, where the build has one to hand out). Both sides start the same interpreter. Below 1 means that cordon is faster;
for the throughput above 1 does.

The second half is the view: the same tree as a read-only bind, through the view, and through fuse-overlayfs (whose mount is then shown as a bind in the same sandbox) where that is installed. Inside each sandbox one program does the work
and takes its own time, so no start-up is in these numbers. A round has a fresh sandbox of each kind, and all do the same work in turns, once each: a machine whose processors are faster in one second than in the next is so for all of them.
"Cold" is the first time in a fresh mount. The large file is read twice in a row, and before that its pages are made anew: how they happen to lie in memory makes more of a difference than the file system. Imports are compared where all of /usr comes through FUSE: `--view fuse` beside fuse-overlayfs over /usr. (The interpreter that takes the time was loaded through the same mount, so on both sides "cold" means
all modules but those that every start needs.) With each ratio of medians stand the quartiles of the ratios of the single turns.

usage: bench.py [--rounds N] [--only PATTERN] [--json]
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get("CORDON_BUILD") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORDON = os.path.join(BUILD, "isolate", "cordon")
PYTHON = os.path.realpath("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}

ETC = {
    "passwd": "user:x:1000:1000::/workspace:/bin/sh\n", "group": "user:x:1000:\n", "hostname": "sandbox\n", "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n", "resolv.conf": "",
}
BODY = "return sum(args['values'])\n"
ARGUMENTS = '{"values": [1, 2, 3]}'
# What a careful person writes around a body where there is no runner: arguments in, one JSON object out.
WRAPPER = """
import json, sys
request = json.loads(sys.stdin.readline())
space = {}
exec(compile("def body(args):\\n" + "".join("    " + l + "\\n" for l in request["source"].splitlines()), "<body>", "exec"), space)
try:
    answer = {"success": True, "output": space["body"](request["args"]), "error": None}
except Exception as e:
    answer = {"success": False, "output": None, "error": "%s: %s" % (type(e).__name__, e)}
sys.stdout.write(json.dumps(answer) + "\\n")
"""


def filter_file():
    """A file with a BPF program that refuses what cordon's filter refuses in kind, made by libseccomp's own tools when they are here; or None."""
    try:
        import ctypes
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(0x7fff0000)))
    refused = ["ptrace", "process_vm_readv", "process_vm_writev", "bpf", "perf_event_open", "add_key", "request_key", "keyctl", "userfaultfd", "io_uring_setup", "io_uring_enter",
               "io_uring_register", "open_by_handle_at", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "mount", "umount2", "pivot_root", "chroot", "move_mount",
               "open_tree", "fsopen", "fsmount", "fsconfig", "fspick", "mount_setattr", "setns", "unshare", "swapon", "swapoff", "reboot", "sethostname", "setdomainname", "settimeofday",
               "clock_settime", "acct", "quotactl", "syslog", "iopl", "ioperm", "modify_ldt", "pidfd_getfd", "fanotify_init", "kcmp", "vhangup", "name_to_handle_at"]
    for name in refused:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            library.seccomp_rule_add(context, ctypes.c_uint32(0x00050001), ctypes.c_int(number), ctypes.c_uint(0))
    file = tempfile.TemporaryFile()
    if library.seccomp_export_bpf(context, ctypes.c_int(file.fileno())) != 0:
        return None
    library.seccomp_release(context)
    return file


def bubblewrap(data):
    """The command line of the peer, up to the command. data(text) stands for a descriptor that holds a text."""
    argv = [shutil.which("bwrap"), "--unshare-all", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv"]
    for key, value in ENVIRONMENT.items():
        argv += ["--setenv", key, value]
    for directory in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(directory):
            argv += ["--symlink", os.readlink(directory), directory]
        elif os.path.isdir(directory):
            argv += ["--ro-bind", directory, directory]
    if not PYTHON.startswith("/usr/"):
        top = os.path.dirname(os.path.dirname(PYTHON))
        argv += ["--ro-bind", top, top]
    argv += ["--proc", "/proc", "--dir", "/dev"]
    for node in ("null", "zero", "full", "random", "urandom", "tty"):
        argv += ["--dev-bind", "/dev/" + node, "/dev/" + node]
    for directory in ("/tmp", "/dev/shm", "/workspace"):
        argv += ["--size", str(64 << 20), "--tmpfs", directory]
    for name, text in ETC.items():
        argv += ["--file", data(text), "/etc/" + name]
    return argv + ["--chdir", "/workspace", "--remount-ro", "/"]


def text_file(text):
    """A descriptor, open for reading at its start, of a file that nobody else has; children inherit it."""
    file = tempfile.TemporaryFile()
    file.write(text)
    file.seek(0)
    os.set_inheritable(file.fileno(), True)
    return file


class Peer:
    """One way of running something. call() runs it once and returns seconds: from before the spawn to after the wait, and nothing else in between."""

    def __init__(self, name, argv, stdin=b"", expect=b"", files=()):
        self.name, self.argv, self.stdin, self.expect, self.files = name, argv, stdin, expect, files

    def call(self):
        argv, opened = list(self.argv), []
        for make in self.files:
            opened.append(make())
            argv = [str(opened[-1].fileno()) if a is make else a for a in argv]
        given, answer = text_file(self.stdin), tempfile.TemporaryFile()
        actions = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0), (os.POSIX_SPAWN_DUP2, answer.fileno(), 1), (os.POSIX_SPAWN_DUP2, answer.fileno(), 2)]
        started = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
        _pid, status = os.waitpid(pid, 0)
        seconds = time.perf_counter() - started
        answer.seek(0)
        said = answer.read()
        for file in opened + [given, answer]:
            file.close()
        if status or self.expect not in said:
            sys.exit("bench: %s failed: wait status %#x, %r" % (self.name, status, said[-1000:]))
        return seconds


def peer_files():
    """(makers of descriptors for bubblewrap, the argv pieces that name them). A descriptor is read once, so each call needs new ones."""
    makers = []

    def data(text):
        def make():
            return text_file(text.encode())
        makers.append(make)
        return make
    source = filter_file()
    program = None
    if source:
        source.seek(0)
        program = source.read()
        source.close()

    def seccomp():
        return text_file(program)
    argv = bubblewrap(data)
    if program:
        makers.append(seccomp)
        argv += ["--seccomp", seccomp]
    return argv, makers, program is not None


def alternate(a, b, rounds):
    """Two lists of seconds, the calls taking turns."""
    for peer in (a, b, a, b):
        peer.call()
    first, second = [], []
    for index in range(rounds):
        if index % 2:
            second.append(b.call())
            first.append(a.call())
        else:
            first.append(a.call())
            second.append(b.call())
    return first, second


def throughput(peer, runs=200, workers=2):
    """Runs a second with so many workers."""
    left = list(range(runs))

    def work():
        while True:
            try:
                left.pop()
            except IndexError:
                return
            peer.call()
    threads = [threading.Thread(target=work) for _ in range(workers)]
    started = time.perf_counter()
    [t.start() for t in threads]
    [t.join() for t in threads]
    return runs / (time.perf_counter() - started)


def show(name, ratio, target, good, details):
    print("%-44s %6.3f   (target %s, %s)   %s" % (name, ratio, target, "met" if good else "MISSED", details))


def pair(name, a, b, rounds, target, found):
    first, second = alternate(a, b, rounds)
    ratio = statistics.median(first) / statistics.median(second)
    # The spread of the ratio itself, from the two halves of the run.
    half = rounds // 2
    halves = [statistics.median(first[:half]) / statistics.median(second[:half]), statistics.median(first[half:]) / statistics.median(second[half:])]
    details = "cordon %.2f ms, peer %.2f ms; halves %.3f and %.3f" % (statistics.median(first) * 1e3, statistics.median(second) * 1e3, *halves)
    show(name, ratio, "at most %.1f" % target, ratio <= target, details)
    found[name] = {"ratio": round(ratio, 4), "target": target, "cordon_ms": round(statistics.median(first) * 1e3, 3), "peer_ms": round(statistics.median(second) * 1e3, 3)}


# Runs inside until its input ends: a line says what to do, and is answered with the seconds that it took.
VIEW_WORK = r"""
import os, subprocess, sys, time
tree = sys.argv[1]
def imports(_):
    subprocess.run([sys.executable, "-I", "-c", "import asyncio, json, http.client, sqlite3"], check=True)
def find(_):
    subprocess.run(["find", tree + "/small", "-type", "f", "-size", "+1"], check=True, stdout=subprocess.DEVNULL)
def grep(_):
    subprocess.run(["grep", "-r", "no such words", tree + "/small"], stdout=subprocess.DEVNULL)
def status(_):
    told = subprocess.run(["git", "-c", "safe.directory=*", "-C", tree + "/repository", "status", "--porcelain"], env={"PATH": os.environ["PATH"], "GIT_OPTIONAL_LOCKS": "0"}, check=True, capture_output=True)
    assert told.stdout == b"", told.stdout
def read(_):
    with open(tree + "/big", "rb", buffering=0) as f:
        block = bytearray(1 << 20)
        while f.readinto(block):
            pass
def load(_):
    with open(tree + "/big", "rb", buffering=0) as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    read(_)
def walk(part):
    for number in range(10 * int(part), 10 * int(part) + 10):
        assert sum(len(files) for _top, _names, files in os.walk("%s/%d" % (tree, number))) == 500
for line in sys.stdin:
    work, _, argument = line.strip().partition(" ")
    work = globals()[work]
    started = time.perf_counter()
    work(argument)
    print(time.perf_counter() - started, flush=True)
"""


def make_trees(top, small=10000, wide=300000):
    """A tree of small files, one of very many empty ones, and a file of 100 MB."""
    for number in range(small):
        directory = "%s/small/%d" % (top, number // 100)
        if number % 100 == 0:
            os.makedirs(directory)
        with open("%s/%d" % (directory, number), "w") as file:
            file.write("%d\n" % number * (number % 50))
    for number in range(wide):
        directory = "%s/wide/%d" % (top, number // 500)
        if number % 500 == 0:
            os.makedirs(directory)
        os.close(os.open("%s/%d" % (directory, number), os.O_CREAT | os.O_WRONLY, 0o644))
    with open(top + "/big", "wb") as file:
        block = os.urandom(1 << 20)
        for _ in range(100):
            file.write(block)
    if shutil.which("git"):
        make_repository(top + "/repository")
    subprocess.run(["chmod", "-R", "a+rX", top], check=True)


def make_repository(top, files=5000):
    """A work tree of small files, all of them committed."""
    for number in range(files):
        directory = "%s/%d" % (top, number // 50)
        os.makedirs(directory, exist_ok=True)
        with open("%s/%d" % (directory, number), "w") as file:
            file.write("%d\n" % number)
    git = ["git", "-C", top, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(git + words, check=True)


def overlay_peer(lower, scratch, over=None):
    """What to put before a cordon command so that it finds the directory at scratch/merged through fuse-overlayfs, in namespaces of its own, and in the directory's own place, too, if that is
    given as over; None where fuse-overlayfs is not to be had."""
    if not shutil.which("fuse-overlayfs"):
        return None
    script = 'fuse-overlayfs -o allow_other,lowerdir="$1",upperdir="$2/upper",workdir="$2/work" "$2/merged" 2>/dev/null || exit; [ -z "$3" ] || mount --bind "$2/merged" "$3" || exit; shift 3; "$@"'
    for name in ("upper", "work", "merged"):
        os.makedirs("%s/%s" % (scratch, name), exist_ok=True)
    return ["unshare", "-mpf" if os.geteuid() == 0 else "-Urmpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh", lower, scratch, over or ""]


class Inside:
    """A sandbox in which VIEW_WORK waits for what to do."""

    def __init__(self, options, before=()):
        self.process = subprocess.Popen([*before, CORDON, "run", "--stdin", "--memory", "2048", *options, "--", PYTHON, "-I", "-c", VIEW_WORK, "/t"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def do(self, work):
        self.process.stdin.write(work + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait():
            sys.exit("bench: a sandbox ended with status %d" % self.process.returncode)


def in_turns(names, turn):
    """Each of them once; every turn begins with another one, and after all have begun they go the other way round, so that none always has the same one before it."""
    names = list(names)
    rotated = (names * 2)[turn % len(names):][:len(names)]
    return rotated[::-1] if turn // len(names) % 2 else rotated


def view_ways(top):
    """The ways to show a tree: name, what makes a fresh sandbox, and what is done there."""
    def way(options, before=()):
        return lambda: Inside(options, before)
    files = "find grep status read" if os.path.exists(top + "/tree/repository") else "find grep read"
    ways = {"bind": (way(["--view", "bind", "--ro", top + "/tree:/t"]), "imports " + files), "mixed": (way(["--view", "mixed", "--ro", top + "/tree:/t"]), "imports " + files),
            "fuse": (way(["--view", "fuse", "--ro", top + "/tree:/t"]), "imports")}
    peer = overlay_peer(top + "/tree", top + "/overlay")
    if peer:
        ways["fuse-overlayfs"] = (way(["--view", "bind", "--ro", top + "/overlay/merged:/t"], peer), files)
        if PYTHON.startswith("/usr/"):
            ways["fuse-overlayfs over /usr"] = (way(["--view", "bind", "--ro", top + "/tree:/t"], overlay_peer("/usr", top + "/overlay-usr", "/usr")), "imports")
        else:
            print("view: imports are not compared with fuse-overlayfs, since %s does not lie in /usr" % PYTHON)
    else:
        print("view: nothing is compared with fuse-overlayfs, which is not installed")
    return ways


def measure_view(ways, works, rounds):
    """Seconds by way, work and whether warm. A round makes a fresh sandbox of each way; the first time in it is the cold one."""
    measured = {}
    for turn in range(rounds):
        sandboxes = {name: ways[name][0]() for name in in_turns(ways, turn)}
        for work, repeats, at_once in (("imports", 5, 1), ("grep", 4, 1), ("status", 4, 1), ("find", 40, 1), ("read", 16, 2)):
            if work not in works:
                continue
            able = [name for name in ways if work in ways[name][1]]
            for repeat in range(repeats + 1):
                for name in in_turns(able, turn * (repeats + 1) + repeat):
                    if work == "read":
                        sandboxes[name].do("load")
                    for _ in range(at_once):
                        measured.setdefault((name, work, repeat > 0), []).append(sandboxes[name].do(work))
        for sandbox in sandboxes.values():
            sandbox.end()
    return measured


def bench_view(rounds, pattern, found):
    """Ratios to a read-only bind of the same tree, and to fuse-overlayfs over it."""
    with tempfile.TemporaryDirectory(prefix="cordon-bench-") as top:
        os.chmod(top, 0o755)
        make_trees(top + "/tree")
        ways = view_ways(top)
        lines = [  # name, way, work, whether warm, at most, beside which peer
            ("view: imports, mixed", "mixed", "imports", True, 1.15, None),  # the runtime is bound: nothing that fuse-overlayfs does
            ("view: imports, fuse, cold mount", "fuse", "imports", False, 1.6, "fuse-overlayfs over /usr"),
            ("view: imports, fuse, warm", "fuse", "imports", True, 1.25, "fuse-overlayfs over /usr"),
            ("view: find over 10,000 files, warm", "mixed", "find", True, 2.0, "fuse-overlayfs"),
            ("view: find over 10,000 files, cold mount", "mixed", "find", False, 8.0, "fuse-overlayfs"),
            ("view: grep -r over 10,000 files, first time", "mixed", "grep", False, 7.0, "fuse-overlayfs"),
            ("view: grep -r over 10,000 files, second time", "mixed", "grep", True, 4.0, "fuse-overlayfs"),
            ("view: git status of 5,000 files, first time", "mixed", "status", False, 4.0, "fuse-overlayfs"),
            ("view: git status of 5,000 files, second time", "mixed", "status", True, 4.0, "fuse-overlayfs"),
            ("view: reading 100 MB, warm", "mixed", "read", True, 2.5, "fuse-overlayfs"),
        ]
        lines = [line for line in lines if re.search(pattern, line[0]) and line[2] in ways["bind"][1].split()]
        measured = measure_view(ways, {line[2] for line in lines}, rounds) if lines else {}

        def compared(way, to, work, warm):
            """Medians of both in milliseconds, their ratio, and the quartiles of the ratios of what was measured in the same turn."""
            a, b = measured[way, work, warm], measured[to, work, warm]
            quartiles = statistics.quantiles((x / y for x, y in zip(a, b)), n=4)
            return statistics.median(a) * 1e3, statistics.median(b) * 1e3, statistics.median(a) / statistics.median(b), "quartiles %.3f, %.3f and %.3f of %d" % (*quartiles, len(a))

        for name, way, work, warm, target, peer in lines:
            ours, bind, ratio, spread = compared(way, "bind", work, warm)
            show(name, ratio, "at most %.2f" % target, ratio <= target, "view %.1f ms, bind %.1f ms; %s" % (ours, bind, spread))
            found[name] = {"ratio": round(ratio, 4), "target": target}
            if peer in ways:
                _, theirs, ratio, spread = compared(way, peer, work, warm)
                show("  ... to " + peer, ratio, "below 1.00", ratio < 1, "fuse-overlayfs %.1f ms; %s" % (theirs, spread))
                found[name]["to_fuse_overlayfs"] = round(ratio, 4)
        if re.search(pattern, "view: 15 patterns over 300,000 files"):
            bench_patterns(top, rounds // 3, found)


def bench_patterns(top, rounds, found):
    """Two fresh sandboxes walk the wide tree once each, a sixtieth at a time and in turns; the figures are medians of these parts."""
    patterns = [word for number in range(15) for word in ("--hide", "**/never-%d-*.secret" % number)]
    seconds = {"plain": [], "ruled": []}
    for turn in range(rounds):
        base = ["--no-default-hide", "--ro", top + "/tree/wide:/t"]
        sandboxes = {"plain": Inside(base), "ruled": Inside(base + patterns)}
        for part in range(60):
            for name in in_turns(sandboxes, turn * 60 + part):
                seconds[name].append(sandboxes[name].do("walk %d" % part))
        for sandbox in sandboxes.values():
            sandbox.end()
    ratio = statistics.median(seconds["ruled"]) / statistics.median(seconds["plain"])
    quartiles = statistics.quantiles((a / b for a, b in zip(seconds["ruled"], seconds["plain"])), n=4)
    name = "view: 15 patterns over 300,000 files"
    show(name, ratio, "below 1.05", ratio < 1.05, "with %.2f ms a part, without %.2f ms; in all %.0f and %.0f ms; quartiles %.3f, %.3f and %.3f of %d" % (
        statistics.median(seconds["ruled"]) * 1e3, statistics.median(seconds["plain"]) * 1e3, sum(seconds["ruled"]) / rounds * 1e3, sum(seconds["plain"]) / rounds * 1e3, *quartiles, len(seconds["plain"])))
    found[name] = {"ratio": round(ratio, 4), "target": 1.05}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100, help="calls of each side (at least 60)")
    parser.add_argument("--only", default="", help="measurements whose name matches")
    parser.add_argument("--json", action="store_true", help="also print the numbers as JSON")
    options = parser.parse_args()
    rounds = max(60, options.rounds)
    found = {}
    if re.search("view", options.only) or not options.only:
        bench_view(max(8, rounds // 5), options.only, found)
    if not shutil.which("bwrap"):
        print("bench: the rest is skipped: bubblewrap is not installed (./bootstrap --developer installs it)")
        return
    base, makers, filtered = peer_files()
    probe = Peer("bubblewrap", base + ["--", "true"], files=makers)
    probe.call()
    print("peer: %s%s; interpreter %s; %d rounds each, taking turns" % (
        subprocess.check_output(["bwrap", "--version"], text=True).strip(), " with a system call filter" if filtered else " without a system call filter (no libseccomp to make one)", PYTHON, rounds))
    request = (json.dumps({"source": BODY, "args": json.loads(ARGUMENTS)}) + "\n").encode()
    cordon_true = Peer("cordon run", [CORDON, "run", "--", "true"])
    peer_true = Peer("bubblewrap", base + ["--", "true"], files=makers)
    cordon_body = Peer("cordon exec", [CORDON, "exec", "--python", PYTHON, "--args", ARGUMENTS, "-"], stdin=BODY.encode(), expect=b'"output":6')
    peer_body = Peer("bubblewrap python3 -I", base + ["--", PYTHON, "-I", "-c", WRAPPER], stdin=request, expect=b'"output": 6', files=makers)
    if re.search(options.only, "run -- true"):
        pair("cordon run -- true / bubblewrap", cordon_true, peer_true, rounds, 1.2, found)
    if re.search(options.only, "exec"):
        pair("cordon exec / bubblewrap python3 -I", cordon_body, peer_body, rounds, 1.3, found)
    if re.search(options.only, "throughput"):
        for name, a, b in (("throughput of run, 200 runs, 2 workers", cordon_true, peer_true), ("throughput of exec, 200 runs, 2 workers", cordon_body, peer_body)):
            rates = [[], []]
            for _ in range(3):
                rates[0].append(throughput(a))
                rates[1].append(throughput(b))
            first, second = statistics.median(rates[0]), statistics.median(rates[1])
            show(name, first / second, "at least 0.9", first / second >= 0.9, "cordon %.0f/s, peer %.0f/s" % (first, second))
            found[name] = {"ratio": round(first / second, 4), "target": 0.9, "cordon_per_s": round(first, 1), "peer_per_s": round(second, 1)}
    if options.json:
        print(json.dumps(found))


main()
