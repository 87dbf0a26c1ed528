# SPDX-License-Identifier: Apache-2.0
"""A pretended library of tools for the console's tests: items, their details, and decisions that do what the daemon's do."""
import difflib
import hashlib
import re

from .console import Pretended, event

# What acts on a terminal or hides in it; keys that wait until the lists are there; keys that read the first tool that waits to its end.
HOSTILE = "\x1b[2J\x1b]0;pwn\x07 \u202egnp.exe\u2066 \u200b\u00ad\u0085 \U000e0041"
WAIT = [":events 1", ":settle"]
READ = ["5", "<Enter>", ":settle", "G"]


def hash_of(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def item(name, text, version=1, state="pending", user="ada", successes=3, failures=0, **more):
    known = {"user": user, "name": name, "version": version, "hash": hash_of("%s %d %s" % (name, version, text)), "state": state, "policy": "operator_approval", "threshold": 3, "successes": successes,
             "failures": failures, "description": "what %s does" % name, "created": "2026-03-01T11:00:00Z", "due": "2026-03-01T11:30:00Z" if state == "pending" else None, "decided": None,
             "decided_by": None, "reason": None, "text": text, "before": None, "runs": []}
    known.update(more)
    return known


class Library(Pretended):
    def __init__(self, *items, **more):
        self.items, self.decisions, self.log = list(items), [], []
        super().__init__(more.pop("events", [event(1, "sandbox.executed", "c" * 32, 0, success=True, duration_ms=5)]), [], dict({
            "tool.pending": lambda p: {"pending": [self.short(i) for i in self.items if i["state"] == "pending"]}, "tool.list": lambda p: {"tools": [self.short(i) for i in self.items]},
            "tool.show": self.show, "tool.history": lambda p: {"history": [d for d in self.log[::-1] if d["name"] == p["name"] and d["user"] == p["user"]]},
            "tool.promote": lambda p: self.decide(p, "promoted"), "tool.reject": lambda p: self.decide(p, "rejected"), "tool.revoke": lambda p: self.decide(p, "revoked"),
        }, **more.pop("answers", {})), **more)

    @staticmethod
    def short(i):
        return {key: i[key] for key in i if key not in ("text", "before", "runs", "capabilities")}

    def find(self, p):
        for i in self.items:
            if (i["name"], i["user"]) == (p["name"], p["user"]) and p.get("hash") in (None, i["hash"]):
                return i
        return None

    def show(self, p):
        i = self.find(p)
        if i is None:
            return None
        diff = "" if i["before"] is None else "\n".join(difflib.unified_diff(i["before"].splitlines(), i["text"].splitlines(), "before", "now", lineterm="")) + "\n"
        capabilities = i.get("capabilities") or [{"what": "imports", "before": "json" if i["before"] else "", "after": "json, re", "changed": bool(i["before"])},
                                                {"what": "timeout_s", "before": "5" if i["before"] else "", "after": "5", "changed": False}]
        return dict(self.short(i), spec={"name": i["name"], "description": i["description"], "implementation": i["text"], "allowed_imports": ["json", "re"]}, implementation_lines=i["text"].count("\n"),
                    previous={"version": 1, "hash": "0" * 64} if i["before"] else None, capabilities=capabilities, diff=diff, runs=i["runs"])

    def decide(self, p, decision):
        i = self.find({"name": p["name"], "user": p["user"]})
        if i is None or i["hash"] != p["hash"]:
            now = self.find({"name": p["name"], "user": p["user"]})
            return Changed("the library has %s now, not %s" % (now["hash"][:12] if now else "nothing", p["hash"][:12]))
        i["state"] = "pending" if decision == "revoked" else decision
        self.decisions.append((decision, i["name"], i["user"], i["hash"], p.get("reason")))
        self.log.append({"time": "2026-03-01T12:00:00Z", "user": i["user"], "name": i["name"], "version": i["version"], "hash": i["hash"], "decision": decision, "by": "eve", "reason": p.get("reason")})
        last = self.events[-1]["sequence"]
        self.tell(event(last + 1, "tool." + decision, "tool:%s/%s" % (i["user"], i["name"]), 60, tool_name=i["name"], user=i["user"], tool_version=i["version"], code_hash=i["hash"], by="eve",
                        reason=p.get("reason")))
        return self.short(i)

    def becomes_pending(self, i):
        self.items.append(i)
        self.tell(event(self.events[-1]["sequence"] + 1, "tool.promotion_pending", "tool:%s/%s" % (i["user"], i["name"]), 61, tool_name=i["name"], user=i["user"], tool_version=i["version"],
                        code_hash=i["hash"], promotion_policy="operator_approval", successes=3, failures=0))


class Changed(Exception):
    """The failure tool_changed."""


def runs(count):
    return [{"execution_id": "%032x" % n, "time": "2026-03-01T11:%02d:00Z" % (20 + n), "duration_ms": 12 + n, "success": n % 3 != 2, "error": None if n % 3 != 2 else "ValueError: " + HOSTILE}
            for n in range(count)]


def raw(text):
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]", text)
