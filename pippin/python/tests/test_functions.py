"""pippin.Function and pippin.Tensor: prepared calls, batches, tasks, arrays without NumPy."""

import asyncio
import ctypes
import gc
import pickle
import subprocess
import sys
import threading
import time
import unittest
import weakref
from array import array

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import compiled, package

try:
    import torch
except ImportError:
    torch = None


def row(*values):
    return np.array([values], np.float32)


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = pippin.Model(compiled("add"), num_threads=1)
        cls.add = cls.model.function()

    def test_says_what_it_takes(self):
        function = pippin.Model(package(), num_threads=1).function("main")
        self.assertEqual(function.name, "main")
        ids = function.inputs["inputIds"]
        self.assertEqual((ids.name, ids.kind, ids.type, ids.shape), ("inputIds", "multiarray", "int32", (1, 1)))
        self.assertEqual(ids.ranges, ((1, 1), (1, 512)))
        self.assertEqual((ids.optional, ids.color_space, ids.enumerated_shapes), (False, None, ()))
        self.assertEqual(str(ids), "int32 [1, 1..512]")
        self.assertEqual(list(function.outputs), ["logits"])
        self.assertEqual({one.kind for one in function.states.values()}, {"state"})
        with self.assertRaisesRegex(KeyError, "nosuch"):
            self.model.function("nosuch")

    def test_predicts_the_same_as_its_model(self):
        for _ in range(3):
            y = self.add.predict({"x": row(1, 2, 3, 4)})["y"]
            np.testing.assert_array_equal(y, row(2, 3, 4, 5))
        np.testing.assert_array_equal(self.model.predict({"x": row(0, 0, 0, 0)})["y"], row(1, 1, 1, 1))
        self.assertEqual(y.dtype, np.float32)
        y[:] = 7  # its own memory
        np.testing.assert_array_equal(self.add.predict({"x": row(1, 2, 3, 4)})["y"], row(2, 3, 4, 5))

    def test_all_types_come_back(self):
        types = pippin.Model(compiled("types"), num_threads=1).function()
        h = np.array([[0.5, 1], [2, -3]], np.float16)
        given = {"h": h, "i": np.array([3, -4], np.int32), "b": np.array([True, False])}
        for _ in range(2):
            got = types.predict(given)
            np.testing.assert_array_equal(got["h2"], 2 * h)
            np.testing.assert_array_equal(got["i2"], [6, -8])
            np.testing.assert_array_equal(got["b2"], [False, True])
            self.assertEqual([got[name].dtype for name in ("h2", "i2", "b2")], [np.float16, np.int32, np.bool_])
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "input 'i': element 0 is 1099511627776"):
            types.predict({**given, "i": np.array([1 << 40, 0])})

    def test_what_has_no_plan_predicts_too(self):
        loop = pippin.Model(compiled("loop"), num_threads=1).function()
        for n in range(5):
            np.testing.assert_array_equal(loop.predict({"x": np.ones(2, np.float32), "n": n})["y"], [n + 1] * 2)

    def test_every_shape_has_its_own_call(self):
        function = pippin.Model(package(), num_threads=1).function()
        wanted = {}
        for _ in range(2):
            for n in list(range(1, 20)) + [3, 2, 1]:
                mask = np.triu(np.full((n, n), -np.inf, np.float16), 1)[None, None]
                got = function.predict({"inputIds": np.arange(5, 5 + n)[None], "causalMask": mask})["logits"]
                self.assertEqual(got.shape[1], n)
                np.testing.assert_array_equal(got, wanted.setdefault(n, got))

    def test_a_state_goes_along(self):
        total = pippin.Model(compiled("total"), num_threads=1).function()
        state = total.make_state()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for turn in range(1, 4):
            np.testing.assert_array_equal(total.predict({"x": x}, state)["y"], turn * x)
        np.testing.assert_array_equal(total.predict({"x": x})["y"], x)  # zeros without a state
        target = np.zeros((2, 3), np.float32)
        result = total.predict({"x": x}, state, out={"z": target})
        self.assertEqual(list(result), ["z"])
        self.assertIs(result["z"], target)
        np.testing.assert_array_equal(target, 4 * x * x)

    def test_results_may_replace_inputs(self):
        x = row(1, 2, 3, 4)
        for _ in range(3):
            self.add.predict({"x": x}, out={"y": x})
        np.testing.assert_array_equal(x, row(4, 5, 6, 7))

    def test_batches(self):
        batch = [{"x": row(i, i, i, i)} for i in range(5)]
        for predict in (self.add.predict_batch, self.model.predict_batch):
            got = predict(batch)
            self.assertEqual([float(one["y"][0, 0]) for one in got], [1, 2, 3, 4, 5])
        self.assertEqual(self.add.predict_batch([]), [])
        self.assertIsInstance(self.add.predict_batch(iter(batch), as_tensors=True)[0]["y"], pippin.Tensor)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, r"batch\[1\]: .*'x'.*shape \[1, 2\]"):
            self.add.predict_batch([batch[0], {"x": row(1, 2)}])
        with self.assertRaisesRegex(pippin.InvalidArgumentError, r"batch\[1\]: x: object is neither a number nor a text"):
            self.add.predict_batch([batch[0], {"x": object()}])
        for wrong in (batch[0], 5, [5]):
            with self.assertRaisesRegex(TypeError, "batch"):
                self.add.predict_batch(wrong)

    def test_pickles_by_its_path(self):
        again = pickle.loads(pickle.dumps(self.add))
        self.assertEqual(again.name, "main")
        np.testing.assert_array_equal(again.predict({"x": row(1, 2, 3, 4)})["y"], row(2, 3, 4, 5))

    def test_outlives_its_model(self):
        model = pippin.Model(compiled("add"), num_threads=1)
        function = model.function()
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        np.testing.assert_array_equal(function.predict({"x": row(1, 2, 3, 4)})["y"], row(2, 3, 4, 5))

    def test_nothing_of_inputs_is_kept(self):
        x = row(1, 2, 3, 4)
        held = sys.getrefcount(x)
        gone = weakref.ref(x)
        for _ in range(3):
            self.add.predict({"x": x})
            self.add.predict_batch([{"x": x}] * 3)
            with self.assertRaises(pippin.Error):
                self.add.predict({"x": x, "more": x})
        self.assertEqual(sys.getrefcount(x), held)
        del x
        gc.collect()
        self.assertIsNone(gone())

    def test_any_thread_predicts(self):
        faults = []

        def work(value):
            for _ in range(200):
                if self.add.predict({"x": row(value, value, value, value)})["y"][0, 0] != value + 1:
                    faults.append(value)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])


class Cancelling(unittest.TestCase):
    def setUp(self):
        self.loop = pippin.Model(compiled("loop"), num_threads=1)
        self.long = {"x": np.ones(2, np.float32), "n": 9_000_000}

    def test_a_token_ends_a_call(self):
        token = pippin.CancelToken()
        threading.Timer(0.2, token.request).start()
        begin = time.monotonic()
        with self.assertRaisesRegex(pippin.CancelledError, "cancelled"):
            self.loop.predict(self.long, cancel=token)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertTrue(token.requested)
        with self.assertRaises(pippin.CancelledError):
            self.loop.predict({**self.long, "n": 1}, cancel=token)
        with self.assertRaises(pippin.CancelledError):
            self.loop.predict_batch([{**self.long, "n": 1}], cancel=token)
        token.reset()
        self.assertEqual(self.loop.predict({**self.long, "n": 1}, cancel=token)["y"][0], 2)

    def test_one_that_waits_for_its_turn_is_cancelled_too(self):
        first, second = pippin.CancelToken(), pippin.CancelToken()
        ended = []

        def work(token):
            try:
                self.loop.predict(self.long, cancel=token)
            except pippin.CancelledError:
                ended.append(token)

        threads = [threading.Thread(target=work, args=(token,)) for token in (first, second)]
        threads[0].start()
        time.sleep(0.1)
        threads[1].start()
        time.sleep(0.1)
        second.request()
        threads[1].join(10)
        self.assertEqual(ended, [second])
        first.request()
        threads[0].join(10)
        self.assertEqual(ended, [second, first])


class Tasks(unittest.TestCase):
    def test_predictions_are_awaited(self):
        add = pippin.Model(compiled("add"), num_threads=1)

        async def run():
            got = await asyncio.gather(*(add.predict_async({"x": row(i, 0, 0, 0)}) for i in range(20)))
            one = await add.function().predict_async({"x": row(1, 2, 3, 4)}, as_tensors=True)
            return got, one

        got, one = asyncio.run(run())
        self.assertEqual([float(each["y"][0, 0]) for each in got], [i + 1 for i in range(20)])
        self.assertIsInstance(one["y"], pippin.Tensor)

        async def wrong():
            await add.predict_async({"x": row(1, 2)})

        with self.assertRaisesRegex(pippin.InvalidArgumentError, "input 'x'"):
            asyncio.run(wrong())

    def test_the_loop_and_other_models_go_on(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        add = pippin.Model(compiled("add"), num_threads=1)

        async def run():
            slow = asyncio.create_task(loop.predict_async({"x": np.ones(2, np.float32), "n": 9_000_000}))
            await asyncio.sleep(0.1)
            for i in range(5):
                await add.predict_async({"x": row(i, 0, 0, 0)})
            self.assertFalse(slow.done())
            slow.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await slow
            # The prediction has ended, and the model is free.
            return await loop.predict_async({"x": np.ones(2, np.float32), "n": 1})

        begin = time.monotonic()
        self.assertEqual(asyncio.run(run())["y"][0], 2)
        self.assertLess(time.monotonic() - begin, 10)

    def test_one_that_waits_never_begins(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)

        async def run():
            given = {"x": np.ones(2, np.float32), "n": 9_000_000}
            tasks = [asyncio.create_task(loop.predict_async(given)) for _ in range(3)]
            await asyncio.sleep(0.1)
            for task in reversed(tasks):
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

        for ended in asyncio.run(run()):
            self.assertIsInstance(ended, asyncio.CancelledError)


class Tensors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.add = pippin.Model(compiled("add"), num_threads=1).function()

    def one(self):
        return self.add.predict({"x": row(0, 1, 2, 3)}, as_tensors=True)["y"]

    def test_says_what_it_is(self):
        y = self.one()
        self.assertEqual((y.dtype, y.shape, y.strides), ("float32", (1, 4), (16, 4)))
        self.assertEqual((y.ndim, y.size, y.nbytes, len(y), y.readonly), (2, 4, 16, 1, False))
        self.assertEqual(repr(y), "Tensor(float32 [1, 4])")

    def test_feeds_the_next_call(self):
        y = self.one()
        for _ in range(5):
            y = self.add.predict({"x": y}, as_tensors=True)["y"]
        np.testing.assert_array_equal(y.numpy(), row(6, 7, 8, 9))

    def test_shares_its_memory(self):
        y = self.one()
        views = [y.numpy(), np.asarray(y), np.from_dlpack(y), np.frombuffer(y, np.float32)]
        views[0][0, 0] = 50
        for view in views:
            self.assertEqual(view.ravel()[0], 50)
        self.assertEqual(memoryview(y)[0, 0], 50)
        own = y.copy()
        y.numpy()[0, 0] = 60
        self.assertEqual(own.numpy()[0, 0], 50)
        del y
        gc.collect()
        self.assertEqual(views[2].ravel()[0], 60)
        self.assertEqual(np.array(own, np.float64).dtype, np.float64)
        target = pippin.Tensor(np.zeros((1, 4), np.float32))
        self.add.predict({"x": row(0, 1, 2, 3)}, out={"y": target})
        np.testing.assert_array_equal(target.numpy(), row(1, 2, 3, 4))

    def test_is_made_of_anything_without_a_copy(self):
        base = np.arange(12, dtype=np.float32).reshape(3, 4)
        strided = pippin.Tensor(base[::2, ::-1])
        self.assertEqual((strided.shape, strided.strides), ((2, 4), (32, -4)))
        np.testing.assert_array_equal(np.asarray(strided), base[::2, ::-1])
        np.testing.assert_array_equal(strided.copy().numpy(), base[::2, ::-1])
        base[0, 3] = 40
        self.assertEqual(np.asarray(strided)[0, 0], 40)
        self.assertEqual(pippin.Tensor(array("d", [1, 2])).dtype, "float64")
        self.assertEqual(pippin.Tensor((ctypes.c_int16 * 3)(1, 2, 3)).dtype, "int16")
        self.assertEqual(pippin.Tensor([1, 2]).dtype, "int64")
        self.assertEqual(pippin.Tensor(True).shape, ())
        constant = pippin.Tensor(b"abc")
        self.assertTrue(constant.readonly)
        self.assertFalse(constant.numpy().flags.writeable)

    def test_buffers_are_what_is_asked_for(self):
        class Py_buffer(ctypes.Structure):
            _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]

        ask = ctypes.pythonapi.PyObject_GetBuffer
        ask.argtypes = [ctypes.py_object, ctypes.POINTER(Py_buffer), ctypes.c_int]
        simple, writable, strides, c, f = 0, 1, 0x18, 0x38, 0x58
        base = np.zeros((3, 4), np.float32)
        plain, apart, turned = pippin.Tensor(base), pippin.Tensor(base[:, ::2]), pippin.Tensor(base.T)
        constant = pippin.Tensor(bytes(4))
        for tensor, flags, fits in (
            (plain, simple, True), (plain, c, True), (plain, f, False), (plain, writable, True),
            (apart, simple, False), (apart, strides, True), (apart, c, False), (apart, f, False),
            (turned, f, True), (turned, c, False), (constant, simple, True), (constant, writable, False),
        ):
            view = Py_buffer()
            if fits:
                self.assertEqual(ask(tensor, view, flags), 0)
                self.assertEqual(view.len, tensor.nbytes)
                ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
            else:
                with self.assertRaises(BufferError):
                    ask(tensor, view, flags)

    def test_dlpack(self):
        y = self.one()
        self.assertEqual(y.__dlpack_device__(), (1, 0))

        def name(capsule):
            return repr(capsule).split('"')[1]

        self.assertEqual(name(y.__dlpack__()), "dltensor")
        self.assertEqual(name(y.__dlpack__(max_version=(0, 8))), "dltensor")
        self.assertEqual(name(y.__dlpack__(max_version=(1, 1), dl_device=(1, 0))), "dltensor_versioned")
        for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                y.__dlpack__(**wrong)
        constant = pippin.Tensor(b"abcd")
        with self.assertRaisesRegex(BufferError, "const memory"):
            constant.__dlpack__()
        self.assertEqual(name(constant.__dlpack__(copy=True)), "dltensor")
        self.assertEqual(name(constant.__dlpack__(max_version=(1, 0))), "dltensor_versioned")
        with self.assertRaises(BufferError):
            pippin.Tensor("text").__dlpack__()
        with self.assertRaisesRegex(pippin.UnsupportedError, "strings"):
            pippin.Tensor("text").numpy()

    def test_dlpack_comes_in(self):
        class Giver:
            """An object without a buffer that records requests for one."""

            def __init__(self, tensor, versions=True):
                self.tensor, self.versions, self.asked = tensor, versions, []

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

            def __dlpack__(self, **asked):
                self.asked.append(asked)
                if asked and not self.versions:
                    raise TypeError("unexpected keyword")
                return self.tensor.__dlpack__(**asked)

        x = pippin.Tensor(row(1, 2, 3, 4))
        for giver in (Giver(x), Giver(x, False), Giver(pippin.Tensor(row(1, 2, 3, 4).tobytes()))):
            self.assertIs(pippin.Tensor(giver).readonly, giver.tensor.readonly)
        for giver in (Giver(x), Giver(x, False)):
            np.testing.assert_array_equal(self.add.predict({"x": giver})["y"], row(2, 3, 4, 5))
            self.assertEqual(giver.asked[0], {"max_version": (1, 0)})

        class Wrong(Giver):
            def __dlpack_device__(self):
                return 2, 0

        with self.assertRaisesRegex(pippin.UnsupportedError, "x: a Wrong on device 2"):
            self.add.predict({"x": Wrong(x)})

        class Raises(Giver):
            def __dlpack__(self, **asked):
                raise RuntimeError("has no time")

        with self.assertRaisesRegex(pippin.InvalidArgumentError, "x: the Raises gives no DLPack .* has no time"):
            self.add.predict({"x": Raises(x)})

        class Nothing(Giver):
            def __dlpack__(self, **asked):
                return 5

        with self.assertRaisesRegex(pippin.InvalidArgumentError, "x: __dlpack__.. of the Nothing"):
            self.add.predict({"x": Nothing(x)})
        used = x.__dlpack__()

        class Twice(Giver):
            def __dlpack__(self, **asked):
                return used

        pippin.Tensor(Twice(x))
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "gives no capsule"):
            pippin.Tensor(Twice(x))

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "array: object is neither a number nor a text"):
            pippin.Tensor(object())
        with self.assertRaises(TypeError):
            len(pippin.Tensor(1.0))
        with self.assertRaisesRegex(ValueError, "takes a copy"):
            self.one().__array__(np.float64, copy=False)

    def test_works_without_numpy(self):
        code = (
            "import sys; sys.modules['numpy'] = None\n"
            "import pippin\nfrom array import array\n"
            f"add = pippin.Model({compiled('add')!r}).function()\n"
            "y = add.predict({'x': memoryview(array('f', [1, 2, 3, 4])).cast('B').cast('f', (1, 4))}, as_tensors=True)['y']\n"
            "y = add.predict({'x': y}, as_tensors=True)['y']\n"
            "assert memoryview(y).tolist() == [[3, 4, 5, 6]]\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(unittest.TestCase):
    def setUp(self):
        self.add = pippin.Model(compiled("add"), num_threads=1).function()

    def test_tensors_go_both_ways(self):
        x = torch.arange(4, dtype=torch.float32).reshape(1, 4)
        y = torch.from_dlpack(self.add.predict({"x": x}, as_tensors=True)["y"])
        self.assertTrue(torch.equal(y, x + 1))
        x[0, 0] = 10
        self.assertEqual(self.add.predict({"x": x})["y"][0, 0], 11)
        wide = torch.zeros(4, 2)
        np.testing.assert_array_equal(self.add.predict({"x": wide[:, :1].T})["y"], row(1, 1, 1, 1))

    def test_bfloat16_is_refused_by_name(self):
        with self.assertRaisesRegex(pippin.UnsupportedError, r"x: .*bfloat16"):
            self.add.predict({"x": torch.ones(1, 4, dtype=torch.bfloat16)})
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "x: .*grad"):
            self.add.predict({"x": torch.ones(1, 4, requires_grad=True)})


if __name__ == "__main__":
    unittest.main()
