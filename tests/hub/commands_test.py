#!/usr/bin/env python3
"""A MODEL argument of the form org/name, for every command."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hub_testing import HubTest, PIPPIN, ROOT, main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vision"))
try:
    import smolvlm_gguf
except ImportError:
    smolvlm_gguf = None


class Commands(HubTest):
    """A MODEL argument of the form org/name, for every command."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(ROOT, "pippin", "demo", "model")
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

    def test_gguf_with_a_vision_tower(self):
        if smolvlm_gguf is None:
            self.skipTest("NumPy is not installed")
        folder = Path(self.home) / "made"
        smolvlm_gguf.write_all(folder, smolvlm_gguf.SHAPES["tiny"])
        files = {name: (folder / name).read_bytes() for name in ("model-f16.gguf", "mmproj-model-f16.gguf")}
        question = ["--image", str(folder / "picture.png"), "what is"]
        expected = self.tell(str(folder / "model"), *question)
        for name, options in (("org/vision", []), ("org/words", ["--no-mmproj"])):
            self.add(name, **files)
            if options:
                self.fail_with("takes text only", "run", f"{name}:F16", *options, *question, status=3)
            else:
                self.assertEqual(self.tell(f"{name}:F16", *question), expected)
            self.assertEqual(self.fetched(name), set(files) - ({"mmproj-model-f16.gguf"} if options else set()))

    def test_what_is_local_wins(self):
        shutil.copytree(self.source, os.path.join(self.home, "org", "stories"))
        process = subprocess.run([PIPPIN, "run", "org/stories", "Once", *self.greedy], text=True, capture_output=True,
                                 env=self.environment, cwd=self.home)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.fail_with("no such model", "run", "org/x.mlpackage", "hi")
        self.assertEqual(self.hub.requests(), [])

    def test_tokenize_needs_no_weights(self):
        status, out, err = self.run_pippin("tokenize", "org/stories", "Once upon a time")
        self.assertEqual((status, out), (0, "401 433 259 413\n"), err)
        self.assertIn("tokenizer.json", self.fetched())
        self.assertNotIn("model.safetensors", self.fetched())

    def render(self, model, conversation, *arguments):
        path = os.path.join(self.home, "conversation.json")
        with open(path, "w") as file:
            json.dump(conversation, file)
        status, out, err = self.run_pippin("template", model, path, *arguments)
        self.assertEqual(status, 0, err)
        return out

    def test_templates_by_name(self):
        plain, tools = {"messages": []}, {"messages": [], "tools": [{"name": "hammer"}]}
        named = [{"name": name, "template": "{{ bos_token }}" + name} for name in ("default", "tool_use", "rag")]
        config = {"bos_token": "<s>", "chat_template": named}
        tokenizer = self.files["tokenizer.json"]
        weights = {"config.json": b"{}", "model.safetensors": b"s", "tokenizer.json": tokenizer}
        self.add("org/list", **weights, **{"tokenizer_config.json": json.dumps(config).encode()})
        self.add("org/files", **weights, **{
            "tokenizer_config.json": b'{"bos_token": "<s>", "chat_template": "old"}',
            "chat_template.jinja": b"{{ bos_token }}default",
            "additional_chat_templates/tool_use.jinja": b"{{ bos_token }}tool_use",
            "additional_chat_templates/rag.jinja": b"{{ bos_token }}rag"})
        for model in ("org/list", "org/files"):
            self.assertEqual(self.render(model, plain), "<s>default")
            self.assertEqual(self.render(model, tools), "<s>tool_use")
            self.assertEqual(self.render(model, tools, "--template", "default"), "<s>default")
            self.assertEqual(self.render(model, plain, "--template", "rag"), "<s>rag")
            self.fail_with("default, ", "template", model, os.path.join(self.home, "conversation.json"), "--template", "x")
            self.assertNotIn("model.safetensors", self.fetched(model))
        self.add("org/processor", **weights, **{"chat_template.json": b'{"chat_template": "processor"}'})
        self.assertEqual(self.render("org/processor", plain), "processor")
        continued = {"messages": [{"role": "assistant", "content": "Once "}], "continue_final_message": True}
        self.add("org/one", **weights, **{"chat_template.jinja": b"{% for m in messages %}<{{ m.role }}>{% generation %}"
                                          b"{{ m.content }}{% endgeneration %}</s>{% endfor %}"})
        self.assertEqual(self.render("org/one", continued), "<assistant>Once ")

    def test_a_template_that_cannot_be_used(self):
        """... is an error if it is needed, and ignored otherwise."""
        expected = self.tell("org/stories", "Once upon a time", "--raw")
        for source in (b"{% if", b"{{ 1" + b" + 1" * 5000 + b" }}", b"\xff{{ '\xff' }}{% endfor %}"):
            self.add("org/broken", **self.files, **{"chat_template.jinja": source})
            self.assertEqual(self.tell("org/broken", "Once upon a time", "--raw"), expected)
            self.assertIn("chat_template.jinja", self.fail_with("--raw", "run", "org/broken", "Once upon a time"))
        named = {"chat_template": [{"name": "rag", "template": "x"}]}
        self.add("org/named", **{**self.files, "tokenizer_config.json": json.dumps(named).encode()})
        self.assertIn("rag", self.fail_with("--raw", "run", "org/named", "Once upon a time"))

    def package(self, source):
        """The files of a package that was made from `source`, without a tokenizer in it."""
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

    def test_models_of_speech(self):
        """Found by their names: the first file is not a model, and its error names it."""
        sound = os.path.join(self.home, "talk.wav")
        with open(sound, "wb"):
            pass
        self.add("org/whisper", **{"ggml-base.bin": b"lmgg\1", "ggml-base.en.bin": b"x",
                                   "ggml-base-encoder.mlmodelc.zip": b"x"})
        for name in ("org/whisper:base", "org/whisper/ggml-base.bin"):
            self.fail_with("ggml-base.bin: 4 bytes needed", "transcribe", name, sound)
        parts = ("Preprocessor", "Encoder", "Decoder", "JointDecision")
        self.add("org/parakeet", **{f"{part}.mlmodelc/model.mil": b"program" for part in parts},
                 **{"parakeet_vocab.json": b'["a"]', "JointDecisionv2.mlmodelc/model.mil": b"x"})
        self.fail_with("Preprocessor.mlmodelc", "transcribe", "org/parakeet", sound)

    def test_a_package_that_names_none_is_a_question(self):
        self.add("org/package", **self.package(self.source))
        self.fail_with("--tokenizer", "run", "org/package", "Once upon a time")
        expected = self.tell(self.source, "Once upon a time")
        self.assertEqual(self.tell("org/package", "--tokenizer", "org/stories", "Once upon a time"), expected)


if __name__ == "__main__":
    main()
