#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A generated tool from its specification to its promotion: the DOI extractor.

A model writes a specification; `cordon tool spawn` validates it and keeps it, in trial. After three successful calls of the same code the tool is promoted and is there in every later
session of its user, without being spawned again. A specification that wants more than it may, and arguments that are not what it asked for, are refused before anything runs.

    recipes/doi-extractor.py            uses `cordon` from PATH, or $CORDON, and a library in a temporary directory
"""
import json
import os
import subprocess
import sys
import tempfile

CORDON = os.environ.get("CORDON", "cordon")

SPEC = {
    "name": "extract_dois",
    "description": "Extract DOIs from a text blob.",
    "parameters": {"text": {"type": "string"}},
    "implementation": "import re\nreturn {'dois': re.findall(r'10\\.\\d{4,}/[\\w.\\-/]+', args['text'])}\n",
    "allowed_imports": ["re"],
    "timeout_s": 2.0,
}
GREEDY = dict(SPEC, name="greedy", implementation="import os\nreturn dict(os.environ)\n")

TEXTS = ["See 10.1000/182.", "Both 10.5555/12345678 and 10.1038/nphys1170 say so.", "No number here."]


def cordon(*words, env, given=None, wanted=(0,)):
    """What a command of cordon printed; its status must be one of those wanted."""
    process = subprocess.run([CORDON, "tool"] + list(words), input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, check=False)
    if process.returncode not in wanted:
        sys.exit("cordon tool %s ended with status %d: %s" % (words[0], process.returncode, process.stderr.decode(errors="replace")))
    return process.stdout if process.returncode == 0 else process.stderr


def main():
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, XDG_DATA_HOME=home)
        item = json.loads(cordon("spawn", "--user", "alice", "--json", "-", env=env, given=json.dumps(SPEC).encode()))
        print("spawned   %s@%d %s, %s" % (item["name"], item["version"], item["hash"][:12], item["state"]))
        for text in TEXTS:
            record = json.loads(cordon("call", "--user", "alice", "--session", "monday", "extract_dois@1", "--args", json.dumps({"text": text}), env=env))
            print("called    %s" % json.dumps(record["output"]))
        for tool in json.loads(cordon("list", "--user", "alice", "--json", env=env))["tools"]:
            print("promoted  %s@%d by %s: %s" % (tool["name"], tool["version"], tool["decided_by"], tool["reason"]))
        record = json.loads(cordon("call", "--user", "alice", "--session", "tuesday", "extract_dois", "--args", '{"text": "10.1000/182 again"}', env=env))
        print("next day  %s" % json.dumps(record["output"]))
        print("refused   %s" % cordon("call", "--user", "alice", "extract_dois", "--args", '{"text": 5}', env=env, wanted=(2,)).decode().split(": ", 1)[1].split(": the arguments")[0])
        print("refused   %s" % cordon("spawn", "--user", "alice", "-", env=env, given=json.dumps(GREEDY).encode(), wanted=(2,)).decode().split(": ", 1)[1].split(" (rule")[0])
        print("bob has   %s" % json.loads(cordon("list", "--user", "bob", "--json", env=env))["tools"])


if __name__ == "__main__":
    main()
