#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cordon run`: what a command and a script see, do and give back.

A black box: every line here is a promise of the contract, from the caller's side. What belongs to one layer (mounts, terminals, limits, system calls) has a
file of its own.
"""
import os
import re
import signal

from lib import leaks, sandbox, tap
from lib.sandbox import PYTHON, body, record_of, run, run_code, shell


@tap.test("refused calls are counted by name, with what would allow them")
def _():
    code = "import ctypes\nl = ctypes.CDLL(None)\nfor i in range(%d): l.acct(0)\nl.memfd_create(b'x', 0)"
    record = record_of(code % 300)
    calls = {c["call"]: (c["count"], c["allow"]) for c in record["refused_calls"]}
    tap.equal(calls["acct"], (300, None), "calls: %r" % calls)
    if record["confinement"]["seccomp"] == "command":
        tap.equal(calls["memfd_create"][0], 1, "calls: %r" % calls)
        tap.like(calls["memfd_create"][1], "a delegated cgroup", "what would allow it")
    tap.equal(shell("exit 0").record["refused_calls"], [], "none")
    record = body("import socket\nsocket.socket()", "--permit", "socket", "--allow", "socket").expect(1).record
    tap.equal([c for c in record["refused_calls"] if c["call"] == "socket"], [{"call": "socket", "count": 1, "allow": "--network allow"}], "of a body")


@tap.test("a refused call is null, not none, where it cannot be counted")
def _():
    # A listener above leaves the kernel none to give.
    code = "import ctypes\nprint(ctypes.CDLL(None, use_errno=True).acct(0), ctypes.get_errno())"
    above = "import ctypes, os, platform, struct, sys\n" \
            "text = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n" \
            "l = ctypes.CDLL(None)\n" \
            "assert l.prctl(38, 1, 0, 0, 0) == 0\n" \
            "fd = l.syscall({'x86_64': 317, 'aarch64': 277}[platform.machine()], 1, 8, struct.pack('HxxxxxxP', 1, ctypes.addressof(text)))\n" \
            "assert fd >= 0\n" \
            "os.set_inheritable(fd, True)\n" \
            "os.execv(sys.argv[1], sys.argv[1:])"
    result = run("-c", above, sandbox.CORDON, "run", "--json", "--", PYTHON, "-c", code, command=[PYTHON]).expect(0)
    tap.equal((result.record["stdout"], result.record["refused_calls"]), ("-1 1\n", None), "record")


@tap.test("the example of the README prints 45 in its record")
def _():
    record = run("run", "--json", "--code", "print(sum(range(10)))").expect(0).record
    tap.equal(record["stdout"], "45\n", "stdout")
    tap.equal((record["success"], record["error"], record["exit_code"], record["signal"]), (True, None, 0, None), "success, error, exit_code, signal")
    tap.equal((record["timed_out"], record["oom"], record["stderr"], record["tier"]), (False, False, "", "namespace"), "the rest")


@tap.test("without --json the program's own output passes through")
def _():
    result = run("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7").expect(7)
    tap.equal((result.out, result.err), (b"out\n", b"err\n"), "streams")


@tap.test("bytes pass through without --json as they are")
def _():
    result = run("run", "--", "printf", r"\377\000\200x").expect(0)
    tap.equal(result.out, b"\xff\0\x80x", "stdout")


@tap.cases("a command that exits {} gives that status", [(0,), (1,), (7,), (64,), (255,)])
def _(code):
    record = shell("exit %d" % code).expect(code).record
    tap.equal((record["exit_code"], record["signal"], record["success"]), (code, None, code == 0), "record")


@tap.cases("a command that signal {} ends gives 128+n and names it", [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("ABRT", 6), ("HUP", 1)])
def _(name, number):
    record = shell("kill -%s $$" % name).expect(128 + number).record
    tap.equal(record["exit_code"], None, "exit_code")
    tap.ok(record["signal"] in (number, name, "SIG" + name), "signal names %s: %r" % (name, record["signal"]))
    tap.like(record["error"], name, "the error names the signal")


@tap.test("a command that does not exist is 127")
def _():
    result = run("run", "--", "no-such-command-anywhere").expect(127)
    tap.like(result.errors, "no-such-command-anywhere", "the message names it")


@tap.test("a file that is not executable is 126")
def _():
    result = run("run", "--", "/etc/passwd").expect(126)
    tap.like(result.errors, "/etc/passwd", "the message names it")


@tap.test("a directory as the command is 126")
def _():
    run("run", "--", "/usr").expect(126)


@tap.test("a time limit ends the command with 124 and says so in the words of the contract")
def _():
    record = shell("exec sleep 100", "--timeout", "0.5").expect(124).record
    tap.equal(record["error"], "sandbox execution timed out after 0.50s", "error")
    tap.equal((record["timed_out"], record["exit_code"], record["success"]), (True, None, False), "record")
    tap.between(record["duration_ms"], 500, 500 + tap.patience(150), "duration_ms")


@tap.test("output before the time limit is kept")
def _():
    record = shell("echo before; exec sleep 100", "--timeout", "0.3").expect(124).record
    tap.equal(record["stdout"], "before\n", "stdout")


@tap.test("the program starts where its caller is, if that is shown, and else in /workspace; --cwd says otherwise")
def _():
    place = leaks.scratch()
    os.makedirs(place + "/project/below")
    for options, cwd, wanted in (
            (("--ro", "."), "/project", place + "/project"), (("--ro", "..:/opt"), "/project/below", "/opt/below"),
            (("--ro", "..", "--hide", "below"), "/project/below", "/workspace"), ((), "/project", "/workspace"),
            (("--ro", ".", "--cwd", "/tmp"), "/project", "/tmp")):
        record = run("run", "--json", *options, "--", "pwd", cwd=place + cwd).expect(0).record
        tap.equal(record["stdout"], wanted + "\n", "%r in %s" % (options, cwd))
    result = run("run", "--json", "--cwd", "/nowhere", "--", "pwd")
    tap.equal(result.failure, "path_missing", "a directory that was asked for must be there")


@tap.test("the home directory is not what is exported, and /var/tmp is there")
def _():
    record = shell("touch ~/f /var/tmp/f; echo $HOME; ls -A /workspace").expect(0).record
    tap.equal(record["stdout"], "/home/user\n", "HOME, and an empty workspace")


@tap.test("arguments reach the command as they are")
def _():
    words = ["", " a b ", "$HOME", "*", "-n", "--json", "ü", "\t", "'\""]
    result = run("run", "--json", "--python", sandbox.PYTHON, "--", sandbox.PYTHON, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *words)
    tap.equal(sandbox.strict_json(result.expect(0).record["stdout"]), words, "argv")


@tap.test("the environment is empty but for four names")
def _():
    record = record_of("import os, json; print(json.dumps(dict(os.environ)))", env=sandbox.environment(SECRET_TOKEN="x", LD_LIBRARY_PATH="/nowhere", PYTHONPATH="/tmp"))
    found = sandbox.strict_json(record["stdout"])
    found.pop("LC_CTYPE", None)  # Python's own, from PEP 538
    tap.equal(sorted(found), ["HOME", "LANG", "PATH", "TMPDIR"], "names")
    tap.ok(found["TMPDIR"].startswith("/") and found["HOME"].startswith("/"), "paths are absolute")


@tap.test("--env sets and --inherit-env passes on")
def _():
    record = shell('echo "$A|$B|$C"', "--env", "A=1 2", "--inherit-env", "B", env=sandbox.environment(B="from outside", C="not named")).expect(0).record
    tap.equal(record["stdout"], "1 2|from outside|\n", "values")


@tap.test("--inherit-env of a name that is not set is no error")
def _():
    record = shell('echo "${NOT_SET_AT_ALL-unset}"', "--inherit-env", "NOT_SET_AT_ALL").expect(0).record
    tap.equal(record["stdout"], "unset\n", "value")


@tap.test("one user inside, by the caller's own ids (1000 where root calls), and no other group")
def _():
    record = record_of("import os; print(os.getresuid(), os.getresgid(), set(os.getgroups()) <= {%d, 65534})" % (os.getegid() or 1000)).copy()
    uid, gid = os.geteuid() or 1000, os.getegid() or 1000
    tap.equal(record["stdout"], "(%d, %d, %d) (%d, %d, %d) True\n" % (uid, uid, uid, gid, gid, gid), "ids")


@tap.test("the user has a name, a home and a host name inside, none of them the caller's")
def _():
    record = record_of("import pwd, grp, os, socket; print(pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name, os.path.isdir(pwd.getpwuid(os.getuid()).pw_dir),"
                       " socket.gethostname())")
    tap.equal(record["success"], True, "success: %s %s" % (record["error"], record["stderr"]))
    host = os.uname().nodename
    tap.ok(host not in record["stdout"].split(), "the host's name %r does not show in %r" % (host, record["stdout"]))


@tap.test("setgroups is denied")
def _():
    source = "import os\ntry:\n    os.setgroups([1000]); print('set')\nexcept OSError as e:\n    print(e.errno)\nprint(open('/proc/self/setgroups').read().strip())"
    tap.equal(record_of(source)["stdout"], "1\ndeny\n", "the call, and what /proc says")


@tap.test("every capability is gone from every set, and no_new_privs is on")
def _():
    text = shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").expect(0).record["stdout"]
    for line in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        tap.like(text, r"(?m)^%s:\t0{16}$" % line, line)
    tap.like(text, r"(?m)^NoNewPrivs:\t1$", "NoNewPrivs")
    tap.like(text, r"(?m)^Seccomp:\t2$", "a filter is on")


@tap.test("fresh namespaces of seven kinds, as the record says")
def _():
    source = "import os; [print(n, os.readlink('/proc/self/ns/' + n)) for n in ('user','mnt','pid','net','ipc','uts','cgroup')]"
    record = record_of(source)
    for line in record["stdout"].splitlines():
        name, inode = line.split()
        tap.ok(os.readlink("/proc/self/ns/" + name) != inode, "the %s namespace is not the caller's" % name)
    tap.equal(len(record["stdout"].splitlines()), 7, "seven kinds\n%s" % record["stderr"])
    told = repr(record["confinement"].get("namespaces"))
    for name in ("user", "mount|mnt", "pid", "net", "ipc", "uts", "cgroup"):
        tap.like(told, name, "confinement.namespaces names %s" % name)


@tap.test("a new session, whose leader is not the caller's")
def _():
    tap.equal(record_of("import os; print(os.getsid(0) == os.getpgrp(), os.getpid() != 1)")["stdout"], "True True\n", "session")


@tap.test("only its own processes can be seen")
def _():
    record = record_of("import os; print(len([d for d in os.listdir('/proc') if d.isdigit()]))")
    tap.between(int(record["stdout"]), 1, 4, "processes in /proc")


@tap.test("descriptors are 0, 1 and 2 and nothing else")
def _():
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        record = record_of("import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))", pass_fds=(writer,))
        tap.like(record["stdout"], r"^\[0, 1, 2, 3\]$", "3 is the listing's own")
    finally:
        os.close(reader)
        os.close(writer)


@tap.test("loopback is up, and there is no way out")
def _():
    source = """
import socket, errno
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("lo")
for family, address in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
    try:
        socket.socket(family).connect(address); print("out!")
    except OSError as e:
        print(errno.errorcode[e.errno])
print([n for _, n in socket.if_nameindex()])
"""
    lines = record_of(source)["stdout"].splitlines()
    tap.equal(lines[0], "lo", "loopback works")
    tap.ok(set(lines[1:3]) <= {"ENETUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM"}, "no route: %r" % lines[1:3])
    tap.equal(lines[3], "['lo']", "interfaces")


@tap.test("--network allow shares the host's network and says what that takes away")
def _():
    record = record_of("import os; print(os.readlink('/proc/self/ns/net'))", "--network", "allow")
    tap.equal(record["stdout"].strip(), os.readlink("/proc/self/ns/net"), "the network namespace")
    tap.unlike(repr(record["confinement"].get("namespaces")), r"'net'|\"net\"|network", "the record does not claim a network namespace")
    tap.ok(record["confinement"].get("network") not in (None, "none"), "confinement.network: %r" % record["confinement"].get("network"))


@tap.test("a workspace that can be written, and is the working directory")
def _():
    record = record_of("import os; open('f', 'w').write('x'); print(os.getcwd(), os.path.exists('/workspace/f'))")
    tap.equal(record["stdout"], "/workspace True\n", "stdout; %s" % record["stderr"])


@tap.test("--copy-in brings files, --export takes regular files out and follows no link")
def _():
    place = leaks.scratch()
    source, target = os.path.join(place, "in.txt"), os.path.join(place, "out")
    with open(source, "w") as file:
        file.write("carried")
    os.mkdir(target)
    os.chmod(target, 0o777)
    script = "cat in.txt; mkdir -p a/b; echo deep > a/b/c; ln -s /etc/passwd link; mkfifo pipe; echo x > run.sh; chmod 755 run.sh"
    record = shell(script, "--copy-in", source, "--export", target).expect(0).record
    tap.equal(record["stdout"], "carried", "stdout; %s" % record["stderr"])
    found = sorted(os.path.relpath(os.path.join(d, f), target) for d, _, fs in os.walk(target) for f in fs)
    tap.ok({"a/b/c", "run.sh"} <= set(found), "regular files came out: %r" % found)
    tap.ok("link" not in found and "pipe" not in found, "no link and no pipe came out: %r" % found)
    with open(os.path.join(target, "a/b/c")) as file:
        tap.equal(file.read(), "deep\n", "contents")
    tap.ok(os.access(os.path.join(target, "run.sh"), os.X_OK), "the executable bit came out")


@tap.test("--export is refused before the start where it cannot write, or where the host's tools run what lies there")
def _():
    place = leaks.scratch()
    os.symlink(place, os.path.join(place, "link"))
    os.makedirs(os.path.join(place, ".git/hooks"))
    for name, why in (("no/such/out", "before the start"), ("link", "before the start"), (".git/hooks", "overwrite")):
        result = shell("echo ran", "--export", os.path.join(place, name))
        tap.equal(result.failure, "export_failed", name)
        tap.like(result.text, why, name)
    tap.equal(os.listdir(os.path.join(place, ".git/hooks")), [], "the hooks")


@tap.test("the record names what --export wrote: visibly, and no more than it says")
def _():
    out = os.path.join(leaks.scratch(), "out")
    exported = shell("mkdir -p a/b; echo x > a/b/c; echo x > \"$(printf 'e\\033[1m\\nf')\"", "--export", out).expect(0).record["exported"]
    tap.equal((sorted(exported["names"]), exported["more"], exported["files"]), (["a/b/c", "e<U+001B>[1m<U+000A>f"], 0, 2), "names")
    out = os.path.join(leaks.scratch(), "many")
    exported = shell("i=0; while [ $i -lt 1100 ]; do : > $i; i=$((i + 1)); done", "--export", out).expect(0).record["exported"]
    tap.equal((len(exported["names"]), exported["more"], exported["files"]), (1000, 100, 1100), "many")
    tap.ok(set(exported["names"]) < set(os.listdir(out)), "and they are there")
    out = os.path.join(leaks.scratch(), "long")
    exported = shell("d=$(printf %0250d 0); while [ ${#d} -lt 3000 ]; do d=$d/$(printf %0250d 0); done; mkdir -p $d; cd $d; for i in $(seq 200); do : > $i; done",
                     "--export", out).expect(0).record["exported"]
    tap.ok(sum(map(len, exported["names"])) <= 256 << 10 and len(exported["names"]) + exported["more"] == 200 > len(exported["names"]), "long")


@tap.test("--export replaces nothing and leaves out what tools run, unless --overwrite says so; it honours the umask and makes no set-id file")
def _():
    out = os.path.join(leaks.scratch(), "out")
    os.mkdir(out, 0o777)
    os.chmod(out, 0o777)
    script = "mkdir .git sub; echo x > .git/config; echo x > sub/.envrc; echo new > kept; echo x > own; chmod 6777 own"
    before = os.umask(0o027)
    try:
        record = shell(script, "--export", out).record
        tap.like(record["exported"]["error"], "--overwrite", "what is left out is said")
        tap.equal((sorted(record["exported"]["names"]), record["exported"]["more"]), (["kept", "own"], 0), "what was written")
        tap.equal(sorted(os.listdir(out)), ["kept", "own", "sub"], "what is there")
        tap.equal(os.listdir(os.path.join(out, "sub")), [], "and below")
        tap.equal(os.stat(os.path.join(out, "own")).st_mode & 0o7777, 0o750, "permissions")
        with open(os.path.join(out, "kept"), "w") as file:
            file.write("old")
        tap.like(shell("echo new > kept", "--export", out).record["exported"]["error"], "kept.*--overwrite", "what is there already")
        with open(os.path.join(out, "kept")) as file:
            tap.equal(file.read(), "old", "is kept")
        tap.equal(shell(script, "--export", out, "--overwrite").expect(0).record["exported"]["error"], None, "--overwrite")
        tap.ok(os.path.exists(os.path.join(out, ".git/config")) and os.path.exists(os.path.join(out, "sub/.envrc")), "writes all")
    finally:
        os.umask(before)


@tap.test("a file of events is for its owner only")
def _():
    path = os.path.join(leaks.scratch(), "events.ndjson")
    run("run", "--events", path, "--", "true").expect(0)
    tap.equal(os.stat(path).st_mode & 0o7777, 0o600, "permissions")


@tap.test("--script runs a file of the host by its text")
def _():
    path = os.path.join(leaks.scratch(), "a script.py")
    with open(path, "w") as file:
        file.write("import sys\nprint('ran', __name__)\nsys.exit(3)\n")
    record = run("run", "--json", "--python", sandbox.PYTHON, "--script", path).expect(3).record
    tap.equal(record["stdout"], "ran __main__\n", "stdout; %s" % record["stderr"])


@tap.test("words after --code are the script's arguments")
def _():
    record = run("run", "--json", "--python", sandbox.PYTHON, "--code", "import sys; print(sys.argv[1:])", "--", "a", "--json").expect(0).record
    tap.equal(record["stdout"], "['a', '--json']\n", "sys.argv")


@tap.test("an exception in a script shows in the record, and no host path does")
def _():
    record = run_code("def f():\n    raise KeyError('gone')\nf()").expect(1).record
    tap.like(record["stderr"], "KeyError: 'gone'", "stderr")
    tap.unlike(record["stderr"], re.escape(os.path.expanduser("~")) + "/|" + re.escape(sandbox.SOURCE) if os.path.expanduser("~") != "/" else "/work", "no host path")


@tap.test("invalid UTF-8 on stdout is replaced in the record")
def _():
    record = shell(r"printf 'a\377b\303'").expect(0).record
    tap.equal(record["stdout"], "a�b�", "stdout")


@tap.test("control characters survive the record's JSON")
def _():
    record = shell(r"printf '\001\033[31m\177\134\042'").expect(0).record
    tap.equal(record["stdout"], "\x01\x1b[31m\x7f\\\"", "stdout")


@tap.test("every execution has an id of its own")
def _():
    ids = {shell("true").record["execution_id"] for _ in range(5)}
    tap.equal(len(ids), 5, "different ids")


@tap.test("usage speaks of CPU, memory and processes")
def _():
    usage = record_of("x = bytearray(40 << 20)\nfor i in range(2000000): pass")["usage"]
    text = repr(usage)
    for word in ("user", "system", "mem", "proc", "writ"):
        tap.like(text, word, "usage names %s" % word)


@tap.test("a background process that holds stdout does not hold up the caller")
def _():
    result = shell("sleep 1000 & echo started").expect(0)
    tap.equal(result.record["stdout"], "started\n", "stdout")
    tap.ok(result.seconds < tap.patience(3), "done after %.2f s" % result.seconds)


@tap.test("the tier subprocess says that files are not hidden, and still confines")
def _():
    record = run("run", "--json", "--tier", "subprocess", "--", "sh", "-c", "grep -E '^(NoNewPrivs|Seccomp:)' /proc/self/status; env").expect(0).record
    tap.equal(record["tier"], "subprocess", "tier")
    tap.like(record["stdout"], r"NoNewPrivs:\t1", "no_new_privs")
    tap.like(record["stdout"], r"Seccomp:\t2", "a filter")
    tap.ok(not record["confinement"].get("namespaces"), "no namespace is claimed: %r" % record["confinement"])
    tap.unlike(record["stdout"], "(?m)^(OLDPWD|SSH_|SUDO_)", "clean environment")


@tap.test("the tier subprocess refuses internet sockets unless allowed")
def _():
    source = "import socket\ntry:\n socket.socket(socket.AF_INET); print('had')\nexcept OSError as e: print(e.errno)"
    tap.like(record_of(source, "--tier", "subprocess")["stdout"], r"^(1|13|97)$", "refused")
    tap.equal(record_of(source, "--tier", "subprocess", "--network", "allow")["stdout"], "had\n", "allowed")


@tap.test("PID 1 is killed while it is set up: that is what the failure says, and nothing else", deadline=60)
def _():
    seen = set()
    for turn in range(40):
        process = sandbox.start("run", "--json", "--", "sleep", "20")
        victim = sandbox.init_of(process)
        for _ in range(turn * 20):  # a little later each time
            os.path.exists("/proc/%d/comm" % victim)
        os.kill(victim, signal.SIGKILL)
        _status, out, _errors = sandbox.finish(process)
        record = sandbox.strict_json(out.decode())
        seen.add((record.get("failure") or {}).get("code") or record["signal"])
    tap.ok(seen <= {"init_lost", signal.SIGKILL} and "init_lost" in seen, "what it was called: %r" % seen)


@tap.test("an unknown tier is a failure with a name, never a weaker one")
def _():
    tap.equal(run("run", "--json", "--tier", "marble", "--", "true").failure, "tier_unavailable", "failure code")


tap.main()
