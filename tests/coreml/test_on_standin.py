"""The Python package on a system with Core ML: the stand-in. Each case runs in a separate process, since the stand-in
reads its settings when it is loaded."""

import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

from fixtures import folder, package

BEGIN = """
import pickle, sys
import numpy as np
import pippin
path = sys.argv[1]
given = {"inputIds": [[401, 433]], "causalMask": np.zeros((1, 1, 2, 2), np.float16)}
"""


class OnStandin(unittest.TestCase):
    def run_python(self, code, **settings):
        """The output of `code`, with the path of the demo package and the stand-in's variables."""
        done = subprocess.run(
            [sys.executable, "-B", "-c", BEGIN + code, package()], capture_output=True, text=True, check=False,
            env={**os.environ, "PIPPIN_CACHE": str(folder() / "cache"), **settings})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def refusal(self, code, **settings):
        """The error raised by `code`, in one line."""
        return self.run_python(f"""
try:
    {code}
except pippin.Error as error:
    print(type(error).__name__, error)
else:
    print("no error")
""", **settings)

    def test_models_predict_through_it(self):
        code = """
here = pippin.Model(path)
there = pippin.Model(path, backend="coreml", compute_units="cpuAndGPU")
states = [model.make_state() for model in (here, there)]
for _ in range(2):
    want, have = (model.predict(given, state)["logits"] for model, state in zip((here, there), states))
    assert want.dtype == have.dtype and np.abs(have.astype(np.float32) - want).max() < 0.1, np.abs(have - want).max()
assert np.array_equal(states[0]["keyCache"] != 0, states[1]["keyCache"] != 0)
again = pickle.loads(pickle.dumps(there.function()))
assert np.array_equal(again.predict(given)["logits"], there.predict(given)["logits"])
print("same")
"""
        self.assertEqual(self.run_python(code), "same")

    def test_what_it_says_is_said(self):
        predict = 'pippin.Model(path, backend="coreml").predict(given)'
        self.assertEqual(self.refusal(predict), "no error")
        self.assertIn("DeviceError", self.refusal(predict, STANDIN_PREDICT="fails"))
        self.assertIn("DeviceError", self.refusal(predict, STANDIN_COMPILE="fails"))
        self.assertRegex(self.refusal(predict, STANDIN_IOS="170"),
                         "UnsupportedError .*has states, which Core ML has from macOS 15 on; this is ")
        self.assertRegex(
            self.refusal('pippin.Model(path, backend="coreml", compute_units="cpuAndNeuralEngine")', STANDIN_IOS="150"),
            "UnsupportedError .*cpuAndNeuralEngine from macOS 13 on")
        self.assertIn("no compute units 'gpu'; there are all,",
                      self.refusal('pippin.Model(path, backend="coreml", compute_units="gpu")'))

    def test_language_models_answer_through_it(self):
        code = """
from pippin import lm
texts = []
for options in ({}, {"backend": "coreml", "compute_units": "cpuOnly"}):
    model, tokenizer = lm.load(path, precision="exact", **options)
    model = pickle.loads(pickle.dumps(model))
    texts.append(lm.generate(model, tokenizer, "Once upon a time", max_tokens=12))
assert len(texts[0]) > 10 and texts[0] == texts[1], texts
print("same")
"""
        self.assertEqual(self.run_python(code), "same")
        self.assertIn("DeviceError", self.refusal(
            'from pippin import lm; m, t = lm.load(path, backend="coreml"); lm.generate(m, t, "a")',
            STANDIN_PREDICT="fails", PIPPIN_CACHE=tempfile.mkdtemp(dir=folder())))

    def test_compute_units_of_coremltools_are_its(self):
        predict = "from pippin import coreml; coreml.MLModel(path, coreml.ComputeUnit.{}).predict(given, " \
                  "coreml.MLModel(path).make_state())"
        for unit in ("ALL", "CPU_AND_GPU", "CPU_ONLY", "CPU_AND_NE"):
            self.assertEqual(self.refusal(predict.format(unit)), "no error")
            self.assertIn("told to fail", self.refusal(predict.format(unit), STANDIN_PREDICT="fails"))
        self.assertIn("cpuAndNeuralEngine from macOS 13 on",
                      self.refusal(predict.format("CPU_AND_NE"), STANDIN_IOS="150"))


if __name__ == "__main__":
    unittest.main()
