#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is generated from the tables while cordon is built: the manual pages and the bash completion.

The completion is called as bash calls it, with the words of a line and the index of the word at the cursor. Nothing of the program itself is started.
"""
import os
import shutil
import subprocess

from lib import tap

BUILD = os.environ.get("CORDON_BUILD", ".")
PAGES = {
    "cordon.1": (("NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "PROFILES", "CONSOLE", "CONTROL PROTOCOL", "EXIT STATUS", "FAILURE CODES", "EXAMPLES"),
                 ("--output-limit", "userns_denied", "128+n", "half-down", "tool.spawn", "--list-rules")),
    "cordon-record.5": (("NAME", "FIELDS", "CONFINEMENT", "EXPORTED CHANGES"), ("execution_id", "does_not_stop", "changes.txt")),
    "cordon-events.5": (("NAME", "ORDER", "TYPES", "FIELDS"), ("fs.denied", "parent_inside", "events.ndjson")),
    "cordon-tools.7": (("NAME", "STATES", "POLICIES", "PARAMETERS"), ("operator_approval", "superseded", "additionalProperties")),
    "cordon-security.7": (("NAME", "THE VIEW", "WHAT DIFFERS INSIDE", "CONTAINERS AND SERVICES"), (".aws", "memfd_create(2)", "hard-link")),
}
COMPLETION = os.path.join(BUILD, "isolate", "completion", "cordon")


def complete(*words):
    """What bash would offer for the last word."""
    if not shutil.which("bash"):
        tap.skip("there is no bash here")
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cordon; printf "%s\\n" "${COMPREPLY[@]}"'
    process = subprocess.run(["bash", "--norc", "-c", script, "bash", COMPLETION] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=20, cwd="/", env={"PATH": os.environ["PATH"], "XYZZY_ONE": "1"})
    tap.equal((process.returncode, process.stderr), (0, b""), "bash")
    return [line for line in process.stdout.decode().split("\n") if line]


def page(name):
    return os.path.join(BUILD, "isolate", "man", name)


@tap.cases("{} is read by groff without a warning", [(name,) for name in PAGES])
def _(name):
    if not shutil.which("groff"):
        tap.skip("there is no groff here")
    process = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page(name)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=20)
    tap.equal((process.returncode, process.stdout), (0, b""), "groff")


@tap.cases("{} has every part", [(name, *parts) for name, parts in PAGES.items()])
def _(name, parts, words):
    with open(page(name), encoding="ascii") as file:
        text = file.read()
    for part in parts:
        tap.like(text, "(?m)^.SH %s$" % part, part)
    text = text.replace("\\&", "").replace("\\", "")
    for word in words:
        tap.ok(word in text, "%s is in it" % word)
    tap.unlike(text, r"(?m)^@[A-Z_]+@$|cordon @VERSION@", "a table that was not filled in")


@tap.test("the first word is completed to a command")
def _():
    tap.equal(complete("cordon", "ex"), ["exec"], "ex")
    tap.ok({"run", "exec", "validate", "doctor", "help"} <= set(complete("cordon", "")), "nothing typed")


@tap.cases("options are those of the command: {}", [
    ("run", "--tt", ["--tty"]), ("exec", "--tt", []), ("exec", "--al", ["--allow"]), ("run", "--al", []), ("doctor", "--j", ["--json"])])
def _(command, typed, wanted):
    tap.equal(complete("cordon", command, typed), wanted, typed)


@tap.test("a command of two words is completed word by word, and has options of its own")
def _():
    tap.equal(complete("cordon", "too"), ["tool"], "the first word, once")
    tap.equal(complete("cordon", "tool", "pro"), ["promote"], "the second")
    tap.ok({"spawn", "call", "list", "show", "pending", "reject", "history"} <= set(complete("cordon", "tool", "")), "all of them")
    tap.equal(complete("cordon", "tool", "reject", "--rea"), ["--reason"], "an option")
    tap.equal(complete("cordon", "tool", "reject", "t@c0ffee12", "--rea"), ["--reason"], "after the word, too")
    tap.equal(complete("cordon", "tool", "list", "--rea"), [], "which the other has not")
    tap.equal(complete("cordon", "tool", "spawn", "--policy", "op"), ["operator_approval"], "a policy")
    tap.equal(complete("cordon", "tool", "spawn", "/us"), ["/usr"], "a file")


@tap.test("values are completed by what they are")
def _():
    tap.equal(complete("cordon", "run", "--network", "a"), ["allow"], "a mode")
    tap.equal(complete("cordon", "run", "--network", "=", "n"), ["none"], "a mode after =")
    tap.equal(complete("cordon", "run", "--json", "--network", "="), ["none", "allow"], "right after =")
    tap.equal(complete("cordon", "run", "--inherit-env", "XYZZY"), ["XYZZY_ONE"], "a variable")
    tap.equal(complete("cordon", "exec", "--args", "@/us"), ["@/usr"], "a file after @")
    tap.equal(complete("cordon", "exec", "--export", "/us"), ["/usr"], "a directory")
    tap.equal(complete("cordon", "run", "--timeout", "--"), [], "a number has no completion, and is no option")


@tap.test("after the options come files or a command")
def _():
    tap.equal(complete("cordon", "exec", "--timeout", "3", "/us"), ["/usr"], "the body of exec")
    tap.equal(complete("cordon", "exec", "body.py", "/us"), [], "exec has one file only")
    tap.ok("bash" in complete("cordon", "run", "--", "bas"), "a command")
    tap.equal(complete("cordon", "run", "ls", "--js"), [], "the options of the command run are its own")


@tap.test("what is typed is never expanded")
def _():
    for word in ("$(echo x >&2)", "`echo x >&2`", "--network=$(echo x >&2)"):
        complete("cordon", "run", word)
        complete("cordon", word)
        complete("cordon", "run", "--network", word)


tap.main()
