# SPDX-License-Identifier: Apache-2.0
"""The console for tests: a daemon that says what the test wants, scripts of keys, and a terminal to type at (tmux).

The pretended daemon speaks the control protocol over a socket: it answers the requests of a console, sends the events that it was given, and remembers what it was asked. What a console shows
of it depends on nothing else, so the picture can be compared with a file.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

from . import leaks, sandbox, tap


def event(sequence, kind, subject, seconds, **data):
    """One event; seconds after noon of a fixed day."""
    micro = int(round(seconds * 1e6))
    return {"sequence": sequence, "specversion": "1.0", "id": "%s-%d" % (subject, sequence), "source": "/cordon", "type": kind, "subject": subject,
            "time": "2026-03-01T12:%02d:%02d.%06dZ" % (micro // 60000000, micro // 1000000 % 60, micro % 1000000), "data": data}


class Pretended:
    """A daemon that has these events, runs in its list, and answers by method: {method: result or function of the parameters}."""

    def __init__(self, events=(), runs=(), answers=None):
        self.path = os.path.join(leaks.scratch(), "control.sock")
        self.events, self.runs, self.answers = list(events), list(runs), answers or {}
        self.asked, self.clients, self.lock = [], [], threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for client, thread in self.clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            thread.join()
            client.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(client,), daemon=True)
            self.clients.append((client, thread))
            thread.start()

    def serve(self, client):
        rest = b""
        while True:
            try:
                got = client.recv(65536)
            except OSError:
                return
            if not got:
                return
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                self.answer(client, json.loads(line))

    def result(self, method, params):
        last = self.events[-1]["sequence"] if self.events else 0
        known = {"daemon.info": {"pid": 4711, "next": last + 1, "oldest": self.events[0]["sequence"] if self.events else 1},
                 "events.subscribe": {"next": last + 1, "oldest": 1}, "sandbox.list": self.runs, "tool.pending": {"pending": []},
                 "tool.list": {"tools": []}}
        answer = self.answers.get(method, known.get(method))
        return answer(params) if callable(answer) else answer

    def answer(self, client, request):
        self.asked.append((request["method"], request["params"]))
        result = self.result(request["method"], request["params"])
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if result is None:
            answer["error"] = {"code": -32002, "message": "there is no such thing"}
        elif isinstance(result, Exception):
            answer["error"] = {"code": -32000, "message": "cordon failed", "data": {"failure": {"code": "tool_changed", "tried": str(result)}}}
        else:
            answer["result"] = result
        self.say(client, json.dumps(answer).encode() + b"\n")
        if request["method"] == "events.subscribe":
            self.say(client, b"".join(self.line(e) for e in self.events if e["sequence"] > request["params"].get("since", 0)))

    @staticmethod
    def line(item):
        return json.dumps({"jsonrpc": "2.0", "method": "event", "params": item}, ensure_ascii=False).encode() + b"\n"

    def say(self, client, text):
        with self.lock:
            try:
                client.sendall(text)
            except OSError:
                pass

    def tell(self, *events):
        """More events, to all that are connected."""
        self.events += events
        for client, _ in self.clients:
            self.say(client, b"".join(self.line(e) for e in events))

    def tell_raw(self, text):
        for client, _ in self.clients:
            self.say(client, text)


def environment(**more):
    env = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8", TERM="xterm-256color")
    for name in ("NO_COLOR", "COLORFGBG", "TMUX", "LINES", "COLUMNS"):
        env.pop(name, None)
    env.update(more)
    return env


def script(daemon, lines, size="80x24", env=None, status=0):
    """Runs a console with a script; returns {name: picture} of what `:save-display NAME` saved."""
    directory = leaks.scratch()
    keys = os.path.join(directory, "keys")
    with open(keys, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    result = sandbox.run("console", "--socket", getattr(daemon, "socket", None) or daemon.path, "--script", keys, "--size", size, cwd=directory, env=env or environment(), deadline=30)
    result.expect(status)
    pictures = {}
    for name in os.listdir(directory):
        if name != "keys":
            with open(os.path.join(directory, name), encoding="utf-8", newline="") as file:
                pictures[name] = file.read()
    shutil.rmtree(directory)
    return pictures


def golden(name, picture):
    """Compares a picture with tests/golden/NAME; CORDON_GOLDEN_UPDATE=1 writes it instead."""
    path = os.path.join(sandbox.SOURCE, "tests", "golden", name)
    if os.environ.get("CORDON_GOLDEN_UPDATE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture)
        return
    with open(path, encoding="utf-8") as file:
        wanted = file.read()
    if picture != wanted:
        lines = ["  got    |%s\n  wanted |%s" % pair for pair in zip(picture.splitlines() + [""] * 99, wanted.splitlines()) if pair[0] != pair[1]]
        tap.fail("the picture is not that of tests/golden/%s:\n%s" % (name, "\n".join(lines[:12])))


class Terminal:
    """A tmux of the test's own with one window, in which a command runs; what is waited for is always something on the screen."""

    def __init__(self, *command, columns=80, rows=24, env=None, shell=False):
        sandbox.need("tmux")
        self.directory = leaks.scratch()
        self.name = os.path.join(self.directory, "tmux.sock")
        self.env = env or environment()
        inside = "exec sh" if shell else "; ".join(["stty -g > %s/before" % self.directory, " ".join(quote(w) for w in command), "echo $? > %s/status.new" % self.directory,
                                                     "stty -g > %s/after" % self.directory, "mv %s/status.new %s/status" % (self.directory, self.directory)])
        self.call("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", "-c", inside, ";", "set", "-g", "remain-on-exit", "on")

    def call(self, *words):
        return subprocess.run(["tmux", "-S", self.name] + list(words), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, stdin=subprocess.DEVNULL).stdout.decode("utf-8", "replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pids = [int(word) for word in self.call("list-panes", "-F", "#{pane_pid}").split()] + [int(word) for word in self.call("display", "-p", "#{pid}").split()]
        self.call("kill-server")
        tap.eventually(lambda: all(leaks.is_gone(pid) for pid in pids), "tmux ended", 5)
        shutil.rmtree(self.directory, ignore_errors=True)

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def text(self, text):
        self.call("send-keys", "-l", text)

    def answer(self, label, text):
        """Answers a question: types the text until it stands there whole, since a question ignores keys at first; then Enter."""
        self.expect(label)

        def stands():
            return re.search(r"[:?] %s$" % re.escape(text), self.picture().rstrip())

        def try_again():
            self.keys("C-u")
            self.text(text)
            end = time.monotonic() + 0.4
            while not stands() and time.monotonic() < end:
                time.sleep(0.02)
            return stands()
        tap.eventually(try_again, "%r takes %r; the screen has\n%s" % (label, text, self.picture()), 10)
        self.keys("Enter")

    def reply(self, key, question="[y/N]"):
        """Answers a yes-or-no question with a key, which it ignores at first."""
        self.expect(question)

        def try_again():
            self.keys(key)
            end = time.monotonic() + 0.5
            while question in self.picture() and time.monotonic() < end:
                time.sleep(0.02)
            return question not in self.picture()
        tap.eventually(try_again, "%r takes %r" % (question, key), 10)

    def picture(self, *options):
        return self.call("capture-pane", "-p", *options)

    def expect(self, *words, seconds=10):
        """Waits until all the words are on the screen; returns the picture."""
        end = time.monotonic() + tap.patience(seconds)
        while True:
            picture = self.picture()
            if all(word in picture for word in words):
                return picture
            if time.monotonic() > end:
                tap.fail("%r did not appear; the screen has\n%s" % ([w for w in words if w not in picture], picture))
            time.sleep(0.01)

    def expect_printed(self, *words, seconds=10):
        """The same for what was printed after the end, which tmux moves up by a line."""
        tap.eventually(lambda: all(word in self.picture("-S", "-50", "-J") for word in words), "%r was printed; there is\n%s" % (words, self.picture("-S", "-50")), seconds)
        return self.picture("-S", "-50", "-J")

    def expect_gone(self, word, seconds=10):
        tap.eventually(lambda: word not in self.picture(), "%r is gone from the screen" % word, seconds)

    def status(self, seconds=10):
        path = os.path.join(self.directory, "status")
        tap.eventually(lambda: os.path.exists(path), "the command ended; the screen has\n%s" % self.picture(), seconds)
        with open(path) as file:
            return int(file.read())

    def modes(self):
        """The terminal's settings before and after the command."""
        return tuple(open(os.path.join(self.directory, name)).read() for name in ("before", "after"))

    def child(self, name):
        """The process id of a program below the window's shell."""
        pane = int(self.call("list-panes", "-F", "#{pane_pid}").split()[0])
        return tap.eventually(lambda: find_below(pane, name), "%s runs in the terminal" % name, 5)


def find_below(pid, name):
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            with open("/proc/%d/comm" % parent) as file:
                if file.read().strip() == name[:15]:
                    return parent
            with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
                queue += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return None


def quote(word):
    return "'" + str(word).replace("'", "'\\''") + "'"
