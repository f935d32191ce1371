"""Arguments that predict() cannot take: an exception that names the argument, and never a crash."""

import ctypes
import gc
import threading
import time
import unittest
from array import array

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import compiled

X = np.array([[1, 2, 3, 4]], np.float32)
Y = X + 1


class Array:
    """An array with NumPy's interface, with any errors in it."""

    def __init__(self, data=X, **more):
        self.kept = data
        self.__array_interface__ = {**data.__array_interface__, **more}


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = pippin.Model(compiled("add"), num_threads=1)

    def setUp(self):
        self.function = self.model.function()

    def refused(self, words, *errors, **given):
        for predict in (self.model.predict, self.function.predict):
            with self.assertRaisesRegex(errors or pippin.InvalidArgumentError, words):
                predict(**given)

    def test_names(self):
        self.refused("inputs: expected a dict of values by name, not list", TypeError, inputs=[X])
        self.refused("inputs: expected a dict of values by name, not NoneType", TypeError, inputs=None)
        self.refused("inputs: the names of inputs are texts, not int", inputs={5: X})
        self.refused("no input 'z'; the model's inputs: x", inputs={"x": X, "z": X})
        self.refused("input 'x' is missing", inputs={})
        self.refused("out: expected a dict of arrays by name, not ndarray", inputs={"x": X}, out=X)
        self.refused("out: the names of outputs are texts, not int", inputs={"x": X}, out={5: X.copy()})
        self.refused("no output 'z'; the model's outputs: y", inputs={"x": X}, out={"z": X.copy()})
        with self.assertRaises(TypeError):
            self.function.predict({"x": X}, cancel=5)
        with self.assertRaises(TypeError):
            self.function.predict({"x": X}, nosuch=5)

    def test_types(self):
        for wrong, words in (
            (X.astype(">f4"), "x: elements of the format"),
            (X.astype(np.complex64), "x: elements of the format"),
            (X.astype(np.longdouble), "x: elements of the format"),
            (np.zeros((1, 4), "f4,i4"), "x: "),
            (np.zeros((1, 4), "M8[s]"), "x: "),
            (np.zeros((1, 4), "V4"), "x: "),
            (np.full((1, 4), None), "x: NoneType is neither a number nor a text"),
            (np.full((1, 4), "a"), "input 'x': string"),
            (object(), "x: object is neither"),
            (None, "x: NoneType is neither"),
            (1j, "x: "),
            ([[1, 2], [3]], "x: list is not an array"),
            ({"a": 1}, "input 'x': a dictionary; expected float32"),
            ("text", "input 'x': string"),
            (np.full((1, 4), 1e300), "input 'x': element 0 is 1e.?300, which float32 cannot hold"),
            (np.full((1, 4), (1 << 53) + 1), "input 'x': element 0 is 9007199254740993"),
        ):
            with self.subTest(str(wrong)):
                self.refused(words, inputs={"x": wrong})

    def test_shapes(self):
        for wrong in (X[0], X[None], X[:, :3], X[:0], np.zeros(()), 1.0, np.zeros((0, 4)), np.zeros((1,) * 32)):
            self.refused(r"input 'x': .*expected float32 \[1, 4\]", inputs={"x": wrong})
        for shape in ((float("nan"), 4), (1, -4), "14", (1, 1 << 62), (None,)):
            with self.subTest(str(shape)):
                self.refused("x: ", inputs={"x": Array(shape=shape)})
        huge = np.broadcast_to(np.float32(0), (1 << 20, 1 << 20))
        self.refused("input 'x': ", inputs={"x": huge})

    def test_strides(self):
        wide = np.arange(64, dtype=np.float32).reshape(8, 8)
        for x in (wide[:1, ::2], wide[:1, 3::-1], wide[::-1][:1, :4], wide.T[:1, :4], np.broadcast_to(X[:, :1], (1, 4)),
                  np.asfortranarray(X)):
            np.testing.assert_array_equal(self.function.predict({"x": x})["y"], x + 1)
            out = np.zeros((8, 8), np.float32)
            target = out[::-2][:1, ::-2]
            self.function.predict({"x": x}, out={"y": target})
            np.testing.assert_array_equal(target, x + 1)
            self.assertEqual(np.count_nonzero(out), 4)

    def test_any_alignment(self):
        for offset in range(1, 8):
            bytes_ = np.zeros(64, np.uint8)
            x = bytes_[offset:offset + 16].view(np.float32).reshape(1, 4)
            x[:] = X
            np.testing.assert_array_equal(self.function.predict({"x": x})["y"], Y)
            self.function.predict({"x": X}, out={"y": x})
            np.testing.assert_array_equal(x, Y)

    def test_targets(self):
        fixed = X.copy()
        fixed.flags.writeable = False
        for wrong, words in (
            (fixed, "y: the ndarray cannot be written to"),
            (bytes(16), "y: the bytes cannot be written to"),
            (pippin.Tensor(memoryview(bytes(16)).cast("f", (1, 4))), "output 'y': .*const memory"),
            ([[0, 0, 0, 0]], "y: list has no memory to write to"),
            (5, "y: int has no memory"),
            (X.astype(np.float64), "output 'y' is written into float64"),
            (X[:, :2].copy(), r"output 'y' is written into float32 \[1, 2\]"),
            (np.lib.stride_tricks.as_strided(X.copy(), (1, 4), (16, 0)), "output 'y': elements of its tensor share memory"),
        ):
            with self.subTest(words):
                self.refused(words, inputs={"x": X}, out={"y": wrong})
        total = pippin.Model(compiled("total"), num_threads=1)
        memory = np.zeros(12, np.float32)
        first, second = memory[:6].reshape(2, 3), memory[5:11].reshape(2, 3)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "'y'.*'z'"):
            total.predict({"x": np.ones((2, 3))}, out={"y": first, "z": second})
        self.assertFalse(memory.any())
        total.predict({"x": np.ones((2, 3))}, out={"y": first, "z": memory[6:].reshape(2, 3)})
        self.assertTrue(memory.all())

    def test_after_an_error_all_goes_on(self):
        for _ in range(50):
            for wrong in ({"x": X[0]}, {"x": X.astype(">f4")}, {"x": X * np.float64(1e300)}, {}):
                with self.assertRaises(pippin.Error):
                    self.function.predict(wrong)
            np.testing.assert_array_equal(self.function.predict({"x": X})["y"], Y)

    def test_memory_cannot_go_while_it_is_used(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        memory, token, ended = array("f", [1, 1]), pippin.CancelToken(), []

        def work():
            try:
                loop.predict({"x": memory, "n": 9_000_000}, cancel=token)
            except pippin.CancelledError:
                ended.append(True)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.2)
        try:
            with self.assertRaises(BufferError):
                memory.extend([1] * 1000)
        finally:
            token.request()
            thread.join()
        self.assertEqual(ended, [True])
        memory.extend([1] * 1000)  # free again
        held = np.ones((1, 4), np.float32)
        tensor = pippin.Tensor(held)
        with self.assertRaises(ValueError):
            held.resize((1000, 1000))
        del held
        gc.collect()
        np.testing.assert_array_equal(self.function.predict({"x": tensor})["y"], [[2, 2, 2, 2]])

    def test_what_callbacks_raise_comes_out(self):
        class Stops:
            def __array__(self, *_):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.function.predict({"x": Stops()})

        class Fails:
            def __array__(self, *_):
                raise ZeroDivisionError("by nothing")

        self.refused("x: Fails is not an array: ZeroDivisionError: by nothing", inputs={"x": Fails()})

        class Keys(dict):
            def keys(self):
                raise ZeroDivisionError("no keys")

        class Other:
            keys = Keys.keys

            def __getitem__(self, name):
                return X

        self.refused("no keys", ZeroDivisionError, inputs=Other())

    def test_inputs_may_change_while_they_are_read(self):
        """The results are undefined, but nothing else is harmed."""
        x, stop = X.copy(), threading.Event()

        def write():
            while not stop.is_set():
                x[:] += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(2000):
                self.assertEqual(self.function.predict({"x": x})["y"].shape, (1, 4))
        finally:
            stop.set()
            thread.join()

    def test_a_dict_may_change_while_it_is_read(self):
        given = {"x": X}

        class Adds:
            def __array__(self, *_):
                for i in range(100):
                    given[f"more{i}"] = X
                return X

        given["x"] = Adds()
        given["z"] = X
        with self.assertRaises((RuntimeError, pippin.Error)):
            self.function.predict(given)

    def test_objects_of_another_model(self):
        total = pippin.Model(compiled("total"), num_threads=1)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "the given state has no 'total'"):
            total.predict({"x": np.ones((2, 3))}, self.model.make_state())
        y = self.function.predict({"x": X}, as_tensors=True)["y"]
        with self.assertRaisesRegex(pippin.InvalidArgumentError, r"input 'x': shape \[1, 4\]; expected float32 \[2, 3\]"):
            total.predict({"x": y})

    def test_objects_that_are_not_made(self):
        for kind in (pippin.Model, pippin.Function, pippin.State, pippin.FeatureInfo):
            with self.assertRaises(TypeError):
                kind()
        for path in ("/nowhere/x.mlpackage", "\0", "", 5, None):
            with self.assertRaises((pippin.Error, TypeError, ValueError)):
                pippin.Model(path)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "-1 threads"):
            pippin.Model(compiled("add"), num_threads=-1)

    def test_a_tensor_outlives_what_it_is_of(self):
        tensors = []
        for _ in range(50):
            model = pippin.Model(compiled("add"), num_threads=1)
            tensors.append(model.predict({"x": X}, as_tensors=True)["y"])
        del model
        gc.collect()
        for tensor in tensors:
            np.testing.assert_array_equal(tensor, Y)
        memory = (ctypes.c_float * 4)(1, 2, 3, 4)
        tensor = pippin.Tensor(memory)
        del memory
        gc.collect()
        self.assertEqual(memoryview(tensor).tolist(), [1, 2, 3, 4])


if __name__ == "__main__":
    unittest.main()
