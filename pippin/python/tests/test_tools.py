"""pippin.convert, compress, inspect, verify and pull."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import pippin
from fixtures import PROGRAM, SOURCE, folder, package
from testing import shared_data
from pippin import lm

sys.path.insert(0, str(SOURCE / "tests/hub"))
from hub_server import Hub, Repo  # noqa: E402

DEMO = SOURCE / "pippin/demo/model"


def program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def files(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}


class Conversions(unittest.TestCase):
    def output(self, name="out.mlpackage"):
        return folder() / f"{self.id().rpartition('.')[2]}-{name}"

    def test_the_same_bytes_as_the_program_writes(self):
        calls = []
        made = pippin.convert(DEMO, self.output(), quantize="int4", per="block:32", context=128,
                              except_=["*embed*"], progress=lambda done, total: calls.append((done, total)))
        other = self.output("cli.mlpackage")
        said = json.loads(program("convert", DEMO, "-o", other, "--quantize", "int4", "--per", "block:32", "--context",
                                  "128", "--except", "*embed*", "--json"))
        mine, theirs = files(made.path), files(other)
        self.assertEqual(set(map(os.path.basename, mine)), set(map(os.path.basename, theirs)))
        weights = [name for name in mine if name.endswith("weight.bin")]
        self.assertEqual([mine[name] for name in weights], [theirs[name] for name in weights])
        self.assertEqual((made.context, made.parameters, made.architecture),
                         (128, said["parameters"], said["architecture"]))
        self.assertEqual(made.compression["bits_per_weight"], said["compression"]["bits_per_weight"])
        self.assertEqual(calls[-1][0], calls[-1][1])
        self.assertEqual(sorted(calls), calls)
        self.assertTrue(lm.generate(*lm.load(made.path), "Once", max_tokens=3))

    def test_norms_that_cannot_overflow(self):
        for norms, operation in (("plain", "rsqrt"), ("safe", "layer_norm")):
            made = pippin.convert(DEMO, self.output(norms + ".mlpackage"), norms=norms)
            operations = pippin.inspect(made.path)["functions"][0]["operations"]
            self.assertEqual({"rsqrt", "layer_norm"} & set(operations), {operation})

    def test_folders_of_packages(self):
        made = pippin.convert(DEMO, self.output("parts"), family="anemll", chunks=2, batch=16)
        self.assertGreater(made.packages, 2)
        self.assertTrue(lm.generate(*lm.load(made.path), "Once", max_tokens=3))

    def test_what_a_callback_raises_leaves_nothing(self):
        class Enough(Exception):
            pass

        def stop(done, total):
            raise Enough(f"{done} of {total}")

        with self.assertRaises(Enough):
            pippin.convert(DEMO, self.output(), progress=stop)
        there = pippin.convert(DEMO, self.output("there.mlpackage")).path
        before = files(there)
        with self.assertRaises(Enough):
            pippin.compress(there, there, quantize="int8", progress=stop)
        self.assertEqual(files(there), before)
        self.assertFalse(self.output().exists())
        begin = self.output("").name
        self.assertEqual([name for name in os.listdir(folder()) if begin in name], [begin + "there.mlpackage"])

    def test_callbacks_run_in_the_calling_thread(self):
        threads = set()
        pippin.convert(DEMO, self.output(), progress=lambda done, total: threads.add(threading.get_ident()))
        self.assertEqual(threads, {threading.get_ident()})

    def test_interrupts(self):
        def interrupt(done, total):
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            pippin.convert(DEMO, self.output(), progress=interrupt)
        self.assertFalse(self.output().exists())

    def test_compress_and_verify(self):
        source = package()
        small = pippin.compress(source, self.output(), palettize=6, group=16)
        self.assertLess(small.bytes, sum(map(len, files(source).values())))
        self.assertLess(small.compression["error"], 0.1)
        text = folder() / "text.txt"
        text.write_text("Once upon a time there was a little fox who lived in a forest. " * 5)
        result = pippin.verify(small.path, source, text=text, window=32, greedy=8)
        self.assertTrue(result.holds and result.tokens > 20)
        self.assertGreater(result.mean_kl, 0)
        result = pippin.verify(small.path, source, ids=list(range(300, 340)), max_kl=1e-12, min_top1=100)
        self.assertFalse(result.holds)
        self.assertTrue(any("KL" in line for line in result.broken), result.broken)

    def test_corpora(self):
        texts = folder() / "corpus.txt"
        texts.write_text("Once upon a time there was a little fox who lived in a forest.\nA dog.\n\n" * 15)
        source = package()
        small = pippin.compress(source, self.output(), palettize=6, group=16)
        result = pippin.verify(small.path, source, corpus=texts, output=folder() / "compared", shard=7)
        self.assertEqual((result.texts, result.failed), (45, 0))
        self.assertTrue(result.holds and result.tokens > 150 and result.mean_kl > 0)
        done = pippin.calibrate(source, texts, folder() / "statistics", shard=12)
        self.assertEqual((done.texts, done.parts), (45, 4))
        self.assertEqual(done.tokens, result.tokens)
        calibrated = pippin.compress(
            source, self.output("calibrated.mlpackage"), quantize="int4", per="channel", calibrate=folder() / "statistics")
        self.assertTrue(any(weight["calibrated"] for weight in calibrated.compression["weights"]))

    def test_inspect(self):
        summary = pippin.inspect(package())
        self.assertEqual(summary, json.loads(program("inspect", package(), "--json")))
        self.assertEqual(pippin.inspect(package(), mil=True), program("inspect", package(), "--mil"))
        with self.assertRaisesRegex(ValueError, "values"):
            pippin.inspect(package(), values=True)

    def test_inspect_of_a_gguf(self):
        file = shared_data("architectures2/gguf_q8_0/model.gguf")
        summary = pippin.inspect(file)
        self.assertEqual(summary, json.loads(program("inspect", file, "--json")))
        self.assertEqual(summary["model_type"], "llama")
        for call in (lambda: pippin.inspect(file, mil=True), lambda: pippin.compress(file, self.output(), quantize="int8")):
            with self.assertRaisesRegex(ValueError, "is a checkpoint, not a package"):
                call()

    def test_options_that_there_are_not(self):
        for call, words in (
            (lambda: pippin.convert(DEMO, self.output(), quantise="int4"), 'unknown option "quantise"'),
            (lambda: pippin.convert(DEMO, self.output(), quantize="int5"), "int5"),
            (lambda: pippin.convert(DEMO, self.output(), norms="odd"), "plain or safe"),
            (lambda: pippin.convert(DEMO, self.output(), quantize=4), "quantize: 4 is of the wrong type"),
            (lambda: pippin.convert(DEMO, self.output(), chunks="many", family="anemll"), "chunks many"),
            (lambda: pippin.convert(DEMO, self.output("x.txt")), "has to end in .mlpackage"),
            (lambda: pippin.compress(package(), self.output()), "quantize"),
            (lambda: pippin.verify(package(), package()), "one of ids, text, sound and corpus is needed"),
            (lambda: pippin.verify(package(), package(), corpus="x"), "corpus and output belong together"),
            (lambda: pippin.calibrate(DEMO, "x", "y", windows=1), 'unknown option "windows"'),
            (lambda: pippin.calibrate(DEMO, "x", "y", window=0), "window is 0"),
            (lambda: pippin.pull("a/b", max_workers=0), "max_workers is 0"),
            (lambda: pippin.pull("no repository"), "is not a repository"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaises(FileNotFoundError):
            pippin.convert(folder() / "nowhere", self.output())
        self.assertFalse(self.output().exists())

    def test_convert_as_in_mlx_lm(self):
        made = lm.convert(DEMO, self.output("mlx_model"), quantize=True, q_group_size=32)
        self.assertTrue(made.path.endswith("mlx_model/model.mlpackage"))
        self.assertIn("per block of 32", made.compression["weights"][0]["form"])
        self.assertTrue(lm.generate(*lm.load(self.output("mlx_model")), "Once", max_tokens=3))
        with self.assertRaisesRegex(ValueError, "is there already"):
            lm.convert(DEMO, self.output("mlx_model"))
        for name, value in (("dtype", "bfloat16"), ("upload_repo", "a/b"), ("quant_predicate", "mixed_2_6")):
            with self.assertRaisesRegex(NotImplementedError, name):
                lm.convert(DEMO, self.output("y.mlpackage"), **{name: value})
        with self.assertRaisesRegex(NotImplementedError, "q_bits"):
            lm.convert(DEMO, self.output("y.mlpackage"), quantize=True, q_bits=3)
        with self.assertRaisesRegex(ValueError, "nosuch"):
            lm.convert(DEMO, self.output("broken"), nosuch=1)
        self.assertFalse(self.output("broken").exists())


class Logs(unittest.TestCase):
    def test_lines_go_to_pythons_logging(self):
        with self.assertLogs("pippin", logging.DEBUG) as logs:
            lm.load("demo", num_threads=1)
        self.assertTrue(logs.records)
        self.assertTrue(all(record.levelno == logging.DEBUG for record in logs.records))

    def test_it_is_quiet_otherwise(self):
        code = "from pippin import lm; lm.load('demo')"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual((ended.stdout, ended.stderr), ("", ""))


class Pulls(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        kept = dict(os.environ)
        self.addCleanup(os.environ.update, kept)
        self.addCleanup(os.environ.clear)
        os.environ.update(HF_ENDPOINT=self.hub.endpoint, HF_HOME=str(folder() / self.id()), PIPPIN_HUB_RETRIES="0",
                          no_proxy="*")
        self.files = {name: (DEMO / name).read_bytes() for name in os.listdir(DEMO)}
        self.repo = self.hub.repos["org/model"] = Repo(self.files)

    def test_pull(self):
        calls = []
        commit = self.repo.refs["main"]
        got = pippin.pull("org/model", progress=lambda done, total: calls.append((done, total)))
        self.assertEqual((got.repo, got.revision, got.commit), ("org/model", "main", commit))
        for file in got.files:
            self.assertEqual((Path(got.path) / file["path"]).read_bytes(), self.files[file["path"]])
        self.assertEqual(calls[-1][0], calls[-1][1])
        some = pippin.pull("org/model", "config.json", local_dir=folder() / "pulled")
        self.assertEqual([file["path"] for file in some.files], ["config.json"])
        with self.assertRaises(FileNotFoundError):
            pippin.pull("org/other")

    def test_names_are_models(self):
        model, tokenizer, config = lm.load("org/model", return_config=True, num_threads=2)
        self.assertEqual(config["model_type"], "llama")
        self.assertEqual(lm.generate(model, tokenizer, "Once", max_tokens=5),
                         lm.generate(*lm.load("demo"), "Once", max_tokens=5))
        self.assertEqual(pippin.Tokenizer("org/model").encode("a fox"), tokenizer.encode("a fox"))
        with self.assertRaises(FileNotFoundError):
            lm.load("org/model", revision="nosuch")
        made = pippin.convert("org/model", folder() / "pulled.mlpackage")
        self.assertTrue(Path(made.path).is_dir())

    def test_a_callback_ends_a_pull(self):
        def stop(done, total):
            raise ZeroDivisionError("enough")

        with self.assertRaises(ZeroDivisionError):
            pippin.pull("org/model", progress=stop)


if __name__ == "__main__":
    unittest.main()
