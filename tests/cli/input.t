#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input and bad surroundings: each gives a record or a failure of the contract, in bounded time, and leaves nothing behind.

The first half hands cordon text, arguments and values that are wrong or huge; the middle runs programs that misbehave towards what holds them; the last
starts cordon itself in a state that a careless parent leaves. The leak check around every test is half of what is asserted.
"""
import json
import os
import resource
import signal
import subprocess

from lib import leaks, sandbox, tap
from lib.sandbox import body, run, run_code, shell


def text_file(data, name="body.py"):
    path = os.path.join(leaks.scratch(), name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o644)
    return path


def execute(path, *options, **more):
    return run("exec", "--python", sandbox.PYTHON, *options, path, **more)


# ---- text ---------------------------------------------------------------------------------------------------------------------

@tap.cases("{} is a failure with the path in it", [("a file that does not exist", "/no/such/body.py"), ("a directory", "/usr/lib")])
def _(_name, path):
    for command in (["exec", path], ["validate", "--json", path], ["run", "--json", "--script", path]):
        result = run(*command).expect(125)
        tap.ok(result.failure in ("path_missing", "bad_input"), "failure code\n%s" % result)
        tap.ok(path in result.text + result.errors, "the path is named\n%s" % result)


@tap.test("a file that the caller cannot read is a failure with the path in it")
def _():
    path = text_file(b"return 1")
    os.chmod(path, 0)
    if os.getuid() == 0:
        sandbox.need_nobody()
        os.chown(path, 0, 0)
    result = execute(path, user=sandbox.NOBODY if os.getuid() == 0 else None).expect(125)
    tap.ok(result.failure in ("path_missing", "bad_input"), "failure code\n%s" % result)


@tap.cases("{} is refused by validation, with a record", [
    ("a NUL byte", b"x = 1\0\nreturn x"),
    ("invalid UTF-8", b"x = '\xff\xfe'\nreturn x"),
    ("UTF-16", "return 1".encode("utf-16")),
    ("a cookie of another encoding", b"# -*- coding: latin-1 -*-\nreturn '\xe9'"),
    ("a cookie that names UTF-7", b"# coding: utf-7\nreturn 1"),
    ("10,000 nested parentheses", b"return " + b"(" * 10000 + b"1" + b")" * 10000),
    ("10,000 nested brackets, not closed", b"return " + b"[" * 10000),
    ("10,000 unary operators", b"return " + b"-" * 10000 + b"1"),
    ("a literal of 10,000 digits", b"return " + b"9" * 10000),
    ("5 MB of code", b"x = 1\n" * (5 * 1024 * 1024 // 6)),
    ("one line of 5 MB", b"x = '" + b"a" * (5 * 1024 * 1024) + b"'"),
    ("a syntax error", b"def (:\n"),
    ("a stray indent", b"  x = 1\n y = 2"),
    ("a lone carriage return", b"x = 1\ry = 2\nreturn x"),
    ("a bidirectional override", "x = '\u202e'  # \u202d\nreturn x".encode()),
    ("an escape character", b"x = '\x1b[31m'\nreturn x"),
])
def _(_name, data):
    result = execute(text_file(data)).expect(2)
    record = result.record
    tap.equal(record["error_detail"]["stage"], "validate", "stage")
    tap.unlike(result.text, "[\x00-\x09\x0b-\x1f\x7f]", "no control character in the answer")
    tap.ok(result.seconds < tap.patience(5), "in %.2f s" % result.seconds)


@tap.cases("{} is a body like any other", [
    ("a BOM", b"\xef\xbb\xbfreturn 7", 7), ("CRLF", b"x = 7\r\nif x:\r\n    return x\r\n", 7), ("a UTF-8 cookie", "# coding: utf-8\nreturn len('é')".encode(), 1),
    ("no newline at the end", b"return 7  # x", 7), ("only a comment", b"# nothing\n", None), ("a tab", b"if True:\n\treturn 7", 7)])
def _(_name, data, wanted):
    tap.equal(execute(text_file(data)).expect(0).record["output"], wanted, "output")


@tap.test("empty text gives a record")
def _():
    for data in (b"", b"\n\n", b"   \n"):
        result = execute(text_file(data))
        tap.ok(result.status in (0, 2), "status\n%s" % result)
        tap.equal(result.record["output"], None, "output")


@tap.test("a script with a NUL byte or invalid UTF-8 ends with a record")
def _():
    for data in (b"print(1)\0\n", b"print('\xff')\n"):
        result = run("run", "--json", "--python", sandbox.PYTHON, "--script", text_file(data, "s.py"))
        tap.ok(result.status in (0, 1, 125), "status\n%s" % result)  # before 3.12 a NUL byte ended the text
        tap.ok(result.json, "an object")


# ---- arguments and values --------------------------------------------------------------------------------------------------------

@tap.cases("arguments that are {} are refused with the option's name", [
    ("no object", b"[1]"), ("a string", b'"x"'), ("no JSON", b"{x: 1}"), ("cut off", b'{"a": 1'), ("followed by more", b"{} {}"), ("a key twice", b'{"a":1,"a":2}'),
    ("a key twice by an escape", b'{"a":1,"\\u0061":2}'), ("NaN", b'{"a":NaN}'), ("invalid UTF-8", b'{"a":"\xff"}'), ("2,000 levels deep", b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}"),
    ("50 MB", b'{"a":"' + b"x" * (50 << 20) + b'"}'), ("empty", b""), ("a lone surrogate", b'{"a":"\\ud800"}')])
def _(_name, data):
    path = text_file(data, "args.json")
    result = body("return args", "--args", "@" + path)
    tap.ok(result.status in (64, 125), "status\n%s" % str(result)[:600])
    tap.like(result.errors + result.text, "(?i)arg", "says it is the arguments")
    tap.ok(result.seconds < tap.patience(5), "in %.2f s" % result.seconds)


@tap.test("arguments from a file that does not exist")
def _():
    result = body("return args", "--args", "@/no/such/args.json")
    tap.ok(result.status in (64, 125), "status\n%s" % result)
    tap.like(result.errors + result.text, "/no/such/args.json", "the path is named")


@tap.test("arguments 100 levels deep and 1 MB long pass")
def _():
    given = '{"deep":' + "[" * 90 + "]" * 90 + ',"long":"' + "x" * (1 << 20) + '"}'
    record = body("return len(args['long'])", "--args", "@" + text_file(given.encode(), "args.json")).expect(0).record
    tap.equal(record["output"], 1 << 20, "output")


@tap.test("a returned value of 100 MB is an error in a record, not a record of 100 MB")
def _():
    result = body("return 'x' * (100 << 20)", "--memory", "600")
    record = result.expect(1).record
    tap.like(record["error"], "(?i)output", "error")
    tap.ok(len(result.out) < 100000, "a short record")


@tap.test("endless output is cut, counted, and ended by the clock")
def _():
    result = shell("exec yes", "--timeout", "1", "--output-limit", "10000").expect(124)
    record = result.record
    tap.equal(len(record["stdout"]), 10000, "stdout kept")
    tap.like(repr(record["truncated"]), r"\d{5,}", "dropped bytes are counted: %r" % record["truncated"])


@tap.test("endless output of a body is cut and ended by the clock")
def _():
    record = body("while True: print('y' * 1000)", "--timeout", "1", "--output-limit", "10000").record
    tap.equal((record["timed_out"], len(record["stdout"])), (True, 10000), "record")


# ---- programs that turn on what holds them ------------------------------------------------------------------------------------------

ALLOW_OS = ["--allow", "os,signal,time", "--permit", "os,signal,time,_exit,fork,kill,write,close,getppid,setsid,closerange"]


@tap.test("a body that closes every descriptor still ends with a record")
def _():
    result = body("import os\nos.closerange(0, 4096)\nreturn 5", *ALLOW_OS)
    record = result.record
    tap.ok(record["output"] == 5 or record["error"], "an answer or an error\n%s" % result)


@tap.test("a body that writes garbage to every descriptor still ends with one valid record")
def _():
    source = "import os\nfor fd in range(0, 300):\n    try:\n        os.write(fd, b'\\xff\\x00{\"success\": true}\\n' * 50)\n    except OSError:\n        pass\nreturn 5"
    tap.equal(body(source, *ALLOW_OS).record["output"], 5, "output")


@tap.test("a body that leaves without an answer is a failure of the code")
def _():
    for code in (0, 3):
        result = body("import os\nos._exit(%d)" % code, *ALLOW_OS).expect(1)
        tap.equal((result.record["success"], result.record["output"]), (False, None), "record")
        tap.ok(result.record["error"], "an error")


@tap.test("a body that kills its parent and its group ends with a record")
def _():
    source = "import os\nfor p in (os.getppid(), 1, 0):\n    try:\n        os.kill(p, 9)\n    except OSError as e:\n        print(e)\nreturn 1"
    result = body(source, *ALLOW_OS)
    tap.ok(result.status in (0, 1), "status\n%s" % result)
    result.record


@tap.test("a program that forks and exits leaves nothing running")
def _():
    record = run_code("import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)\nprint('gone')").expect(0).record
    tap.equal(record["stdout"], "gone\n", "stdout")


@tap.test("a program that ignores every signal is ended by the clock")
def _():
    source = "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(1000)"
    tap.equal(run_code(source, "--timeout", "0.5").expect(124).record["timed_out"], True, "timed_out")


@tap.test("a program that stops itself is ended by the clock")
def _():
    result = shell("kill -STOP $$", "--timeout", "0.5").expect(124)  # S18
    tap.ok(result.seconds < tap.patience(2), "after %.2f s" % result.seconds)


@tap.test("a program that kills its parent and everything goes on or ends with a record")
def _():
    record = shell("kill -9 $PPID; kill -9 1; echo still here").expect(0).record
    tap.equal(record["stdout"], "still here\n", "PID 1 does not die of what it holds")
    result = shell("kill -9 -1; echo still here")
    tap.ok(result.status in (0, 137), "status\n%s" % result)
    result.record


@tap.test("a full workspace is an error inside and nothing else")
def _():
    record = shell("dd if=/dev/zero of=/workspace/big bs=1M count=100 2>&1 | tail -1; echo end", "--workspace-size", "8", "--fsize", "1000").expect(0).record
    tap.like(record["stdout"], "end", "stdout")
    record = run_code("try:\n open('/workspace/big', 'wb').write(bytes(20 << 20))\nexcept OSError as e: print(e.errno)", "--workspace-size", "8", "--fsize", "1000").expect(0).record
    tap.equal(record["stdout"], "28\n", "ENOSPC")


@tap.cases("inodes run out under {} before the host's memory does", [("/workspace",), ("/tmp",), ("/dev/shm",)])
def _(place):
    source = ("import os\nn = 0\ntry:\n    while n < 2000000:\n        os.mknod('%s/f%%d' %% n); n += 1\nexcept OSError as e:\n    print(e.errno)\nprint(n < 1000000)" % place)
    record = run_code(source, "--timeout", "20", deadline=30).expect(0).record
    tap.equal(record["stdout"], "28\nTrue\n", "ENOSPC before a million files")


@tap.test("filling memory ends with a record that tells the truth about the cause", deadline=60)
def _():
    source = "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))"
    result = run_code(source, "--memory", "64", "--timeout", "20", deadline=40)
    record = result.record
    tap.equal(record["timed_out"], False, "not the clock\n%s" % result)
    tap.ok(record["oom"] or "MemoryError" in record["stderr"], "memory was the cause\n%s" % result)
    if record["oom"]:
        tap.like(record["error"], "(?i)memory", "error")


@tap.test("filling memory in a body is a MemoryError or an oom in the record", deadline=60)
def _():
    result = body("x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))", "--timeout", "20", deadline=40).expect(1)
    record = result.record
    tap.ok(record["oom"] or "MemoryError" in record["error"], "memory was the cause\n%s" % result)


FORK_BOMB = "import os, time\nfor _ in range(400):\n    try:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n    except OSError as e:\n        print('refused', e.errno); break\nelse:\n    print('all')"


@tap.test("filling the process table is refused inside, and all is gone at once")
def _():
    result = run_code(FORK_BOMB, "--pids", "32", "--timeout", "10")
    tap.like(result.record["stdout"], "refused 11", "EAGAIN\n%s" % result)
    tap.ok(result.seconds < tap.patience(5), "after %.2f s" % result.seconds)


@tap.test("filling the process table as an ordinary user that root became")
def _():
    sandbox.need_nobody()
    result = run_code(FORK_BOMB, "--pids", "32", "--timeout", "10", user=sandbox.NOBODY)
    tap.like(result.record["stdout"], "refused 11", "EAGAIN\n%s" % result)


@tap.test("a fork bomb that never stops is ended by the clock and leaves nothing")
def _():
    result = shell("b() { b | b & }; b; while :; do :; done", "--pids", "40", "--timeout", "1")  # I10
    tap.ok(result.seconds < tap.patience(4), "after %.2f s" % result.seconds)
    result.record


def in_user_namespace(flags, script):
    """cordon called by a shell script in a user namespace that an ordinary user made (root becomes one first)."""
    unshare = sandbox.need("unshare")
    user = None
    if os.getuid() == 0:
        sandbox.need_nobody()
        user = sandbox.NOBODY
    result = run("run", "--json", "--", "true", user=user, command=[unshare, flags, "sh", "-c", script + ' && exec "$@"', "sh", sandbox.CORDON])
    if result.status == 1 and b"unshare" in result.err:
        tap.skip("unshare %s is refused here" % flags)
    return result


# ---- cordon started in a state that a careless parent leaves ---------------------------------------------------------------------------

@tap.cases("cordon started with descriptors {} closed", [("0",), ("1",), ("2",), ("0 1 2",), ("0 2",)])
def _(which):
    def close():
        for number in which.split():
            os.close(int(number))
    result = run("run", "--", "sh", "-c", "echo x; exit 5", preexec=close)
    tap.ok(result.status in (5, 125), "status\n%s" % result)
    if "1" not in which:
        tap.ok(result.out == b"x\n" or result.status == 125, "stdout\n%s" % result)
    result = body("return 5", preexec=lambda: [os.close(int(n)) for n in which.split() if n != "0"])
    tap.ok(result.status in (0, 125), "status\n%s" % result)


@tap.test("cordon started with SIGCHLD ignored keeps the exit status")
def _():
    shell("exit 9", preexec=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)).expect(9)  # B17


@tap.test("cordon started with every signal blocked or ignored works, and the program gets the defaults")
def _():
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP})
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    record = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", preexec=block).expect(0).record
    words = record["stdout"].split()
    own = 3 << 31  # 32 and 33 are libc's own; its posix_spawn leaves them ignored in whatever it starts
    tap.equal((int(words[1], 16) & ~own, int(words[3], 16) & ~own), (0, 0), "mask and dispositions inside: %r" % words)
    shell("exec sleep 100", "--timeout", "0.3", preexec=block).expect(124)


@tap.test("cordon started in a directory that was deleted")
def _():
    def vanish():
        place = os.path.join(os.environ.get("TMPDIR", "/tmp"), "cordon-test-gone-%d" % os.getpid())
        os.mkdir(place)
        os.chdir(place)
        os.rmdir(place)
    tap.equal(shell("pwd", preexec=vanish).expect(0).record["stdout"], "/workspace\n", "stdout")


@tap.test("cordon started with an empty environment")
def _():
    result = subprocess.run([sandbox.CORDON, "run", "--json", "--", "/bin/sh", "-c", "echo $HOME"],
                            env={}, capture_output=True, timeout=tap.patience(20))
    tap.equal(result.returncode, 0, "status %r %r" % (result.stdout, result.stderr))
    record = json.loads(result.stdout)
    tap.like(record["stdout"], "^/", "a home inside")


@tap.test("cordon started without HOME, TERM, PATH or USER")
def _():
    env = sandbox.environment(HOME=None, TERM=None, USER=None, LOGNAME=None)
    tap.equal(body("return 1", env=env).expect(0).record["output"], 1, "output")
    tap.equal(body("return 1", env=sandbox.environment(PATH=None)).expect(0).record["output"], 1, "output without PATH")


@tap.test("cordon started with a stack of 128 KiB")
def _():
    def small():
        resource.setrlimit(resource.RLIMIT_STACK, (128 << 10, 128 << 10))
    tap.equal(run("run", "--", "/bin/sh", "-c", "echo fine", preexec=small).expect(0).text, "fine\n", "a command")
    tap.equal(body("return 5", preexec=small).expect(0).record["output"], 5, "a body")
    tap.equal(run_code("print(5)", preexec=small).expect(0).record["stdout"], "5\n", "a script")
    tap.ok(run("doctor", preexec=small).status in (0, 125), "doctor")


@tap.cases("cordon started with RLIMIT_NOFILE {}", [(3,), (6,), (10,), (16,), (32,), (64,)])
def _(limit):
    result = run("run", "--json", "--", "sh", "-c", "echo fine", preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    if result.status == 127 and not result.out:
        return  # the dynamic linker itself found no descriptor: cordon never started
    if result.status == 125:
        tap.ok(result.failure in ("resources_exhausted", "limit_denied"), "failure code\n%s" % result)
    else:
        tap.equal(result.expect(0).record["stdout"], "fine\n", "stdout")


@tap.test("cordon started with RLIMIT_FSIZE 0 and RLIMIT_CORE unlimited")
def _():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    result = shell("echo fine; ulimit -c", preexec=limit).expect(0)
    tap.equal(result.record["stdout"], "fine\n0\n", "stdout")


@tap.test("no user namespaces left: userns_limit, with the number's place in the message")
def _():
    result = in_user_namespace("-Ur", "echo 0 > /proc/sys/user/max_user_namespaces")  # B6
    tap.equal(result.failure, "userns_limit", "failure code")
    tap.like(result.text, "max_user_namespaces", "the message")
    tap.unlike(result.text, "No space left on device", "no bare strerror")


@tap.test("a masked /proc: proc_masked")
def _():
    result = in_user_namespace("-Urm", "mount -t tmpfs none /proc/tty")
    tap.equal(result.failure, "proc_masked", "failure code")


@tap.test("as the root of a user namespace with one id, as in a rootless container, cordon works")
def _():
    result = in_user_namespace("-Ur", "true")
    tap.equal(result.expect(0).record["success"], True, "success")


@tap.test("cordon inside itself says which limit it met")
def _():
    # (the leak sanitizer of a sanitized build cannot trace in there)
    result = run("run", "--env", "ASAN_OPTIONS=detect_leaks=0", "--ro", sandbox.BUILD, "--", os.path.join(sandbox.BUILD, "isolate", "cordon"), "run", "--json", "--", "true")  # B13
    tap.ok(result.failure in ("userns_limit", "call_filtered"), "failure code\n%s" % result)


@tap.test("cordon's stdout closed by its reader half way ends it and the sandbox")
def _():
    process = sandbox.start("run", "--", "yes")
    process.stdout.read(100)
    process.stdout.close()
    process.stderr.close()
    process.wait(tap.patience(5))


@tap.test("a caller that reads nothing does not stop the clock")
def _():
    process = sandbox.start("run", "--timeout", "0.5", "--", "yes")
    tap.eventually(lambda: process.poll() is not None, "cordon ended although its pipe is full", 3)
    tap.equal(process.returncode, 124, "status")
    process.stdout.close()
    process.stderr.close()


tap.main()
