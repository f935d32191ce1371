#!/usr/bin/env python3
"""Pushes that are killed, stopped, refused for a while, or whose answers are lost: the repository has all of a push or
nothing of it.
"""

import os
import random
import signal
import threading
import time

from hub_testing import MIB, SEED, main, noise
from push_testing import PACKAGE, PushTest


class Interrupted(PushTest):
    def setUp(self):
        super().setUp()
        self.hub.uploads.part_bytes = MIB

    def check_history(self, name="org/new"):
        """Every state of the branch is the Hub's first one, or a complete push."""
        repo = self.hub.repos[name]
        for _, commit, _ in repo.history:
            files = {path: blob.read(0, blob.size) for path, blob in repo.commits[commit].items()}
            files.pop(".gitattributes")
            self.assertEqual(files, PACKAGE)

    def start_and_stop(self, number, seconds):
        process = self.start("push", self.folder, "org/new")
        try:
            process.wait(timeout=seconds)
        except Exception:
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def test_kill_at_random_moments(self):
        generator = random.Random(SEED)
        # The server takes about a second for all of it.
        self.hub.add_rule("^cdn PUT", times=10000, slow=0.02)
        self.hub.add_rule("^hub POST", times=10000, slow=0.05)
        for _ in range(int(os.environ.get("PIPPIN_KILLS", "8"))):
            with self.subTest(seed=SEED):
                self.start_and_stop(generator.choice([signal.SIGKILL, signal.SIGINT]), generator.uniform(0.05, 1.2))
                time.sleep(0.1)
                if "org/new" in self.hub.repos:
                    self.check_history()
                    self.assertLessEqual(len(self.hub.repos["org/new"].history), 1)
        self.hub.forget()
        self.push(self.folder, "org/new")
        self.assertEqual(self.files_of(), PACKAGE)
        self.assertEqual(len(self.hub.repos["org/new"].history), 1)

    def kill_between_parts(self):
        """A push with one connection is killed after a few parts; returns the number that arrived."""
        pattern = r"^cdn PUT /uploads/\d+/[1-9]"
        self.hub.add_rule(pattern, times=10000, slow=0.1)
        process = self.start("push", self.folder, "org/new", "--max-workers", "1")
        end = time.monotonic() + 30
        while len(self.hub.requests(pattern)) < 4 and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        self.assertEqual(self.hub.repos["org/new"].history, [])
        time.sleep(0.6)
        arrived = sum("received" in entry for entry in self.hub.requests(pattern))
        self.assertGreaterEqual(arrived, 3)
        self.hub.forget()
        return arrived

    def test_parts_are_not_sent_again(self):
        arrived = self.kill_between_parts()
        self.push(self.folder, "org/new")
        # At most one part arrived without a note.
        self.assertLessEqual(len(self.hub.requests(r"^cdn PUT /uploads/\d+/[1-9]")), 10 - arrived + 1)
        self.assertEqual(self.files_of(), PACKAGE)
        notes = [self.read(self.notes, name) for name in os.listdir(self.notes)]
        self.assertFalse([note for note in notes if b"etags" in note])

    def test_expired_addresses_of_noted_parts(self):
        self.kill_between_parts()
        for upload in self.hub.uploads.uploads.values():
            upload["open"] = False
        self.push(self.folder, "org/new")
        self.assertEqual(self.files_of(), PACKAGE)

    def test_ctrl_c(self):
        self.hub.add_rule("^cdn PUT", times=10000, slow=0.2)
        status, out, err = self.start_and_stop(signal.SIGINT, 1)
        self.assertEqual((status, out), (130, ""), err)
        self.assertIn("pippin: cancelled", err)
        self.assertEqual(self.hub.repos["org/new"].history, [])

    def test_busy_server(self):
        for pattern in ("create", "preupload", "batch", "^cdn PUT", "complete", "verify", "/commit/", "revision", "tree"):
            self.hub.add_rule(pattern, status=429, headers={"Retry-After": "0"})
            self.hub.add_rule(pattern, status=503, headers={"Retry-After": "0"})
        result = self.push(self.folder, "org/new")
        self.assertTrue(result["committed"])
        self.assertEqual(len(self.hub.repos["org/new"].history), 1)
        self.assertEqual(self.files_of(), PACKAGE)

    def test_lost_answers(self):
        for pattern in ("create", "preupload", "batch", "^cdn PUT", "complete", "verify", "/commit/"):
            self.hub.add_rule(pattern, lost=True)
        self.push(self.folder, "org/new")
        self.assertEqual(len(self.hub.repos["org/new"].history), 1)  # not committed twice
        self.assertEqual(self.files_of(), PACKAGE)

    def test_connections_that_end_in_the_body(self):
        for pattern in ("^cdn PUT", "/commit/"):
            self.hub.add_rule(pattern, hangup=1000)
        self.push(self.folder, "org/new")
        self.assertEqual(len(self.hub.repos["org/new"].history), 1)
        self.assertEqual(self.files_of(), PACKAGE)

    def test_lost_answer_of_a_pull_request(self):
        self.push(self.folder, "org/new")
        self.write({"config.json": b"{}"})
        self.hub.add_rule("/commit/", lost=True)
        self.fail_with("the pull request may have been opened: see", "push", self.folder, "org/new", "--create-pr")
        self.assertEqual(len(self.hub.repos["org/new"].history), 2)

    def test_random_failures(self):
        generator = random.Random(SEED)
        kinds = [{"status": 500}, {"status": 429, "headers": {"Retry-After": "0"}}, {"lost": True}, {"hangup": 0},
                 {"hangup": 5000}]
        for round_ in range(3):
            name = "org/new%d" % round_
            self.hub.forget()
            for _ in range(6):
                pattern = generator.choice(["POST", "PUT", "commit", "complete"])
                self.hub.add_rule(pattern, skip=generator.randrange(6), **generator.choice(kinds))
            with self.subTest(seed=SEED, round=round_):
                self.hub.uploads.objects.clear()
                self.push(self.folder, name, PIPPIN_HUB_RETRIES="12")
                self.assertEqual(self.files_of(name), PACKAGE)
                self.assertEqual(len(self.hub.repos[name].history), 1)

    def test_expired_address(self):
        self.hub.add_rule(r"^cdn PUT /uploads/\d+/3", status=403, body=b"<Error><Code>AccessDenied</Code></Error>")
        self.push(self.folder, "org/new")
        self.assertEqual(self.files_of(), PACKAGE)
        self.hub.uploads.objects.clear()
        self.hub.add_rule("^cdn PUT", times=1000, status=403)
        self.fail_with("the storage at 127.0.0.1 answers with status 403", "push", self.folder, "org/other")
        self.assertEqual(self.hub.repos["org/other"].history, [])

    def test_file_changes_during_the_push(self):
        self.hub.add_rule("^cdn PUT", times=10000, slow=0.05)
        process = self.start("push", self.folder, "org/new")
        end = time.monotonic() + 30
        while not self.hub.requests("^cdn PUT") and time.monotonic() < end:
            time.sleep(0.01)
        self.write({"config.json": b'{"model_type": "other"}'})
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("config.json: it changed while it was pushed; nothing was committed", err)
        self.assertEqual(self.hub.repos["org/new"].history, [])

    def test_another_commit_during_the_push(self):
        self.push(self.folder, "org/new")
        repo = self.hub.repos["org/new"]
        self.write({"config.json": b"{}", "more.bin": noise(MIB, 3)})

        def commit():
            end = time.monotonic() + 30
            while not self.hub.requests("^cdn PUT .*/0") and time.monotonic() < end:
                time.sleep(0.005)
            files = dict(repo.commits[repo.refs["main"]])
            del files["tokenizer.json"]
            repo.update(files, commit="ab" * 20)

        self.hub.forget()
        self.hub.add_rule("^cdn PUT", times=10, slow=0.2)
        thread = threading.Thread(target=commit)
        thread.start()
        self.fail_with('branch "main" has changed during the push', "push", self.folder, "org/new")
        thread.join()
        self.assertEqual(repo.refs["main"], "ab" * 20)
        self.push(self.folder, "org/new")
        self.assertEqual(self.files_of()["more.bin"], noise(MIB, 3))


if __name__ == "__main__":
    main()
