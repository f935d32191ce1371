#!/usr/bin/env python3
"""Kills processes of `pippin batch` at random, and compares the answers with those of an undisturbed one.

    kills.py [--pippin PATH] [--model MODEL] [--processes 8] [--requests 2000] [--kills 100] [--tokens 20] [--pause 0.1]
             [--seed N]

Every second request has temperature 0, the others 0.8 and no seed. Status 1 if an answer is missing, occurs twice, or
has another text.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_requests(path, count, tokens):
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            body = {"prompt": f"Once upon a time {i % 50}, number {i}", "max_tokens": tokens,
                    "temperature": 0 if i % 2 == 0 else 0.8}
            request = {"custom_id": f"r{i}", "method": "POST", "url": "/v1/completions", "body": body}
            file.write(json.dumps(request) + "\n")


def read_answers(path):
    """(custom_id, text or error) of each line."""
    answers = []
    for line in open(path, encoding="utf-8"):
        answer = json.loads(line)
        response = answer["response"]
        text = response["body"]["choices"][0]["text"] if response else str(answer["error"])
        answers.append((answer["custom_id"], text))
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pippin", default="build/release/pippin/cli/pippin")
    parser.add_argument("--model", default="demo")
    for name, default in (("processes", 8), ("requests", 2000), ("kills", 100), ("tokens", 20),
                          ("seed", random.randrange(10**6))):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--pause", type=float, default=0.1, help="most seconds between kills")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_requests(folder / "in.jsonl", options.requests, options.tokens)
        command = [options.pippin, "batch", str(folder / "in.jsonl"), "-m", options.model, "-q", "-t", "1"]
        start = time.time()
        subprocess.run([*command, "-o", str(folder / "alone.jsonl")], check=True)
        print(f"one process: {time.time() - start:.1f} s")
        shared = [*command, "-o", str(folder / "out"), "--shard", "25"]
        begin = lambda: subprocess.Popen(shared, stderr=subprocess.DEVNULL)
        start = time.time()
        processes, killed = [begin() for _ in range(options.processes)], 0
        while killed < options.kills:
            time.sleep(rng.uniform(0, options.pause))
            which = rng.randrange(len(processes))
            if processes[which].poll() is not None:
                break  # the job is complete
            processes[which].kill()
            processes[which].wait()
            processes[which] = begin()
            killed += 1
        statuses = [process.wait() for process in processes]
        print(f"{options.processes} processes, {killed} kills: {time.time() - start:.1f} s")
        subprocess.run([options.pippin, "batch", "merge", str(folder / "out"), "-o", str(folder / "all.jsonl")],
                       check=True)
        expected, found = read_answers(folder / "alone.jsonl"), read_answers(folder / "all.jsonl")
    different = sum(one != other for one, other in zip(expected, found))
    print(f"{len(found)} of {options.requests} answers, {different} differ, statuses {set(statuses)}")
    return 0 if expected == found and len(found) == options.requests and set(statuses) == {0} else 1


if __name__ == "__main__":
    sys.exit(main())
