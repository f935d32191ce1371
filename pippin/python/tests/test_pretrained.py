"""Modules of Pippin's own architectures: nn.from_pretrained, and examples/llama.py."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import pippin
    from pippin import core as mx, nn
    from pippin.utils import tree_flatten
except ImportError as error:
    if "numpy" not in str(error).lower():
        raise
    raise unittest.SkipTest("NumPy is not installed") from None
from fixtures import PROGRAM, SOURCE
from testing import find_data, shared_data, shared_entries

DEMO = SOURCE / "pippin/demo/model"
# Architectures without a form as modules, each with a word of its message.
REFUSED = {"cohere_qknorm": "single heads", "deepseek_v2_lite": "attention", "gpt_oss": "experts",
           "lfm2": "attention", "llama_dynamic": "dynamic", "mixtral": "experts"}
# Sharp attention, for which float32 itself is imprecise.
TOLERANCES = {"gemma2_real_caps": 5e-4}
# Goldens whose reference recomputes the whole prefix at each step.
NO_CACHE = {"phi3_longrope_cross"}


def greedy(model, ids, count):
    cache, tokens = model.make_cache(), []
    for _ in range(count):
        ids = mx.argmax(model(mx.array(ids).reshape(1, -1), cache)[:, -1], axis=-1)
        tokens.append(ids.item())
    return tokens


class Demo(unittest.TestCase):
    def test_modules_have_the_names_of_the_checkpoint(self):
        model = nn.from_pretrained(DEMO)
        names = dict(tree_flatten(model.parameters()))
        self.assertIn("model.layers.0.self_attn.q_proj.weight", names)
        self.assertEqual(set(names), set(mx.load(str(DEMO / "model.safetensors"))))
        self.assertIsInstance(model.model["layers"][0].self_attn.q_proj, nn.Linear)
        self.assertFalse(model.training)

    def test_writes_what_the_program_writes(self):
        model = nn.from_pretrained(DEMO, mx.float32)
        tokenizer = pippin.Tokenizer(DEMO)
        ids = tokenizer.encode("Once upon a time")
        language = pippin.LanguageModel(str(DEMO), precision="exact")
        options = {"temperature": 0, "max_tokens": 30, "end_tokens": []}
        wanted = [token for token, _ in language.generate(language.new_sequence(), ids, options)]
        self.assertEqual(greedy(model, ids, len(wanted)), wanted)

    def test_in_parts_as_at_once(self):
        model, ids = nn.from_pretrained(DEMO, mx.float32), mx.array([[1, 50, 60, 70, 80, 90]])
        whole, cache = np.array(model(ids)), model.make_cache()
        parts = [np.array(model(ids[:, a:b], cache)) for a, b in ((0, 3), (3, 4), (4, 6))]
        np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=2e-5)

    def test_changed(self):
        model, ids = nn.from_pretrained(DEMO, mx.float32), mx.array([[1, 50, 60]])
        before = np.array(model(ids))
        nn.quantize(model, 32, 8)
        self.assertIsInstance(model.layers[0].self_attn.q_proj, nn.QuantizedLinear)
        after = np.array(model(ids))
        self.assertLess(np.abs(after - before).max(), 0.3)
        self.assertGreater(np.abs(after - before).max(), 0)

    def test_exported_with_its_cache_as_states(self):
        model = nn.from_pretrained(DEMO, mx.float16)
        ids = [1, 50, 60, 70, 80, 90]
        states = [(f"{kind}_{i}", shape) for i, shape in enumerate(model.cache_shapes(32))
                  for kind in ("keys", "values")]

        def step(ids, offset, *states):
            return model(ids, [nn.FixedCache(*states[i:i + 2], offset) for i in range(0, len(states), 2)])

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = folder.name + "/model.mlpackage"
        pippin.export(step, [("ids", (1, 1), mx.int32), ("offset", (1,), mx.int32)], states, path=path,
                      outputs=["logits"])
        exported = pippin.Model(path)
        state, wanted = exported.make_state(), np.array(model(mx.array([ids])).astype(mx.float32))[0]
        for i, one in enumerate(ids):
            found = exported.predict({"ids": [[one]], "offset": [i]}, state)["logits"]
            self.assertLess(np.abs(np.array(found, np.float32).ravel() - wanted[i]).max(), 0.15)
            self.assertEqual(np.argmax(found), np.argmax(wanted[i]))

    def test_what_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(pippin.NotFoundError):
                nn.from_pretrained(folder)
            config = json.loads((DEMO / "config.json").read_text())
            (Path(folder) / "config.json").write_text(json.dumps(config))
            with self.assertRaisesRegex(FileNotFoundError, "no safetensors"):
                nn.from_pretrained(folder)
            (Path(folder) / "broken.gguf").write_bytes(b"GGUF\x03\0\0\0")
            with self.assertRaisesRegex(pippin.InvalidFileError, "broken.gguf"):
                nn.from_pretrained(folder + "/broken.gguf")
            (Path(folder) / "broken.gguf").unlink()
            weights = mx.load(str(DEMO / "model.safetensors"))
            for change, words in (({"more": mx.zeros(1)}, "not in the model: more"),
                                  ({"model.norm.weight": mx.zeros(3)}, "model.norm.weight has shape")):
                mx.save_safetensors(folder + "/model.safetensors", {**weights, **change})
                with self.assertRaisesRegex(ValueError, words):
                    nn.from_pretrained(folder)

    def test_the_example_writes_what_the_program_writes(self):
        example = SOURCE / "examples/llama.py"
        self.assertLessEqual(len(example.read_text().splitlines()), 150)
        ended = subprocess.run([sys.executable, example, DEMO, "Once upon a time", "--tokens", "40"],
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        wanted = subprocess.run([PROGRAM, "run", DEMO, "--raw", "--no-stats", "--temp", "0", "-n", "40",
                                 "Once upon a time"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(ended.stdout.strip(), wanted.strip())
        arguments = [example, DEMO, "A dog", "--tokens", "20", "--temp", "1", "--top-p", "0.9", "--bits", "8", "--seed"]
        sampled = [subprocess.run([sys.executable, *arguments, seed], capture_output=True, text=True, check=True).stdout
                   for seed in ("1", "1", "2")]
        self.assertEqual(sampled[0], sampled[1])
        self.assertNotEqual(sampled[0], sampled[2])


class Architectures(unittest.TestCase):
    def folders(self):
        for place in ("architectures", "architectures2"):
            for folder in shared_entries(place):
                if (folder / "config.json").is_file() and (folder / "golden.npz").is_file():
                    yield folder

    def test_logits_and_greedy_tokens(self):
        found = 0
        for folder in self.folders():
            with self.subTest(folder.name):
                try:
                    model = nn.from_pretrained(folder, mx.float32)
                except pippin.UnsupportedError:
                    self.assertNotIn("llama_m", folder.name)
                    continue
                golden = np.load(folder / "golden.npz")
                if "logits" not in golden or "input_ids" not in golden:
                    continue
                found += 1
                ids = golden["input_ids"]
                logits = np.array(model(mx.array(ids)))
                np.testing.assert_allclose(logits, golden["logits"], rtol=0, atol=TOLERANCES.get(folder.name, 1e-4))
                if "gen_ids" in golden and folder.name not in NO_CACHE:
                    wanted = golden["gen_ids"][0].tolist()
                    self.assertEqual(greedy(model, ids, len(wanted)), wanted)
        self.assertGreaterEqual(found, 45)

    def test_exported_with_biases_for_distances(self):
        model = nn.from_pretrained(shared_data("architectures/bloom"), mx.float32)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path, ids = folder.name + "/model.mlpackage", mx.array([[5, 60, 7, 80, 9]])
        pippin.export(model, [("ids", (1, pippin.SizeRange(1, 8)), mx.int32)], path=path, outputs=["logits"])
        found = pippin.Model(path, precision="exact").predict({"ids": np.array(ids, np.int32)})["logits"]
        np.testing.assert_allclose(found, np.array(model(ids)), atol=1e-3)

    def test_gguf(self):
        folders = [folder for folder in shared_entries("architectures2") if folder.name.startswith("gguf_")]
        for folder in folders:
            with self.subTest(folder.name):
                model, golden = nn.from_pretrained(folder / "model.gguf"), np.load(folder / "golden.npz")
                quantized = isinstance(model.layers[0].mlp.gate_proj, nn.QuantizedLinear)
                self.assertEqual(quantized, folder.name != "gguf_f16")
                ids = golden["input_ids"]
                np.testing.assert_allclose(np.array(model(mx.array(ids))), golden["logits"], rtol=0, atol=1e-4)
                wanted = golden["gen_ids"][0].tolist()
                self.assertEqual(greedy(model, ids, len(wanted)), wanted)
                model = nn.from_pretrained(folder, mx.float16)  # a folder with nothing else, in another type
                self.assertEqual(model(mx.array([[1, 2]])).dtype, mx.float16)

    def test_refused_by_name(self):
        shared_data("architectures")
        for name, words in REFUSED.items():
            folder = find_data(f"architectures/{name}")
            if folder is not None:
                with self.assertRaisesRegex(pippin.UnsupportedError, words):
                    nn.from_pretrained(folder)


if __name__ == "__main__":
    unittest.main()
