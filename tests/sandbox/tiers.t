#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiers: the one without namespaces keeps what it promises."""
import os

from lib import leaks, sandbox, tap
from lib.sandbox import CORDON, body, run

SUBPROCESS = ("--tier", "subprocess")


def in_subprocess(script, *options, **more):
    return run("run", "--json", *SUBPROCESS, *options, "--", "/bin/sh", "-c", script, **more)


@tap.test("subprocess: a body runs, is validated, and the record claims no layer that is not there")
def _():
    record = body("return args['n'] * 2", *SUBPROCESS, "--args", '{"n": 21}').expect(0).record
    tap.equal(record["output"], 42, "output")
    tap.equal(record["confinement"]["namespaces"], [], "namespaces")
    tap.equal(record["confinement"]["own_root"], False, "own root")
    tap.equal(record["confinement"]["view"], "host", "view")
    tap.equal(record["confinement"]["seccomp"], "body", "filter")
    tap.ok(any("does not hide files" in note for note in record["confinement"]["does_not_stop"]), "says that files are not hidden")
    tap.equal(body("import os", *SUBPROCESS).status, 2, "a refusal")


@tap.test("subprocess: a new session, no_new_privs, a filter, three descriptors, an environment of four names")
def _():
    out = in_subprocess("cut -d ' ' -f 6 /proc/self/stat; echo $$; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; ls /proc/self/fd | wc -l; env | cut -d= -f1 | sort | tr '\\n' ' '").expect(0).record["stdout"]
    lines = out.splitlines()
    tap.equal(lines[0], lines[1], "the program leads its session")
    tap.equal(lines[2:4], ["NoNewPrivs:\t1", "Seccomp:\t2"], "no_new_privs and filter")
    tap.equal(lines[4], "4", "descriptors, with the one of ls itself")
    tap.equal(set(lines[5].split()) - {"PWD", "OLDPWD", "SHLVL", "_"}, {"HOME", "LANG", "PATH", "TMPDIR"}, "names")


@tap.test("subprocess: run by root, the program is another user, and its limits hold")
def _():
    if os.geteuid() != 0:
        tap.skip("needs root to begin with")
    record = in_subprocess("id -u; cat /etc/shadow; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 5 & done; wait", "--pids", "4", "--timeout", "3").record
    tap.ok(int(record["stdout"].split()[0]) > 65536, "an id of its own")
    tap.like(record["stderr"], "Permission denied", "a file that only root can read")
    tap.like(record["stderr"], "(?i)fork|resource", "the number of processes")
    tap.equal(record["confinement"]["other_user"], True, "and the record says so")


@tap.test("subprocess: the working directory is the run's own, and goes with it")
def _():
    record = in_subprocess("pwd; touch a; mkdir -p b/c; touch b/c/d; chmod 0 b").expect(0).record
    tap.ok(not os.path.exists(record["stdout"].strip()), "%s is gone" % record["stdout"].strip())


@tap.test("subprocess: files come in and go out")
def _():
    source = os.path.join(sandbox.leaks.scratch(), "in.txt")
    target = os.path.join(sandbox.leaks.scratch(), "out")
    with open(source, "w", encoding="ascii") as file:
        file.write("hello")
    in_subprocess("tr a-z A-Z < in.txt > shout.txt; ln -s /etc/passwd link", "--copy-in", source, "--export", target).expect(0)
    tap.equal(sorted(os.listdir(target)), ["in.txt", "shout.txt"], "exported files")


@tap.test("subprocess: the end of the time takes daemons along")
def _():
    record = in_subprocess("(setsid sleep 1000 &) ; (setsid sh -c 'sleep 1000 & wait' &); sleep 1000", "--timeout", "0.5").record
    tap.equal(record["timed_out"], True, "timed out")


@tap.test("subprocess: no socket of the internet, unless the network is allowed")
def _():
    code = "import socket\ntry:\n    socket.socket(); print('made')\nexcept PermissionError:\n    print('refused')"
    for options, word in (((), "refused"), (("--network", "allow"), "made")):
        record = run("run", "--json", "--python", sandbox.PYTHON, *SUBPROCESS, *options, "--code", code).expect(0).record
        tap.equal(record["stdout"].strip(), word, "with %s" % (options or "none",))


@tap.test("subprocess: a program cannot signal whoever holds it, where the kernel has Landlock's scopes")
def _():
    record = in_subprocess("kill -9 $PPID; echo alive").record
    if not record["confinement"]["landlock_scope"]:
        tap.skip("this kernel has no Landlock scopes")
    tap.equal(record["stdout"], "alive\n", "stdout")


@tap.test("subprocess: a script from a file runs, and its name is its own")
def _():
    path = os.path.join(sandbox.leaks.scratch(), "hello.py")
    with open(path, "w", encoding="ascii") as file:
        file.write("import sys, os\nprint(os.path.basename(sys.argv[0]))\n")
    record = run("run", "--json", "--python", sandbox.PYTHON, *SUBPROCESS, "--script", path).expect(0).record
    tap.equal(record["stdout"], "hello.py\n", "stdout")


@tap.test("the tier subprocess leaves nothing of its workspace, whatever the program made of it")
def _():
    for script in ("mkdir a; echo 1 > a/f; chmod 500 a; mkdir -p b/c; chmod 0 b/c b; pwd",
                   "for k in 0 1 2; do mkdir .deep-$k; : > .deep-$k/x; done; for k in .deep-0 .deep-2 c; do mkdir -p $k; ( cd $k; i=0; while [ $i -lt 140 ]; do mkdir e; cd -P e; i=$((i+1)); done ); done; chmod 0 . ; pwd"):
        record = run("run", "--json", "--tier", "subprocess", "--", "sh", "-c", script).expect(0).record
        workspace = record["stdout"].splitlines()[-1]
        tap.like(workspace, "^/", "its path")
        tap.ok(not os.path.lexists(workspace), "%s is gone" % workspace)


@tap.test("root without CAP_SYS_ADMIN, as in a container, has a view")
def _():
    sandbox.need_root()
    place = leaks.scratch()
    os.chmod(place, 0o755)
    with open(place + "/file", "w") as file:
        file.write("seen")
    record = run("--bounding-set=-sys_admin", CORDON, "run", "--json", "--ro", place, "--", "cat", place + "/file", command=[sandbox.need("setpriv")]).record
    tap.equal(record["stdout"], "seen", "what the program reads: %r" % record["error"])


@tap.cases("a host that refuses sethostname(2) is no obstacle to {0}", [("run", ("run", "--", "true")), ("exec", ("exec", "-"))])
def _(_name, words):
    strace = sandbox.need("strace")
    result = run("-f", "-qq", "-e", "trace=sethostname", "-e", "inject=sethostname:error=EPERM", "-o", "/dev/null", CORDON, *words,
                 stdin=b"return 1", command=[strace])
    result.expect(0)


@tap.cases("a kernel that is too old is said at once: {0}", [("run", ("run", "--json", "--", "true")), ("tier subprocess", ("run", "--json", "--tier", "subprocess", "--", "true"))])
def _(_name, words):
    result = run("--uname-2.6", CORDON, *words, command=[sandbox.need("setarch")])
    tap.equal(result.failure, "kernel_too_old", "failure code")
    tap.like(result.text, "is too old, 5.15 needed", "in words")


tap.main()
