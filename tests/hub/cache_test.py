#!/usr/bin/env python3
"""Which files are downloaded, and the layout of the cache, also for huggingface_hub."""

import json
import os
import time

from hub_testing import HubTest, MIB, git_hash, main, noise


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

    # One of each kind of file that may hold a tokenizer or a template.
    TEXT = ["added_tokens.json", "additional_chat_templates/rag.jinja", "chat_template.jinja", "chat_template.json",
            "config.json", "generation_config.json", "merges.txt", "qwen.tiktoken", "special_tokens_map.json",
            "spiece.model", "tiktoken.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json",
            "vocab.txt"]
    OTHER = ["README.md", "additional_chat_templates/notes.txt", "consolidated.safetensors", "adapter_model.safetensors",
             "other/config.json", "other/additional_chat_templates/rag.jinja", "other/x.tiktoken", "vocabulary.json"]

    def test_all_that_text_needs(self):
        self.add(**{path: path.encode() for path in self.TEXT + self.OTHER + ["model.safetensors"]})
        self.assertEqual(self.names("org/model"), sorted(self.TEXT + ["model.safetensors"]))

    def test_all_that_text_needs_beside_packages(self):
        """At the top and in the packages' folder; also the files that tell how the packages fit together."""
        inner = ["ml/" + path for path in self.TEXT]
        parts = ["ml/A_chunk1.mlpackage/Manifest.json", "ml/A_chunk2.mlpackage/Manifest.json"]
        for meta in ("meta.json", "meta.yaml", "meta.yml"):
            expected = [*self.TEXT, *inner, *parts, "ml/" + meta]
            self.add("org/" + meta, **{path: path.encode() for path in [*expected, "README.md", "ml/README.md",
                                                                         "other/config.json"]})
            self.assertEqual(self.names("org/" + meta), sorted(expected))

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
        for target, part in (("gone.safetensors", "which is not in the repository"), ("../x", "leaves its folder")):
            index = json.dumps({"weight_map": {"a": target}}).encode()
            self.add(**{"config.json": b"{}", "model.safetensors.index.json": index})
            self.fail_with(part, "pull", "org/model")

    def test_bin_where_there_is_nothing_else(self):
        self.add(**{"config.json": b"{}", "pytorch_model.bin": b"b", "training_args.bin": b"t", "model.gguf": b"g"})
        self.assertEqual(self.names("org/model"), ["config.json", "pytorch_model.bin"])

    def test_neither_weights_nor_packages(self):
        self.add(**{"config.json": b"{}", "model.onnx": b"o"})
        self.fail_with(".onnx", "pull", "org/model")

    def test_gguf_where_there_is_nothing_else(self):
        self.add(**{"config.json": b"{}", "model.gguf": b"g", "model.onnx": b"o"})
        self.assertEqual(self.names("org/model"), ["model.gguf"])

    def test_ggml_files_with_encoders(self):
        files = {f"ggml-{name}": name.encode() for name in ("base.bin", "base.en.bin", "base-encoder.mlmodelc.zip")}
        self.add(**files)
        self.assertEqual(self.names("org/model:base"), ["ggml-base.bin"])
        self.assertEqual(self.names("org/model/ggml-base.en.bin"), ["ggml-base.en.bin"])
        self.fail_with("several GGUF or GGML models", "pull", "org/model")
        del files["ggml-base.en.bin"]
        self.add("org/one", **files)
        self.assertEqual(self.names("org/one"), ["ggml-base.bin"])

    def test_packages_of_speech_by_their_names(self):
        files = [f"{name}.mlmodelc/model.mil" for name in ("Preprocessor", "EncoderInt4", "Decoder", "JointDecision")]
        files += ["config.json", "parakeet_vocab.json"]
        more = ["JointDecisionv2.mlmodelc/model.mil", "Melspectrogram_15s.mlmodelc/model.mil", "README.md"]
        self.add(**{file: file.encode() for file in files + more})
        self.assertEqual(self.names("org/model"), sorted(files))
        self.add("org/question", **{file: b"x" for file in (*files, "Encoder_v2.mlmodelc/model.mil")})
        self.fail_with("has 5 packages", "pull", "org/question")
        files = [f"{name}.mlmodelc/model.mil" for name in ("MelSpectrogram", "AudioEncoder", "TextDecoder")]
        self.add("org/whisperkit", **{file: file.encode() for file in files + ["TextDecoderContextPrefill.mlmodelc/m"]})
        self.assertEqual(self.names("org/whisperkit"), sorted(files))
        self.add("org/sizes", **{f"{size}/{file}": b"x" for size in ("base", "tiny") for file in files})
        self.fail_with("has 6 packages", "pull", "org/sizes")
        self.assertEqual(self.names("org/sizes/tiny"), sorted(f"tiny/{file}" for file in files))

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
        offline = self.pull("org/model", HF_HUB_OFFLINE="1")  # without a list of expected files
        self.assertEqual(offline["commit"], commit)
        self.assertEqual(self.hub.requests(), [])
        self.assertEqual(self.pull("org/model")["received"], 2)
        self.check_whole(repo, ["config.json", "model.safetensors", "tokenizer.json"])

    def test_what_older_python_left_is_used_without_a_network(self):
        repo = self.add(**{"config.json": b"{}", "model.safetensors": noise(70000)})
        commit = repo.refs["main"]
        self.make_like_python(repo, commit, ["config.json", "model.safetensors"])
        self.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"  # no server listens there
        self.environment["PIPPIN_HUB_RETRIES"] = "0"
        self.assertEqual(self.pull("org/model")["commit"], commit)
        os.remove(os.path.join(self.repo_folder(), "snapshots", commit, "model.safetensors"))
        self.fail_with("127.0.0.1", "pull", "org/model")

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
        # The first revision again, by its commit, by a prefix of that, and by a tag.
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
        # A file that the user changed is replaced; one that only lost its metadata is recognized.
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


if __name__ == "__main__":
    main()
