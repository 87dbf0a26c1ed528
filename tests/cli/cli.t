#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: exit statuses, every option, help, and what is said to a bad value.

Usage errors are 64 and go to standard error with the option's name in them; nothing is started. The list of options below is the contract's, written out
a second time on purpose: a row that vanishes from the program's own table shows here.
"""
import os
import re

from lib import leaks, sandbox, tap
from lib.sandbox import run

RUN = ["tier", "timeout", "memory", "pids", "nofile", "fsize", "workspace-size", "output-limit", "network", "ro", "host-socket", "env", "inherit-env", "copy-in", "export",
       "overwrite",
       "python", "profile", "stdin", "tty", "wait-all", "script", "code", "json", "help"]
EXEC = ["tier", "timeout", "memory", "pids", "nofile", "fsize", "workspace-size", "output-limit", "network", "ro", "env", "inherit-env", "copy-in", "export", "overwrite",
        "python", "profile", "allow", "permit", "preload", "args", "return", "help"]
VALIDATE = ["allow", "permit", "json", "python", "help"]


@tap.cases("`{} --help` lists every option of the contract", [("run", RUN), ("exec", EXEC), ("validate", VALIDATE), ("doctor", ["json", "help"])])
def _(command, options):
    result = run(command, "--help").expect(0)
    for option in options:
        tap.like(result.text, r"--%s\b" % option, "--%s" % option)
    tap.like(result.text, r"(?i)usage", "a usage line")
    tap.equal(result.err, b"", "nothing on stderr")
    wide = [line for line in result.text.splitlines() if len(line) > 80]
    tap.equal(wide, [], "lines of at most 80 columns")


@tap.cases("`{}` is the general help", [("--help",), ("-h",), ("help",)])
def _(word):
    result = run(word).expect(0)
    for command in ("run", "exec", "validate", "doctor"):
        tap.like(result.text, r"\b%s\b" % command, command)


@tap.cases("`help {}` is its --help", [("run",), ("exec",), ("validate",), ("doctor",)])
def _(command):
    tap.equal(run("help", command).expect(0).out, run(command, "--help").expect(0).out, "the same text")


@tap.test("--version prints a name and a version")
def _():
    tap.like(run("--version").expect(0).text, r"^cordon \d+\.\d+\.\d+\n", "stdout")


@tap.cases("a usage error is 64: {}", [
    ("no command", [], "(?i)usage|command"),
    ("an unknown command", ["dance"], "dance"),
    ("an unknown option", ["run", "--no-such-option", "--", "true"], "no-such-option"),
    ("run without a program", ["run"], "(?i)command|program"),
    ("exec without a file", ["exec"], "(?i)file|body|program"),
    ("exec with two files", ["exec", "a", "b"], "(?i)one|file|b"),
    ("validate without a file", ["validate"], "(?i)file|body|program"),
    ("--script and --code together", ["run", "--script", "a.py", "--code", "1"], "(?i)script|code"),
    ("an option of another command", ["run", "--allow", "re", "--", "true"], "allow"),
    ("an option without its value", ["run", "--timeout"], "timeout"),
    ("a value for a flag", ["run", "--json=yes", "--", "true"], "json"),
    ("arguments that are no JSON", ["exec", "--args", "{", "-"], "(?i)args"),
    ("arguments that are no object", ["exec", "--args", "[1]", "-"], "(?i)object"),
])
def _(_name, arguments, pattern):
    result = run(*arguments).expect(64)
    tap.like(result.errors, pattern, "stderr names it")
    if arguments[:1] == ["exec"]:
        tap.equal(result.json["failure"]["code"], "bad_option", "exec answers with an object, always")
    else:
        tap.equal(result.out, b"", "stdout is empty")


BAD_VALUES = [
    ("timeout", ["-1", "nan", "inf", "1e9", "", "5s", "0x10", "1,5", " "]),
    ("memory", ["-1", "nan", "", "lots", "1e99"]),
    ("pids", ["-1", "1.5", "", "many", "99999999999999999999"]),
    ("nofile", ["-1", "", "x"]),
    ("fsize", ["-1", "", "x"]),
    ("workspace-size", ["-1", "", "x"]),
    ("output-limit", ["-1", "", "x", "99999999999999999999"]),
    ("network", ["", "some", "NONE"]),
    ("env", ["", "NOEQUALS", "=x", "A B=1", "1A=1"]),
    ("inherit-env", ["", "A=B", "A B"]),
    ("tier", [""]),
]


@tap.cases("a bad value is 64 and is named: --{}", [("%s %r" % (o, v), o, v) for o, values in BAD_VALUES for v in values])
def _(_name, option, value):
    result = run("run", "--" + option, value, "--", "true").expect(64)
    tap.like(result.errors, option, "stderr names the option")


@tap.cases("a good value is taken: --{}", [("%s %s" % (o, v), o, v) for o, v in (
    ("timeout", "2.5"), ("timeout", "0.75"), ("memory", "64"), ("pids", "20"), ("nofile", "64"), ("fsize", "1"), ("workspace-size", "8"),
    ("output-limit", "1000"), ("network", "none"), ("env", "A="), ("env", "_x9=a=b"), ("tier", "subprocess"))])
def _(_name, option, value):
    run("run", "--" + option, value, "--", "true").expect(0)


@tap.test("options may be shortened, and end at the first word")
def _():
    result = run("run", "--output-lim", "1000", "echo", "--json").expect(0)
    tap.equal(result.out, b"--json\n", "stdout")


@tap.test("a profile sets options, and what stands after it goes first")
def _():
    import os
    from lib import leaks
    path = os.path.join(leaks.scratch(), "profile.json")
    with open(path, "w") as file:
        file.write('{"timeout": 0.3, "env": ["A=from profile"]}')
    record = run("run", "--json", "--profile", path, "--", "sh", "-c", 'echo "$A"; exec sleep 9').expect(124).record
    tap.equal((record["stdout"], record["error"]), ("from profile\n", "sandbox execution timed out after 0.30s"), "from the profile")
    record = run("run", "--json", "--profile", path, "--timeout", "0.6", "--", "sleep", "9").expect(124).record
    tap.equal(record["error"], "sandbox execution timed out after 0.60s", "from the command line")


@tap.cases("a bad profile is 64 and is named: {}", [
    ("an unknown key", '{"timeuot": 1}', "timeuot"), ("a wrong type", '{"timeout": "soon"}', "timeout"), ("a key twice", '{"timeout": 1, "timeout": 2}', "(?i)twice|duplicate|timeout"),
    ("not an object", "[1]", "(?i)object"), ("not JSON", "{", "(?i)json|line|byte|end"), ("empty", "", "(?i)empty|json|end")])
def _(_name, text, pattern):
    import os
    from lib import leaks
    path = os.path.join(leaks.scratch(), "profile.json")
    with open(path, "w") as file:
        file.write(text)
    tap.like(run("run", "--profile", path, "--", "true").expect(64).errors, pattern, "stderr")


@tap.test("doctor tells what this host can do, and the same as JSON")
def _():
    plain = run("doctor")
    tap.ok(plain.status in (0, 125), "status\n%s" % plain)
    tap.like(plain.text, r"(?i)namespace", "speaks of namespaces")
    found = run("doctor", "--json").json
    tap.ok(isinstance(found, dict) and found, "one object")


@tap.test("doctor says of the cgroups what is missing here")
def _():
    tap.like(run("doctor").text, r"(?i)cgroup", "speaks of cgroups")  # I5


@tap.test("a failure of cordon itself is 125, with a stable name in --json and a remedy in words")
def _():
    result = run("run", "--json", "--ro", "/no/such/directory", "--", "true")
    tap.equal(result.failure, "path_missing", "failure code")
    plain = run("run", "--ro", "/no/such/directory", "--", "true").expect(125)
    tap.like(plain.errors, "/no/such/directory", "the path is named")
    tap.unlike(plain.errors, r"errno|^\s*$", "no bare errno")


@tap.test("the statuses 124 to 127 of a program itself are told apart by the record")
def _():
    for code in (124, 125, 126, 127):
        record = sandbox.shell("exit %d" % code).expect(code).record  # S14
        tap.equal((record["exit_code"], record["timed_out"]), (code, False), "record")
    record = sandbox.shell("exit 139").expect(139).record
    tap.equal((record["exit_code"], record["signal"]), (139, None), "an exit with 139 is no signal")


@tap.test("standard error of a failure is free of control characters")
def _():
    result = run("run", "--ro", "/no/\x1b[31m/such", "--", "true").expect(125)
    tap.unlike(result.errors, "\x1b", "no escape")
    tap.ok(re.search("no", result.errors), "but the path")


tap.main()


@tap.test("CORDON_TRACE: each process appends lines of its own, and nothing of it is inside")
def _():
    directory = leaks.scratch()
    path, named = os.path.join(directory, "trace"), os.path.join(directory, "named")
    os.mkdir(named)
    env = dict(os.environ, CORDON_TRACE=path)
    inside = "echo T=$CORDON_TRACE; ls /n; ls -l /proc/self/fd | grep -c trace"
    result = run("run", "--ro", named + ":/n", "--inherit-env", "CORDON_TRACE", "--", "sh", "-c", inside, env=env)
    tap.equal(result.text, "T=\n0\n", "neither variable nor descriptor")
    lines = open(path, encoding="utf-8").read().splitlines()
    form = re.compile(r"\d\d:\d\d:\d\d\.\d{6} (cordon|init|view)\[\d+\] [a-z]+: .+")
    tap.equal([line for line in lines if not form.fullmatch(line)], [], "the form of a line")
    tap.equal({form.fullmatch(line)[1] for line in lines}, {"cordon", "init", "view"}, "processes")
    tap.ok(any("starting -> running" in line for line in lines), "the states of the execution")
    tap.equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    run("run", "--bogus", "\x1b[31m", env=env).expect(64)
    text = open(path, "rb").read()
    tap.ok(text.startswith("\n".join(lines).encode()), "lines are appended")
    tap.ok(b"bad_option" in text and b"\x1b" not in text, "an error is a line, made visible")
    run("run", "--", "true", env=dict(env, CORDON_TRACE=named)).expect(125)
