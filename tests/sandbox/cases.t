#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sample programs from a directory: the benign ones run with their stated output, the hostile ones are stopped.

CORDON_CASES names the directory (default: tests/cases). Each file's first lines say what may be imported and permitted, what it prints,
or which layer should stop it. For the hostile ones a marker file and a marker port stand outside; being stopped means that the verdict is a refusal or an error, or
that what came back is nothing of the host.
"""
import os
import re

from lib import sandbox, tap
from lib.sandbox import run

CASES = os.environ.get("CORDON_CASES") or os.path.join(sandbox.SOURCE, "tests", "cases")


def header(path):
    """({key: value}, expected output or None) from the comment lines at the top."""
    fields, expected, in_expect = {}, None, False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                break
            if in_expect and line.startswith("#   "):
                expected.append(line[4:].rstrip("\n"))
                continue
            match = re.match(r"#\s*([a-z ]+):\s*(.*)", line)
            in_expect = bool(match) and match.group(1) == "expect"
            if in_expect:
                expected = [match.group(2)] if match.group(2) else []
            elif match:
                fields[match.group(1)] = match.group(2).strip()
    return fields, expected


def names(value):
    return [n.strip() for n in re.split(r"[,\s]+", value or "") if n.strip() and not n.startswith("(")]


def options(fields, interpreter=None):
    given = ["--python", interpreter or sandbox.PYTHON]
    for key in ("allow", "permit"):
        value = re.sub(r"\(.*?\)", "", fields.get(key, ""))
        if names(value):
            given += ["--" + key, ",".join(names(value))]
    return given


def benign(path):
    def check():
        fields, expected = header(path)
        result = run("exec", *options(fields), path)
        record = result.expect(0).record
        if expected is None:
            tap.fail("no expectation in the header")
        tap.equal(record["stdout"].rstrip("\n").split("\n"), expected, "stdout\n%s" % result)
    return check


HOST_MARKS = r"root:[x*]:0:0:root:/root:/bin/(ba)?sh|\b%s\b" % re.escape(os.uname().nodename)


def stays_inside(result):
    """What holds for every hostile program, whatever was permitted: an answer in form, and nothing of the host in it."""
    tap.ok(result.status in (0, 1, 2, 124), "status\n%s" % result)
    record = result.record
    for field in ("stdout", "stderr", "output", "error"):
        tap.unlike(repr(record[field]), HOST_MARKS, "nothing of the host shows in %s\n%s" % (field, result))
    return record


def hostile(path):
    """The verdict of the layer that owns the case, by the first word of its header."""
    def check():
        fields, _ = header(path)
        result = run("exec", "--timeout", "3", *options(fields), path, deadline=15)
        record = stays_inside(result)
        owner = re.split(r"[\s:;,(]", fields.get("should stop", ""))[0]
        if owner in ("validator", "import"):
            tap.equal(result.status, 2, "refused before it runs\n%s" % result)
        elif owner in ("accept", "none"):
            tap.ok(result.status == 0 or "name" in (record["error"] or ""), "runs, or misses a name that nobody has\n%s" % result)
        elif owner in ("runtime", "restricted"):
            tap.ok(result.status in (1, 2), "an error\n%s" % result)
        elif fields.get("class", "").startswith("dos-"):
            tap.ok(result.status in (1, 2, 124) or "output" in fields["class"] and record["truncated"], "ended by a limit that the record names\n%s" % result)
    return check


# What a truthy REACHED may still be, where the kernel layers are meant: {number of the case: test of the value}.
KERNEL_VALUES = {
    "184": lambda v: v == [], "190": lambda v: v is False, "191": lambda v: not set(v) & (set(os.listdir("/")) - {"bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "root", "run",
                                                                                         "sbin", "tmp", "usr", "var", "opt", "srv", "workspace"}),
    "193": lambda v: v <= 2000, "196": lambda v: v is False, "199": lambda v: v == [], "200": lambda v: v is False,
}


UNVALIDATED = os.path.join(sandbox.BUILD, "tests", "sandbox", "unvalidated")
EVERYTHING = "os,sys,ctypes,socket,signal,subprocess,builtins,importlib,threading,time,posix,mmap,fcntl,resource,gc,inspect,types,io,pathlib"


def unvalidated(path):
    """With validation switched off and every import allowed, the layers below hold by themselves."""
    def check():
        if not os.path.exists(UNVALIDATED):
            tap.skip("tests/sandbox/unvalidated was not built (make check builds it)")
        fields, _ = header(path)
        with open(path, "rb") as file:
            source = file.read()
        ends = ["--return", "REACHED"] if re.search(rb"(?m)^(\s*|.*[:;]\s*)REACHED\s*=", source) else []
        allow = ",".join(names(fields.get("allow")) + EVERYTHING.split(","))
        result = run("--python", sandbox.PYTHON, "--timeout", "3", "--allow", allow, "--permit", EVERYTHING, *ends, path, deadline=15, command=[UNVALIDATED],
                     env=sandbox.environment(CORDON_LIBEXECDIR=os.environ.get("CORDON_TEST_LIBEXECDIR", os.path.join(sandbox.BUILD, "isolate"))))
        record = stays_inside(result)
        number = os.path.basename(path)[:3]
        if result.status == 0 and number in KERNEL_VALUES:
            tap.ok(KERNEL_VALUES[number](record["output"]), "nothing was reached: %r" % record["output"])
    return check


def register(kind, title, make):
    directory = os.path.join(CASES, kind)
    if not os.path.isdir(directory):
        @tap.test("sample programs: " + title)
        def _():
            tap.skip("no sample programs at %s (name the directory in CORDON_CASES)" % directory)
        return
    for name in sorted(os.listdir(directory)):
        if name.endswith(".py"):
            tap.test("%s: %s" % (title, name[:-3]))(make(os.path.join(directory, name)))


register("benign", "ordinary code prints what it should", benign)
register("pyjail", "stopped by the layer that owns it", hostile)
register("pyjail", "without validation, and nothing outside is reached", unvalidated)
tap.main()
