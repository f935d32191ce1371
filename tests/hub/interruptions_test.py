#!/usr/bin/env python3
"""Downloads that are killed, stopped, or run twice at once."""

import json
import os
import random
import re
import signal
import time

from hub_testing import HubTest, MIB, SEED, main, noise


class Interrupted(HubTest):
    def setUp(self):
        super().setUp()
        self.repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(24 * MIB), "tokenizer.json": b"[]"})
        self.names = ["config.json", "model.safetensors", "tokenizer.json"]
        self.blob = self.repo.commits[self.repo.refs["main"]]["model.safetensors"]

    def on_disk(self):
        path = os.path.join(self.repo_folder(), "blobs", self.blob.etag)
        for name in (path, path + ".incomplete"):
            if os.path.exists(name):
                return os.path.getsize(name)
        return 0

    def start_and_stop(self, number, count):
        self.hub.add_rule("^cdn", times=1000, slow=0.02)
        process = self.start("pull", "org/model")
        end = time.monotonic() + 30
        while self.on_disk() < count and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        self.hub.forget()
        return process.returncode, out, err

    def test_kill_and_go_on(self):
        status, _, _ = self.start_and_stop(signal.SIGKILL, 5 * MIB)
        self.assertEqual(status, -signal.SIGKILL)
        there = self.on_disk()
        self.assertGreaterEqual(there, 5 * MIB)
        self.assertLess(there, 24 * MIB)
        incomplete = os.path.join(self.repo_folder(), "blobs", self.blob.etag + ".incomplete")
        self.assertEqual(self.read(incomplete), self.blob.content[:there])  # a prefix, for Python too
        self.assertEqual(json.loads(self.run_pippin("list", "--json")[1])[0]["incomplete_bytes"], there)
        result = self.pull("org/model")
        missing = sum(blob.size for name, blob in self.repo.commits[self.repo.refs["main"]].items()) - there
        self.assertLessEqual(result["received"], missing)
        first = min(int(re.match(r"bytes=(\d+)-", entry["range"]).group(1)) for entry in self.hub.requests("^cdn"))
        self.assertEqual(first, there)
        self.check_whole(self.repo, self.names)

    def test_kill_at_random_moments(self):
        generator = random.Random(SEED)
        for _ in range(int(os.environ.get("PIPPIN_KILLS", "4"))):
            with self.subTest(seed=SEED):
                self.start_and_stop(signal.SIGKILL, generator.randrange(24 * MIB))
        self.pull("org/model")
        self.check_whole(self.repo, self.names)

    def test_ctrl_c(self):
        status, out, err = self.start_and_stop(signal.SIGINT, 3 * MIB)
        self.assertEqual((status, out), (130, ""), err)
        self.assertIn("cancelled", err)
        there = self.on_disk()
        self.assertLess(self.pull("org/model")["received"], 24 * MIB + 5 - there)
        self.check_whole(self.repo, self.names)

    def test_two_at_once(self):
        self.hub.add_rule("^cdn", times=1000, slow=0.01)
        processes = [self.start("pull", "org/model") for _ in range(3)]
        for process in processes:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
        self.check_whole(self.repo, self.names)
        self.assertEqual(sum(entry["sent"] for entry in self.hub.requests("^cdn")), 24 * MIB)

    def test_two_at_once_and_one_is_killed(self):
        self.hub.add_rule("^cdn", times=1000, slow=0.02)
        first, second = self.start("pull", "org/model"), None
        try:
            end = time.monotonic() + 30
            while self.on_disk() < 4 * MIB and time.monotonic() < end:
                time.sleep(0.005)
            second = self.start("pull", "org/model")
            time.sleep(0.3)
            first.kill()
            _, err = second.communicate(timeout=60)
            self.assertEqual(second.returncode, 0, err)
        finally:
            first.communicate()
        self.check_whole(self.repo, self.names)


if __name__ == "__main__":
    main()
