# SPDX-License-Identifier: Apache-2.0
"""Runs cordon as a person would, with a hard deadline, and checks the form of every record that it answers.

A call never hangs: past its deadline cordon gets SIGKILL, upon which nothing of the sandbox may live on (the leak check of the test sees to that), and the test
fails. Each call has a scratch directory as its working directory and as TMPDIR, so that what cordon drops there is noticed.
"""
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
import time

from . import leaks, tap

SOURCE = os.environ.get("CORDON_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CORDON_BUILD") or SOURCE
CORDON = os.environ.get("CORDON") or os.path.join(BUILD, "isolate", "cordon")
SANITIZED = "address" in os.environ.get("CORDON_SANITIZERS", "")

# The interpreter itself, for whatever is timed: a version manager's shim has a start-up of its own.
PYTHON = os.path.realpath(shutil.which("python3", path="/usr/bin:/bin") or sys.executable)
NOBODY = 65534

RECORD_FIELDS = {"success", "output", "error", "error_detail", "stdout", "stderr", "truncated", "exit_code", "signal", "timed_out", "oom",
                 "duration_ms", "usage", "limits_hit", "refused_calls", "tier", "confinement", "execution_id"}
OPTIONAL_FIELDS = {"note", "events", "exported", "files"}  # with --events, with --export, with a view
EXIT_TIMEOUT, EXIT_FAILED, EXIT_CANNOT_EXECUTE, EXIT_NOT_FOUND, EXIT_USAGE = 124, 125, 126, 127, 64


def strict_json(text):
    """json.loads without the extensions that are no JSON, and with duplicate keys refused."""
    def pairs(items):
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            raise ValueError("a key twice in %r" % keys)
        return dict(items)

    def constant(name):
        raise ValueError("%s is not JSON" % name)
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


class Result:
    """What a call of cordon gave back."""

    def __init__(self, arguments, status, out, err, seconds):
        self.arguments, self.status, self.out, self.err, self.seconds = arguments, status, out, err, seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errors(self):
        return self.err.decode("utf-8", "replace")

    def __str__(self):
        return "cordon %s\n  status %r after %.2f s\n  stdout %r\n  stderr %r" % (
            " ".join(a if isinstance(a, str) else repr(a) for a in self.arguments)[:300], self.status, self.seconds, self.out[:1500], self.err[:1500])

    @property
    def json(self):
        """The one JSON object on the one line of stdout."""
        lines = self.out.split(b"\n")
        if len(lines) != 2 or lines[1]:
            tap.fail("one line was expected\n%s" % self)
        try:
            return strict_json(lines[0].decode("utf-8"))
        except ValueError as problem:
            tap.fail("not JSON: %s\n%s" % (problem, self))

    @property
    def record(self):
        """A result record, its form checked."""
        record = self.json
        missing, extra = RECORD_FIELDS - set(record), set(record) - RECORD_FIELDS - OPTIONAL_FIELDS
        if missing or extra:
            tap.fail("a record with fields missing %r, unknown %r\n%s" % (sorted(missing), sorted(extra), self))
        check_record(record, self)
        return record

    @property
    def failure(self):
        """The short name of the failure in a --json answer: status 64 where an option is wrong, 125 for any other."""
        found = self.json
        code = find_code(found)
        tap.ok(code, "a failure code in the answer\n%s" % self)
        tap.equal(self.status, EXIT_USAGE if code == "bad_option" else EXIT_FAILED, "status of a failure\n%s" % self)
        return code

    def expect(self, status, what=None):
        tap.equal(self.status, status, "%s\n%s" % (what or "exit status", self))
        return self


def find_code(value):
    """The failure's name, wherever in the object it stands: {"code": "userns_denied"} or below "error" or "failure"."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("code"), str):
        return value["code"]
    for key in ("failure", "error", "error_detail"):
        code = find_code(value.get(key))
        if code:
            return code
    return None


def check_record(record, where):
    """The promises that hold for every record."""
    def check(condition, what):
        tap.ok(condition, "record: %s\n%s" % (what, where))
    check(isinstance(record["success"], bool), "success is a boolean")
    check(record["error"] is None or isinstance(record["error"], str) and "\n" not in record["error"], "error is null or one line")
    check((record["error"] is None) == record["success"], "an error exactly where there is no success")
    check(record["error_detail"] is None or isinstance(record["error_detail"], dict), "error_detail is null or an object")
    check(isinstance(record["stdout"], str) and isinstance(record["stderr"], str), "stdout and stderr are strings")
    check(record["exit_code"] is None or record["signal"] is None, "an exit code or a signal, not both")
    check(isinstance(record["timed_out"], bool) and isinstance(record["oom"], bool), "timed_out and oom are booleans")
    check(isinstance(record["duration_ms"], (int, float)) and record["duration_ms"] >= 0, "duration_ms is a number")
    check(isinstance(record["usage"], dict) and isinstance(record["confinement"], dict), "usage and confinement are objects")
    check(isinstance(record["tier"], str) and isinstance(record["execution_id"], str) and record["execution_id"], "tier and execution_id are strings")


def environment(**changes):
    """The environment of a call: the test's own, with changes; None removes a name."""
    base = dict(os.environ)
    for key, value in changes.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = value
    return base


def become(user):
    def drop():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    return drop


def filtered(instructions=((0x06, 0, 0, 0x7fff0000),), times=1):
    """What puts a process under system call filters of classic BPF, (code, jt, jf, k) each; by default they allow everything. For preexec."""
    def before():
        libc = ctypes.CDLL(None, use_errno=True)
        program = b"".join(struct.pack("HBBI", *i) for i in instructions)
        text = ctypes.create_string_buffer(program, len(program))
        header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(text)))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or any(libc.prctl(22, 2, header, 0, 0) != 0 for _ in range(times)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
            raise OSError(ctypes.get_errno(), "seccomp")
    return before


def run(*arguments, stdin=None, env=None, cwd=None, deadline=20, preexec=None, user=None, command=None, stdout=None, pass_fds=()):
    """Calls cordon. stdin: bytes, a descriptor, or None for an empty one. user: a uid to become first (root only). command: what to call in place of cordon."""
    if "--scratch" in arguments:
        need_attributes()
    scratch = leaks.scratch()
    if user is not None:
        os.chmod(scratch, 0o777)
        env = dict(env or os.environ, PATH="/usr/bin:/bin", HOME="/nonexistent")
    drop = become(user) if user is not None else None

    def before():
        if drop:
            drop()
        if preexec:
            preexec()
    env = dict(env if env is not None else os.environ, TMPDIR=scratch)
    argv = (command or [CORDON]) + [str(a) if not isinstance(a, (str, bytes)) else a for a in arguments]
    piped = isinstance(stdin, bytes)
    deadline = tap.patience(deadline)
    started = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.PIPE if piped else (subprocess.DEVNULL if stdin is None else stdin),
                               stdout=subprocess.PIPE if stdout is None else stdout, stderr=subprocess.PIPE, env=env, cwd=cwd or scratch,
                               preexec_fn=before if drop or preexec else None, pass_fds=pass_fds)
    try:
        out, err = process.communicate(stdin if piped else None, timeout=deadline)
    except BaseException as problem:
        process.kill()
        try:
            out, err = process.communicate(timeout=tap.patience(2))
        except subprocess.TimeoutExpired:
            process.stdout and process.stdout.close()
            process.stderr.close()
            out, err = b"", b"(output still held open after cordon was killed)"
        if isinstance(problem, subprocess.TimeoutExpired):
            tap.fail("no answer within %g s\n%s" % (deadline, Result(arguments, process.returncode, out, err, time.monotonic() - started)))
        raise
    result = Result(arguments, process.returncode, out or b"", err or b"", time.monotonic() - started)
    if process.returncode < 0 and SANITIZED:
        tap.fail("cordon itself was ended by signal %d\n%s" % (-process.returncode, result))
    left = os.listdir(scratch)
    if left and cwd is None:
        tap.fail("cordon left files in its working directory or TMPDIR: %r\n%s" % (left, result))
    return result


def run_code(source, *options, **more):
    """`cordon run --json --code`; returns the Result."""
    return run("run", "--json", "--python", PYTHON, *options, "--code", source, **more)


def record_of(source, *options, **more):
    """The record of a Python script under run."""
    return run_code(source, *options, **more).record


def shell(script, *options, **more):
    """`cordon run --json -- sh -c SCRIPT`; returns the Result."""
    return run("run", "--json", *options, "--", "/bin/sh", "-c", script, **more)


def body(source, *options, **more):
    """`cordon exec` of a body given on standard input; returns the Result."""
    if isinstance(source, str):
        source = source.encode()
    return run("exec", "--python", PYTHON, *options, "-", stdin=source, **more)


def start(*arguments, **more):
    """Starts cordon and returns the Popen; the caller ends it."""
    scratch = leaks.scratch()
    env = dict(more.pop("env", os.environ), TMPDIR=scratch)
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([CORDON] + list(arguments), env=env, cwd=more.pop("cwd", scratch), **more)


def finish(process, deadline=10):
    """Waits for a started cordon: (status, stdout, stderr)."""
    deadline = tap.patience(deadline)
    try:
        out, err = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        tap.fail("cordon did not end within %g s" % deadline)
    return process.returncode, out, err


def children(pid):
    """The processes that the threads of a process have started and not reaped."""
    found = []
    for thread in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, thread), encoding="utf-8") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # a thread that has ended
    return found


def is_init(pid):
    """Whether a process is PID 1 of a sandbox. The janitor of a cgroup is the same program with a word behind its name."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read() == b"cordon-init\0"
    except OSError:
        return False


def init_of(process):
    """PID 1 of the sandbox that a started cordon makes, as soon as it is there; None when cordon ended before."""
    while process.poll() is None:
        for child in children(process.pid):
            if is_init(child):
                return child
    return None


def need_root():
    if os.getuid() != 0:
        tap.skip("needs root to make the fixture")


def need_nobody():
    """Skips unless root, with a build that an ordinary user can run."""
    need_root()
    probe = subprocess.run(["/bin/sh", "-c", 'test -x "$1" && test -x "$2"', "sh", CORDON, os.path.join(os.path.dirname(CORDON), "cordon-init")],
                           preexec_fn=become(NOBODY))
    if probe.returncode:
        tap.skip("the build directory cannot be read by an ordinary user: run the tests as one instead")


def need_attributes():
    """Skips where a tmpfs has no user attributes: there cordon refuses --scratch (tests/unit/unit_workspace.c has the refusal)."""
    file = os.memfd_create("probe")
    try:
        os.setxattr(file, "user.probe", b"y")
    except OSError as problem:
        tap.skip("no attributes on tmpfs before Linux 6.6: %s" % problem)
    finally:
        os.close(file)


def need(tool):
    """The path of a tool, or a skip."""
    found = shutil.which(tool)
    if not found:
        tap.skip("%s is not installed" % tool)
    return found
