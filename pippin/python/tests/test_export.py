"""pippin.export: functions and modules as packages; predictions are compared with the arrays' values."""

import os
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
from fixtures import PROGRAM, SHARED



def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


class Exported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = folder.name + "/x.mlpackage"

    def compare(self, function, *arrays, tolerance=2e-3, **named):
        """Exports, predicts, and compares with the function's values."""
        inputs = {f"x{i}": mx.array(one) for i, one in enumerate(arrays)}
        pippin.export(function, inputs, path=self.path, **named)
        wanted = function(*inputs.values())
        several = isinstance(wanted, (dict, list, tuple))
        names = named.get("outputs") or ([path.replace(".", "_") if isinstance(wanted, dict) else f"output_{path}"
                                          for path, _ in tree_flatten(wanted)] if several else ["output"])
        found = pippin.Model(self.path, precision="exact").predict({f"x{i}": one for i, one in enumerate(arrays)})
        self.assertEqual(sorted(found), sorted(names))
        for name, (_, value) in zip(names, tree_flatten(wanted)):
            np.testing.assert_allclose(np.array(found[name], np.float32), np.array(value.astype(mx.float32)),
                                       rtol=tolerance, atol=tolerance)

    def test_functions(self):
        x = random(2, 3, 8)
        self.compare(lambda x: mx.softmax(x, axis=-1) * 2, x)
        self.compare(lambda x, y: {"sum": x + y, "top": {"max": mx.max(x, axis=-1)}}, x, random(3, 1, seed=1))
        self.compare(lambda x: mx.split(x, 2, axis=-1), x)
        self.compare(lambda x: (x, x + 1), x, outputs=["same", "more"])
        self.compare(lambda i: i * 2 + 1, np.arange(6, dtype=np.int32))

    def test_modules(self):
        x = random(2, 5, 16)
        models = {
            "mlp": nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)),
            "attention": nn.TransformerEncoder(2, 16, 4),
            "convolution": nn.Sequential(nn.Conv1d(16, 8, 3, padding=1), nn.SiLU(), nn.BatchNorm(8).eval()),
            "norms": nn.Sequential(nn.RMSNorm(16), nn.GroupNorm(4, 16), nn.RoPE(16)),
            "recurrent": nn.GRU(16, 8),
        }
        for name, model in models.items():
            with self.subTest(name):
                mask = nn.MultiHeadAttention.create_additive_causal_mask(5)
                self.compare((lambda x: model(x, mask)) if name == "attention" else model.eval(), x)

    def test_half_precision(self):
        model = nn.Sequential(nn.Linear(16, 16), nn.RMSNorm(16))
        model.set_dtype(mx.float16)
        self.compare(model, random(3, 16).astype(np.float16), tolerance=1e-2)

    def test_states(self):
        def step(x, total, last):
            total[...] = total + x
            last[1:] = x[:1]
            return total * 2, last

        pippin.export(step, [("x", (2, 3), mx.float16)], [("total", (2, 3)), pippin.TensorSpec("last", (2, 3), mx.float16)],
                      path=self.path)
        model = pippin.Model(self.path)
        state, total, last = model.make_state(), np.zeros((2, 3)), np.zeros((2, 3))
        for seed in range(3):
            x = random(2, 3, seed=seed).astype(np.float16)
            total, last = total + x, np.stack([last[0], x[0]])
            found = model.predict({"x": x}, state)
            np.testing.assert_allclose(found["output_0"], 2 * total, atol=1e-2)
            np.testing.assert_allclose(found["output_1"], last, atol=1e-3)
        np.testing.assert_allclose(np.array(state["total"]), total, atol=1e-2)

    def predict(self, name=None, **inputs):
        model = pippin.Model(self.path, precision="exact")
        return (model.function(name) if name else model).predict(inputs)

    def test_sizes_that_callers_choose(self):
        def model(x, y):
            n = x.shape[0]
            weights = mx.softmax(mx.tril(x @ x.T), axis=-1)
            return {"rows": weights @ x, "flat": (x + y[:, None]).reshape(-1), "last": x[n - 1], "places": mx.arange(n) * 2,
                    "mask": nn.MultiHeadAttention.create_additive_causal_mask(n)}

        n = pippin.SizeRange(1, None, "n")
        pippin.export(model, [("x", (n, 6)), ("y", (n,))], path=self.path)
        for size in (1, 2, 33):
            x, y = random(size, 6), random(size, seed=1)
            found = self.predict(x=x, y=y)
            for name, value in model(mx.array(x), mx.array(y)).items():
                np.testing.assert_allclose(found[name], np.array(value), rtol=1e-4, atol=1e-4)
        pippin.export(lambda x: x.reshape(x.shape[1], -1), [("x", [(2, 6), (4, 3)])], path=self.path, outputs=["y"])
        for shape in ((2, 6), (4, 3)):
            x = random(*shape)
            np.testing.assert_array_equal(self.predict(x=x)["y"], x.reshape(shape[1], -1))

    def test_several_functions(self):
        layer = nn.Linear(64, 64)

        def named(size):
            return pippin.ExportedFunction(layer, [("x", (size, 64))], outputs=["y"])

        pippin.export({"one": named(1), "many": named(pippin.SizeRange(2, 16))}, path=self.path)
        weights = Path(self.path) / "Data/com.apple.CoreML/weights/weight.bin"
        self.assertLess(weights.stat().st_size, 64 * 64 * 4 + 1024)
        for name, size in (("one", 1), ("many", 9)):
            x = random(size, 64)
            np.testing.assert_allclose(self.predict(name, x=x)["y"], np.array(layer(mx.array(x))), rtol=1e-4, atol=1e-4)

    def test_quantized_modules_stay_quantized(self):
        model = nn.Sequential(nn.Embedding(10, 64), nn.Linear(64, 512, bias=False))
        nn.quantize(model, group_size=32, bits=4)
        pippin.export(model, [("ids", (pippin.SizeRange(1, 8),), mx.int32)], path=self.path, outputs=["y"])
        ids = np.array([3, 1, 9], np.int32)
        np.testing.assert_allclose(self.predict(ids=ids)["y"], np.array(model(mx.array(ids))), rtol=1e-3, atol=1e-3)
        weights = Path(self.path) / "Data/com.apple.CoreML/weights/weight.bin"
        self.assertLess(weights.stat().st_size, 64 * 522)

    def test_what_would_be_frozen(self):
        def refuse(function, words):
            with self.assertRaisesRegex(pippin.UnsupportedError, words):
                pippin.export(function, [("x", (pippin.SizeRange(2, 64), 4))], path=self.path)
            self.assertFalse(Path(self.path).exists())

        refuse(lambda x: mx.exp(x) if x.shape[0] > 8 else mx.sin(x), "does not do the same for all sizes")
        refuse(lambda x: x / x.shape[0] ** 0.5, "was computed of sizes")
        refuse(lambda x: x * mx.array(np.ones((x.shape[0], 1), np.float32)), "was made for one size each")

    def test_the_program_predicts(self):
        pippin.export(nn.Linear(4, 2), [("x", (3, 4))], path=self.path, outputs=["y"])
        ended = subprocess.run([PROGRAM, "predict", self.path, "--random-inputs", "1", "--json"], capture_output=True,
                               text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn('"y"', ended.stdout)

    def test_what_is_refused(self):
        def failing(x):
            raise KeyError("of the function")

        def export(function, inputs=(("x", (2, 2)),), states=None, **named):
            pippin.export(function, inputs, states, path=self.path, **named)

        cases = ((lambda: export(lambda x: x.item()), ValueError, ""),
                 (lambda: export(failing), KeyError, "of the function"),
                 (lambda: export(lambda x, s: x, states=[("s", (pippin.SizeRange(1, 2),))]), ValueError, "one shape"),
                 (lambda: export({}), ValueError, "inputs, states and outputs of their own"),
                 (lambda: export(lambda x: x, [("x", (pippin.SizeRange(4, 2),))]), ValueError, "sizes from 4 to 2"),
                 (lambda: export(lambda x: x if x.sum() > 0 else -x), ValueError, ""),
                 (lambda: export(lambda x: 3), ValueError, "output is a int, no array"),
                 (lambda: export(lambda x: x, outputs=["a", "b"]), ValueError, "2 names for 1 outputs"),
                 (lambda: export(lambda x, y: x, [("x", (1,)), ("x", (2,))]), ValueError, "two inputs are called 'x'"),
                 (lambda: export(lambda x, s: x, states=[("s", (2,), mx.float32)]), ValueError, "states are float16"))
        for call, kind, words in cases:
            with self.assertRaisesRegex(kind, words):
                call()
            self.assertFalse(Path(self.path).exists())

    @unittest.skipUnless(os.environ.get("COREMLTOOLS"), "COREMLTOOLS names no checkout")
    def test_coremltools_accepts(self):
        check = SHARED / "tools/coremltools/check.py"
        model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32))
        pippin.export(lambda x, s: model(x + s), [("x", (2, 16))], [("s", (2, 16))], path=self.path)
        ended = subprocess.run([sys.executable, check, self.path], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
