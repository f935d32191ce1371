#!/usr/bin/env python3
"""Downloads a large file from the server on loopback: measures the speed, compared with SHA-256 and the disk alone,
and the memory. Then the same with the process killed (kill -9) at random moments and restarted, after which the cache
must contain the right bytes and nothing else.

    PIPPIN=build/release/pippin/cli/pippin large_download.py [--size 4GiB] [--kills 20] [--folder DIR]
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PIPPIN = os.environ.get("PIPPIN", "pippin")
MIB = 1 << 20


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)(KiB|MiB|GiB|)", text).groups()
    return int(number) << {"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]


class Run:
    def __init__(self, folder, size, seed):
        self.folder, self.size, self.random = folder, size, random.Random(seed)
        self.source = os.path.join(folder, "files", "org", "large")
        self.cache = os.path.join(folder, "home", "hub")
        os.makedirs(self.source)
        with open(os.path.join(self.source, "config.json"), "wb") as file:
            file.write(b"{}")
        self.weights = os.path.join(self.source, "model.safetensors")
        with open(self.weights, "wb") as file:
            block = self.random.randbytes(64 * MIB)
            for begin in range(0, size, len(block)):
                file.write(begin.to_bytes(8, "little"))  # no two blocks alike
                file.write(block[: min(len(block), size - begin) - 8])
        self.server = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "hub_server.py"), os.path.join(folder, "files")],
                                       stdout=subprocess.PIPE, text=True)
        endpoint = self.server.stdout.readline().strip().split("=", 1)[1]
        keep = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
        self.environment = {**keep, "HOME": folder, "HF_HOME": os.path.join(folder, "home"), "HF_ENDPOINT": endpoint, "no_proxy": "*"}

    def close(self):
        self.server.terminate()
        self.server.wait()

    def start(self):
        return subprocess.Popen([PIPPIN, "pull", "org/large", "--json"], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def pull(self):
        """Seconds, CPU seconds, and the peak memory in bytes."""
        begin = time.monotonic()
        process = self.start()
        memory = 0
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            memory = max(memory, self.peak_of(process.pid))
            time.sleep(0.02)
        seconds = time.monotonic() - begin
        out, err = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit("pull: status %d: %s" % (process.returncode, err))
        self.received = json.loads(out)["received"]
        return seconds, usage.ru_utime + usage.ru_stime, memory

    def peak_of(self, process):
        """Not ru_maxrss: it is at least that of this program, whose memory a new process starts with."""
        with open("/proc/%d/status" % process) as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
        return int(found.group(1)) * 1024 if found else 0

    def forget(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def on_disk(self):
        blobs = os.path.join(self.cache, "models--org--large", "blobs")
        try:
            return sum(entry.stat().st_size for entry in os.scandir(blobs))
        except FileNotFoundError:
            return 0

    def check(self):
        """The right bytes, and nothing else in the cache."""
        repo = os.path.join(self.cache, "models--org--large")
        blobs = os.listdir(os.path.join(repo, "blobs"))
        assert len(blobs) == 2, blobs
        for name in ("config.json", "model.safetensors"):
            digests = []
            for folder in (self.source, os.path.join(repo, "snapshots", os.listdir(os.path.join(repo, "snapshots"))[0])):
                with open(os.path.join(folder, name), "rb") as file:
                    digests.append(hashlib.file_digest(file, "sha256").hexdigest())
            assert digests[0] == digests[1], name
        found = sorted(os.listdir(repo))
        assert found == ["blobs", "refs", "snapshots", "trees"], found
        assert sorted(os.listdir(self.cache)) == [".locks", "CACHEDIR.TAG", "models--org--large"], os.listdir(self.cache)

    def sha256_alone(self):
        begin = time.monotonic()
        subprocess.run(["openssl", "dgst", "-sha256", self.weights], check=True, capture_output=True)
        return time.monotonic() - begin

    def copy_alone(self):
        copy = os.path.join(self.folder, "copy")
        begin = time.monotonic()
        subprocess.run(["dd", "if=" + self.weights, "of=" + copy, "bs=1M", "conv=fsync"], check=True, capture_output=True)
        seconds = time.monotonic() - begin
        os.remove(copy)
        return seconds


def measure(run, rounds):
    rate = lambda seconds: "%.2f s (%.0f MB/s)" % (seconds, run.size / 1e6 / seconds)
    for _ in range(rounds):
        run.forget()
        sha, copy = run.sha256_alone(), run.copy_alone()
        seconds, processor, memory = run.pull()
        run.check()
        print("SHA-256 alone %s, dd to disk %s, pull %s with %.2f s of the processor, %.1f MB at most" %
              (rate(sha), rate(copy), rate(seconds), processor, memory / 1e6), flush=True)
    return seconds, memory


def kill_and_resume(run, kills, whole):
    run.forget()
    ends = 0
    for number in range(kills):
        if run.on_disk() >= run.size:
            run.forget()  # it finished before it was killed: start again
            ends += 1
        process = run.start()
        time.sleep(run.random.uniform(0, 2 * whole / kills))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    there = run.on_disk()
    run.pull()
    run.check()
    assert run.received <= run.size + 2 - min(there, run.size), (run.received, there)
    print("killed %d times (%d ends), %.1f MB were there at last, %.1f MB came after: the bytes are right, nothing else is there" %
          (kills, ends, there / 1e6, run.received / 1e6), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=bytes_of, default=bytes_of("4GiB"))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", help="for the file and the cache; three times the size has to be free")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pippin-large-", dir=options.folder)
    print("seed %d" % options.seed, flush=True)
    run = None
    try:
        run = Run(folder, options.size, options.seed)
        seconds, memory = measure(run, options.rounds)
        assert memory < 64 * MIB or "ASAN_OPTIONS" in os.environ, memory
        kill_and_resume(run, options.kills, seconds)
    finally:
        if run:
            run.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
