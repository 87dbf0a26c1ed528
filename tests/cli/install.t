#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make install` into a directory of the test's own: every file is there, works from there, and what it exports is what was promised.

The build directory is used as it is; nothing in it is changed. The installed program is run from its place, since DESTDIR stands before a prefix that does not
exist here: CORDON_LIBEXECDIR names the helpers, as it would for a relocated tree.
"""
import os
import re
import shutil
import subprocess

from lib import leaks, sandbox, tap

MAKE = os.environ.get("MAKE", "make")
CC = os.environ.get("CC", "cc")
_place = None


def make(*words, check=True):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TESTS", "CORDON")}
    return subprocess.run([MAKE, "-C", sandbox.BUILD, "--no-print-directory", *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=check)


def variable(name):
    """A variable of the Makefile, expanded."""
    with open(os.path.join(sandbox.BUILD, "Makefile")) as file:
        text = file.read()

    def value(key):
        match = re.search(r"(?m)^%s = (.*)$" % re.escape(key), text)
        return re.sub(r"\$[({](\w+)[)}]", lambda m: value(m.group(1)), match.group(1)) if match else ""
    return value(name)


def installed():
    """The staging directory, installed into once."""
    global _place
    if _place is None:
        _place = leaks.scratch()
        done = make("install", "DESTDIR=" + _place, check=False)
        if done.returncode:
            tap.fail("make install: %s" % done.stdout.decode(errors="replace")[-2000:])
    return _place


def path(directory, *names):
    return os.path.join(installed() + variable(directory), *names)


@tap.test("every promised file is installed, and nothing else in cordon's own directories", deadline=120)
def _():
    wanted = [path("bindir", "cordon"), path("libdir", "libcordon.so"), path("includedir", "cordon.h"), path("libdir", "pkgconfig", "cordon.pc"),
              path("mandir", "man1", "cordon.1"), path("mandir", "man5", "cordon-record.5"), path("mandir", "man5", "cordon-events.5"),
              path("mandir", "man7", "cordon-tools.7"), path("mandir", "man7", "cordon-security.7"), path("datadir", "bash-completion", "completions", "cordon"), path("pkgdatadir", "record.schema.json"),
              path("pkgdatadir", "profile.schema.json"), path("pkgdatadir", "tool.schema.json")]
    for name in wanted:
        tap.ok(os.path.isfile(name), "%s is there" % name)
    tap.equal(sorted(os.listdir(path("pkglibexecdir"))), ["_cordon.so", "cordon-init", "cordon-operate", "cordon-view"], "libexec")
    for directory, _dirs, files in os.walk(installed()):
        for name in files:
            mode = os.lstat(os.path.join(directory, name)).st_mode
            tap.ok(os.path.islink(os.path.join(directory, name)) or mode & 0o6022 == 0, "%s has no set-id bit and is not writable by others" % name)


@tap.test("the installed program runs from where it is", deadline=60)
def _():
    result = sandbox.run("run", "--json", "--code", "print(sum(range(10)))", command=[path("bindir", "cordon")], env=sandbox.environment(CORDON_LIBEXECDIR=path("pkglibexecdir")))
    tap.equal(result.expect(0).record["stdout"], "45\n", "stdout")
    result = sandbox.run("exec", "--python", sandbox.PYTHON, "-", stdin=b"return 5", command=[path("bindir", "cordon")], env=sandbox.environment(CORDON_LIBEXECDIR=path("pkglibexecdir")))
    tap.equal(result.expect(0).record["output"], 5, "output")


@tap.test("a program without its helpers says helper_missing")
def _():
    result = sandbox.run("run", "--json", "--", "true", env=sandbox.environment(CORDON_LIBEXECDIR="/no/such/directory"))
    tap.equal(result.failure, "helper_missing", "failure code")
    tap.like(result.text, "/no/such/directory", "the directory is named")


@tap.test("the library exports cordon_ names and no other")
def _():
    nm = sandbox.need("nm")
    text = subprocess.check_output([nm, "-D", "--defined-only", path("libdir", "libcordon.so")], text=True)
    names = [line.split()[2] for line in text.splitlines() if len(line.split()) == 3]
    tap.ok(len(names) > 5, "names are there")
    tap.equal([n for n in names if not n.startswith("cordon_")], [], "others")
    runner = subprocess.check_output([nm, "-D", "--defined-only", path("pkglibexecdir", "_cordon.so")], text=True)
    tap.equal([line.split()[2] for line in runner.splitlines() if len(line.split()) == 3], ["PyInit__cordon"], "the runner's")


@tap.test("a program is compiled and linked by pkg-config, in C and in C++", deadline=60)
def _():
    if sandbox.SANITIZED:
        tap.skip("a sanitized library needs its run-time in every program")
    place = leaks.scratch()
    env = dict(os.environ, PKG_CONFIG_PATH=path("libdir", "pkgconfig"), PKG_CONFIG_SYSROOT_DIR=installed())
    flags = subprocess.run([os.environ.get("PKG_CONFIG") or "pkg-config", "--cflags", "--libs", "cordon"], env=env, capture_output=True, text=True)
    tap.equal(flags.returncode, 0, "pkg-config: %s" % flags.stderr)
    source = "#include <cordon.h>\n#include <stdio.h>\nint main(void) { printf(\"%s\\n\", cordon_version()); return 0; }\n"
    for name, compiler in (("p.c", CC.split()), ("p.cc", ["c++"])):
        if not shutil.which(compiler[0]):
            continue
        with open(os.path.join(place, name), "w") as file:
            file.write(source)
        done = subprocess.run(compiler + ["-Wall", "-Wextra", "-Werror", "-o", place + "/p", place + "/" + name, *flags.stdout.split()], capture_output=True, text=True)
        tap.equal(done.returncode, 0, "%s: %s" % (name, done.stderr))
        out = subprocess.check_output([place + "/p"], env=dict(os.environ, LD_LIBRARY_PATH=path("libdir")), text=True)
        tap.like(out, r"^\d+\.\d+\.\d+\n$", "the version")


@tap.test("the header stands alone and says nothing but the vocabulary")
def _():
    place = leaks.scratch()
    with open(place + "/h.c", "w") as file:
        file.write("#include <cordon.h>\n#include <cordon.h>\nint main(void) { return 0; }\n")
    done = subprocess.run(CC.split() + ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", path("includedir"), place + "/h.c"], capture_output=True, text=True)
    tap.equal(done.returncode, 0, "compiles: %s" % done.stderr)


@tap.test("the man pages have their sections and no complaint from the formatter")
def _():
    page = path("mandir", "man1", "cordon.1")
    text = open(page, encoding="utf-8").read()
    for section in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"):
        tap.like(text, r'(?m)^\.SH "?%s' % section, section)
    for option in ("timeout", "memory", "permit", "wait"):
        tap.like(text.replace("\\", ""), "--" + option, "--" + option)
    if shutil.which("groff"):
        for section in ("man1", "man5", "man7"):
            for name in os.listdir(path("mandir", section)):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path("mandir", section, name)], capture_output=True, text=True)
                tap.equal((done.returncode, done.stderr), (0, ""), "groff of %s" % name)
    else:
        tap.diag("groff is not installed: the page was not formatted")


@tap.test("the completion offers commands and options")
def _():
    bash = sandbox.need("bash")
    script = """
source "$1"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
        f=$(complete -p cordon | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p'); "$f" cordon "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$((COMP_CWORD - 1))]}"; printf '%s ' "${COMPREPLY[@]}"; echo; }
try cordon ''
try cordon run --time
try cordon exec --per
try cordon run --network ''
"""
    done = subprocess.run([bash, "--norc", "-c", script, "bash", path("datadir", "bash-completion", "completions", "cordon")], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    tap.ok(len(lines) == 4, "four answers: %r %r" % (done.stdout, done.stderr))
    for word in ("run", "exec", "validate", "doctor"):
        tap.like(lines[0], r"\b%s\b" % word, word)
    tap.like(lines[1], "--timeout", "--timeout")
    tap.like(lines[2], "--permit", "--permit")
    tap.like(lines[3], r"none.*allow|allow.*none", "values of --network")


@tap.test("programs and libraries are hardened")
def _():
    readelf = sandbox.need("readelf")
    if sandbox.SANITIZED:
        tap.skip("a sanitized build is not hardened in the same way")
    for file in (path("bindir", "cordon"), path("libdir", "libcordon.so"), path("pkglibexecdir", "_cordon.so"), path("pkglibexecdir", "cordon-init"), path("pkglibexecdir", "cordon-view"),
                 path("pkglibexecdir", "cordon-operate")):
        text = subprocess.check_output([readelf, "-hlWd", file], text=True)
        tap.like(text, r"Type:\s+DYN", "%s is position independent" % file)
        tap.like(text, r"GNU_RELRO", "%s has relro" % file)
        tap.like(text, r"BIND_NOW|\bNOW\b", "%s is bound at once" % file)
        tap.like(text, r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+RW\s", "%s has no executable stack" % file)


@tap.test("the schemas are JSON and describe what the program prints")
def _():
    import json
    schema = json.load(open(path("pkgdatadir", "record.schema.json")))
    tap.equal(set(schema["properties"]) - sandbox.OPTIONAL_FIELDS, sandbox.RECORD_FIELDS, "fields of the record")
    tap.ok(sandbox.OPTIONAL_FIELDS <= set(schema["properties"]), "and those that some records have")
    tap.ok(set(schema["required"]) == sandbox.RECORD_FIELDS, "all are required")
    record = sandbox.record_of("print(1)")
    tap.equal(set(record), set(schema["required"]), "fields that are printed")


@tap.test("make uninstall takes everything away again", deadline=60)
def _():
    make("uninstall", "DESTDIR=" + installed())
    left = [os.path.join(d, f) for d, _, fs in os.walk(installed()) for f in fs]
    tap.equal(left, [], "files left")


tap.main()
