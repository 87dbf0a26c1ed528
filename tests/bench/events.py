# SPDX-License-Identifier: Apache-2.0
"""`make bench`, second part: what watching costs.

Pairs take turns (A B A B ...), so that whatever else the machine does meets both alike; the numbers are medians and their ratio. The target for a subscriber against none is 1.05.

usage: events.py [--rounds N]
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import leaks, sandbox
from lib.daemon import Client, Daemon, body, command


def clocked(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def pair(name, plain, watched, rounds):
    times = [[], []]
    for call in (plain, watched):
        call()
    for _ in range(rounds):
        times[0].append(clocked(plain))
        times[1].append(clocked(watched))
    first, second = (statistics.median(t) * 1000 for t in times)
    print("%-60s %8.2f ms %8.2f ms  ratio %.3f" % (name, first, second, second / first))


def local(rounds):
    directory = tempfile.mkdtemp(prefix="cordon-bench-")
    name = os.path.join(directory, "events")

    def call(*options):
        subprocess.run([sandbox.CORDON, "run", *options, "--", "true"], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pair("cordon run -- true: without events / with --events", call, lambda: call("--events", name), rounds)
    os.unlink(name)
    os.rmdir(directory)


def through_daemon(rounds):
    with Daemon() as daemon, Client(daemon) as client:
        watchers = []

        def set_watchers(on):
            while watchers and not on:
                watcher = watchers.pop()
                watcher.connection.shutdown(socket.SHUT_RDWR)
                watcher.close()
            if on and not watchers:
                watcher = Client(daemon, timeout=None)
                watcher.call("events.subscribe", {})
                watchers.append(watcher)

                def drain(connection):
                    try:
                        while connection.recv(1 << 20):
                            pass
                    except OSError:
                        pass
                threading.Thread(target=drain, args=(watcher.connection,), daemon=True).start()
        tree = leaks.scratch()
        for number in range(2000):
            open(os.path.join(tree, "%d" % number), "w").close()
        opens = "import os, sys\nfor n in os.listdir(sys.argv[1]): os.close(os.open(sys.argv[1] + '/' + n, os.O_RDONLY))"
        for title, params, method in (("command true", command("true"), "sandbox.run"), ("body", body("return 1"), "sandbox.execute"),
                                      ("2,000 opens in the view", command(sandbox.PYTHON, "-c", opens, tree, ro=[tree]), "sandbox.run")):
            times = {False: [], True: []}
            for turn in range(2 * rounds):
                on = turn % 2 == 1
                set_watchers(on)
                times[on].append(clocked(lambda: client.call(method, params)))
            first, second = (statistics.median(times[on]) * 1000 for on in (False, True))
            print("%-60s %8.2f ms %8.2f ms  ratio %.3f (target 1.05)" % ("through the daemon, %s: no subscriber / one" % title, first, second, second / first))
        set_watchers(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    emit = os.path.join(sandbox.BUILD, "tests", "bench", "emit")
    rates = [subprocess.check_output([emit], text=True).split() for _ in range(3)]
    best = max(rates, key=lambda r: float(r[0]))
    print("one producer: %s events a second, %s ns each, %s lost" % tuple(best))
    local(rounds)
    through_daemon(rounds)
    leaks.remove_scratch()


main()
