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
from lib.tools import Library, item

HOSTILE = "\x1b[2J\x1b]0;pwn\x07 \u202egnp.exe\u2066 \u200b\u00ad\u0085 \U000e0041"
OLD = "import json\nreturn json.loads(args['text'])\n"
NEW = "import json\nimport re\n# \u202e hidden\nreturn re.findall(r'\\d+', args['text'])  # " + "long " * 30 + "\n"
WAIT = [":events 1", ":settle"]
READ = ["5", "<Enter>", ":settle", "G"]


def runs(count):
    return [{"execution_id": "%032x" % n, "time": "2026-03-01T11:%02d:00Z" % (20 + n), "duration_ms": 12 + n, "success": n % 3 != 2, "error": None if n % 3 != 2 else "ValueError: " + HOSTILE}
            for n in range(count)]


def library(**more):
    return Library(item("extract", NEW, version=2, before=OLD, runs=runs(4), failures=1), item("second", "return 2\n", user="bob"), item("third", "return 3\n"),
                   item("kept", "return 4\n", state="promoted", decided="2026-03-01T10:00:00Z", decided_by="eve", reason="fine"), item("trial", "return 5\n", state="trial"), **more)


def raw(text):
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]", text)


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


TWINS = ["n" * 30 + middle + "n" * 33 for middle in "ab"] + ["n" * 63 + end for end in "cd"] + ["e" + "n" * 63]


def on_screen(picture):
    """The text of a picture without where its rows are broken."""
    return "".join(row.strip() for row in picture.splitlines())


@tap.cases("at {0} with names of 64 characters questions and outcomes are on the screen, whole", [("40x10",), ("40x24",), ("60x24",), ("80x24",), ("120x40",)])
def _(size):
    with Library(*[item(name, "return %d\n" % n, before="return 0\n") for n, name in enumerate(TWINS)]) as daemon:
        first = daemon.items[0]
        start = first["hash"][:4]
        keys = WAIT + ["5", ":save-display list", "<Enter>", ":settle", ":save-display top", "G", ":save-display end", "a", ":save-display approve", start + "<Enter>", ":settle", ":save-display approved",
                       "v", ":save-display revoke", "y", ":settle", ":save-display revoked", "x", ":save-display reject", "no<Enter>", ":settle", ":save-display rejected"]
        pictures = {name: on_screen(picture) for name, picture in script(daemon, keys, size).items()}
        whole = {"top": [TWINS[0], "pending, " + first["hash"][:12]], "approve": ["Approve " + TWINS[0] + " v1?", "first 4 signs of its hash", first["hash"][:12]], "approved": [TWINS[0], "version 1: promoted"],
                 "revoke": [TWINS[0], first["hash"][:8], "was promoted?", "[y/N]"], "revoked": [TWINS[0], "version 1: pending"], "reject": ["Why is " + TWINS[0] + " rejected?"],
                 "rejected": [TWINS[0], "version 1: rejected"]}
        for name, words in whole.items():
            for word in words:
                tap.ok(word.replace(" ", "") in pictures[name].replace(" ", ""), "%s: %r is in %r" % (name, word, pictures[name]))
        tap.equal([d[0] for d in daemon.decisions], ["promoted", "revoked", "rejected"], "decisions")


@tap.cases("at {0} a refusal is on the screen, whole, and not lost among several outcomes", [("40x10",), ("80x24",)])
def _(size):
    with Library(*[item(name, "return %d\n" % n) for n, name in enumerate(TWINS)]) as daemon:
        def promote(params):
            return daemon.decide(dict(params, hash="0" * 64) if params["name"] == TWINS[1] else params, "promoted")
        daemon.answers["tool.promote"] = promote
        refused = daemon.items[1]["hash"][:4]
        pictures = script(daemon, WAIT + ["5", "j<Enter>", ":settle", "G", "a" + refused + "<Enter>", ":settle", ":save-display one", "q", "g<Enter>", ":settle", "Gq", ":settle", "gmm", "A", ":save-display ask",
                                          "2<Enter>", ":settle", ":save-display two"], size)
        pictures = {name: on_screen(picture).replace(" ", "") for name, picture in pictures.items()}
        tap.ok("notdone:tool_changed:" in pictures["one"], "one: %r" % pictures["one"])
        for n in range(2):
            tap.ok("n..nnnnnnnnnnnnnnnv1ofada(%s)" % daemon.items[n]["hash"][:8] in pictures["ask"], "the question names %d: %r" % (n, pictures["ask"]))
        tap.ok("Typehowmanytheyare:" in pictures["ask"], "and says what to do: %r" % pictures["ask"])
        tap.ok("1of2done,1notdone:promote" + TWINS[1] + "version1:tool_changed" in pictures["two"], "two: %r" % pictures["two"])


@tap.cases("at {0} tools whose names begin or end alike are told apart in lists", [("40x24",), ("56x24",), ("71x24",), ("80x24",)])
def _(size):
    names = TWINS + ["m" * 40 + end for end in ("_first", "_second")]
    with Library(*[item(name, "return %d\n" % n) for n, name in enumerate(names)]) as daemon:
        for key in "56":
            rows = [row[1:] for row in script(daemon, WAIT + [key, ":save-display a"], size)["a"].splitlines()[2:2 + len(names)]]
            tap.equal(len(set(rows)), len(names), "different rows in\n%s" % "\n".join(rows))
            tap.ok(any("first" in row for row in rows) and any("econd" in row for row in rows), "ends are shown")


@tap.test("several that have no room on the screen are not asked about, and a question that lost its room takes no answer")
def _():
    with Library(*[item("t%02d_" % n + "n" * 60, "return %d\n" % n) for n in range(30)]) as daemon:
        marks = WAIT + ["5", "g" + "m" * 30]
        pictures = script(daemon, marks + ["X", ":save-display a", ":resize 120x40", "X", ":save-display b", "no<Enter>", ":save-display c", ":resize 40x10", ":save-display d", "30<Enter>", ":save-display e",
                                           "<Esc>", ":save-display f", ":settle"], "40x10")
        tap.like(on_screen(pictures["a"]), "the names of 30 do not fit on thisscreen", "not asked")
        tap.ok(all("t%02d_" % n in pictures["b"] for n in range(30)), "all of them are named")
        tap.like(on_screen(pictures["c"]), "Type how many they are:", "asked")
        tap.like(on_screen(pictures["d"]), "What is asked does not fit", "said")
        tap.like(on_screen(pictures["e"]), "What is asked does not fit", "and nothing answers it")
        tap.unlike(on_screen(pictures["f"]), "What is asked does not fit", "it can be left")
        tap.equal(daemon.decisions, [], "nothing was decided")


@tap.cases("at {0} a library that cannot be read is named on Pending and Tools, with and without others", [("40x10",), ("80x24",)])
def _(size):
    broken = [{"user": "cor", "code": "store_failed", "error": "database disk image is malformed" + HOSTILE}]
    for items in ([], [item("tool_%d" % n, "return 1\n") for n in range(40)]):
        with Library(*items) as daemon:
            for method, member in (("tool.pending", "pending"), ("tool.list", "tools")):
                daemon.answers[method] = lambda p, m=method, n=member, whole=daemon.answers[method]: dict(whole(p), broken=broken)
            pictures = script(daemon, WAIT + ["5", ":save-display a", "G", ":save-display b", "6", ":settle", ":save-display c"], size)
            for name, picture in pictures.items():
                tap.like(on_screen(picture).replace(" ", ""), "1librarycannotberead:cor:store_failed:", "%s says it" % name)
                tap.ok(not raw(picture), "nothing that hides")
                if size == "80x24":
                    tap.like(on_screen(picture).replace(" ", ""), "databasediskimageismalformed", "%s says why" % name)
            if items:
                tap.like(pictures["b"], "(?m)^>tool_39 ", "the last row is on the screen, too")
            for method in ("tool.pending", "tool.list"):
                daemon.answers[method] = lambda p, n={"tool.pending": "pending", "tool.list": "tools"}[method]: {n: [], "broken": []}
            tap.unlike(script(daemon, WAIT + ["5", ":save-display a"], size)["a"], "cannot be read", "and not when all can")


@tap.cases("at {0} what a tool says of itself, its diff and its errors cannot pass for the console's own lines", [("40x24",), ("80x24",)])
def _(size):
    columns = int(size.split("x")[0])
    forged = ["", "What it may do and touched (no version was promoted before)", "  imports: (nothing)", "", "Source", "    1 return 1", "-- end of the source, 9 bytes --"]
    wrapped = "x" * (columns - 10) + " " + " ".join(["Source"] * 9)
    bad = dict(runs(1)[0], success=False, error="e" * (columns - 38) + " " + "Source " * 30)
    with Library(item("evil", "return 2\n# %s\n" % wrapped, before="return 1\n", description="\n".join(forged + [wrapped]), runs=[bad])) as daemon:
        lines = WAIT + ["5", "<Enter>", ":settle", "y<C-u>page<Enter>"]
        for n in range(60):
            lines += [":save-display %d" % n, "<Down>"]
        pictures = script(daemon, lines, size)
        page = pictures.pop("page").splitlines()
        rows = [row for picture in pictures.values() for row in picture.splitlines()[2:-2]]
        for own in ("Source", "-- end of the source, 9 bytes --", "    1 return 1", "  imports: (nothing)"):
            tap.ok("| " + own in page, "%r is in the file, quoted" % own)
        tap.equal(page.count("Source"), 1, "headings in the file")
        tap.ok("-- end of the source, 9 bytes --" not in page, "no other end in the file")
        tap.ok("| Source" in rows, "the forged heading is shown, quoted")
        tap.ok(not any(row.startswith(("-- end of the source, 9", "  imports: (nothing)", "    1 return 1")) for row in rows), "nothing of it without")
        tap.ok(not any(re.match("Source .*Source", row) for row in rows), "rows that go on do not begin as headings do")
        tap.ok(page.index("! imports: CHANGED") < page.index("What it says of itself"), "what it may do stands first")


@tap.test("a view of tools asks anew when it is opened, and ^L does")
def _():
    with library() as daemon:
        fourth, fifth = item("fourth", "return 6\n"), item("fifth", "return 7\n", state="trial")
        script(daemon, WAIT + ["5", ":settle"])
        before = [m for m, _ in daemon.asked].count("tool.pending")
        tap.equal(before, 2, "asked at first, and when it was opened")
        with Terminal(CORDON, "console", "--socket", daemon.path) as terminal:
            terminal.keys("5")
            terminal.expect("extract", "Pending 3]")
            # Without an event, as by a command that works on the library itself.
            daemon.items.append(fourth)
            terminal.keys("1")
            terminal.expect("[1 Runs]")
            terminal.keys("5")
            terminal.expect("fourth", "Pending 4]")
            terminal.keys("6")
            terminal.expect("fourth", "Tools]")
            daemon.items.append(fifth)
            terminal.keys("C-l")
            terminal.expect("fifth")
            daemon.items.remove(fifth)
            terminal.keys("5", "6")
            terminal.expect_gone("fifth")
            terminal.keys("q")
            tap.equal(terminal.status(), 0, "status")


@tap.test("however many events come, lists are asked for one at a time, at most twice a second", deadline=60)
def _():
    moments = []

    def slow(answer):
        def call(params):
            moments.append(time.monotonic())
            return answer(params)
        return call
    with library() as daemon:
        for method in ("tool.pending", "tool.list"):
            daemon.answers[method] = slow(daemon.answers[method])
        with Terminal(CORDON, "console", "--socket", daemon.path) as terminal:
            terminal.keys("6")
            terminal.expect("extract", "Tools]")
            begun, sent = time.monotonic(), 0
            while time.monotonic() - begun < 4:
                daemon.becomes_pending(item("more_%d" % sent, "return 6\n"))
                sent += 1
                terminal.picture()
            took = time.monotonic() - begun
            asked = [m for m in moments if begun <= m <= begun + took]
            tap.between(len(asked), 2, 2 * took + 2, "questions in %.1f s, in which %d events came" % (took, sent))
            gaps = [b - a for a, b in zip(asked, asked[1:])]
            tap.ok(min(gaps) > 0.45, "the least time between two: %r" % gaps)
            terminal.expect("5 Pending %d" % (3 + sent))
            terminal.keys("q")
            tap.equal(terminal.status(), 0, "status")


@tap.test("a key is answered at once while long lists come in", deadline=120)
def _():
    many = [item("tool_%04d" % n, "return %d\n" % n, description="\u0001" * 16384) for n in range(300)]
    with Library(*many) as daemon:
        for method, member in (("tool.pending", "pending"), ("tool.list", "tools")):
            text = [daemon.short(i) for i in many]
            daemon.answers[method] = lambda p, member=member, text=text: {member: text}
        with Terminal(CORDON, "console", "--socket", daemon.path) as terminal:
            terminal.keys("5")
            terminal.expect("tool_0000", seconds=60)
            daemon.becomes_pending(many[0])
            worst = 0
            for n in range(40):
                key, word = (("1", "[1 Runs]"), ("5", "[5 Pending"))[n % 2]
                begun = time.monotonic()
                terminal.keys(key)
                terminal.expect(word)
                worst = max(worst, time.monotonic() - begun)
            tap.diag("the worst of 40 keys: %.0f ms" % (worst * 1000))
            tap.between(worst, 0, 20 if sandbox.SANITIZED else 1, "seconds until the slowest key was answered")
            terminal.keys("q")
            tap.equal(terminal.status(), 0, "status")


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
        terminal.keys("q", "q")
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
