#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official JSON-Schema-Test-Suite against the check of a tool's arguments.

Debian has it as json-schema-test-suite, up to draft 7, whose keywords mean in the files named here what they mean in 2020-12; CORDON_JSON_SCHEMA_SUITE=DIR names the directory
of another draft (tests/draft2020-12 of a checkout). Each schema is judged right, or refused because tools may not use what it uses; never taken and judged wrong.
"""
import glob
import json
import os
import subprocess

from lib import sandbox, tap

DEBIAN = "/usr/share/json-schema-test-suite/tests/draft7"
SUITE = os.environ.get("CORDON_JSON_SCHEMA_SUITE") or DEBIAN
JUDGE = os.path.join(sandbox.BUILD, "tests", "tools", "schema_judge")
# What each file is about, and how many of its schemas are taken at least: a keyword that is suddenly refused shows.
FILES = {
    "additionalProperties": 3, "allOf": 6, "anyOf": 6, "boolean_schema": 2, "const": 4, "default": 2, "enum": 3, "exclusiveMaximum": 1, "exclusiveMinimum": 1,
    "items": 3, "maxItems": 1, "maxLength": 1, "maxProperties": 1, "maximum": 1, "minItems": 1, "minLength": 1, "minProperties": 1, "minimum": 1, "multipleOf": 3, "not": 6, "oneOf": 7,
    "pattern": 2, "properties": 2, "required": 3, "type": 8, "uniqueItems": 1, "ref": 2,
}
# In draft 7 an array of schemas was called items; 2020-12 calls it prefixItems, and refuses that.
OLD_WORDS = ("additionalItems", "definitions", "dependencies")


def judged(pairs):
    text = "".join(json.dumps(pair) + "\n" for pair in pairs)
    out = subprocess.run([JUDGE], input=text, stdout=subprocess.PIPE, check=True, universal_newlines=True, timeout=60).stdout.splitlines()
    tap.equal(len(out), len(pairs), "answers")
    return out


def old(schema):
    return any('"%s"' % word in json.dumps(schema) for word in OLD_WORDS)


sums = {"right": 0, "refused": 0}
present = [os.path.basename(name)[:-5] for name in sorted(glob.glob(os.path.join(SUITE, "*.json")))]
if not present:
    @tap.test("the official suite")
    def _():
        tap.skip("it is not installed: json-schema-test-suite, or name its directory in CORDON_JSON_SCHEMA_SUITE")


@tap.cases("{}", [(name,) for name in present if name in FILES])
def _(name):
    with open(os.path.join(SUITE, name + ".json"), encoding="utf-8") as file:
        groups = [group for group in json.load(file) if not old(group["schema"])]
    cases = [(group, test) for group in groups for test in group["tests"]]
    answers = judged([[group["schema"], test["data"]] for group, test in cases])
    taken = set()
    for (group, test), answer in zip(cases, answers):
        if answer.startswith("refused: "):
            sums["refused"] += 1
            continue
        taken.add(group["description"])
        sums["right"] += 1
        tap.equal(answer, "valid" if test["valid"] else "invalid", "%s: %s\n%s\n%s" % (group["description"], test["description"], json.dumps(group["schema"]), json.dumps(test["data"])))
    tap.ok(len(taken) >= FILES[name], "%d schemas of %d were taken, and %d are wanted" % (len(taken), len(groups), FILES[name]))
    tap.diag("%s: %d of %d cases right, the others refused with their schema" % (name, sum(not a.startswith("refused") for a in answers), len(answers)))


tap.main()
