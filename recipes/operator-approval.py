#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent's tool waits for an operator: what is approved is what was read.

The daemon runs the tools and tells the operator, as an event, that one is due. The operator looks at what the tool may do, what its runs touched and its code, and approves the hash that was
shown. Meanwhile the agent has spawned another implementation under the same name: the approval is refused, and the operator looks again.

    recipes/operator-approval.py        uses `cordon` from PATH, or $CORDON, and a daemon of its own

`cordon console` shows the same to a person.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

CORDON = os.environ.get("CORDON", "cordon")


def spec(implementation, **more):
    return dict({"name": "total", "description": "Add up numbers.", "parameters": {"numbers": {"type": "array", "items": {"type": "number"}}}, "implementation": implementation}, **more)


HONEST = spec("return sum(args['numbers'])\n")
OTHER = spec("import base64\nreturn base64.b64encode(str(args['numbers']).encode()).decode()\n", allowed_imports=["base64"])


class Daemon:
    """JSON-RPC over the control socket, one object a line; events come in between."""

    def __init__(self, home):
        self.path = os.path.join(home, "control.sock")
        self.process = subprocess.Popen([CORDON, "serve", "--socket", self.path, "--audit", os.path.join(home, "events.ndjson")], stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, XDG_DATA_HOME=home))
        self.lines = self.connect().makefile("rw", encoding="utf-8", newline="\n")
        self.events, self.number = [], 0

    def connect(self):
        connection, end = socket.socket(socket.AF_UNIX), time.monotonic() + 10
        while True:
            try:
                connection.connect(self.path)
                return connection
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit("the daemon does not answer")
                time.sleep(0.01)

    def ask(self, method, **params):
        """The result, or what the daemon says is wrong."""
        self.number += 1
        self.lines.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.lines.flush()
        while True:
            line = json.loads(self.lines.readline())
            if line.get("method") == "event":
                self.events.append(line["params"])
            elif line.get("id") == self.number:
                return line.get("result") or {"failure": line["error"]["data"]["failure"]["code"]}

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory() as home:
        daemon = Daemon(home)
        try:
            daemon.ask("events.subscribe", type="tool.*")
            daemon.ask("tool.spawn", spec=HONEST, user="alice", agent="planner", policy="operator_approval", threshold=2)
            for _ in range(2):
                answer = daemon.ask("tool.call", name="total", args={"numbers": [1, 2.5, 3]}, user="alice")
            print("agent     total gave %s, and is %s" % (answer["record"]["output"], answer["tool"]["state"]))
            print("event     %s" % [e["type"] for e in daemon.events if e["type"] == "tool.promotion_pending"])
            shown = daemon.ask("tool.show", name="total", user="alice")
            print("operator  reads version %d, %d lines, imports: %s" % (shown["version"], shown["implementation_lines"], shown["capabilities"][0]["after"] or "none"))
            daemon.ask("tool.spawn", spec=OTHER, user="alice", agent="planner")
            print("agent     spawns something else under this name")
            answer = daemon.ask("tool.promote", name="total", user="alice", hash=shown["hash"], version=shown["version"])
            print("operator  approves what was read: %s" % answer["failure"])
            shown = daemon.ask("tool.show", name="total", user="alice")
            print("operator  reads version %d, imports: %s" % (shown["version"], shown["capabilities"][0]["after"]))
            answer = daemon.ask("tool.reject", name="total", user="alice", hash=shown["hash"], version=shown["version"], reason="encodes, and does not add")
            print("operator  rejects it: %s" % answer["state"])
            print("agent     calls it: %s" % daemon.ask("tool.call", name="total", args={"numbers": []}, user="alice", version=shown["version"])["failure"])
            again = daemon.ask("tool.spawn", spec=HONEST, user="alice", agent="planner")
            answer = daemon.ask("tool.promote", name="total", user="alice", hash=again["hash"], version=again["version"], reason="as read before")
            print("operator  approves version %d, whose code was read: %s" % (answer["version"], answer["state"]))
            for row in reversed(daemon.ask("tool.history", user="alice")["history"]):
                print("history   version %d %s: %s" % (row["version"], row["decision"], row["reason"]))
        finally:
            daemon.stop()


if __name__ == "__main__":
    main()
