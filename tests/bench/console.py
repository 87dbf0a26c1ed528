# SPDX-License-Identifier: Apache-2.0
"""`make bench`, third part: what the console costs, idle and while 20,000 events a second come in, and how soon it answers a key then.

The daemon is a pretended one that sends prepared events at an even pace, so what is measured is the console alone, on a terminal of 120x40 that a thread of this program reads. Targets: nothing when idle;
under half a core, and keys within 50 ms, at 20,000 events a second.

usage: console.py [--seconds N] [--rate N]
"""
import argparse
import fcntl
import json
import os
import pty
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import leaks, sandbox
from lib.console import Pretended, environment, event

BATCH_S = 0.01


def prepared(run, count):
    """Lines with places for the number and the time, which alone change."""
    kinds = [("fs.opened", {"path": "/srv/shop/src/module_%d/file.py", "decision": "allow", "rule": "ro:1", "pid": 700, "comm": "python3", "flags": ["read"], "count": 1}),
             ("fs.denied", {"path": "/srv/shop/.env", "decision": "deny", "rule": "secret:env", "pattern": "**/.env", "pid": 700, "comm": "python3", "flags": ["read"], "count": 1}),
             ("output.stdout", {"text": "a line of output that says that something was done\n"}),
             ("process.started", {"pid": 701, "pid_inside": 3, "parent_inside": 2, "command": "python3 -u /run/cordon/script/program.py"})]
    lines = []
    for i in range(count):
        kind, data = kinds[i % len(kinds)]
        line = Pretended.line(event(0, kind, run, 0, **data)).replace(b"%", b"%%")
        line = line.replace(b'"sequence": 0', b'"sequence": %d', 1)
        lines.append(line.replace(b"12:00:00.000000Z", b"12:%02d:%02d.%06dZ", 1))
    return lines


class Flood:
    def __init__(self, daemon, run, rate):
        self.daemon, self.lines, self.rate = daemon, prepared(run, 2000), rate
        self.sent, self.stop, self.late = 0, threading.Event(), 0.0
        self.thread = threading.Thread(target=self.work)

    def work(self):
        begun, number = time.perf_counter(), 1
        while not self.stop.is_set():
            due = int((time.perf_counter() - begun) * self.rate) - self.sent
            text = []
            for _ in range(due):
                number += 1
                # Refusals come 5 ms after what other channels say of the same time.
                micro = number * 1000000 // self.rate + (0 if number % 4 == 1 else 5000)
                text.append(self.lines[number % len(self.lines)] %
                            (number, micro // 60000000, micro // 1000000 % 60, micro % 1000000))
            started = time.perf_counter()
            self.daemon.tell_raw(b"".join(text))
            self.late = max(self.late, time.perf_counter() - started)
            self.sent += due
            time.sleep(BATCH_S)


class Screen:
    """The console on a pseudo-terminal; a thread takes what it sends."""

    def __init__(self, path):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen([sandbox.CORDON, "console", "--socket", path], stdin=slave, stdout=slave, stderr=slave, env=environment())
        os.close(slave)
        self.bytes, self.total, self.news = b"", 0, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                got = os.read(self.master, 1 << 16)
            except OSError:
                return
            with self.news:
                self.bytes = (self.bytes + got)[-1 << 17:]
                self.total += len(got)
                self.news.notify_all()

    def press(self, key, word):
        """Seconds from a key to a word on the terminal."""
        with self.news:
            self.bytes = b""
        started = time.perf_counter()
        os.write(self.master, key)
        with self.news:
            if not self.news.wait_for(lambda: word in self.bytes, 10):
                sys.exit("console.py: %r did not come after %r" % (word, key))
        return time.perf_counter() - started

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def switches(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)


def measure(screen, seconds):
    before, bytes_before = screen.cpu(), screen.total
    started = time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - started
    return 100 * (screen.cpu() - before) / took, (screen.total - bytes_before) / took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=int, default=20000)
    options = parser.parse_args()
    run = "a" * 32
    first = event(1, "sandbox.started", run, 0, program="script", name="program.py", tier="namespace", limits={"timeout_ms": 0})
    with Pretended([first], [{"execution_id": run, "method": "sandbox.run", "state": "running"}]) as daemon:
        screen = Screen(daemon.path)
        screen.press(b"?", b"KEYS")
        screen.press(b"q2", b"start")
        time.sleep(1)
        switches = screen.switches()
        percent, _ = measure(screen, options.seconds)
        print("%-60s %8.2f %% of a core, %d wake-ups in %.0f s" % ("console, idle", percent, screen.switches() - switches, options.seconds))
        flood = Flood(daemon, run, options.rate)
        flood.thread.start()
        for view, word, name in ((b"1", b"program.py", "runs"), (b"2", b"python3", "events"), (b"3", b"OUTPUT", "output"), (b"2fsecret\r", b"secret", "events, filtered")):
            screen.press(view, word)
            sent = flood.sent
            percent, rate = measure(screen, options.seconds)
            print("%-60s %8.2f %% of a core, %.0f kB/s to the terminal (target 50 %%)" % ("console, %s, %.0f events a second" % (name, (flood.sent - sent) / options.seconds), percent, rate / 1000))
        times = [screen.press(b"?", b"KEYS") if i % 2 == 0 else screen.press(b"q", b"TIME") for i in range(60)]
        print("%-60s %8.1f ms, largest %.1f ms (target 50 ms)" % ("key to picture meanwhile, median of %d" % len(times), statistics.median(times) * 1000, max(times) * 1000))
        flood.stop.set()
        flood.thread.join()
        with open("/proc/%d/status" % screen.process.pid) as file:
            print("%-60s %s" % ("memory of the console after %d events" % flood.sent, [line.split()[1] + " kB" for line in file if line.startswith("VmRSS")][0]))
        screen.process.terminate()
        screen.process.wait(10)
    leaks.remove_scratch()


main()
