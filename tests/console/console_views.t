#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The console's views, drawn into memory by scripts of keys and compared with pictures, and how its keys behave.

The daemon is a pretended one, so every picture is the same on every machine.
"""
# Field cases: A1 hostile text at every place · console habits: follow latch, filters that keep the event, freeze, search, marks, export without borders
import json
import os
import re

from lib import leaks, sandbox, tap
from lib.console import Pretended, environment, event, golden, script
from lib.tools import Library, hash_of, item

A, B, C, D, E = ("%x" % n * 32 for n in range(10, 15))
LIMITS = {"timeout_ms": 60000, "memory_bytes": 536870912, "pids": 64}
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x1bP+q\x1b\\ \u202egnp.exe\u2066 \u200b\u00ad\u0085\x9b2J \U0010ffff \x7f"


HELD = {"namespaces": ["user", "mount", "pid"], "view": "mixed", "seccomp": "command", "network": "none", "cgroup_or_watchdog": "cgroup"}


def usage(user, system, memory, processes=1):
    return {"cpu_user_ms": user, "cpu_system_ms": system, "peak_memory_bytes": memory, "peak_processes": processes, "written_bytes": 0}


def started(sequence, run, seconds, name, command=None, **more):
    return event(sequence, "sandbox.started", run, seconds, schema=1, version="0.1.0", policy="0123456789abcdef" * 4, program="script", name=name, **({"command": command} if command else {}), tier="namespace",
                 limits=dict(LIMITS, **more), confinement=dict(HELD, seccomp="none"))


def story():
    n = iter(range(1, 1000))
    events = [started(next(n), A, 1, "demo.py", "demo.py --fast \u202e"), event(next(n), "sandbox.confined", A, 1.005, confinement=HELD), event(next(n), "process.started", A, 1.01, pid=700, pid_inside=2, parent_inside=1, command="python3 demo.py")]
    for i in range(24):
        events.append(event(next(n), "resource.sample", A, 1.25 + i * .25, cpu_ms=100 + i * (60 + 90 * (i % 4)), memory_bytes=(10 + 3 * (i % 7)) << 20, processes=1 + i % 3,
                            workspace_bytes=4096, elapsed_ms=250 + i * 250))
    events += [
        event(next(n), "fs.opened", A, 7.1, path="/srv/\u8cc7\u6599/caf\u00e9.txt", decision="allow", rule="ro:1", pid=700, comm="python3", flags=["read"], count=3),
        event(next(n), "fs.denied", A, 7.2, path="/srv/shop/.env", decision="deny", rule="secret:env", pattern="**/.env", pid=700, comm="python3", flags=["read"], count=1),
        event(next(n), "syscall.denied", A, 7.3, syscall="ptrace", arguments={"request": 0, "pid": 0}, decision="deny", rule="seccomp command", pid=700, comm="python3", count=1),
        event(next(n), "output.stdout", A, 7.4, text="first line\n\u6f22\u5b57 wide, e\u0301 combined\n"),
        event(next(n), "output.stderr", A, 7.5, text="warning: " + HOSTILE + "\n"),
        event(next(n), "output.stdout", A, 7.6, text="no newline at the end"),
        started(next(n), B, 8, "/tmp/\u202eevil\x1b[2J.py"),
        event(next(n), "net.denied", B, 8.1, decision="deny", rule="network none", count=2),
        event(next(n), "sandbox.executed", B, 8.2, success=False, exit_code=3, duration_ms=200, error="Error: " + HOSTILE, usage=usage(120.5, 29.75, 40 << 20, 2), observed=[], lost=0),
        started(next(n), C, 9, "slow.py", timeout_ms=500),
        event(next(n), "limit.hit", C, 9.5, limit="wall-time", value=500),
        event(next(n), "sandbox.executed", C, 9.6, success=False, signal=9, ended_by="timeout", duration_ms=500, usage=usage(5.25, 0, 2 << 20), observed=[], lost=0),
        started(next(n), D, 10, "held.py"), event(next(n), "sandbox.paused", D, 10.5, elapsed_ms=500),
        event(next(n), "events.dropped", "", 11, count=12, since=40),
        event(next(n), "thing.unknown", A, 12, some="thing " + HOSTILE),
    ]
    return events


RUNS = [{"execution_id": A, "method": "sandbox.run", "state": "running"}, {"execution_id": D, "method": "sandbox.run", "state": "paused"},
        {"execution_id": E, "method": "sandbox.run", "state": "waiting", "program": "command", "name": "/bin/echo", "command": "/bin/echo one two"}]


def show(params):
    return {"execution_id": params["execution_id"], "state": "running", "method": "sandbox.run", "options": {},
            "program": {"kind": "script", "name": "demo.py", "text": "import os\n\nprint('\u6f22\u5b57')  # \u202e hidden\nx = '%s'\n" % ("long " * 40)},
            "record": {"success": True, "output": {"n": 12345678901234567890}, "stdout": "", "confinement": HELD}}


def pretended():
    return Pretended(story(), RUNS, {"sandbox.show": show, "sandbox.kill": {"ok": True}, "sandbox.pause": {"ok": True}, "sandbox.resume": {"ok": True}})


COUNT = len(story())
WAIT = [":events %d" % COUNT, ":settle"]
TO_A = ["/demo<Enter>", "<Esc>"]


def raw(text):
    """What may not be in a picture, whoever wrote it."""
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]", text)


@tap.cases("{0} at {1} looks as it should", [(view, size) for view in ("runs", "events", "output", "detail", "event", "help") for size in ("80x24", "120x40")])
def _(view, size):
    keys = {"runs": [], "events": ["2"], "output": TO_A + ["3"], "detail": TO_A + ["4", ":settle"], "event": ["2", "/ptrace<Enter>", "<Esc>", "<Enter>"], "help": ["?"]}[view]
    with pretended() as daemon:
        picture = script(daemon, WAIT + keys + [":save-display picture"], size)["picture"]
        columns, rows = map(int, size.split("x"))
        tap.equal(len(picture.splitlines()), rows, "rows")
        tap.ok(not raw(picture), "nothing in it acts on a terminal or hides: %r" % raw(picture))
        golden("%s-%s.txt" % (view, size), picture)


@tap.test("text of others is made visible in every view and in every size of it")
def _():
    lines = list(WAIT)
    for number, size in enumerate(("40x10", "41x11", "80x24", "200x60", "300x100", "500x200", "57x13")):
        lines.append(":resize " + size)
        for view in "1234":
            lines += [view, "G", ":save-display %s-%d" % (view, number)]
        lines += ["2", "g<Enter>", ":save-display e-%d" % number, "q"]
        lines += ["2", "G<Enter>", ":save-display f-%d" % number, "q"]
    with pretended() as daemon:
        for name, picture in script(daemon, lines).items():
            tap.ok(not raw(picture), "%s: %r" % (name, raw(picture)))


@tap.test("columns stay where they are, whatever widths characters have")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + ["2", "/caf<Enter>", "<Esc>", ":save-display a"], "120x40")
        row = [line for line in pictures["a"].splitlines() if "caf" in line][0]
        tap.like(row, r"^>12:00:07\.100 aaaaaa allow  python3\[700\] /srv/\u8cc7\u6599/caf\u00e9\.txt read rule ro:1 x3$", "row")


@tap.test("a terminal that is too small says so, and survives every size down to nothing")
def _():
    lines = list(WAIT)
    for columns, rows in ((39, 24), (80, 9), (10, 3), (1, 1), (2, 1), (1, 30)):
        lines += [":resize %dx%d" % (columns, rows), "j", ":save-display %dx%d" % (columns, rows)]
    lines += [":resize 80x24", ":save-display again"]
    with pretended() as daemon:
        pictures = script(daemon, lines)
        tap.like(pictures["39x24"], "terminal too small", "39x24")
        tap.like(pictures["80x9"], "terminal too small", "80x9")
        tap.like(pictures["again"], r"\[1 Runs\]", "again")


@tap.test("outside UTF-8 everything is ASCII")
def _():
    with pretended() as daemon:
        for name, picture in script(daemon, WAIT + ["2", ":save-display a"] + ["1"] + TO_A + ["4", ":settle", ":save-display b", "3", ":save-display c"], env=environment(LC_ALL="C")).items():
            tap.ok(picture.isascii(), "%s: %r" % (name, re.findall(r"[^\x00-\x7f]", picture)))
            if name == "b":
                tap.like(picture, r"[.:]*#+", "plots have signs")


@tap.test("the stream follows its end until somebody moves, and again at the end; what came meanwhile is counted")
def _():
    with pretended() as daemon:
        number = [COUNT]

        def more(count):
            daemon.tell(*[event(number[0] + 1 + i, "output.stdout", A, 20 + i, text="news %d\n" % (number[0] + i)) for i in range(count)])
            number[0] += count
        # The pretended daemon talks in between by its answers to sandbox.show, which a key asks for.
        daemon.answers["sandbox.show"] = lambda params: more(5) or show(params)
        pictures = script(daemon, WAIT + ["2", ":save-display a", "kkk", ":save-display b", "1", "4", ":events %d" % (COUNT + 5), "2", ":save-display c", "G", ":save-display d"])
        cursor = {name: [line for line in picture.splitlines() if line.startswith(">")][0] for name, picture in pictures.items()}
        tap.like(cursor["a"], "thing.unknown", "at the end")
        tap.unlike(pictures["a"], "PAUSED", "at the end")
        tap.like(pictures["b"], "PAUSED", "after moving up")
        tap.equal(cursor["c"], cursor["b"], "the same event at the cursor")
        tap.equal(pictures["c"].splitlines()[1:-2], pictures["b"].splitlines()[1:-2], "nothing moved")
        tap.like(pictures["c"], r"PAUSED \+5 ", "what came is counted")
        tap.like(cursor["d"], "news", "the end again")
        tap.unlike(pictures["d"], "PAUSED", "the end again")


@tap.test("a filter hides, survives, and leaves the cursor with its event")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + ["2", "/ptrace<Enter>", "<Esc>", "fdeny !network<Enter>", ":save-display a", "1", "2", ":save-display b", "f<C-u><Enter>", ":save-display c",
                                          "f<C-u>sandbox.executed<Enter>", ":save-display d", "f<C-u>nowhere<Enter>", ":save-display e"])
        rows = [line for line in pictures["a"].splitlines() if "12:00:" in line]
        tap.equal(len(rows), 2, "rows with DENY, without network\n%s" % pictures["a"])
        tap.like(pictures["a"], r"(?m)^>.*ptrace", "cursor")
        tap.equal(pictures["b"].splitlines()[1:], pictures["a"].splitlines()[1:], "after another view")
        tap.like(pictures["c"], r"(?m)^>.*ptrace", "the same event after the filter is gone")
        tap.equal(len([line for line in pictures["d"].splitlines() if "12:00:" in line]), 2, "types are searched, too")
        tap.like(pictures["e"], "No event has these words", "nothing")


@tap.test("Space holds the picture still in every view")
def _():
    with pretended() as daemon:
        number = [COUNT]

        def more(params):
            daemon.tell(event(number[0] + 1, "output.stdout", A, 20, text="\nnews\n"), event(number[0] + 2, "sandbox.executed", A, 21, success=True, exit_code=0, duration_ms=99,
                                                                                           observed=[], lost=0))
            number[0] += 2
            return {"ok": True}
        daemon.answers["sandbox.pause"] = more
        for view in ("1", "2", "3", "4"):
            number[0] = COUNT
            daemon.events = story()
            pictures = script(daemon, WAIT + TO_A + [view, "<Space>", ":save-display a", ":pause", ":events %d" % (COUNT + 2), ":settle", ":save-display b", "<Space>", ":save-display c"])
            tap.equal(pictures["b"].splitlines()[1:-2], pictures["a"].splitlines()[1:-2], "view %s stands still" % view)
            tap.like(pictures["b"], r"PAUSED \+2 ", "view %s counts" % view)
            tap.ok(pictures["c"].splitlines()[1:-2] != pictures["a"].splitlines()[1:-2], "view %s goes on" % view)
            tap.unlike(pictures["c"], "PAUSED", "view %s" % view)


@tap.test("search finds while it is typed, goes on with n and N, and Esc drops it")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + ["2", "g", "/sand", ":save-display a"] + ["<Esc>", "/sandbox<Enter>", ":save-display b", "n", ":save-display c", "N", ":save-display d", "/nowhere",
                                                                              ":save-display e", "<Esc>", "4", ":settle", "/hidden<Enter>", ":save-display f"])
        cursor = {name: [line for line in picture.splitlines() if line.startswith(">")][0] for name, picture in pictures.items() if name < "f"}
        tap.like(pictures["a"], r"(?m)^/sand", "the prompt")
        tap.like(cursor["a"], "start", "while it is typed")
        tap.ok(cursor["c"] != cursor["b"] and cursor["d"] == cursor["b"], "n and N: %r" % cursor)
        tap.like(pictures["e"], "not found: nowhere", "nothing found")
        tap.like(pictures["f"], r"(?m)^ +3 print\('\u6f22\u5b57'\)  # <U\+202E> hidden", "in a page")


def title(picture):
    """The view that is marked in the title line."""
    return re.search(r"\[\d (\w+)", picture.splitlines()[0]).group(1)


@tap.test("q goes back along the way that led here, and leaves from the first view alone")
def _():
    chain = TO_A + ["<Enter>", "3", "2", "g<Enter>", "4", "5", "6", "<Tab>", "<Tab>", "?"]
    with pretended() as daemon:
        lines = list(WAIT) + ["2", "1"] + chain
        for step in range(8):
            lines += [":save-display %d" % step, "q"]
        pictures = script(daemon, lines)
        # Tab leads from Tools to Runs, which is the first view, and from there to Events: the way is that of two views and the help.
        tap.equal([title(pictures[str(n)]) for n in range(3)], ["Events", "Events", "Runs"], "views")
        tap.ok("3" not in pictures, "from the first view it leaves")
        pictures = script(daemon, WAIT + TO_A + ["<Enter>", "3", "2", "g<Enter>", "?"] + sum(([":save-display %d" % n, "q"] for n in range(8)), []))
        tap.equal([pictures[str(n)].splitlines()[1].split()[0] for n in range(6)], ["KEYS", "EVENT", "TIME", "OUTPUT", "DETAIL", "vRUN"], "every view of the way")
        tap.ok("6" not in pictures, "from the first view it leaves")
        pictures = script(daemon, WAIT + ["3", ":resize 30x8", "q", ":resize 80x24", ":save-display a", ":resize 30x8", "q", ":resize 80x24", ":save-display b"])
        tap.equal((title(pictures["a"]), "b" in pictures), ("Runs", False), "on a terminal that is too small, too")


@tap.test("keys mean the run at the cursor of the view that is shown, and none where there is none")
def _():
    b_in_events = ["2", "/rule network none<Enter>", "<Esc>"]
    with pretended() as daemon:
        def shown(keys, size="80x24"):
            return script(daemon, WAIT + TO_A + keys + [":settle", ":save-display a"], size)["a"]
        for keys in (b_in_events, b_in_events + ["<Enter>"]):
            tap.like(shown(keys + ["o"]), "OUTPUT of bbbbbb", "o after %r" % keys)
            tap.like(shown(keys + ["4"]), "DETAIL of bbbbbb", "4 after %r" % keys)
            tap.like(shown(keys + ["e"]), r"(?s)OF THIS RUN.*network rule network none", "e after %r" % keys)
        tap.like(shown(["3", "4"]), "DETAIL of aaaaaa", "Output's own")
        tap.like(shown(b_in_events + ["K"]), "bbbbbb has ended already", "K in Events")
        nothing = ["2", "/events.dropped<Enter>", "<Esc>"]
        tap.like(shown(nothing + ["o"]), "No run is chosen", "o on an event of no run")
        tap.like(shown(nothing + ["e"]), "there is no run at the cursor", "e on an event of no run")
        tap.like(shown(["fnothing-like-it<Enter>", "o"]), "No run is chosen", "o on an empty table")
        tap.like(shown(["5", "o"]), "No run is chosen", "o in an empty list of tools")


@tap.test("of a tool, the keys mean its newest run")
def _():
    data = {"user": "ada", "tool_version": 2, "code_hash": hash_of("extract 2 x\n")}
    ran = [event(COUNT + 1, "tool.invocation_completed", B, 13, tool_name="extract", duration_ms=5, **data), event(COUNT + 2, "tool.invocation_failed", C, 14, tool_name="extract", error="x", duration_ms=5, **data),
           event(COUNT + 3, "tool.invocation_completed", A, 15, tool_name="other", duration_ms=5, **data)]
    with Library(item("extract", "x\n", version=2), events=story() + ran) as daemon:
        for view in ("5", "6"):
            for opened in ([], ["<Enter>", ":settle"]):
                tap.like(script(daemon, [":events %d" % (COUNT + 3), ":settle"] + TO_A + [view] + opened + ["o", ":save-display a"])["a"], "OUTPUT of cccccc", "%s %r" % (view, opened))


@tap.test("runs that wait are counted apart and have their names, from the event and from the list")
def _():
    queued = [event(COUNT + 1, "sandbox.queued", "f" * 32, 13, program="tool.call", name="extract"), event(COUNT + 2, "sandbox.queued", "9" * 32, 13.1, program="command", name="make", command="make -j2 \x1b[2J")]
    with Pretended(story() + queued, RUNS + [{"execution_id": run * 32, "method": "sandbox.run", "state": "waiting"} for run in "f9"]) as daemon:
        for size, counts in (("80x24", "2 live, 3 waiting"), ("120x40", "2 live, 3 waiting, 7 runs")):
            picture = script(daemon, [":events %d" % (COUNT + 2), ":settle", ":save-display a"], size)["a"]
            tap.like(picture.splitlines()[0], r" %s *$" % counts, "counts")
            for row in ("ffffff extract +.*waiting", r"999999 make -j2 <U\+001B.*waiting", "eeeeee /bin/echo one two +.*waiting"):
                tap.like(picture, row, "rows")


@tap.test("memory and processor of runs that have ended are the record's, and sort so")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + [":sort MEM", ":save-display m", ":sort CPU", ":save-display c", "/evil<Enter>", "<Esc>", "4", ":settle", ":save-display d"])

        def order(name):
            return [line[1:7] for line in pictures[name].splitlines()[2:7]]
        tap.like(pictures["m"], r"bbbbbb .* 74% +40\.0M", "of the record")
        tap.equal(order("m"), [B[:6], A[:6], C[:6], E[:6], D[:6]], "by memory")
        tap.equal(order("c"), [A[:6], B[:6], C[:6], E[:6], D[:6]], "by processor")
        tap.like(pictures["d"], r"took +200ms; 149ms of CPU time, at most 40\.0M of memory and 2 processes", "in full")


@tap.cases("a run whose end has {0} is shown as {1}", [
    ({"signal": 9, "ended_by": "timeout"}, "timed out", "--timeout"), ({"signal": 9, "ended_by": "memory"}, "oom", "--memory"), ({"signal": 9, "ended_by": "operator"}, "killed: operator", "an operator ended it"),
    ({"signal": 9, "ended_by": "client"}, "killed: client", "a client asked"), ({"signal": 9, "ended_by": "client_gone"}, "client gone", "went away"), ({"signal": 9, "ended_by": "daemon_stop"}, "killed: daemon", "the daemon ended"),
    ({"signal": 15, "ended_by": "signal"}, "signal 15", "passed on"), ({"signal": 11}, "signal 11", ""), ({"failure": "view_lost", "error": "x"}, "view lost", ""), ({"failure": "seccomp_denied"}, "seccomp denied", "")])
def _(data, word, why):
    events = [started(1, A, 1, "x.py"), event(2, "sandbox.executed", A, 2, success=False, duration_ms=500, observed=[], lost=0, **data)]
    with Pretended(events) as daemon:
        pictures = script(daemon, [":events 2", ":settle", ":save-display a", "4", ":settle", ":save-display b"])
        tap.like(pictures["a"], r"aaaaaa x\.py +%s  " % word, "the row")
        tap.like(pictures["b"], r"(?m)^state +%s%s" % (word, ": .*" + why if why else "$"), "in full")


@tap.test("the first picture of a live run has the confinement, and says whether all of it is in force yet")
def _():
    begun = started(1, A, 1, "x.py")
    for events, line in (([begun], r"so far +seccomp none, files mixed, network none, memory cgroup; namespaces user,mount,pid"),
                         ([begun, event(2, "sandbox.confined", A, 1.1, confinement=HELD)], r"held by +seccomp command, files mixed, network none, memory cgroup; namespaces")):
        with Pretended(events, RUNS[:1], {"sandbox.show": lambda params: dict(show(params), record=None)}) as daemon:
            tap.like(script(daemon, [":events %d" % len(events), "4", ":save-display a"], "120x24")["a"], line, "without an answer of the daemon")


@tap.test("killing asks first, no is the default, and the question is bound to the run")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + TO_A + ["K", ":save-display a"])
        tap.like(pictures["a"], r"(?m)^End aaaaaa demo\.py --fast <U\+202E>\? \[y/N\]$", "question")
        for answer in ("<Enter>", "n", "<Esc>", "x", "<Space>", "q"):
            script(daemon, WAIT + TO_A + ["K" + answer, ":settle"])
        tap.ok(not any(method == "sandbox.kill" for method, _ in daemon.asked), "no is the default")
        script(daemon, WAIT + TO_A + ["Ky", ":settle"])
        tap.equal([p for m, p in daemon.asked if m == "sandbox.kill"], [{"execution_id": A, "by": "operator"}], "yes")
        pictures = script(daemon, WAIT + ["/evil<Enter>", "<Esc>", "K", ":save-display b"])
        tap.like(pictures["b"], "bbbbbb has ended already", "a run that has ended")


@tap.test("pausing and resuming, by state")
def _():
    with pretended() as daemon:
        script(daemon, WAIT + TO_A + ["p", ":settle"])
        script(daemon, WAIT + ["/held<Enter>", "<Esc>", "p", ":settle"])
        tap.equal([(m, p["execution_id"]) for m, p in daemon.asked if m in ("sandbox.pause", "sandbox.resume")], [("sandbox.pause", A), ("sandbox.resume", D)], "requests")


@tap.test("marked events go to a new file, as JSON that hides nothing; no file is overwritten")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + ["2", "/ptrace<Enter>", "<Esc>", "m", "/thing<Enter>", "<Esc>", "m", ":save-display a", "y<C-u>out<Enter>", "y<C-u>out<Enter>", ":save-display b"])
        lines = pictures["out"].splitlines()
        tap.equal([json.loads(line)["type"] for line in lines], ["syscall.denied", "thing.unknown"], "events")
        tap.ok(not raw(pictures["out"].replace("\n", "")), "nothing hides in it: %r" % pictures["out"])
        tap.equal(json.loads(lines[1])["data"]["some"], story()[-1]["data"]["some"], "and nothing is lost")
        tap.like(pictures["a"], "2 marked", "status")
        tap.like(pictures["b"], "out is there already; it stays as it is", "a second time")
        pictures = script(daemon, WAIT + TO_A + ["3", "y<C-u>text<Enter>"])
        tap.equal(pictures["text"].splitlines()[0], "first line", "output without borders")
        tap.ok(not raw(pictures["text"].replace("\n", "")), "visible")


@tap.test("sorting, reverse, relative time, wrap, and actions by their names")
def _():
    with pretended() as daemon:
        pictures = script(daemon, WAIT + [":sort DENY", ":save-display a", "S", ":save-display b", ":sort nothing", ":save-display c", "2", ":times", ":save-display d", "1"] + TO_A +
                          ["4", ":settle", ":next-section", ":save-display e", "w", ":save-display f", ":nonsense", ":save-display g"])

        def order(name):
            return [line[1:7] for line in pictures[name].splitlines()[2:7]]
        tap.equal(order("a"), [B[:6], A[:6], E[:6], D[:6], C[:6]], "by refusals")
        tap.equal(order("b")[-2:], [B[:6], A[:6]], "the other way round")
        tap.like(pictures["c"], 'no column "nothing"', "no such column")
        tap.like(pictures["d"], r"(?m)^> +\+11\.000s", "time since the start")
        tap.equal(pictures["e"].count("long"), 40, "broken lines")
        tap.ok(pictures["f"].count("long") < 20, "cut lines")
        tap.like(pictures["g"], 'no command "nonsense"', "no such command")


@tap.test("lines that are no protocol are counted and harm nothing")
def _():
    with pretended() as daemon:
        def noise(params):
            for text in (b"\xff\xfe\n", b"{}\n", b"[]\n", b'{"jsonrpc":"2.0","method":"event","params":7}\n', b'{"jsonrpc":"2.0","method":"event","params":{"sequence":"x"}}\n',
                         b'{"id":99999,"result":{}}\n', b'{"jsonrpc":"2.0","method":"event","params":{"sequence":9999,"type":"twice","type":"twice","subject":"x","data":{}}}\n',
                         b'{"jsonrpc":"2.0","method":"event","params":{"sequence":9998,"type":"twice","subject":"\xff","data":{}}}\n', b'{"jsonrpc":"2.0","method":"event","params":{"a":1,"a":2}}\n', b"x" * 300000 + b"\n"):
                daemon.tell_raw(text)
            return show(params)
        daemon.answers["sandbox.show"] = noise
        pictures = script(daemon, WAIT + ["4", ":settle", ":wait lines of the daemon", ":save-display a", "2G", ":save-display b"])
        tap.unlike(pictures["b"], "twice", "what did not pass the gate is not shown")
        tap.like(pictures["a"], "lines of the daemon were none of the protocol's", "said")


@tap.test("a daemon that goes away in the middle of an answer leaves what is known")
def _():
    with pretended() as daemon:
        def drop(_):
            for client, _thread in list(daemon.clients):
                client.shutdown(2)
            return None
        daemon.answers["sandbox.show"] = drop
        script(daemon, WAIT + ["4", ":settle", "1", ":save-display a"])
        tap.ok(len([m for m, _ in daemon.asked if m == "sandbox.show"]) >= 1, "asked")
        tap.ok(len([m for m, _ in daemon.asked if m == "events.subscribe"]) >= 2, "and connected again")


@tap.test("no daemon, a bad script, bad options")
def _():
    missing = os.path.join(leaks.scratch(), "none")
    tap.like(sandbox.run("console", "--socket", missing).expect(125).errors, r"\[daemon_missing\]", "no daemon")
    with pretended() as daemon:
        for option in (("--size", "80"), ("--size", "0x0"), ("--size", "80x24x"), ("--size", "501x10"), ("--theme", "pink")):
            sandbox.run("console", "--socket", daemon.path, *option).expect(64)
        sandbox.run("console", "--socket", daemon.path, "--script", missing).expect(125)
        name = os.path.join(leaks.scratch(), "keys")
        with open(name, "w") as file:
            file.write("\xff\n")
        with open(name, "wb") as file:
            file.write(b"\xff\n")
        tap.like(sandbox.run("console", "--socket", daemon.path, "--script", name).expect(64).errors, "line 1 of the script", "no such key")


tap.main()
