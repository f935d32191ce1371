"""Predictions and processes: signals, forks, interpreter shutdown, packages that change."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import SANITIZED, compiled, package

X = np.array([[1, 2, 3, 4]], np.float32)
ROWS = np.ones((2, 3), np.float32)
LONG = {"x": np.ones(2, np.float32), "n": 9_000_000}


def products(count, size=384):
    """A plan of many products, which takes seconds."""
    path = Path(compiled("add")).parent / "products.mlmodelc"
    if not path.exists():
        path.mkdir()
        kind, lines, last = f"tensor<fp32, [{size}, {size}]>", [], "x"
        for i in range(count):
            lines.append(f"{kind} p{i} = matmul(x = {last}, y = x, transpose_x = bool(false), "
                         f'transpose_y = bool(false))[name = string("p{i}")];')
            last = f"p{i}"
        text = f"program(1.3) {{\nfunc main<ios18>({kind} x) {{\n" + "\n".join(lines) + f"\n}} -> ({last});\n}}"
        (path / "model.mil").write_text(text)
    return str(path), {"x": np.zeros((size, size), np.float32)}


class Signals(unittest.TestCase):
    def interrupted(self, work, after=0.3, number=signal.SIGINT):
        timer = threading.Timer(after, os.kill, (os.getpid(), number))
        timer.start()
        begin = time.monotonic()
        try:
            work()
        finally:
            timer.join()
        return time.monotonic() - begin

    def test_ctrl_c_ends_a_prediction(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda: loop.predict(LONG))
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda: loop.predict_batch([LONG, LONG]))
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual(loop.predict({**LONG, "n": 1})["y"][0], 2)

    def test_ctrl_c_ends_a_plan_between_its_steps(self):
        path, given = products(1500)
        model = pippin.Model(path, num_threads=1)
        function = model.function()
        token = pippin.CancelToken()
        token.request()
        with self.assertRaises(pippin.CancelledError):
            function.predict(given, cancel=token)  # planned from this call on
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda: function.predict(given))
        self.assertLess(time.monotonic() - begin, 5)

    def test_a_state_can_be_used_afterwards(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        total = pippin.Model(compiled("total"), num_threads=1)
        state = total.make_state()
        total.predict({"x": ROWS}, state)
        with self.assertRaises(KeyboardInterrupt):
            self.interrupted(lambda: loop.predict(LONG, state))
        np.testing.assert_array_equal(total.predict({"x": ROWS}, state)["y"], 2 * ROWS)

    def test_handlers_run_and_may_raise(self):
        loop = pippin.Model(compiled("loop"), num_threads=1)
        seen = []

        def handler(number, frame):
            seen.append(number)
            if len(seen) == 2:
                raise ZeroDivisionError("enough")

        old = signal.signal(signal.SIGUSR1, handler)
        try:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            with self.assertRaisesRegex(ZeroDivisionError, "enough"):
                self.interrupted(lambda: loop.predict(LONG), 0.6, signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, old)
        self.assertEqual(len(seen), 2)


def in_child(work):
    """The result of `work` in a child of fork()."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(False)

    def body():
        try:
            writer.send(work())
        except BaseException as error:  # noqa: BLE001
            writer.send(repr(error))
        writer.close()
        os._exit(0)

    child = context.Process(target=body)
    child.start()
    try:
        return reader.recv() if reader.poll(60) else "the child does nothing"
    finally:
        child.kill()
        child.join()


@unittest.skipUnless(hasattr(os, "fork"), "no fork()")
class Forks(unittest.TestCase):
    def test_a_model_works_in_children(self):
        model = pippin.Model(package(), num_threads=2)
        given = {"inputIds": np.array([[401, 433]]), "causalMask": np.zeros((1, 1, 2, 2), np.float16)}
        wanted = model.predict(given)["logits"]
        state = model.make_state()
        model.predict(given, state)

        def work():
            fresh = model.predict(given)["logits"]
            step = {"inputIds": [[259]], "causalMask": np.zeros((1, 1, 1, 3), np.float16)}
            return np.array_equal(fresh, wanted), model.predict(step, state)["logits"].shape[1]

        for _ in range(2):
            self.assertEqual(in_child(work), (True, 1))
        np.testing.assert_array_equal(model.predict(given)["logits"], wanted)

    @unittest.skipIf(SANITIZED, "sanitizers do not survive a fork among threads")
    def test_forks_in_the_middle_of_predictions(self):
        total = pippin.Model(compiled("total"), num_threads=2)
        states = [total.make_state() for _ in range(3)]
        stop = threading.Event()

        def work(state):
            while not stop.is_set():
                total.predict({"x": ROWS}, state)

        threads = [threading.Thread(target=work, args=(state,)) for state in states]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                got = in_child(lambda: [total.predict({"x": ROWS}, state)["y"].shape for state in states]
                               + [total.predict({"x": ROWS})["y"].tolist()])
                self.assertEqual(got, [(2, 3)] * 3 + [ROWS.tolist()])
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_tasks_in_children(self):
        import asyncio

        model = pippin.Model(compiled("add"), num_threads=1)

        async def run():
            return (await model.predict_async({"x": X}))["y"].tolist()

        self.assertEqual(asyncio.run(run()), (X + 1).tolist())
        self.assertEqual(in_child(lambda: asyncio.run(run())), (X + 1).tolist())

    def test_models_go_to_other_processes(self):
        model = pippin.Model(compiled("add"), num_threads=1)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            got = pool.apply(predict, (model, model.function(), X))
        self.assertEqual(got, [(X + 1).tolist()] * 2)


def predict(model, function, x):
    return [one.predict({"x": x})["y"].tolist() for one in (model, function)]


class Ends(unittest.TestCase):
    def ends(self, code, status=0):
        begin = (
            "import threading, time, numpy as np, pippin\n"
            f"loop = pippin.Model({compiled('loop')!r}, num_threads=2)\n"
            f"add = pippin.Model({compiled('add')!r}, num_threads=2)\n"
            "long = {'x': np.ones(2, np.float32), 'n': 9_000_000}\n"
            "x = {'x': np.ones((1, 4), np.float32)}\n"
        )
        ended = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (status, ""), ended.stderr)

    def test_while_predictions_run(self):
        self.ends("threading.Thread(target=lambda: loop.predict(long), daemon=True).start()\ntime.sleep(0.2)\n")

    def test_while_predictions_come_and_go(self):
        code = (
            "def work():\n"
            "    while True: add.predict(x); add.predict(x, as_tensors=True)\n"
            "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(0.3)\n"
        )
        for _ in range(5):
            self.ends(code)

    def test_with_views_and_tensors_everywhere(self):
        self.ends(
            "import builtins\n"
            "builtins.kept = [add.predict(x, as_tensors=True)['y'], pippin.Tensor(x['x']), add, add.function()]\n"
        )

    def test_while_tasks_run(self):
        code = (
            "import asyncio\n"
            "async def run():\n"
            "    task = asyncio.create_task(loop.predict_async(long))\n"
            "    await asyncio.sleep(0.2)\n"
            "asyncio.run(run())\n"
        )
        self.ends(code)


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pippin-changes-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = self.folder / "demo.mlpackage"
        shutil.copytree(package(), self.path)
        self.given = {"inputIds": np.array([[401, 433]]), "causalMask": np.zeros((1, 1, 2, 2), np.float16)}
        self.model = pippin.Model(self.path, num_threads=1)

    def logits(self, model=None):
        return (model or self.model).predict(self.given)["logits"]

    def test_that_vanish(self):
        function = self.model.function()
        shutil.rmtree(self.path)
        wanted = function.predict(self.given)["logits"]
        np.testing.assert_array_equal(self.logits(), wanted)
        import pickle

        with self.assertRaises(FileNotFoundError):
            pickle.loads(pickle.dumps(self.model))

    def test_that_are_replaced(self):
        wanted = self.logits()
        other = self.folder / "other.mlpackage"
        shutil.copytree(package(), other)
        os.rename(self.path, self.folder / "old")
        os.rename(other, self.path)
        np.testing.assert_array_equal(self.logits(), wanted)
        np.testing.assert_array_equal(self.logits(pippin.Model(self.path, num_threads=1)), wanted)

    def test_that_are_written_to(self):
        wanted = self.logits()
        function, state = self.model.function(), self.model.make_state()
        (weights,) = self.path.glob("Data/*/weights/weight.bin")
        content = weights.read_bytes()
        for change in (lambda: os.truncate(weights, 100), lambda: os.truncate(weights, 0), lambda: weights.write_bytes(content)):
            change()
            for predict in (self.model.predict, function.predict):
                for given in ((self.given,), (self.given, state)):
                    with self.assertRaisesRegex(pippin.InvalidFileError, "weight.bin: was written to since"):
                        predict(*given)
        np.testing.assert_array_equal(self.logits(pippin.Model(self.path, num_threads=1)), wanted)

    def test_that_become_something_else(self):
        wanted = self.logits()
        (model,) = self.path.glob("Data/*/*.mlmodel")
        model.unlink()
        model.write_bytes(b"no model")
        np.testing.assert_array_equal(self.logits(), wanted)
        with self.assertRaises(pippin.InvalidFileError):
            pippin.Model(self.path)


if __name__ == "__main__":
    unittest.main()
