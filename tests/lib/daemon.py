# SPDX-License-Identifier: Apache-2.0
"""A daemon for a test, and clients of it.

Each daemon has a control socket and an audit log in a scratch directory of its own, so several tests, and several users of one machine, do not meet.
"""
import json
import os
import signal
import socket
import subprocess
import time

from . import leaks, sandbox, tap


class Daemon:
    def __init__(self, *options, directory=None, env=None, preexec=None):
        self.directory = directory or leaks.scratch()
        self.socket = os.path.join(self.directory, "control.sock")
        self.audit = os.path.join(self.directory, "events.ndjson")
        self.options, self.env, self.preexec, self.process = options, env, preexec, None
        self.start()

    def start(self):
        self.errors = open(os.path.join(self.directory, "stderr"), "ab")
        self.process = subprocess.Popen([sandbox.CORDON, "serve", "--socket", self.socket, "--audit", self.audit] + [str(o) for o in self.options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors, cwd=self.directory, env=self.env,
                                        preexec_fn=self.preexec)
        tap.eventually(self.answers, "the daemon answers\n%s" % self.said(), 10)

    def said(self):
        with open(os.path.join(self.directory, "stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def answers(self):
        if self.process.poll() is not None:
            tap.fail("the daemon ended with %r\n%s" % (self.process.returncode, self.said()))
        try:
            with Client(self) as client:
                return client.call("daemon.info")["pid"] == self.process.pid
        except OSError:
            return False

    def stop(self, number=signal.SIGTERM, seconds=15):
        if self.process is None:
            return None
        self.process.send_signal(number)
        try:
            status = self.process.wait(tap.patience(seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            tap.fail("the daemon did not end within %d s of signal %d" % (seconds, number))
        self.errors.close()
        self.process = None
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        if self.process is not None:
            status = self.stop()
            if kind is None:
                tap.equal(status, 0, "status of the daemon\n%s" % self.said())

    def log(self):
        """Every event of the audit log, older files first."""
        names = [self.audit + ".%d" % n for n in range(1000, 0, -1)] + [self.audit]
        events = []
        for name in names:
            if os.path.exists(name):
                with open(name, "rb") as file:
                    events += [sandbox.strict_json(line.decode("utf-8")) for line in file]
        return events

    def resident(self):
        with open("/proc/%d/statm" % self.process.pid) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))


class Client:
    """JSON-RPC over the control socket, one line at a time."""

    def __init__(self, daemon, timeout=30):
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.settimeout(tap.patience(timeout))
        try:
            self.connection.connect(daemon.socket)
        except OSError:
            self.connection.close()
            raise
        # Numbers below 1,000,000 are for what a test sends itself and is still to be answered.
        self.rest, self.number, self.events = b"", 1000000, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def send(self, method, params=None, number=None):
        request = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if number is not None:
            request["id"] = number
        self.connection.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")

    def line(self):
        """The next line, or None at the end of the connection."""
        while b"\n" not in self.rest:
            try:
                got = self.connection.recv(1 << 16)
            except ConnectionError:
                got = b""
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return sandbox.strict_json(line.decode("utf-8"))

    def answer(self, number=None):
        """The next answer (to a request of that number); events on the way are kept."""
        while True:
            line = self.line()
            if line is None:
                return None
            if line.get("method") == "event":
                self.events.append(line["params"])
            elif number is None or line.get("id") == number:
                return line

    def request(self, method, params=None):
        """The whole answer."""
        self.number += 1
        self.send(method, params, self.number)
        return self.answer(self.number)

    def call(self, method, params=None):
        answer = self.request(method, params)
        if answer is None or "result" not in answer:
            tap.fail("%s: %r" % (method, answer))
        return answer["result"]

    def event(self, kind=None, seconds=10):
        """The next event (of a type)."""
        end = time.monotonic() + tap.patience(seconds)
        while True:
            event = self.events.pop(0) if self.events else None
            if event is None:
                line = self.line()
                if line is None:
                    tap.fail("the connection ended before an event %s" % kind)
                event = line.get("params") if line.get("method") == "event" else None
            if event and (kind is None or event["type"] == kind):
                return event
            if time.monotonic() > end:
                tap.fail("no event %s in time" % kind)


def command(*words, **options):
    return {"program": {"kind": "command", "argv": list(words)}, "options": options}


def body(text, **options):
    return {"program": {"kind": "body", "text": text}, "options": dict(options, python=sandbox.PYTHON)}
