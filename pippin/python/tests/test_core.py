"""Functions of pippin.core against NumPy, files, recorded functions, threads and signals."""

import inspect
import io
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
import pippin.core as mx
from fixtures import SANITIZED

SEED = random.SystemRandom().randrange(1 << 32)
UGLY = [0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e30, 1e-40, float("inf"), float("-inf"), float("nan"), 3.0]


class Functions(unittest.TestCase):
    def close(self, found, wanted, rtol=2e-5, atol=1e-6):
        np.testing.assert_allclose(np.array(found), wanted, rtol=rtol, atol=atol)

    def test_of_one_array(self):
        generator = np.random.default_rng(SEED)
        x = np.concatenate([generator.normal(size=40), UGLY]).astype(np.float32)
        names = ["abs", "arctan", "ceil", "cos", "cosh", "degrees", "exp", "expm1", "floor", "isfinite", "isinf",
                 "isnan", "isneginf", "isposinf", "log", "log10", "log1p", "log2", "logical_not", "negative",
                 "radians", "reciprocal", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"]
        # Math libraries disagree on angles that are not small.
        tame = np.where(np.abs(x) > 1e6, np.float32(2), x)
        with np.errstate(all="ignore"):
            for name in names:
                given = tame if name in ("sin", "cos", "tan") else x
                with self.subTest(name, seed=SEED):
                    self.close(getattr(mx, name)(mx.array(given)), getattr(np, name)(given))
                    if hasattr(mx.array, name):
                        self.close(getattr(mx.array(given), name)(), getattr(np, name)(given))

    def test_of_two_arrays(self):
        generator = np.random.default_rng(SEED)
        names = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "not_equal", "less",
                 "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logaddexp", "arctan2"]
        a = np.concatenate([generator.normal(size=20), UGLY]).astype(np.float32)[:, None]
        b = np.concatenate([UGLY, generator.normal(size=5)]).astype(np.float32)
        with np.errstate(all="ignore"):
            for name in names:
                with self.subTest(name, seed=SEED):
                    self.close(getattr(mx, name)(mx.array(a), mx.array(b)), getattr(np, name)(a, b))
        operators = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x & y,
                     lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: x < y, lambda x, y: x == y,
                     lambda x, y: x // y, lambda x, y: x % y, lambda x, y: x**(y % 5)]
        for kind in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64):
            a = generator.integers(np.iinfo(kind).min, np.iinfo(kind).max, 50, kind, True)
            b = generator.integers(1, 100, 50).astype(kind)
            for i, operator in enumerate(operators):
                with self.subTest(i, kind=kind, seed=SEED):
                    np.testing.assert_array_equal(np.array(operator(mx.array(a), mx.array(b))), operator(a, b))

    def test_of_axes(self):
        generator = np.random.default_rng(SEED)
        x = generator.normal(size=(3, 4, 5)).astype(np.float32)
        for name in ("sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "median"):
            for axis in (None, 0, -1, (0, 2), (1,)):
                for keepdims in (False, True):
                    with self.subTest(name, axis=axis, keepdims=keepdims, seed=SEED):
                        wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                        self.close(getattr(mx, name)(mx.array(x), axis, keepdims), wanted)
                        self.close(getattr(mx, name)(mx.array(x), axis=axis, keepdims=keepdims), wanted)
        for name in ("argmax", "argmin", "argsort", "cumsum", "cumprod", "sort"):
            for axis in (0, 1, -1):
                self.close(getattr(mx, name)(mx.array(x), axis=axis), getattr(np, name)(x, axis=axis))
        self.close(mx.softmax(mx.array(x), axis=1).sum(axis=1), np.ones((3, 5)))
        self.assertEqual(mx.sort(mx.array(x), axis=None).shape, (60,))
        with self.assertRaises(ValueError):
            mx.sum(mx.array(x), axis=3)
        with self.assertRaises(ValueError):
            mx.sum(mx.array(x), axis=(0, 0))

    def test_of_shapes(self):
        x = np.arange(24).reshape(2, 3, 4)
        a = mx.array(x)
        cases = [(a.reshape(4, -1), x.reshape(4, -1)), (a.reshape((6, 4)), x.reshape(6, 4)),
                 (a.transpose(2, 0, 1), x.transpose(2, 0, 1)), (a.T, x.T), (mx.moveaxis(a, 0, -1), np.moveaxis(x, 0, -1)),
                 (mx.stack([a, a], 1), np.stack([x, x], 1)), (mx.concatenate([a, a], axis=2), np.concatenate([x, x], 2)),
                 (mx.concatenate([a, a], axis=None), np.concatenate([x, x], None)), (mx.flip(a, 1), np.flip(x, 1)),
                 (mx.roll(a, (1, 2), (0, 2)), np.roll(x, (1, 2), (0, 2))), (mx.roll(a, 5), np.roll(x, 5)),
                 (mx.tile(a, (2, 1)), np.tile(x, (2, 1))), (mx.repeat(a, 2, 1), np.repeat(x, 2, 1)),
                 (mx.pad(a, [(1, 0), (0, 2), (1, 1)]), np.pad(x, [(1, 0), (0, 2), (1, 1)])),
                 (mx.pad(a, 1, constant_values=9), np.pad(x, 1, constant_values=9)), (a.squeeze(), x),
                 (mx.expand_dims(a, (0, 2)), np.expand_dims(x, (0, 2))), (mx.take(a, -1, 2), np.take(x, -1, 2)),
                 (mx.take(a, mx.array([[3, 0]])), np.take(x, [[3, 0]])), (mx.diagonal(a, 1, 0, 2), np.diagonal(x, 1, 0, 2)),
                 (mx.arange(5), np.arange(5)), (mx.arange(1, 3, 0.5), np.arange(1, 3, 0.5)), (mx.eye(3, 4, 1), np.eye(3, 4, 1)),
                 (mx.linspace(0, 1, 5), np.linspace(0, 1, 5)), (mx.linspace(0, 1, 5, False), np.linspace(0, 1, 5, False)),
                 (mx.tri(3, 4, 1), np.tri(3, 4, 1)), (mx.where(a > 5, a, -1), np.where(x > 5, x, -1)),
                 (mx.clip(a, 3, None), np.clip(x, 3, None)), (mx.full((2, 2), 7), np.full((2, 2), 7))]
        for i, (found, wanted) in enumerate(cases):
            with self.subTest(i):
                self.assertEqual(found.shape, wanted.shape)
                self.close(found, wanted)
        self.assertEqual([part.shape for part in mx.split(a, [1, 3], axis=2)], [(2, 3, 1), (2, 3, 2), (2, 3, 1)])
        with self.assertRaisesRegex(ValueError, r"\[reshape\]"):
            a.reshape(5, 5)

    def test_of_matrices(self):
        generator = np.random.default_rng(SEED)
        a, b = (generator.normal(size=size).astype(np.float32) for size in ((2, 5, 7), (7, 3)))
        self.close(mx.array(a) @ mx.array(b), a @ b)
        self.close(mx.einsum("bij,jk->bk", mx.array(a), mx.array(b)), np.einsum("bij,jk->bk", a, b), rtol=1e-4)
        self.close(mx.tensordot(mx.array(a), mx.array(b), ([2], [0])), np.tensordot(a, b, ([2], [0])), rtol=1e-4)
        w = generator.normal(size=(6, 128)).astype(np.float32)
        packed, scales, biases = mx.quantize(mx.array(w), group_size=32, bits=8)
        x = mx.array(generator.normal(size=(2, 128)).astype(np.float32))
        dense = mx.dequantize(packed, scales, biases, 32, 8)
        self.close(dense, w, atol=0.05)
        self.close(mx.quantized_matmul(x, packed, scales, biases, group_size=32, bits=8), np.array(x @ dense.T), rtol=1e-3, atol=1e-3)
        with self.assertRaisesRegex(ValueError, "matmul"):
            mx.array(a) @ mx.array(a)

    def test_random_numbers_are_those_of_the_keys(self):
        self.assertEqual(mx.random.split(mx.random.key(0)).tolist(), [[4146024105, 967050713], [2718843009, 1272950319]])
        mx.random.seed(7)
        first = mx.random.uniform(shape=(3,)).tolist()
        mx.random.seed(7)
        self.assertEqual(mx.random.uniform(shape=(3,)).tolist(), first)
        self.assertNotEqual(mx.random.uniform(shape=(3,)).tolist(), first)
        self.assertEqual(mx.random.categorical(mx.array([[0.0, 100.0]])).tolist(), [1])

    def test_wrong_calls_say_what(self):
        for call, words in [(lambda: mx.abs(), "'a'"), (lambda: mx.abs("x"), "'a' has to be an array, not str"),
                            (lambda: mx.sum(mx.zeros((2,)), axes=0), "'axes'"), (lambda: mx.add(1, 2, 3, 4), "positional"),
                            (lambda: mx.sum(mx.zeros((2,)), axis="x"), "'axis'"), (lambda: mx.zeros((2, "a")), "'shape'"),
                            (lambda: mx.add(1, a=2, b=3), "multiple values"), (lambda: mx.zeros((2,), "float32"), "Dtype"),
                            (lambda: mx.abs(1, stream="gpu"), "Device")]:
            with self.assertRaisesRegex(TypeError, words):
                call()
        with self.assertRaisesRegex(ValueError, r"\(2,\).*\(3,\)"):
            mx.zeros((2,)) + mx.zeros((3,))
        for wrong in ([1, 2], "text", None):
            with self.assertRaises(ValueError):
                mx.zeros((2,)) + wrong
        self.assertFalse(mx.zeros((2,)) == "text")
        for call in (mx.grad, mx.vjp, mx.fft.fft, mx.linalg.svd, mx.export_function, pippin.nn.value_and_grad,
                     pippin.optimizers.Adam, pippin.optimizers.clip_grad_norm):
            with self.assertRaisesRegex(pippin.UnsupportedError, "Not supported") as caught:
                call(lambda x: x)
            self.assertNotIn("\n", str(caught.exception))

    def test_cross_products(self):
        a, b = mx.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]), mx.array([[-1.0, 0.25, 2.0], [4.0, 1.0, 1.0]])
        self.assertEqual(mx.linalg.cross(a, b).tolist(), [[3.25, -5.0, 2.25], [-3.0, 7.5, 4.5]])
        # With 2 numbers the third is 0.
        flat = mx.array([2.0, 5.0])
        self.assertEqual(mx.linalg.cross(a, flat).tolist(), mx.linalg.cross(a, mx.array([2.0, 5.0, 0.0])).tolist())
        self.assertEqual(mx.linalg.cross(flat, mx.array([1.0, 1.0])).tolist(), [-3.0])
        self.assertEqual(mx.linalg.cross(a.T, b.T, axis=0).tolist(), mx.linalg.cross(a, b).T.tolist())
        with self.assertRaisesRegex(ValueError, "2 or 3"):
            mx.linalg.cross(mx.zeros((4,)), mx.zeros((4,)))

    def test_functions_tell_of_themselves(self):
        self.assertEqual(str(inspect.signature(mx.sum)), "(a, /, axis=None, keepdims=False, stream=None)")
        self.assertEqual((mx.sum.__name__, mx.sum.__module__), ("sum", "pippin.core"))
        self.assertEqual(mx.add(1, 2, stream=mx.cpu).item(), 3)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def test_there_and_back(self):
        a, b = mx.array([[1.5, 2], [3, 4]], mx.bfloat16), mx.arange(5)
        mx.save(self.path / "one", b)
        self.assertEqual(mx.load(self.path / "one.npy").tolist(), [0, 1, 2, 3, 4])
        np.testing.assert_array_equal(np.load(self.path / "one.npy"), np.arange(5))
        for write in (mx.savez, mx.savez_compressed):
            write(str(self.path / "some"), b, x=b + 1)
            found = mx.load(str(self.path / "some.npz"))
            self.assertEqual({name: value.tolist() for name, value in found.items()},
                             {"arr_0": [0, 1, 2, 3, 4], "x": [1, 2, 3, 4, 5]})
        mx.save_safetensors(str(self.path / "all"), {"a": a, "b": b}, {"who": "me"})
        found, metadata = mx.load(str(self.path / "all.safetensors"), return_metadata=True)
        self.assertTrue(mx.array_equal(found["a"], a).item())
        self.assertEqual((found["a"].dtype, metadata["who"]), (mx.bfloat16, "me"))

    def test_open_files(self):
        for write, kind in [(lambda f: mx.save(f, mx.arange(3)), "npy"), (lambda f: mx.savez(f, a=mx.arange(3)), "npz"),
                            (lambda f: mx.save_safetensors(f, {"a": mx.arange(3)}), "safetensors")]:
            file = io.BytesIO()
            write(file)
            file.seek(0)
            found = mx.load(file, format=kind)
            self.assertEqual((found if kind == "npy" else found["a"]).tolist(), [0, 1, 2])

    def test_wrong_files(self):
        (self.path / "bad.npy").write_bytes(b"no array")
        with self.assertRaises(pippin.InvalidFileError):
            mx.load(str(self.path / "bad.npy"))
        with self.assertRaises(FileNotFoundError):
            mx.load(str(self.path / "none.safetensors"))
        with self.assertRaises(ValueError):
            mx.load(str(self.path / "what.txt"))
        with self.assertRaises(TypeError):
            mx.save_safetensors(str(self.path / "x"), {"a": 1})
        self.assertEqual(os.listdir(self.path), ["bad.npy"])


class Recorded(unittest.TestCase):
    def test_the_function_is_called_once_for_each_kind_of_arguments(self):
        calls = []

        @mx.compile
        def function(x, y=2, *, scale=1.0):
            calls.append((x.shape, y, scale))
            return {"sum": x * scale + y, "both": [x, (x.sum(), None, "text")]}

        for _ in range(3):
            found = function(mx.array([1.0, 2.0]))
            self.assertEqual(found["sum"].tolist(), [3, 4])
            self.assertEqual((found["both"][1][0].item(), found["both"][1][1:]), (3, (None, "text")))
        self.assertEqual(function(mx.array([5.0, 6.0]), scale=2.0)["sum"].tolist(), [12, 14])
        self.assertEqual(function(mx.array([5.0]), 3)["sum"].tolist(), [8])
        self.assertEqual(len(calls), 3)
        self.assertEqual(function.__name__, "function")

    def test_state_goes_in_and_out(self):
        state = {"n": mx.array(0), "list": [mx.array([1.0, 2.0])]}

        def step(x):
            state["n"] = state["n"] + 1
            state["list"][0] = state["list"][0] * x
            return state["list"][0].sum()

        step = mx.compile(step, inputs=state, outputs=state)
        before = state["list"][0]
        self.assertEqual([step(mx.array(2.0)).item() for _ in range(3)], [6, 12, 24])
        self.assertEqual((state["n"].item(), state["list"][0].tolist(), before.tolist()), (3, [8, 16], [1, 2]))

        draw = mx.compile(lambda: mx.random.uniform(shape=(2,)), inputs=mx.random.state, outputs=mx.random.state)
        mx.random.seed(3)
        plain = [mx.random.uniform(shape=(2,)).tolist() for _ in range(2)]
        mx.random.seed(3)
        self.assertEqual([draw().tolist() for _ in range(2)], plain)

    def test_failures_leave_the_state(self):
        state = [mx.array(1.0)]

        def broken(x):
            state[0] = state[0] + x
            raise KeyError("no")

        with self.assertRaises(KeyError):
            mx.compile(broken, inputs=state, outputs=state)(mx.array(1.0))
        self.assertEqual(state[0].item(), 1)
        with self.assertRaisesRegex(ValueError, "evaluated"):
            mx.compile(lambda x: x.item())(mx.array(1.0))
        with self.assertRaisesRegex(ValueError, "object"):
            mx.compile(lambda x: x)(object())

    def test_it_can_be_switched_off(self):
        calls = []
        function = mx.compile(lambda x: calls.append(1) or x + 1)
        mx.disable_compile()
        try:
            function(mx.array(1)), function(mx.array(1))
        finally:
            mx.enable_compile()
        self.assertEqual(len(calls), 2)

    def test_vmap_is_the_function_for_each_index(self):
        a, b = mx.arange(6).reshape(2, 3), mx.arange(12).reshape(3, 4)
        self.assertEqual(mx.vmap(lambda x: x.sum())(a).tolist(), [3, 12])
        self.assertEqual(mx.vmap(lambda x, y: x @ y, in_axes=(0, None))(a.astype(mx.float32), b.astype(mx.float32)).tolist(),
                         (a.astype(mx.float32) @ b.astype(mx.float32)).tolist())
        self.assertEqual(mx.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(a).tolist(), (a * 2).tolist())
        with self.assertRaises(ValueError):
            mx.vmap(lambda x, y: x + y)(a, b)


class Processes(unittest.TestCase):
    def test_long_graphs_end(self):
        x = mx.array(0)
        for _ in range(300_000):
            x = x + 1
        self.assertEqual(x.item(), 300_000)
        for _ in range(300_000):
            x = x + 1
        del x  # never computed

    def test_trees_that_contain_themselves(self):
        tree = [mx.array(1)]
        tree.append(tree)
        with self.assertRaises(RecursionError):
            mx.eval(tree)
        with self.assertRaises(RecursionError):
            mx.compile(lambda leaves: leaves[0])(tree)
        alone = []
        alone.append(alone)
        with self.assertRaisesRegex(ValueError, "more than 64 deep"):
            mx.array(alone)

    def test_threads_share_arrays(self):
        x, wrong = mx.random.normal((64, 64)), []

        def work():
            for _ in range(30):
                y = (x @ x.T).sum()
                mx.async_eval(y)
                if abs(y.item() - wanted) > 1e-2 * abs(wanted) + 1:
                    wrong.append(y.item())

        wanted = float(np.sum(np.array(x, np.float64) @ np.array(x, np.float64).T))
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_ctrl_c_ends_a_long_evaluation(self):
        size = 200 if SANITIZED else 1000
        x = mx.random.normal((size, size))
        mx.eval(x)
        y = x
        for _ in range(800):
            y = mx.tanh(y @ x)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            mx.eval(y)
        timer.join()
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual((x[0, 0] * 0 + 1).item(), 1)

    def test_children_compute(self):
        program = ("import os, sys\nimport pippin.core as mx\nx = mx.random.normal((512, 512))\nmx.async_eval(x @ x)\n"
                   "sum = (x @ x).sum().item()\nchild = os.fork()\n"
                   "if child == 0:\n    os._exit(0 if (x @ x).sum().item() == sum else 1)\n"
                   "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))")
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_memory_goes_back(self):
        mx.synchronize()
        before = mx.get_active_memory()
        x = mx.zeros((1 << 20,))
        mx.eval(x)
        self.assertGreaterEqual(mx.get_active_memory() - before, 4 << 20)
        del x
        self.assertEqual(mx.get_active_memory(), before)
        self.assertGreaterEqual(mx.get_peak_memory(), before + (4 << 20))


if __name__ == "__main__":
    unittest.main()
