#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judge candidate functions, as a model would write them, against a table of tests: one sandbox per candidate and test.

Nothing of a candidate is executed in this process. Its source and the call to make are handed to `cordon exec` as they are, so what is
validated is what runs; a candidate that loops, crashes or tries to import something fails its own test and no other.

    recipes/test-driven-loop.py            uses `cordon` from PATH, or $CORDON
"""
import json
import os
import subprocess
import sys

CORDON = os.environ.get("CORDON", "cordon")
ALLOWED_IMPORTS = "re,math,collections,itertools,string"

CANDIDATES = {
    "naive": "def slug(text):\n    return text.lower().replace(' ', '-')\n",
    "regular": "import re\n\ndef slug(text):\n    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')\n",
    "endless": "def slug(text):\n    while True:\n        pass\n",
    "curious": "import os\n\ndef slug(text):\n    return os.environ.get('HOME', '')\n",
    "broken": "def slug(text):\n    return text.lower(\n",
}

TESTS = [
    ("slug('Hello World')", "hello-world"),
    ("slug('  C11, by hand!  ')", "c11-by-hand"),
]


def run(candidate, expression):
    """One record for one call."""
    process = subprocess.run(
        [CORDON, "exec", "--allow", ALLOWED_IMPORTS, "--timeout", "0.5", "--return", expression, "-"],
        input=candidate.encode(), stdout=subprocess.PIPE, check=False)
    if process.returncode not in (0, 1, 2):
        sys.exit("cordon itself failed with status %d: %s" % (process.returncode, process.stdout.decode(errors="replace")))
    return json.loads(process.stdout)


def judge(candidate):
    """How many tests it passes, and the first thing that went wrong."""
    passed, trouble = 0, None
    for expression, expected in TESTS:
        record = run(candidate, expression)
        if record["success"] and record["output"] == expected:
            passed += 1
        elif trouble is None:
            trouble = record["error"] or "%s gave %r" % (expression, record["output"])
    return passed, trouble


def main():
    for name, candidate in CANDIDATES.items():
        passed, trouble = judge(candidate)
        print("%-8s %d/%d%s" % (name, passed, len(TESTS), "  " + trouble if trouble else ""))


if __name__ == "__main__":
    main()
