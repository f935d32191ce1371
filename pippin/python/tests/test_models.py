"""pippin.Model: predictions from Python."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import unittest
import weakref
from array import array

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import SANITIZED, package


def inputs(ids):
    n = len(ids)
    mask = np.triu(np.full((n, n), -np.inf, np.float16), 1)[None, None]
    return {"inputIds": np.array([ids], np.int32), "causalMask": mask}


class Predictions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = pippin.Model(package(), num_threads=2)

    def logits(self, given, state=None, **more):
        return self.model.predict(given, state, **more)["logits"]

    def test_describes_itself(self):
        self.assertEqual(self.model.functions, ["main"])
        self.assertEqual(set(self.model.inputs()), {"inputIds", "causalMask"})
        self.assertTrue(self.model.inputs()["inputIds"].startswith("int32 [1, 1..512]"))
        self.assertEqual(list(self.model.outputs()), ["logits"])
        self.assertEqual(set(self.model.states()), {"keyCache", "valueCache"})
        self.assertEqual(self.model.metadata["user_defined"]["pippin.family"], "stateful")

    def test_features_tell_kinds_and_types(self):
        features = self.model.features()
        ids = {feature["name"]: feature for feature in features["inputs"]}["inputIds"]
        self.assertEqual((ids["kind"], ids["type"], ids["optional"]), ("multiarray", "int32", False))
        self.assertEqual({feature["kind"] for feature in features["states"]}, {"state"})
        self.assertEqual([feature["type"] for feature in features["outputs"]], ["float16"])

    def test_outputs_are_arrays_that_own_their_memory(self):
        logits = self.logits(inputs([401, 433, 259]))
        self.assertEqual(logits.shape[:2], (1, 3))
        self.assertEqual(logits.dtype, np.float16)
        kept = logits.copy()
        for _ in range(3):
            self.logits(inputs([5, 6, 7]))
        np.testing.assert_array_equal(logits, kept)

    def test_a_state_remembers(self):
        whole = self.logits(inputs([401, 433, 259]))
        state = self.model.make_state()
        self.logits(inputs([401, 433]), state)
        step = {"inputIds": np.array([[259]], np.int32), "causalMask": np.zeros((1, 1, 1, 3), np.float16)}
        last = self.logits(step, state)
        np.testing.assert_allclose(last[0, -1], whole[0, -1], rtol=0.02, atol=0.05)
        self.assertEqual(sorted(state), ["keyCache", "valueCache"])
        self.assertIn("keyCache", state)
        self.assertNotIn("other", state)
        saved = {name: state[name] for name in state}
        other = self.model.make_state()
        for name, value in saved.items():
            other[name] = value
        again = self.logits({**step, "causalMask": np.zeros((1, 1, 1, 4), np.float16)}, other)
        more = self.logits({**step, "causalMask": np.zeros((1, 1, 1, 4), np.float16)}, state)
        np.testing.assert_array_equal(again, more)
        state.reset()
        self.assertFalse(state["keyCache"].any())

    def test_what_can_be_an_array(self):
        wanted = self.logits(inputs([401, 433]))
        mask = np.triu(np.full((2, 2), -np.inf, np.float16), 1)[None, None]
        wide = np.array([[401, 0, 433, 0]], np.int32)
        for ids in (
            [[401, 433]],
            np.array([[401, 433]], np.int64),
            np.array([[401.0, 433.0]]),
            wide[:, ::2],
            np.asfortranarray([[401, 433]]).astype(np.int32),
            memoryview(array("i", [401, 433])).cast("B").cast("i", (1, 2)),
        ):
            got = self.logits({"inputIds": ids, "causalMask": mask})
            np.testing.assert_array_equal(got, wanted)

    def test_writes_into_arrays(self):
        wanted = self.logits(inputs([401, 433]))
        target = np.empty_like(wanted)
        result = self.model.predict(inputs([401, 433]), out={"logits": target})
        self.assertIs(result["logits"], target)
        np.testing.assert_array_equal(target, wanted)
        wide = np.zeros((*wanted.shape[:2], 2 * wanted.shape[2]), wanted.dtype)
        self.model.predict(inputs([401, 433]), out={"logits": wide[..., ::2]})
        np.testing.assert_array_equal(wide[..., ::2], wanted)
        self.assertFalse(wide[..., 1::2].any())
        target.flags.writeable = False
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "logits: the ndarray cannot be written to"):
            self.model.predict(inputs([401, 433]), out={"logits": target})
        with self.assertRaisesRegex(ValueError, "logits"):
            self.model.predict(inputs([401]), out={"logits": np.empty((1, 2), np.float16)})
        with self.assertRaisesRegex(ValueError, "out: expected a dict"):
            self.model.predict(inputs([401]), out=[target])

    def test_errors_name_the_input(self):
        mask = inputs([401])["causalMask"]
        for given, words in (
            ({"inputIds": [[401]]}, "causalMask"),
            ({"inputIds": [[401]], "causalMask": mask, "more": [1]}, "more"),
            ({"inputIds": [["a"]], "causalMask": mask}, "inputIds"),
            ({"inputIds": [[0.5]], "causalMask": mask}, "inputIds"),
            ({"inputIds": [[[401]]], "causalMask": mask}, "inputIds"),
            ({"inputIds": np.array([[401]], ">i4"), "causalMask": mask}, 'inputIds: elements of the format ">i"'),
            ({"inputIds": np.array([[1j]]), "causalMask": mask}, "inputIds: elements of the format"),
            ({"inputIds": object(), "causalMask": mask}, "inputIds"),
            ({5: [[401]], "causalMask": mask}, "names of inputs are texts"),
        ):
            with self.assertRaisesRegex(pippin.InvalidArgumentError, words):
                self.model.predict(given)
        with self.assertRaises(FileNotFoundError):
            pippin.Model("/nowhere/x.mlpackage")
        with self.assertRaises(KeyError):
            self.model.inputs("nosuch")
        with self.assertRaises(KeyError):
            self.model.make_state()["nosuch"]
        with self.assertRaisesRegex(ValueError, "precision: \"half\""):
            pippin.Model(package(), precision="half")

    def test_backends_by_name(self):
        self.assertEqual(pickle.loads(pickle.dumps(pippin.Model(package(), backend="cpu"))).functions, ["main"])
        for wrong in "gpu", "cuda:", "cuda:x", "cuda:-1":
            with self.assertRaisesRegex(ValueError, f'backend: "{wrong}" is not cpu, cuda, cuda:N, auto or coreml'):
                pippin.Model(package(), backend=wrong)
        self.assertEqual(pippin.Model(package(), backend="auto").functions, ["main"])
        with self.assertRaisesRegex(ValueError, 'compute_units: "all" goes with the backend coreml, this is cpu'):
            pippin.LanguageModel(package(), compute_units="all")
        with self.assertRaisesRegex(ValueError, "no compute units 'gpu'; there are all, cpuAndNeuralEngine"):
            pippin.Model(package(), backend="coreml", compute_units="gpu")

    @unittest.skipIf(sys.platform == "darwin", "there is a Core ML")
    def test_core_ml_is_refused_where_there_is_none(self):
        for model in pippin.Model, pippin.LanguageModel:
            with self.assertRaisesRegex(pippin.UnsupportedError, "^Core ML is not available: .* macOS"):
                model(package(), backend="coreml", compute_units="cpuOnly")

    def test_a_state_of_another_model_is_refused(self):
        state = self.model.make_state()
        with self.assertRaisesRegex(ValueError, "keyCache"):
            state["keyCache"] = np.zeros(3, np.float16)

    def test_threads_take_turns(self):
        wanted = self.logits(inputs([401, 433]))
        faults = []

        def work():
            for _ in range(20):
                if not np.array_equal(self.logits(inputs([401, 433])), wanted):
                    faults.append("differs")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_a_model_is_pickled_by_its_path(self):
        again = pickle.loads(pickle.dumps(self.model))
        np.testing.assert_array_equal(again.predict(inputs([401]))["logits"], self.logits(inputs([401])))

    def test_nothing_is_kept(self):
        given = inputs([401])
        gone = weakref.ref(given["inputIds"])
        self.model.predict(given)
        del given
        gc.collect()
        self.assertIsNone(gone())

    def test_memory_stays_flat(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        if not os.path.exists("/proc/self/statm") or SANITIZED:
            self.skipTest("no /proc, or a sanitizer that keeps what is freed")
        given = inputs([401])
        for _ in range(500):
            self.model.predict(given)
        before = resident()
        for _ in range(3000):
            self.model.predict(given)
        self.assertLess(resident() - before, 8 << 20)

    def test_the_interpreter_may_end_while_a_prediction_runs(self):
        code = (
            "import threading, numpy as np, pippin\n"
            f"m = pippin.Model({package()!r})\n"
            "g = {'inputIds': np.ones((1, 400), np.int32), 'causalMask': np.zeros((1, 1, 400, 400), np.float16)}\n"
            "def work():\n"
            "    while True: m.predict(g)\n"
            "threading.Thread(target=work, daemon=True).start()\n"
            "import time; time.sleep(0.3)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
