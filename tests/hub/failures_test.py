#!/usr/bin/env python3
"""Errors that the user must fix, failures of servers and networks, and servers that send wrong data."""

import json
import os
import shutil
import signal
import time

from hub_testing import HubTest, MIB, main, noise


class Refused(HubTest):
    """Errors that the user must fix: one line that says how."""

    def test_no_such_repository(self):
        self.fail_with("no such repository", "pull", "org/none")
        self.fail_with("log in", "pull", "org/none", HF_TOKEN="")

    def test_names_that_cannot_be(self):
        for name in ("../x", "a/../b", "org/na--me", "/etc", "org/x.git", "a@../b", "org/m@x y", "."):
            status, out, err = self.run_pippin("pull", name)
            self.assertEqual((status, out), (2, ""), err)
        self.assertEqual(self.hub.requests(), [])

    def test_private(self):
        self.add(**{"config.json": b"{}", "model.safetensors": b"s"}).private = True
        self.assertEqual(self.pull("org/model")["received"], 3)
        shutil.rmtree(self.cache)
        self.fail_with("private", "pull", "org/model", HF_TOKEN="hf_other")
        self.fail_with("hf auth login", "pull", "org/model", HF_TOKEN="", HF_HUB_DISABLE_IMPLICIT_TOKEN="1")

    def test_gated(self):
        self.add(**{"config.json": b"{}", "model.safetensors": b"s"}).gated = "manual"
        line = self.fail_with("is gated", "pull", "org/model", HF_TOKEN="hf_other")
        self.assertIn(self.hub.endpoint + "/org/model", line)
        self.assertIn("HF_TOKEN", self.fail_with("is gated", "pull", "org/model", HF_TOKEN=""))

    def test_bad_token(self):
        self.add(**{"config.json": b"{}"})
        self.fail_with("does not know the token of HF_TOKEN", "pull", "org/model", HF_TOKEN="hf_wrong")
        self.fail_with("not a token", "pull", "org/model", HF_TOKEN="hf\nInjected: yes")
        self.fail_with("of --token", "pull", "org/model", "--token", "hf_wrong")

    def test_no_such_revision(self):
        self.add(**{"config.json": b"{}"})
        self.fail_with('"v9"', "pull", "org/model@v9")

    def test_a_file_that_vanished(self):
        self.add(**{"config.json": b"{}", "model.safetensors": b"s"})
        self.hub.add_rule("resolve/.*config.json", status=404, headers={"X-Error-Code": "EntryNotFound"})
        self.fail_with("no file config.json", "pull", "org/model")

    def test_token_file(self):
        self.add(**{"config.json": b"{}", "model.safetensors": b"s"}).private = True
        del self.environment["HF_TOKEN"]
        with open(os.path.join(self.home, "token"), "w") as file:
            file.write(" hf_good\n")
        self.pull("org/model")
        shutil.rmtree(self.cache)
        self.fail_with("private", "pull", "org/model", HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        self.fail_with("private", "pull", "org/model", HF_TOKEN_PATH="/no/such/file")

    def test_offline(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(70000)})
        self.fail_with("HF_HUB_OFFLINE", "pull", "org/model", HF_HUB_OFFLINE="1")
        self.pull("org/model")
        self.hub.forget()
        self.assertEqual(self.pull("org/model", HF_HUB_OFFLINE="1")["commit"], repo.refs["main"])
        self.fail_with("HF_HUB_OFFLINE", "pull", "org/model@v2", HF_HUB_OFFLINE="1")
        os.remove(os.path.join(self.repo_folder(), "snapshots", repo.refs["main"], "model.safetensors"))
        self.fail_with("HF_HUB_OFFLINE", "pull", "org/model", HF_HUB_OFFLINE="1")
        self.assertEqual(self.hub.requests(), [])

    def test_unreachable(self):
        self.add(**{"config.json": b"{}", "model.safetensors": b"s"})
        nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "PIPPIN_HUB_RETRIES": "1"}
        self.fail_with("127.0.0.1", "pull", "org/model", **nowhere)
        self.pull("org/model")
        status, _, err = self.run_pippin("pull", "org/model", **nowhere)
        self.assertEqual(status, 0, err)
        self.assertIn("from the cache", err)

    def test_disk_space(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(70000)})
        repo.commits[repo.refs["main"]]["model.safetensors"].size = 1 << 49
        line = self.fail_with("are free", "pull", "org/model")
        self.assertIn("562.9 TB", line)
        self.assertEqual(self.blobs(), [])


class Failing(HubTest):
    """Failures of servers and networks, and servers that send wrong data."""

    def setUp(self):
        super().setUp()
        self.repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(20 * MIB)})

    def check(self, **environment):
        result = self.pull("org/model", **environment)
        self.check_whole(self.repo, ["config.json", "model.safetensors"])
        return result

    def test_the_token_stays_at_the_endpoint(self):
        self.hub.add_rule("resolve/.*config.json", location=self.hub.cdn.replace("127.0.0.1", "localhost") + "/steal")
        self.run_pippin("pull", "org/model", PIPPIN_HUB_RETRIES="0")
        self.check()
        for entry in self.hub.requests():
            expected = "Bearer hf_good" if entry["line"].startswith("hub") else None
            self.assertEqual(entry["authorization"], expected, entry["line"])
        self.assertTrue(self.hub.requests("^cdn.*/steal"))

    def test_busy_servers(self):
        self.hub.add_rule("revision", status=503)
        self.hub.add_rule("tree", status=429, headers={"Retry-After": "1"})
        self.hub.add_rule("resolve/.*config", times=2, status=500)
        self.hub.add_rule("^cdn", times=3, status=502)
        begin = time.monotonic()
        self.check()
        self.assertGreater(time.monotonic() - begin, 1)

    def test_retry_after_is_heeded(self):
        self.hub.add_rule("revision", status=429, headers={"Retry-After": "2"})
        self.check()
        first, second = self.hub.requests("revision")
        self.assertGreater(second["time"] - first["time"], 1.9)

    def test_rate_limit_reset_is_heeded(self):
        self.hub.add_rule("revision", status=429, headers={"RateLimit": '"api";r=0;t=2'})
        self.check()
        first, second = self.hub.requests("revision")
        self.assertGreater(second["time"] - first["time"], 1.9)

    def test_a_server_that_stays_busy(self):
        self.hub.add_rule("^cdn", times=1000, status=503)
        line = self.fail_with("503", "pull", "org/model", PIPPIN_HUB_RETRIES="2")
        self.assertIn("model.safetensors", line)

    def test_cut_connections(self):
        self.hub.add_rule("^cdn", times=6, cut=MIB)
        self.hub.add_rule("^cdn", times=3, cut=0)
        result = self.check()
        self.assertEqual(result["received"], 20 * MIB + 2)  # no byte twice

    def test_stalled_connections(self):
        self.hub.add_rule("^cdn", times=2, cut=MIB, stall=20)
        self.hub.add_rule("revision", stall=20)
        begin = time.monotonic()
        self.check(HF_HUB_DOWNLOAD_TIMEOUT="1", HF_HUB_ETAG_TIMEOUT="1")
        self.assertLess(time.monotonic() - begin, 15)

    def test_a_connection_that_always_stalls(self):
        self.hub.add_rule("^cdn", times=1000, stall=20)
        self.fail_with("model.safetensors", "pull", "org/model", HF_HUB_DOWNLOAD_TIMEOUT="1", PIPPIN_HUB_RETRIES="1")

    def test_answers_that_drip(self):
        """A server that sends a byte now and then cannot block a download forever."""
        for pattern in ("revision", "^cdn"):
            self.hub.add_rule(pattern, times=1000, drip=0.05)
            begin = time.monotonic()
            timeouts = {"HF_HUB_DOWNLOAD_TIMEOUT": "1", "HF_HUB_ETAG_TIMEOUT": "1"}
            if pattern == "revision":
                self.fail_with("slow", "pull", "org/model", PIPPIN_HUB_RETRIES="1", **timeouts)
            else:
                process = self.start("pull", "org/model", PIPPIN_HUB_RETRIES="1", **timeouts)
                time.sleep(5)
                process.send_signal(signal.SIGINT)
                self.assertEqual((process.communicate(timeout=5)[0], process.returncode), ("", 130))
            self.assertLess(time.monotonic() - begin, 15)
            self.hub.forget()
        self.check()

    def test_no_ranges(self):
        self.hub.add_rule("^cdn", times=1000, no_ranges=True)
        self.check()

    def test_wrong_bytes_once(self):
        self.hub.add_rule("^cdn", corrupt=True)
        status, _, err = self.run_pippin("pull", "org/model")
        self.assertEqual(status, 0, err)
        self.assertIn("checksum is wrong", err)
        self.check_whole(self.repo, ["config.json", "model.safetensors"])

    def test_wrong_bytes_always(self):
        self.hub.add_rule("^cdn", times=1000, corrupt=True)
        self.fail_with("SHA-256", "pull", "org/model")
        self.assertNotIn(self.repo.commits[self.repo.refs["main"]]["model.safetensors"].etag, "".join(self.blobs()))
        self.hub.forget()
        shutil.rmtree(self.cache)
        self.hub.add_rule("resolve-cache/.*config", times=1000, corrupt=True)
        self.fail_with("git hash", "pull", "org/model")
        self.hub.forget()
        self.check()

    def test_wrong_lengths(self):
        self.hub.add_rule("resolve-cache/.*config", times=1000, length=5)
        self.fail_with("config.json", "pull", "org/model", PIPPIN_HUB_RETRIES="1")
        self.hub.forget()
        blob = self.repo.commits[self.repo.refs["main"]]["config.json"]
        for content in (b"{} and more", b"{"):
            blob.content, blob.size = content, len(content)
            self.fail_with("the list says 2", "pull", "org/model", PIPPIN_HUB_RETRIES="1")
        blob.content, blob.size = b"{}", 2
        self.check()

    def test_wrong_ranges(self):
        self.hub.add_rule("^cdn", times=1000, content_range="bytes 5-6/7")
        self.fail_with("instead of", "pull", "org/model", PIPPIN_HUB_RETRIES="1")
        self.hub.forget()
        self.hub.add_rule("^cdn", times=3, status=416)
        self.check()
        shutil.rmtree(self.cache)
        self.hub.add_rule("^cdn", times=1000, status=416)
        self.fail_with("416", "pull", "org/model", PIPPIN_HUB_RETRIES="1")

    def test_the_file_changes_between_attempts(self):
        self.hub.add_rule("^cdn", cut=MIB)
        self.hub.add_rule("resolve/.*model.safetensors", times=1000, skip=1, replace={"X-Linked-Etag": '"%s"' % ("0" * 64)})
        self.fail_with("etag", "pull", "org/model", "--max-workers", "1", PIPPIN_HUB_RETRIES="1")
        self.hub.forget()
        shutil.rmtree(self.cache)
        self.hub.add_rule("resolve/.*config", times=1000, replace={"X-Repo-Commit": "1" * 40})
        self.fail_with("commit", "pull", "org/model", PIPPIN_HUB_RETRIES="0")
        self.hub.forget()
        self.check()

    def test_signatures_run_out(self):
        self.hub.signature_uses = 1
        self.check()
        self.assertGreater(len(self.hub.requests("resolve/.*model.safetensors")), 1)

    def test_redirects_without_end(self):
        self.hub.add_rule("resolve/.*config|/again", times=1000, location="/again")
        self.fail_with("redirects", "pull", "org/model")
        self.hub.forget()
        self.hub.add_rule("resolve/.*config", location="file:///etc/passwd")
        self.fail_with("not an http or https URL", "pull", "org/model")

    def test_renamed(self):
        self.hub.renamed["old/name"] = "org/model"
        self.assertEqual(self.pull("old/name")["commit"], self.repo.refs["main"])
        self.check_whole(self.repo, ["config.json", "model.safetensors"], name="old/name")

    def test_answers_that_are_none(self):
        for body, part in ((b"<html>please log in</html>", "not an answer of the Hub"), (b"[" * 100000, "not an answer of the Hub"),
                           (b"{}", "sha"), (b'{"sha": "../../x"}', "commit hash"), (b'{"sha": 1}', "sha")):
            self.hub.add_rule("revision", status=200, body=body)
            self.fail_with(part, "pull", "org/model")
        self.assertFalse(os.path.exists(self.cache))

    def test_huge_answers(self):
        self.hub.add_rule("revision", status=200, body=b" " * (65 * MIB))
        self.fail_with("more than", "pull", "org/model")

    def test_names_that_leave_the_folder(self):
        for path in ("../../../../evil", "/evil", "a/../../evil", "a//b", "", "a\\b", "a\nb", "a/.", "x" * 300):
            entry = {"type": "file", "path": path, "size": 1, "oid": "0" * 40}
            self.hub.add_rule("tree", status=200, body=json.dumps([entry]).encode())
            self.fail_with("file name", "pull", "org/model", "--include", "*")
        for change in ({"oid": "../../x"}, {"size": -1}, {"size": 1 << 60}, {"lfs": {"oid": "../x", "size": 1}},
                       {"path": 7}, {"xetHash": "/etc"}):
            entry = {"type": "file", "path": "a", "size": 1, "oid": "0" * 40, **change}
            self.hub.add_rule("tree", status=200, body=json.dumps([entry]).encode())
            self.fail_with("", "pull", "org/model", "--include", "*")
        twice = [{"type": "file", "path": "a", "size": 1, "oid": "0" * 40}] * 2
        self.hub.add_rule("tree", status=200, body=json.dumps(twice).encode())
        self.fail_with("twice", "pull", "org/model", "--include", "*")
        self.assertFalse(os.path.exists(self.cache))
        self.assertEqual(os.listdir(self.home), [])

    def test_pages_without_end(self):
        headers = {"Link": '</api/models/org/model/tree/x?again>; rel="next"'}
        self.hub.add_rule("tree", times=100000, status=200, body=b"[]", headers=headers)
        self.fail_with("pages", "pull", "org/model")


if __name__ == "__main__":
    main()
