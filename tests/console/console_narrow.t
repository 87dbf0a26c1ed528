#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The console's views of tools on narrow screens, with names that a model chose, libraries that are broken and long, and more events than there are seconds.

Nothing that is decided on may be off the screen, no outcome, and nothing that could not be listed.
"""
# Field cases: A1 forged headings in what is approved · A7 floods · approvals: truncation, choices off the screen, names alike
import re
import time

from lib import sandbox, tap
from lib.console import Terminal, script
from lib.sandbox import CORDON
from lib.tools import HOSTILE, WAIT, Library, item, raw, runs


def some():
    return Library(item("extract", "return 1\n"), item("second", "return 2\n", user="bob"), item("third", "return 3\n"))


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
    with some() as daemon:
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
            terminal.keys("q", "q", "q")
            tap.equal(terminal.status(), 0, "status")


@tap.test("however many events come, lists are asked for one at a time, at most twice a second", deadline=60)
def _():
    moments = []

    def slow(answer):
        def call(params):
            moments.append(time.monotonic())
            return answer(params)
        return call
    with some() as daemon:
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
            terminal.keys("q", "q", "q")
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
            terminal.keys("q", "q", "q")
            tap.equal(terminal.status(), 0, "status")


tap.main()
