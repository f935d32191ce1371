#!/usr/bin/env python3
"""The Hub's side of the command line, against hub_server.py: what is downloaded, what the cache looks
like, and everything that can go wrong on the way.

    PIPPIN=build/release/pippin/cli/pippin hub_test.py [TEST...]
"""

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
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hub_server import Blob, Hub, Repo, git_hash  # noqa: E402

PIPPIN = os.environ.get("PIPPIN", "pippin")
MIB = 1 << 20
SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class HubTest(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.home = tempfile.mkdtemp(prefix="pippin-hub-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.cache = os.path.join(self.home, "hub")
        # None of the machine's own settings.
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
        self.environment = {**keep, "HF_HOME": self.home, "HF_ENDPOINT": self.hub.endpoint, "HF_TOKEN": "hf_good",
                            "HOME": self.home, "no_proxy": "*"}

    def add(self, name="org/model", **files):
        repo = self.hub.repos[name] = Repo({path: content for path, content in files.items()})
        return repo

    def start(self, *arguments, **environment):
        return subprocess.Popen([PIPPIN, *arguments], env={**self.environment, **environment}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_pippin(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def pull(self, *arguments, **environment):
        """A pull that works: what --json says."""
        status, out, err = self.run_pippin("pull", *arguments, "--json", **environment)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def fail_with(self, part, *arguments, status=1, **environment):
        """One line on stderr that has `part` in it (notices of attempts apart), nothing on stdout."""
        got, out, err = self.run_pippin(*arguments, **environment)
        self.assertEqual((got, out), (status, ""), err)
        lines = [line for line in err.splitlines() if line.startswith("pippin: error: ")]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(part, lines[0])
        self.assertNotIn("hf_good", err)
        return lines[0]

    def repo_folder(self, name="org/model"):
        return os.path.join(self.cache, "models--" + name.replace("/", "--"))

    def blobs(self, name="org/model"):
        folder = os.path.join(self.repo_folder(name), "blobs")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def read(self, *parts):
        with open(os.path.join(*parts), "rb") as file:
            return file.read()

    def check_whole(self, repo, names, name="org/model", commit=None):
        """The snapshot has just these files with their content; the cache has nothing else."""
        commit = commit or repo.refs["main"]
        folder = self.repo_folder(name)
        snapshot = os.path.join(folder, "snapshots", commit)
        found = sorted(os.path.relpath(os.path.join(parent, file), snapshot)
                       for parent, _, files in os.walk(snapshot) for file in files)
        self.assertEqual(found, sorted(names))
        blobs = repo.commits[commit]
        for file in names:
            path = os.path.join(snapshot, file)
            self.assertEqual(os.path.realpath(path), os.path.join(os.path.realpath(folder), "blobs", blobs[file].etag))
            self.assertFalse(os.path.isabs(os.readlink(path)))
            content = self.read(path)
            self.assertEqual(len(content), blobs[file].size)
            etag = hashlib.sha256(content).hexdigest() if blobs[file].lfs else git_hash(content)
            self.assertEqual(etag, blobs[file].etag)
        self.assertEqual(self.blobs(name), sorted({blobs[file].etag for file in names}))


class Chosen(HubTest):
    """Which files are downloaded."""

    def names(self, *arguments):
        return sorted(file["path"] for file in self.pull(*arguments)["files"])

    def test_safetensors_before_bin(self):
        self.add(**{"config.json": b"{}", "tokenizer.json": b"{}", "README.md": b"#", "model.safetensors": noise(99),
                    "pytorch_model.bin": noise(98), "tf_model.h5": b"h", "flax_model.msgpack": b"f", "model.gguf": b"g",
                    "onnx/model.onnx": b"o", "onnx/config.json": b"o", "original/consolidated.00.pth": b"p",
                    "consolidated.safetensors": b"c", "chat_template.jinja": b"t",
                    "additional_chat_templates/rag.jinja": b"r", ".gitattributes": b"a"})
        self.assertEqual(self.names("org/model"), ["additional_chat_templates/rag.jinja", "chat_template.jinja", "config.json",
                                                   "model.safetensors", "tokenizer.json"])

    def test_shards_of_the_index(self):
        index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
                                "c": "model-00001-of-00002.safetensors"}}
        self.add(**{"config.json": b"{}", "model.safetensors.index.json": json.dumps(index).encode(),
                    "model-00001-of-00002.safetensors": noise(70000, 1), "model-00002-of-00002.safetensors": noise(70000, 2),
                    "model-00003-of-00003.safetensors": b"left over", "pytorch_model.bin.index.json": b"{}",
                    "pytorch_model-00001-of-00001.bin": b"b"})
        expected = ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                    "model.safetensors.index.json"]
        self.assertEqual(self.names("org/model"), expected)
        self.assertEqual(self.names("org/model"), expected)

    def test_an_index_that_names_what_is_not_there(self):
        for target, part in (("gone.safetensors", "which the repository has not"), ("../x", "leaves its folder")):
            index = json.dumps({"weight_map": {"a": target}}).encode()
            self.add(**{"config.json": b"{}", "model.safetensors.index.json": index})
            self.fail_with(part, "pull", "org/model")

    def test_bin_where_there_is_nothing_else(self):
        self.add(**{"config.json": b"{}", "pytorch_model.bin": b"b", "training_args.bin": b"t", "model.gguf": b"g"})
        self.assertEqual(self.names("org/model"), ["config.json", "pytorch_model.bin"])

    def test_neither_weights_nor_packages(self):
        self.add(**{"config.json": b"{}", "model.gguf": b"g"})
        self.fail_with(".gguf", "pull", "org/model")

    def test_anemll_zips_stay_zipped(self):
        parts = ["llama_embeddings.mlmodelc.zip", "llama_FFN_PF_lut6_chunk_01of02.mlmodelc.zip",
                 "llama_FFN_PF_lut6_chunk_02of02.mlmodelc.zip", "llama_lm_head_lut6.mlmodelc.zip"]
        self.add(**{"config.json": b"{}", "meta.yaml": b"model_info: {}", "tokenizer.json": b"{}", "README.md": b"#",
                    "sample.py": b"p", **{part: part.encode() for part in parts}})
        self.assertEqual(self.names("org/model"), sorted(["config.json", "meta.yaml", "tokenizer.json"] + parts))

    def test_chunks_in_folders(self):
        files = ["Llama_chunk1.mlmodelc/model.mil", "Llama_chunk2.mlmodelc/weights/weight.bin",
                 "cache-processor.mlmodelc/model.mil", "logit-processor.mlmodelc/model.mil"]
        self.add(**{"README.md": b"#", **{file: file.encode() for file in files}})
        self.assertEqual(self.names("org/model"), sorted(files))

    def test_packages_beside_a_checkpoint(self):
        checkpoint = {"config.json": b"{}", "model.safetensors": b"s"}
        self.add("org/top", **checkpoint, **{"M.mlpackage/Manifest.json": b"{}"})
        self.assertEqual(self.names("org/top"), ["M.mlpackage/Manifest.json", "config.json"])
        self.add("org/below", **checkpoint, **{"coreml/M.mlpackage/Manifest.json": b"{}"})
        self.assertEqual(self.names("org/below"), ["config.json", "model.safetensors"])

    def test_several_packages_are_a_question(self):
        self.add(**{"A.mlpackage/Manifest.json": b"a", "B.mlpackage/Manifest.json": b"bb", "B.mlpackage/Data/w": b"w"})
        line = self.fail_with("has 2 packages", "pull", "org/model")
        self.assertIn("B.mlpackage (3 B)", line)
        self.assertEqual(self.blobs(), [])
        result = self.pull("org/model/B.mlpackage")
        self.assertEqual(sorted(file["path"] for file in result["files"]), ["B.mlpackage/Data/w", "B.mlpackage/Manifest.json"])
        self.assertEqual(result["packages"], ["B.mlpackage"])

    def test_globs(self):
        self.add(**{"a.txt": b"a", "b/c.txt": b"c", "b/d.bin": b"d", "[x].txt": b"x"})
        self.assertEqual(self.names("org/model", "--include", "*.txt"), ["[x].txt", "a.txt", "b/c.txt"])
        self.assertEqual(self.names("org/model", "--include", "b/"), ["b/c.txt", "b/d.bin"])
        self.assertEqual(self.names("org/model", "--include", "*", "--exclude", "*.bin", "--exclude", "a*"),
                         ["[x].txt", "b/c.txt"])
        self.assertEqual(self.names("org/model", "a.txt", "b/d.bin"), ["a.txt", "b/d.bin"])
        self.fail_with("fits", "pull", "org/model", "--include", "*.zip")


class Cache(HubTest):
    def test_layout(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(9 * MIB), "tokenizer.json": b"[]"})
        result = self.pull("org/model")
        commit = repo.refs["main"]
        self.assertEqual(result["path"], os.path.join(self.repo_folder(), "snapshots", commit))
        self.check_whole(repo, ["config.json", "model.safetensors", "tokenizer.json"])
        self.assertEqual(self.read(self.repo_folder(), "refs", "main"), commit.encode())
        etag = repo.commits[commit]["config.json"].etag
        self.assertEqual(os.readlink(os.path.join(result["path"], "config.json")), "../../blobs/" + etag)
        locks = os.listdir(os.path.join(self.cache, ".locks", "models--org--model"))
        self.assertIn(etag + ".lock", locks)
        listing = json.loads(self.read(self.repo_folder(), "trees", commit + ".json"))
        self.assertEqual(listing["format_version"], 1)
        self.assertEqual(listing["files"]["config.json"], {"size": 2, "blob_id": etag})
        self.assertEqual(sorted(os.listdir(self.repo_folder())), ["blobs", "refs", "snapshots", "trees"])

    def make_like_python(self, repo, commit, names):
        folder = self.repo_folder()
        for name in names:
            blob = repo.commits[commit][name]
            path = os.path.join(folder, "snapshots", commit, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.makedirs(os.path.join(folder, "blobs"), exist_ok=True)
            with open(os.path.join(folder, "blobs", blob.etag), "wb") as file:
                file.write(blob.content)
            os.symlink(os.path.relpath(os.path.join(folder, "blobs", blob.etag), os.path.dirname(path)), path)
        os.makedirs(os.path.join(folder, "refs"), exist_ok=True)
        with open(os.path.join(folder, "refs", "main"), "w") as file:
            file.write(commit)

    def test_what_python_left_is_used(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(70000), "tokenizer.json": b"[]"})
        commit = repo.refs["main"]
        self.make_like_python(repo, commit, ["config.json", "model.safetensors"])
        offline = self.pull("org/model", HF_HUB_OFFLINE="1")  # without a list of what there should be
        self.assertEqual(offline["commit"], commit)
        self.assertEqual(self.hub.requests(), [])
        self.assertEqual(self.pull("org/model")["received"], 2)
        self.check_whole(repo, ["config.json", "model.safetensors", "tokenizer.json"])

    def test_what_python_left_incomplete_goes_on(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(3 * MIB)})
        blob = repo.commits[repo.refs["main"]]["model.safetensors"]
        os.makedirs(os.path.join(self.repo_folder(), "blobs"))
        with open(os.path.join(self.repo_folder(), "blobs", blob.etag + ".incomplete"), "wb") as file:
            file.write(blob.content[:MIB])
        self.assertEqual(self.pull("org/model")["received"], 2 * MIB + 2)
        self.check_whole(repo, ["config.json", "model.safetensors"])

    def test_wrong_bytes_in_an_incomplete_file_are_replaced(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(3 * MIB)})
        blob = repo.commits[repo.refs["main"]]["model.safetensors"]
        os.makedirs(os.path.join(self.repo_folder(), "blobs"))
        for wrong in (noise(MIB, 7), noise(3 * MIB, 7), noise(4 * MIB, 7)):
            with open(os.path.join(self.repo_folder(), "blobs", blob.etag + ".incomplete"), "wb") as file:
                file.write(wrong)
            self.pull("org/model")
            self.check_whole(repo, ["config.json", "model.safetensors"])
            self.assertEqual(self.run_pippin("rm", "org/model")[0], 0)
            os.makedirs(os.path.join(self.repo_folder(), "blobs"))

    def test_a_blob_of_the_wrong_size_is_replaced(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(70000)})
        commit = repo.refs["main"]
        self.make_like_python(repo, commit, ["config.json", "model.safetensors"])
        blob = os.path.join(self.repo_folder(), "blobs", repo.commits[commit]["model.safetensors"].etag)
        with open(blob, "wb") as file:
            file.write(b"short")
        self.pull("org/model")
        self.check_whole(repo, ["config.json", "model.safetensors"])

    def test_revisions_share_blobs(self):
        weights = noise(70000)
        repo = self.add(**{"config.json": b"1", "model.safetensors": weights})
        first = repo.refs["main"]
        self.pull("org/model")
        repo.update({"config.json": b"22", "model.safetensors": weights})
        self.assertEqual(self.pull("org/model")["received"], 2)
        self.assertEqual(len(self.blobs()), 3)
        self.assertEqual(self.read(self.repo_folder(), "refs", "main").decode(), repo.refs["main"])
        # The first one again, by its commit, its beginning, and a tag.
        self.assertEqual(self.pull("org/model@" + first)["received"], 0)
        self.assertEqual(self.pull("org/model", "--revision", first[:8])["commit"], first)
        repo.refs["refs/pr/1"] = first
        self.assertEqual(self.pull("org/model@refs/pr/1")["commit"], first)
        self.assertEqual(self.read(self.repo_folder(), "refs", "refs", "pr", "1").decode(), first)

    def test_pages(self):
        self.hub.page_size = 3
        files = {"part/%02d.txt" % number: b"%d" % number for number in range(20)}
        self.add(**files)
        self.assertEqual(len(self.pull("org/model", "--include", "*")["files"]), 20)
        self.assertEqual(len(self.hub.requests("/tree/")), 7)

    def test_local_dir(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(3 * MIB)})
        folder = os.path.join(self.home, "here")
        self.assertEqual(self.pull("org/model", "--local-dir", folder)["path"], folder)
        self.assertEqual(self.read(folder, "model.safetensors"), noise(3 * MIB))
        self.assertFalse(os.path.islink(os.path.join(folder, "config.json")))
        notes = os.path.join(folder, ".cache", "huggingface", "download")
        commit, etag, when = self.read(notes, "config.json.metadata").decode().split()
        self.assertEqual((commit, etag), (repo.refs["main"], git_hash(b"{}")))
        self.assertLess(abs(float(when) - time.time()), 60)
        self.assertFalse(os.path.exists(self.cache))
        self.assertEqual(self.pull("org/model", "--local-dir", folder)["received"], 0)
        # What the user changed is replaced; what only lost its note is recognised.
        with open(os.path.join(folder, "config.json"), "wb") as file:
            file.write(b"[]")
        os.utime(os.path.join(folder, "config.json"), (time.time() + 100, time.time() + 100))
        os.remove(os.path.join(notes, "model.safetensors.metadata"))
        self.assertEqual(self.pull("org/model", "--local-dir", folder)["received"], 2)
        self.assertEqual(self.read(folder, "config.json"), b"{}")

    def test_list_and_rm(self):
        weights = noise(100000)
        repo = self.add(**{"config.json": b"1", "model.safetensors": weights})
        first = repo.refs["main"]
        self.pull("org/model")
        repo.update({"config.json": b"22", "model.safetensors": weights})
        self.pull("org/model")
        self.add("other/one", **{"config.json": b"3", "model.safetensors": b"w"})
        self.pull("other/one")
        status, out, _ = self.run_pippin("list", "--json")
        listed = {entry["repo"]: entry for entry in json.loads(out)}
        self.assertEqual(sorted(listed), ["org/model", "other/one"])
        self.assertEqual(listed["org/model"]["bytes"], 100003)
        refs = {entry["commit"]: entry["refs"] for entry in listed["org/model"]["revisions"]}
        self.assertEqual(refs, {first: [], repo.refs["main"]: ["main"]})
        self.assertIn("org/model", self.run_pippin("list")[1])
        self.fail_with("not in the cache", "rm", "org/none")
        self.fail_with("not in the cache", "rm", "org/model@v9")
        status, out, err = self.run_pippin("rm", "org/model@" + first[:7], "--json")
        self.assertEqual((status, json.loads(out)["bytes"]), (0, 1), err)
        self.check_whole(repo, ["config.json", "model.safetensors"])
        self.assertEqual(self.run_pippin("rm", "org/model")[0], 0)
        self.assertFalse(os.path.exists(self.repo_folder()))
        self.assertTrue(os.path.exists(self.repo_folder("other/one")))
        self.pull("org/model")
        self.check_whole(repo, ["config.json", "model.safetensors"])

    def test_rm_leaves_what_is_being_downloaded(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(4 * MIB)})
        self.hub.add_rule("^cdn", slow=0.1)
        process = self.start("pull", "org/model")
        try:
            self.wait_for_bytes(MIB)
            self.fail_with("another process is downloading", "rm", "org/model")
            self.assertEqual(process.wait(60), 0, process.stderr.read())
        finally:
            process.communicate()
        self.check_whole(repo, ["config.json", "model.safetensors"])

    def test_an_update_that_fails_leaves_what_was_there(self):
        repo = self.add(**{"config.json": b"1", "model.safetensors": noise(70000)})
        first = self.pull("org/model")["commit"]
        repo.update({"config.json": b"22", "model.safetensors": noise(80000)})
        self.hub.add_rule("^cdn", times=1000, status=503)
        status, out, err = self.run_pippin("pull", "org/model", PIPPIN_HUB_RETRIES="0")
        self.assertEqual((status, out.strip().endswith(first)), (0, True), err)
        self.assertIn("from the cache", err)
        self.assertEqual(self.pull("org/model", HF_HUB_OFFLINE="1")["commit"], first)
        self.hub.forget()
        self.assertEqual(self.pull("org/model")["commit"], repo.refs["main"])

    def wait_for_bytes(self, count):
        end = time.monotonic() + 30
        while self.hub.content_bytes() < count and time.monotonic() < end:
            time.sleep(0.01)


class Refused(HubTest):
    """What the user has to do something about: one line that says what."""

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
        self.fail_with("no token", "pull", "org/model", HF_TOKEN="hf\nInjected: yes")
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
    """Servers and networks that fail, and servers that lie."""

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
        self.fail_with("no http or https URL", "pull", "org/model")

    def test_renamed(self):
        self.hub.renamed["old/name"] = "org/model"
        self.assertEqual(self.pull("old/name")["commit"], self.repo.refs["main"])
        self.check_whole(self.repo, ["config.json", "model.safetensors"], name="old/name")

    def test_answers_that_are_none(self):
        for body, part in ((b"<html>please log in</html>", "no answer of the Hub"), (b"[" * 100000, "no answer of the Hub"),
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


class Commands(HubTest):
    """A MODEL that is org/name, everywhere."""

    def setUp(self):
        super().setUp()
        here = os.path.dirname(os.path.abspath(__file__))
        shared = os.environ.get("PIPPIN_SHARED", os.path.join(here, "..", "..", "..", "shared"))
        self.source = os.path.join(shared, "data", "models", "stories260K")
        if not os.path.isdir(self.source):
            self.skipTest("shared test data is absent: data/models/stories260K")
        self.files = {name: self.read(self.source, name) for name in os.listdir(self.source)
                      if os.path.isfile(os.path.join(self.source, name))}
        self.add("org/stories", **self.files)
        self.greedy = ["--temp", "0", "-n", "12", "--no-stats"]

    def tell(self, *arguments, **environment):
        status, out, err = self.run_pippin("run", *arguments, *self.greedy, **environment)
        self.assertEqual(status, 0, err)
        return out

    def fetched(self, name="org/stories"):
        return {re.search(r"resolve/[^/]+/([^?]+)", entry["line"]).group(1)
                for entry in self.hub.requests("hub GET /%s/resolve" % name)}

    def test_run(self):
        expected = self.tell(self.source, "Once upon a time")
        self.assertEqual(self.tell("org/stories", "Once upon a time"), expected)
        self.assertIn("model.safetensors", self.fetched())
        self.hub.forget()
        self.assertEqual(self.tell("org/stories@main", "Once upon a time"), expected)
        self.assertEqual(self.tell("--repo-id", "org/stories", "Once upon a time", HF_HUB_OFFLINE="1"), expected)
        self.assertEqual(self.hub.requests(), [])
        self.fail_with("twice", "run", "--repo-id", "org/stories", "a", "b", status=2)
        self.fail_with("no such repository", "run", "org/none", "hi")
        process = subprocess.run([PIPPIN, "run", "org/stories", *self.greedy], input="Once upon a time", text=True,
                                 capture_output=True, env=self.environment)
        self.assertEqual(process.stdout, expected, process.stderr)

    def test_what_is_local_wins(self):
        shutil.copytree(self.source, os.path.join(self.home, "org", "stories"))
        process = subprocess.run([PIPPIN, "run", "org/stories", "Once", *self.greedy], text=True, capture_output=True,
                                 env=self.environment, cwd=self.home)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.fail_with("no such model", "run", "org/x.mlpackage", "hi")
        self.assertEqual(self.hub.requests(), [])

    def test_tokenize_needs_no_weights(self):
        status, out, err = self.run_pippin("tokenize", "org/stories", "Once upon a time")
        self.assertEqual((status, out), (0, "1 403 407 261 378\n"), err)
        self.assertIn("tokenizer.json", self.fetched())
        self.assertNotIn("model.safetensors", self.fetched())

    def package(self, source):
        """The files of a package that was made from `source`, without a tokenizer inside."""
        path = os.path.join(self.home, "Stories.mlpackage")
        status, _, err = self.run_pippin("convert", source, "-o", path)
        self.assertEqual(status, 0, err)
        manifest = json.loads(self.read(path, "Manifest.json"))
        entries = manifest["itemInfoEntries"]
        manifest["itemInfoEntries"] = {key: entry for key, entry in entries.items() if "huggingface" not in entry["path"]}
        self.assertLess(len(manifest["itemInfoEntries"]), len(entries))
        files = {}
        for parent, _, names in os.walk(path):
            for name in names:
                file = os.path.relpath(os.path.join(parent, name), os.path.dirname(path))
                if "huggingface" not in file:
                    files[file] = self.read(parent, name)
        files["Stories.mlpackage/Manifest.json"] = json.dumps(manifest).encode()
        return files

    def test_a_package_gets_the_tokenizer_that_it_names(self):
        self.add("org/package", **self.package("org/stories"))
        expected = self.tell("org/stories", "Once upon a time")
        shutil.rmtree(self.cache)
        self.hub.forget()
        self.assertEqual(self.tell("org/package", "Once upon a time"), expected)
        self.assertIn("tokenizer.json", self.fetched())
        self.assertNotIn("model.safetensors", self.fetched())
        self.assertEqual(self.tell("org/package", "Once upon a time", HF_HUB_OFFLINE="1"), expected)
        status, out, err = self.run_pippin("inspect", "org/package")
        self.assertIn("causalMask", out, err)
        shutil.rmtree(self.cache)
        self.assertEqual(self.pull("org/package")["tokenizer"]["repo"], "org/stories")
        self.assertEqual(self.tell("org/package", "Once upon a time", HF_HUB_OFFLINE="1"), expected)

    def test_a_package_that_names_none_is_a_question(self):
        self.add("org/package", **self.package(self.source))
        self.fail_with("--tokenizer", "run", "org/package", "Once upon a time")
        expected = self.tell(self.source, "Once upon a time")
        self.assertEqual(self.tell("org/package", "--tokenizer", "org/stories", "Once upon a time"), expected)


if __name__ == "__main__":
    print("SEED=%d" % SEED, file=sys.stderr)
    unittest.main()
