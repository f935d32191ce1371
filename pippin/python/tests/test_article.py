"""Runs an article's Llama, written for MLX, over pippin.core and pippin.nn; its code is read from the article itself.

The checkpoint is a small model in the article's form (as many key heads as heads, a separate head), as npz. The
article's code as printed rotates adjacent pairs; NumPy provides the expected result. With traditional=False the model
is the checkpoint's, and writes the same text as `pippin run`."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

try:
    import numpy as np
    import pippin
    from pippin import core as mx, nn, utils
except ImportError as error:
    if "numpy" not in str(error).lower():
        raise
    raise unittest.SkipTest("NumPy is not installed") from None
from fixtures import PROGRAM, SHARED
from testing import ABSENT, find_data
from unindented import programs

ARTICLE, MODEL = SHARED / "reference/mlx-llama.txt", find_data("models/stories260K")
PROMPT, COUNT = "Once upon a time", 60


def checkpoint(folder):
    """stories260K with each key-value head repeated and the embedding as head; the configuration."""
    config = json.loads((MODEL / "config.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    size = config["hidden_size"] // heads
    weights = {name: np.array(one) for name, one in mx.load(str(MODEL / "model.safetensors")).items()}
    for name, one in weights.items():
        if "k_proj" in name or "v_proj" in name:
            weights[name] = one.reshape(kv_heads, size, -1).repeat(heads // kv_heads, 0).reshape(heads * size, -1)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    np.savez(folder / "weights.npz", **weights)
    (folder / "config.json").write_text(json.dumps({**config, "num_key_value_heads": heads}))
    (folder / "DONE").write_text("")
    return {name: one.astype(np.float64) for name, one in weights.items()}, config


def logits(weights, config, ids):
    """The article's Llama as printed, in NumPy: all logits of all ids."""
    heads, width = config["num_attention_heads"], config["hidden_size"]
    size, length = width // heads, len(ids)

    def normed(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weights[name + ".weight"]

    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
    cos, sin = np.cos(angles), np.sin(angles)

    def turned(x):
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    x = weights["model.embed_tokens.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."

        def project(x, name):
            return x @ weights[f"{layer}{name}_proj.weight"].T

        y = normed(x, layer + "input_layernorm")
        q, k, v = (project(y, "self_attn." + name).reshape(length, heads, size).transpose(1, 0, 2) for name in "qkv")
        scores = turned(q) @ turned(k).transpose(0, 2, 1) / np.sqrt(size) + np.where(np.tri(length) > 0, 0, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (shares / shares.sum(-1, keepdims=True)) @ v
        x = x + project(seen.transpose(1, 0, 2).reshape(length, width), "self_attn.o")
        y = normed(x, layer + "post_attention_layernorm")
        gate = project(y, "mlp.gate")
        x = x + project(gate / (1 + np.exp(-gate)) * project(y, "mlp.up"), "mlp.down")
    return normed(x, "model.norm") @ weights["lm_head.weight"].T


@unittest.skipUnless(ARTICLE.is_file() and MODEL, f"{ABSENT}reference/mlx-llama.txt or data/models/stories260K")
class Article(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.weights, cls.config = checkpoint(cls.folder)
        cls.tokenizer = pippin.Tokenizer(MODEL)
        cls.programs = programs(ARTICLE.read_text(encoding="utf-8"))

    def run_article(self, traditional):
        """The variables of the article's programs, and their output; greedy, from the prompt above."""
        tokens = []
        mlx, transformers = types.ModuleType("mlx"), types.ModuleType("transformers")
        mlx.core, mlx.nn, mlx.utils = mx, nn, utils

        class AutoTokenizer:
            @staticmethod
            def from_pretrained(path):
                return types.SimpleNamespace(encode=self.tokenizer.encode, decode=lambda ids, skip_special_tokens:
                                             tokens.extend(ids) or self.tokenizer.decode(ids))

        transformers.AutoTokenizer = AutoTokenizer
        modules = {"mlx": mlx, "mlx.core": mx, "mlx.nn": nn, "mlx.utils": utils, "transformers": transformers}
        names = {"output_path": str(self.folder), "hf_path": str(self.folder), "os": os}
        wanted = ("import mlx.core", "class Llama", "tree_unflatten", "model.generate(")
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(io.StringIO()) as out:
            for program in self.programs:
                if not any(words in program for words in wanted):
                    continue
                if not traditional:
                    program = program.replace("traditional=True", "traditional=False")
                program = program.replace("model.generate(x, temp=1.0)", "model.generate(x, temp=1e-6)")
                program = program.replace('"My name is Julien and I like to"', repr(PROMPT))
                program = program.replace("max_token_length = 100", f"max_token_length = {COUNT}")
                exec(compile(program, "article", "exec"), names)
        return names, tokens, out.getvalue()

    def test_as_typed(self):
        names, tokens, _ = self.run_article(traditional=True)
        self.assertEqual(len(tokens), COUNT)
        ids = self.tokenizer.encode(PROMPT)
        wanted = logits(self.weights, self.config, ids + tokens)
        found = np.array(names["model"](mx.array([ids + tokens])))[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
        self.assertEqual(tokens, list(wanted.argmax(-1)[len(ids) - 1:-1]))

    def test_as_the_checkpoint_means_it(self):
        _, tokens, printed = self.run_article(traditional=False)
        model = pippin.LanguageModel(str(MODEL), precision="exact")
        generation = model.generate(model.new_sequence(), self.tokenizer.encode(PROMPT),
                                    {"temperature": 0, "max_tokens": COUNT})
        self.assertEqual(tokens, [token for token, _ in generation])
        text = subprocess.run([PROGRAM, "run", MODEL, "--raw", "--no-stats", "--temp", "0", "-n", str(COUNT), PROMPT],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed.splitlines()[0].strip(), text.strip().splitlines()[0].strip())
        self.assertRegex(printed, r"Throughput .*: [0-9.]+ tokens/sec")


if __name__ == "__main__":
    unittest.main()
