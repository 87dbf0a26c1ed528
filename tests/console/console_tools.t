#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The console's views of tools: what waits, what is shown before a decision, and what it takes to make one.

The library is a pretended one; what the console asks it to decide is what is judged.
"""
# Field cases: A1 hostile text in what is approved · A3 A4 no approver, a console that dies · A5 content that changed meanwhile · A7 floods · approvals: type-ahead, truncation, marks
import os
import re
import shutil
import signal
import subprocess
import time

from lib import leaks, sandbox, tap
from lib.console import Terminal, environment, golden, script
from lib.daemon import Client, Daemon
from lib.sandbox import CORDON
from lib.tools import HOSTILE, READ, WAIT, Library, item, raw, runs

OLD = "import json\nreturn json.loads(args['text'])\n"
NEW = "import json\nimport re\n# \u202e hidden\nreturn re.findall(r'\\d+', args['text'])  # " + "long " * 30 + "\n"


def library(**more):
    return Library(item("extract", NEW, version=2, before=OLD, runs=runs(4), failures=1), item("second", "return 2\n", user="bob"), item("third", "return 3\n"),
                   item("kept", "return 4\n", state="promoted", decided="2026-03-01T10:00:00Z", decided_by="eve", reason="fine"), item("trial", "return 5\n", state="trial"), **more)


@tap.cases("{0} at {1} looks as it should", [(view, size) for view in ("pending", "tools", "tool") for size in ("80x24", "120x40")])
def _(view, size):
    keys = {"pending": ["5", "jm"], "tools": ["6"], "tool": ["5", "<Enter>", ":settle"]}[view]
    with library() as daemon:
        golden("%s-%s.txt" % (view, size), script(daemon, WAIT + keys + [":save-display a"], size)["a"])


@tap.test("what is decided on is shown whole: every line, broken and never cut, with what hides written out")
def _():
    text = "".join("line %d %s\n" % (n, "x" * (n * 7 % 400)) for n in range(300)) + "a\u202eb\u200b" + "w" * 3000 + "END"
    with Library(item("whole", text)) as daemon:
        pictures = script(daemon, WAIT + ["5", "<Enter>", ":settle", "y<C-u>page<Enter>"] + [line for n in range(60) for line in (":save-display %d" % n, "<PageDown>")], "100x40")
        page = pictures.pop("page")
        tap.ok(text.replace("\u202e", "<U+202E>").replace("\u200b", "<U+200B>") in page, "the page has all of it")
        shown = "".join("".join(re.sub(r"^(?: {0,4}\d+ |    \+ )", "", row) for row in pictures[str(n)].splitlines()[2:-2]) for n in range(60))
        for n in (1, 150, 299):
            tap.ok("line %d x" % n in shown, "line %d was on the screen" % n)
        tap.ok(any("END" in picture and "end of the source" in picture for picture in pictures.values()), "and its end")
        tap.ok(not any(raw(p.replace("\n", "")) for p in pictures.values()), "and nothing that hides")


@tap.test("an approval needs the end of the source, the beginning of the hash, and nothing less")
def _():
    long = "".join("x = %d\n" % n for n in range(200))
    with Library(item("tool", long)) as daemon:
        start = daemon.items[0]["hash"][:4]
        pictures = script(daemon, WAIT + ["5", "<Enter>", ":settle", "a", ":save-display a", "<PageDown>", "a", ":save-display b", "G", ":save-display c", "a", ":save-display d", "<Enter>"])
        tap.like(pictures["a"], "read its source to the end first", "at the top")
        tap.like(pictures["b"], "read its source to the end first", "in the middle")
        tap.like(pictures["c"], "read to the end", "at the end")
        tap.like(pictures["d"], r"(?m)^Approve tool v1\? Type the first 4 signs of its hash %s" % start, "the question")
        wrong = "f" if start[0] != "f" else "0"
        for answer in ("<Enter>", "y<Enter>", "<Esc>", start[:3] + "<Enter>", wrong + start[1:] + "<Enter>", start + "0<Enter>", start + "<Esc>", "yes<Enter>", " " + start + "<Enter>"):
            script(daemon, WAIT + READ + ["a" + answer, ":settle"])
        tap.equal(daemon.decisions, [], "nothing else decides")
        pictures = script(daemon, WAIT + READ + ["a" + start + "<Enter>", ":settle", ":save-display e"])
        tap.equal([d[:2] + d[3:4] for d in daemon.decisions], [("promoted", "tool", daemon.items[0]["hash"])], "decisions")
        tap.like(pictures["e"], "promoted", "it says so")


@tap.test("another version must be read anew; what changed in between is refused, and shown")
def _():
    with Library(item("tool", "return 1\n")) as daemon:
        old = daemon.items[0]["hash"]

        def change(params):
            if not daemon.decisions and len(daemon.items) == 1 and daemon.items[0]["hash"] == old:
                daemon.items[0]["state"] = "superseded"
                daemon.items.insert(0, item("tool", "return 'evil'\n", version=2))
            return daemon.decide(params, "promoted")
        daemon.answers["tool.promote"] = change
        pictures = script(daemon, WAIT + READ + ["a" + old[:4] + "<Enter>", ":wait not done", ":settle", ":wait superseded", ":save-display a", "q", ":settle", ":save-display b", "<Enter>", ":settle", ":save-display c"])
        tap.equal(daemon.decisions, [], "nothing was decided")
        tap.like(pictures["a"], r"not done: tool_changed: the library has %s" % daemon.items[0]["hash"][:12], "refusal")
        tap.like(pictures["b"], r"(?m)^>tool .* 2 ", "the list has the new version")
        tap.unlike(pictures["b"], r"(?m)^>tool .* yes ", "which was not read")
        tap.like(pictures["c"], "return 'evil'", "and this is its source")
        asked = [p["hash"] for m, p in daemon.asked if m == "tool.promote"]
        tap.equal(asked, [old], "the hash that was shown was sent")


@tap.test("a source that is missing, empty or cut is an error and cannot be approved")
def _():
    for source in ("", None):
        with Library(item("tool", "")) as daemon:
            whole = daemon.answers["tool.show"]

            def show(params, source=source):
                answer = whole(params)
                answer["spec"] = {"implementation": ""} if source == "" else {}
                return answer
            daemon.answers["tool.show"] = show
            pictures = script(daemon, WAIT + READ + ["a", ":save-display a"])
            tap.like(pictures["a"], "there is no source to be read", "said")
            tap.like(pictures["a"], "read its source to the end first", "refused")
            tap.equal(daemon.decisions, [], "nothing")


@tap.test("a rejection needs a reason; a decision can be taken back; each is seen in the history")
def _():
    with library() as daemon:
        script(daemon, WAIT + ["5", "<Enter>", ":settle", "x<Enter>", "x  <Enter>", "x<Esc>", ":settle"])
        tap.equal(daemon.decisions, [], "not without a reason")
        pictures = script(daemon, WAIT + ["5", "<Enter>", ":settle", "xlooks odd<Enter>", ":settle", ":save-display a", "v", ":save-display b", "<Enter>", ":settle", "vn", "v<Esc>", ":save-display c", "vy",
                                          ":settle", ":save-display d"])
        tap.equal([(d[0], d[1], d[4]) for d in daemon.decisions], [("rejected", "extract", "looks odd"), ("revoked", "extract", "revoked on the console")], "decisions")
        tap.like(pictures["a"], "rejected", "said")
        tap.like(pictures["b"], r"Take back that extract v2 \(%s\) was rejected\? \[y/N\]" % daemon.items[0]["hash"][:8], "question")
        tap.like(pictures["c"], r"TOOL extract version 2 of ada, rejected", "no is the default")
        tap.like(pictures["d"], r"TOOL extract version 2 of ada, pending", "taken back")
        pictures = script(daemon, WAIT + ["5", "<Enter>", ":settle", "/Decisions<Enter>", ":save-display e"])
        tap.like(pictures["e"], r"(?s)version 2 revoked by eve: revoked on the console.*version 2 rejected by eve: looks odd", "history")
        tap.like(script(daemon, WAIT + ["6", "/trial<Enter>", "v", ":save-display f"])["f"], "no decision to take back", "nothing to take back")


@tap.test("several at once: only what was marked and read, and their number must be typed")
def _():
    with library() as daemon:
        read = ["5", "g"] + ["<Enter>", ":settle", "G", "q", "j"] * 3
        pictures = script(daemon, WAIT + ["5", "A", ":save-display a", "gmmm", "A", ":save-display b"] + read + ["A", ":save-display c", "2<Enter>", "A<Enter>", "A3<Esc>", ":settle"])
        tap.like(pictures["a"], "nothing is marked", "nothing is marked")
        tap.like(pictures["b"], "extract: read its source to the end first", "not read")
        tap.like(pictures["b"], "3 marked", "marks")
        tap.like(pictures["c"], r"Approve all of extract v2 of ada \(%s\), second v1 of bob \(%s\),\nthird v1 of ada \(%s\)\? Type how many they are:" % tuple(i["hash"][:8] for i in daemon.items[:3]), "question")
        tap.equal(daemon.decisions, [], "another number is a no")
        script(daemon, WAIT + read + ["gmm", "A2<Enter>", ":settle"])
        tap.equal([d[:2] for d in daemon.decisions], [("promoted", "extract"), ("promoted", "second")], "the marked ones")
    with library() as daemon:
        script(daemon, WAIT + ["5", "gmm", "X<Enter>", "Xno<Enter>1<Enter>", ":settle"])
        tap.equal(daemon.decisions, [], "a rejection of several needs the number, too")
        script(daemon, WAIT + ["5", "gmm", "Xno<Enter>2<Enter>", ":settle"])
        tap.equal([(d[0], d[1], d[4]) for d in daemon.decisions], [("rejected", "extract", "no"), ("rejected", "second", "no")], "rejected")


@tap.test("text of a model in names, descriptions, errors, capabilities and code is made visible")
def _():
    with Library(item("tool" + HOSTILE, "x = '%s'\n" % HOSTILE, user="u" + HOSTILE, before="y = 1\n", description=HOSTILE + "\n" + HOSTILE, runs=runs(3), reason=HOSTILE, decided="2026-03-01T10:00:00Z", decided_by=HOSTILE,
                      capabilities=[{"what": "files" + HOSTILE, "before": HOSTILE, "after": "/etc/" + HOSTILE, "changed": True}])) as daemon:
        start = daemon.items[0]["hash"][:4]
        lines = list(WAIT)
        for n, size in enumerate(("40x10", "80x24", "200x60")):
            lines += [":resize " + size, "5", ":save-display a%d" % n, "6", ":save-display b%d" % n, "5", "<Enter>", ":settle", ":save-display c%d" % n, "G", ":save-display d%d" % n, "a", ":save-display e%d" % n,
                      "<Esc>", "x", ":save-display f%d" % n, "<Esc>"]
        for name, picture in script(daemon, lines).items():
            tap.ok(not raw(picture), "%s: %r" % (name, raw(picture)))
        script(daemon, WAIT + READ + ["a" + start + "<Enter>", ":settle"])
        tap.equal([(d[1], d[2]) for d in daemon.decisions], [("tool" + HOSTILE, "u" + HOSTILE)], "and what goes back is what came")


@tap.test("200 that wait and an implementation of 10,000 lines stay quick")
def _():
    big = "".join("value_%d = compute(%d)  # %s\n" % (n, n, "comment " * (n % 8)) for n in range(10000))
    with Library(item("big", big, before=big.replace("value_5000", "other"), runs=runs(30)), *[item("tool_%d" % n, "return %d\n" % n, user="user%d" % (n % 7)) for n in range(200)]) as daemon:
        started = time.monotonic()
        pictures = script(daemon, WAIT + ["5"] + ["j"] * 100 + ["k"] * 100 + ["<Enter>", ":settle"] + ["<PageDown>"] * 100 + ["G", ":save-display a", "q", "/tool_199<Enter>", ":save-display b"], "120x40")
        took = time.monotonic() - started
        tap.like(pictures["a"], r"10000 value_9999", "the end of the big one")
        tap.like(pictures["b"], r"(?m)^>tool_199 ", "the last of many")
        tap.between(took, 0, 20 if sandbox.SANITIZED else 5, "seconds for all of it")


@tap.test("a daemon that has no tools says so; two consoles agree")
def _():
    with Library(answers={"tool.pending": None, "tool.list": None}) as daemon:
        tap.like(script(daemon, WAIT + ["5", ":save-display a"])["a"], "there is no such thing", "no tools")
    with library() as daemon, Terminal(CORDON, "console", "--socket", daemon.path) as one, Terminal(CORDON, "console", "--socket", daemon.path) as two:
        for terminal in (one, two):
            terminal.keys("5")
            terminal.expect("extract", "second", "third", "5 Pending 3")
        one.keys("Enter")
        one.expect("not read to the end")
        one.keys("G")
        one.expect("read to the end", "end of the source")
        one.keys("a")
        one.answer("Approve extract v2?", daemon.items[0]["hash"][:4])
        one.expect("promoted")
        two.expect("5 Pending 2")
        two.expect_gone("extract")
        daemon.becomes_pending(item("fourth", "return 6\n"))
        two.expect("fourth", "5 Pending 3")
        tap.equal([d[:2] for d in daemon.decisions], [("promoted", "extract")], "one decision")


@tap.test("keys that were typed before the question is there approve nothing", deadline=60)
def _():
    with library() as daemon, Terminal(CORDON, "console", "--socket", daemon.path) as terminal:
        terminal.keys("5")
        terminal.expect("extract")
        terminal.keys("Enter")
        terminal.expect("not read to the end")
        terminal.keys("G")
        terminal.expect("end of the source")
        start, pid = daemon.items[0]["hash"][:4], terminal.child("cordon-operate")
        # All at once, as a paste; and while the console was held up.
        terminal.text("a" + start + "\r")
        terminal.expect("Approve extract v2?")
        terminal.keys("Escape")
        terminal.expect_gone("Approve extract v2?")
        os.kill(pid, signal.SIGSTOP)
        terminal.text("a" + start + "\r" + start + "\r")
        os.kill(pid, signal.SIGCONT)
        terminal.expect("Approve extract v2?")
        tap.equal(daemon.decisions, [], "nothing was decided")
        terminal.keys("Escape")
        terminal.expect_gone("Approve extract v2?")
        # And what comes right behind it, as from somebody who types on. Only what was sent within the pause says something.
        for _ in range(20):
            begun = time.monotonic()
            terminal.keys("a")
            terminal.expect("Approve extract v2?")
            terminal.text(start + "\r")
            if time.monotonic() - begun < 0.4:
                break
            terminal.keys("Escape")
            terminal.expect_gone("Approve extract v2?")
            if daemon.decisions:
                terminal.expect("ada, promoted")
                daemon.decide(daemon.items[0], "revoked")
                daemon.decisions.clear()
                terminal.expect("ada, pending")
        terminal.keys("Escape")
        terminal.expect_gone("Approve extract v2?")
        terminal.keys("q", "q", "q")
        tap.equal(terminal.status(), 0, "status")
        tap.equal(daemon.decisions, [], "nothing was decided")


@tap.test("a console that is killed in the middle of a question decides nothing, and the next one can")
def _():
    with library() as daemon:
        with Terminal(CORDON, "console", "--socket", daemon.path) as terminal:
            terminal.keys("5")
            terminal.expect("extract")
            terminal.keys("Enter")
            terminal.expect("not read to the end")
            terminal.keys("G")
            terminal.expect("end of the source")
            terminal.keys("a")
            terminal.expect("Approve extract v2?")
            os.kill(terminal.child("cordon-operate"), signal.SIGKILL)
            tap.equal(terminal.status(), 137, "killed")
        tap.equal(daemon.decisions, [], "nothing was decided")
        script(daemon, WAIT + READ + ["a" + daemon.items[0]["hash"][:4] + "<Enter>", ":settle"])
        tap.equal([d[:2] for d in daemon.decisions], [("promoted", "extract")], "by the next console")


@tap.test("with the daemon itself: a tool waits, is read and approved in the console, and a new daemon has it", deadline=60)
def _():
    home = leaks.scratch()
    spec = {"name": "extract", "description": "find numbers", "parameters": {"text": {"type": "string"}}, "implementation": "import re\nreturn re.findall(r'[0-9]+', args['text'])\n", "allowed_imports": ["re"]}
    daemon = Daemon(env=dict(os.environ, XDG_DATA_HOME=home))
    with daemon, Terminal(CORDON, "console", "--socket", daemon.socket) as terminal, Client(daemon) as client:
        terminal.keys("5")
        terminal.expect("Nothing waits for a decision")
        made = client.call("tool.spawn", {"spec": spec, "user": "ada", "policy": "operator_approval", "threshold": 2, "options": {"python": sandbox.PYTHON}})
        terminal.keys("6")
        terminal.expect("extract", "trial")
        for _ in range(2):
            answer = client.call("tool.call", {"name": "extract", "args": {"text": "a1 b22"}, "user": "ada", "options": {"python": sandbox.PYTHON}})
            tap.equal(answer["record"]["output"], ["1", "22"], "output")
        terminal.keys("5")
        terminal.expect("5 Pending 1", "extract")
        terminal.keys("Enter")
        terminal.expect("TOOL extract version 1 of ada, pending", "find numbers")
        terminal.keys("G")
        terminal.expect("return re.findall", "end of the source", "read to the end")
        terminal.keys("a")
        terminal.answer("Approve extract v1?", made["hash"][:4])
        terminal.expect("promote extract version 1: promoted")
        terminal.keys("q")
        terminal.expect("Nothing waits for a decision")
        item = client.call("tool.list", {"user": "ada"})["tools"][0]
        tap.equal((item["state"], item["hash"], item["reason"]), ("promoted", made["hash"], "approved on the console"), "the library")
        # It is spawned anew with other code; a console that has read the old one is refused.
        client.call("tool.spawn", {"spec": dict(spec, implementation="import re\nreturn []\n"), "user": "ada", "options": {"python": sandbox.PYTHON}})
        for _ in range(2):
            client.call("tool.call", {"name": "extract", "args": {"text": ""}, "version": 2, "user": "ada", "options": {"python": sandbox.PYTHON}})
        terminal.expect("5 Pending 1")
        terminal.keys("Enter")
        terminal.expect("version 2 of ada, pending", "timeout_s: 5")
        terminal.keys("/")
        terminal.text("What changed")
        terminal.keys("Enter")
        terminal.expect("-return re.findall", "+return []")
        terminal.keys("x")
        terminal.answer("Why is extract rejected?", "finds nothing")
        terminal.expect("reject extract version 2: rejected")
        tap.equal([(d["decision"], d["reason"]) for d in client.call("tool.history", {"user": "ada"})["history"]], [("rejected", "finds nothing"), ("promoted", "approved on the console")], "history")
        kinds = [e["type"] for e in daemon.log() if e["type"].startswith("tool.pro") or e["type"] == "tool.rejected"]
        tap.equal(kinds, ["tool.promotion_pending", "tool.promoted", "tool.promotion_pending", "tool.rejected"], "each is an event")
    with Daemon(env=dict(os.environ, XDG_DATA_HOME=home)) as fresh, Client(fresh) as client:
        tap.equal([(t["name"], t["version"]) for t in client.call("tool.list", {"user": "ada"})["tools"] if t["state"] == "promoted"], [("extract", 1)], "a new daemon has it")
    shutil.rmtree(home)


@tap.test("the plain console lists what waits, and says how to decide")
def _():
    with library() as daemon:
        process = sandbox.start("console", "--plain", "--socket", daemon.path, stdin=subprocess.PIPE, env=environment())
        shown = b""
        while b"sandbox.executed" not in shown:
            shown += os.read(process.stdout.fileno(), 65536)
        while b"reject --user bob second@" not in shown:
            process.stdin.write(b"pending\n")
            process.stdin.flush()
            shown += os.read(process.stdout.fileno(), 65536)
        process.stdin.write(b"quit\n")
        process.stdin.flush()
        status, rest, _ = sandbox.finish(process)
        tap.equal(status, 0, "status")
        tap.like((shown + rest).decode(), r"extract version 2 of ada, 3 calls succeeded, 1 failed\. To decide: cordon tool show --user ada extract, then", "a line each")


@tap.test("the bell rings when a tool begins to wait, not for what waits already, and never with --quiet", deadline=60)
def _():
    for options, rings in (((), 1), (("--quiet",), 0)):
        with library() as daemon:
            with Terminal("sh", "-c", "script -qfc '%s console --socket %s %s' %s/typescript" % (CORDON, daemon.path, " ".join(options), leaks_directory())) as terminal:
                terminal.expect("5 Pending 3")
                for n in range(20):
                    daemon.becomes_pending(item("more_%d" % n, "return 6\n"))
                terminal.expect("5 Pending 23")
                terminal.keys("q")
                terminal.status()
            with open(os.path.join(leaks_directory(), "typescript"), "rb") as file:
                text = re.sub(rb"\x1b\][^\x07]*\x07", b"", file.read())
            tap.equal(text.count(b"\x07"), rings, "bells with %r" % (options,))


_directory = []


def leaks_directory():
    if not _directory:
        _directory.append(leaks.scratch())
    return _directory[0]


tap.main()
