"""pippin.State: a mapping, views, copies, files."""

import copy
import gc
import os
import tempfile
import threading
import time
import unittest
from collections.abc import Mapping
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import compiled

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class States(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = pippin.Model(compiled("total"), num_threads=1)

    def setUp(self):
        self.state = self.model.make_state()

    def y(self, state=None):
        return self.model.predict({"x": X}, self.state if state is None else state)["y"]

    def test_is_a_mapping(self):
        self.assertIsInstance(self.state, Mapping)
        self.assertEqual((list(self.state), len(self.state), list(self.state.keys())), (["total"], 1, ["total"]))
        self.assertIn("total", self.state)
        self.assertNotIn("other", self.state)
        self.assertNotIn(5, self.state)
        self.y()
        np.testing.assert_array_equal(self.state.values()[0], X)
        self.assertEqual([name for name, _ in self.state.items()], ["total"])
        self.assertEqual(str(self.state.features["total"]), "float16 [2, 3]")
        kept = self.state["total"]
        kept[:] = 9  # a copy
        np.testing.assert_array_equal(self.state["total"], X)
        self.state["total"] = [[1, 2, 3], [4, 5, 6]]
        np.testing.assert_array_equal(self.y(), X + [[1, 2, 3], [4, 5, 6]])

    def test_a_view_is_the_state(self):
        view = self.state.view("total")
        self.assertEqual((view.dtype, view.shape, view.flags.writeable), (np.float16, (2, 3), True))
        self.y()
        np.testing.assert_array_equal(view, X)
        view[:, 1:] = 10
        np.testing.assert_array_equal(self.y(), X + [[0, 10, 10], [3, 10, 10]])
        self.state.reset()
        self.assertFalse(view.any())
        tensor = self.state.view("total", as_tensor=True)
        view[0, 0] = 5
        self.assertEqual(np.asarray(tensor)[0, 0], 5)
        with self.assertRaises(KeyError):
            self.state.view("nosuch")

    def test_a_view_keeps_the_memory(self):
        state = self.model.make_state()
        view = state.view("total")
        view[:] = 3
        del state
        gc.collect()
        for _ in range(20):
            self.model.make_state()["total"] = np.ones((2, 3))
        np.testing.assert_array_equal(view, np.full((2, 3), 3))

    def test_copies_go_their_own_ways(self):
        self.y()
        others = [self.state.copy(), copy.copy(self.state), copy.deepcopy(self.state)]
        self.y()
        for other in others:
            np.testing.assert_array_equal(other["total"], X)
            np.testing.assert_array_equal(self.y(other), 2 * X)
        np.testing.assert_array_equal(self.state["total"], 2 * X)

    def test_files(self):
        self.y()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.npz"
            self.state.save(path)
            with np.load(path) as saved:
                np.testing.assert_array_equal(saved["total"], X)
            other = pippin.Model(compiled("total")).make_state()
            view = other.view("total")
            other.load(str(path))
            np.testing.assert_array_equal(view, X)
            self.assertEqual(os.listdir(folder), ["state.npz"])
            for arrays, words in (
                ({}, "no state 'total' in it; expected float16 \\[2, 3\\]"),
                ({"total": X, "more": X}, "no state 'more'"),
                ({"total": X[:1]}, "state 'total': shape \\[1, 3\\]"),
                ({"total": X + 1e30}, "state 'total': element"),
            ):
                np.savez(path, **arrays)
                with self.assertRaisesRegex((pippin.InvalidArgumentError, pippin.NotFoundError), words):
                    other.load(path)
                np.testing.assert_array_equal(view, X)
            path.write_bytes(b"PK\3\4 no archive")
            with self.assertRaises(pippin.InvalidFileError):
                other.load(path)
            with self.assertRaises(FileNotFoundError):
                other.load(Path(folder) / "nothing.npz")
            with self.assertRaises(OSError):
                self.state.save(Path(folder) / "no" / "such" / "state.npz")

    def test_crosses_models(self):
        other = pippin.Model(compiled("total"), num_threads=1)
        self.y()
        np.testing.assert_array_equal(other.predict({"x": X}, self.state)["y"], 2 * X)
        np.testing.assert_array_equal(self.y(), 3 * X)
        add = pippin.Model(compiled("add"), num_threads=1)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "the given state has no 'total'"):
            self.model.predict({"x": X}, add.make_state())
        add.predict({"x": np.zeros((1, 4))}, self.state)  # a state with more arrays fits

    def test_what_is_no_state(self):
        for wrong in ({"total": X}, 5, self.model):
            with self.assertRaisesRegex(TypeError, "state: expected a State, not "):
                self.model.predict({"x": X}, wrong)

    def test_one_call_at_a_time(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        token = pippin.CancelToken()
        long = {"x": np.ones(2, np.float32), "n": 9_000_000}

        def work():
            with self.assertRaises(pippin.CancelledError):
                loop.predict(long, self.state, cancel=token)

        view = self.state.view("total")
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.2)
        try:
            for use in (
                lambda: self.state["total"], lambda: self.state.view("total"), self.state.reset, self.state.copy,
                lambda: self.y(), lambda: self.state.save("nowhere.npz"), lambda: self.state.load("nowhere.npz"),
                lambda: self.state.__setitem__("total", X),
            ):
                with self.assertRaisesRegex(pippin.InvalidArgumentError, "is used by another prediction"):
                    use()
            view[:] = 4  # memory is memory
        finally:
            token.request()
            thread.join()
        np.testing.assert_array_equal(self.state["total"], np.full((2, 3), 4))


if __name__ == "__main__":
    unittest.main()
