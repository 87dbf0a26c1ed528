#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed at random moments while tools are called, promoted and rejected: nothing that was acknowledged is lost, and the library is sound.

A few kills in `make check`; CORDON_SOAK_KILLS=200 is what `make soak` asks for. CORDON_SEED repeats a run.
"""
import contextlib
import os
import random
import sqlite3
import threading

from lib import leaks, tap
from lib.daemon import Client, Daemon
from lib.sandbox import PYTHON

KILLS = int(os.environ.get("CORDON_SOAK_KILLS", "8"))
SEED = int(os.environ.get("CORDON_SEED") or random.SystemRandom().randrange(1 << 30))
USER = "storm"


def spec(name, implementation):
    return {"name": name, "description": "A tool.", "parameters": {}, "implementation": implementation}


class Load:
    """What was asked for, and what of it was acknowledged; over all daemons."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.lock = threading.Lock()
        self.asked, self.answered = {"ok": 0, "bad": 0}, {"ok": 0, "bad": 0}
        self.decisions, self.spawned, self.number = [], [], 0
        self.answers, self.wanted, self.reached = 0, 0, threading.Event()

    def answer(self):
        with self.lock:
            self.answers += 1
            if self.answers >= self.wanted:
                self.reached.set()

    def request(self, client, method, **params):
        """The result; None when the daemon is gone. Whatever else comes is a mistake."""
        try:
            answer = client.request(method, dict(params, user=USER))
        except OSError:
            return None
        if answer is None:
            return None
        self.answer()
        if "result" not in answer and answer["error"]["data"]["failure"]["code"] not in ("tool_changed",):
            raise AssertionError("%s: %r" % (method, answer))
        return answer.get("result") or {}

    def calls(self, client, name):
        while True:
            with self.lock:
                self.asked[name] += 1
            result = self.request(client, "tool.call", name=name, options={"python": PYTHON})
            if result is None:
                return
            with self.lock:
                self.answered[name] += 1

    def decides(self, client, randomly):
        while True:
            with self.lock:
                self.number += 1
                number = self.number
            item = self.request(client, "tool.spawn", spec=spec("decided", "return 'decided %d'" % number), options={"python": PYTHON})
            if item is None:
                return
            with self.lock:
                self.spawned.append((item["version"], item["hash"]))
            decision = randomly.choice(("promoted", "rejected"))
            method = "tool.promote" if decision == "promoted" else "tool.reject"
            result = self.request(client, method, name="decided", hash=item["hash"], version=item["version"], reason="turn %d" % number)
            if result is None:
                return
            with self.lock:
                self.decisions.append((item["version"], item["hash"], decision))

    def run(self, randomly):
        clients = [Client(self.daemon, timeout=60) for _ in range(4)]
        jobs = [(self.calls, (clients[0], "ok")), (self.calls, (clients[1], "ok")), (self.calls, (clients[2], "bad")), (self.decides, (clients[3], randomly))]
        self.answers, self.wanted = 0, randomly.randrange(1, 16)
        self.reached.clear()
        failures = []

        def guarded(function, arguments):
            try:
                function(*arguments)
            except Exception as problem:  # told below, by the thread that may fail the test
                failures.append("%s: %r" % (function.__name__, problem))
        threads = [threading.Thread(target=guarded, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        tap.ok(self.reached.wait(60), "answers come")
        threading.Event().wait(randomly.random() * 0.05)  # a random moment, which nothing depends on
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.errors.close()
        self.daemon.process = None
        for thread in threads:
            thread.join(60)
        for client in clients:
            client.close()
        tap.equal(failures, [], "no answer was a mistake")


def check(load, path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        tap.equal(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity_check")
        for name, column in (("ok", "successes"), ("bad", "failures")):
            counted = db.execute("SELECT coalesce(sum(%s), 0) FROM counts WHERE name = ?" % column, (name,)).fetchone()[0]
            tap.between(counted, load.answered[name], load.asked[name], "calls of %s: those acknowledged, at most those asked for" % name)
            runs = db.execute("SELECT count(*) FROM runs JOIN versions ON versions.id = version_id WHERE name = ?", (name,)).fetchone()[0]
            tap.equal(runs, min(counted, 1000), "a row for each call of %s" % name)
        rows = set(db.execute("SELECT version, hash, decision FROM decisions WHERE name = 'decided'").fetchall())
        tap.equal(sorted(set(load.decisions) - rows), [], "no acknowledged decision is missing")
        tap.equal(len(rows), db.execute("SELECT count(*) FROM decisions WHERE name = 'decided'").fetchone()[0], "none is there twice")
        versions = dict(db.execute("SELECT version, hash FROM versions WHERE name = 'decided'").fetchall())
        tap.equal([v for v, h in load.spawned if versions.get(v) != h], [], "no acknowledged version is missing")
        tap.ok(db.execute("SELECT count(*) FROM versions WHERE name = 'decided' AND state = 'promoted'").fetchone()[0] <= 1, "at most one is promoted")
        states = {"promoted": ("promoted", "superseded"), "rejected": ("rejected",)}
        for version, _hash, decision in rows:
            state = db.execute("SELECT state FROM versions WHERE name = 'decided' AND version = ?", (version,)).fetchone()[0]
            tap.ok(state in states[decision], "version %d was %s and is %s" % (version, decision, state))


@tap.test("%d times KILL under load: no acknowledged call, decision or version is lost, and the file is sound" % KILLS, deadline=60 + KILLS * 10)
def _():
    tap.diag("CORDON_SEED=%d" % SEED)
    randomly = random.Random(SEED)
    home = os.path.join(leaks.scratch(), "data")
    daemon = Daemon(env=dict(os.environ, XDG_DATA_HOME=home))
    load = Load(daemon)
    with Client(daemon) as client:
        for what in (spec("ok", "return 1"), spec("bad", "raise ValueError('no')")):
            client.call("tool.spawn", {"spec": what, "user": USER, "threshold": 1000000, "options": {"python": PYTHON}})
    for _turn in range(KILLS):
        load.run(randomly)
        check(load, os.path.join(home, "cordon", "users", USER, "tools.sqlite"))
        daemon.start()
    with daemon, Client(daemon) as client:
        tap.equal(client.call("tool.call", {"name": "ok", "user": USER, "options": {"python": PYTHON}})["status"], 0, "it goes on")
        log = daemon.log()
        told = {(e["data"]["tool_version"], e["data"]["code_hash"], e["type"][5:]) for e in log if e["type"] in ("tool.promoted", "tool.rejected")}
        tap.equal(sorted(set(load.decisions) - told), [], "each acknowledged decision is an event in the log, too")
        for name, kind in (("ok", "tool.invocation_completed"), ("bad", "tool.invocation_failed")):
            tap.ok(sum(e["type"] == kind and e["data"]["tool_name"] == name for e in log) >= load.answered[name], "and each acknowledged call of %s" % name)
    tap.diag("%d calls and %d decisions were acknowledged" % (sum(load.answered.values()), len(load.decisions)))


tap.main()
