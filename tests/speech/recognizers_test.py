#!/usr/bin/env python3
"""pippin transcribe and the server with models other than Whisper: random weights, and transformers' outputs.

    recognizers_test.py PIPPIN
"""

import http.client
import json
import math
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "python")]
import testing
from forms import form

try:
    import numpy as np

    import recognizer_folder as folders
    import whisper_folder
except ModuleNotFoundError:  # NumPy
    pass

PIPPIN = sys.argv.pop(1)
FRAME = 0.02  # seconds of the models of samples


def run(*arguments, **options):
    return subprocess.run([PIPPIN, *map(str, arguments)], capture_output=True, text=True, timeout=240, **options)


def transcribe(model, recording, *arguments):
    result = run("transcribe", model, recording, "--json", "--no-stats", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def write_floats(path, samples):
    """A WAV file of 32-bit floats."""
    data = samples.astype("<f4").tobytes()
    head = struct.pack("<HHIIHH", 3, 1, 16000, 64000, 4, 32)
    path.write_bytes(b"RIFF" + struct.pack("<I", 28 + len(data) + 8) + b"WAVEfmt " + struct.pack("<I", 16) + head
                     + b"data" + struct.pack("<I", len(data)) + data)


def tokens_of(result):
    return [token for segment in result["segments"] for token in segment["tokens"]]


def sum_of_scores(result):
    return sum(segment["avg_logprob"] * len(segment["tokens"]) for segment in result["segments"])


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def expect_failure(self, pattern, *arguments):
        result = run("transcribe", *arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, pattern)
        self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1), result.stderr)


@testing.needs_numpy
class Generated(Case):
    """A tiny wav2vec 2.0 with letters."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "tiny"
        folders.write_folder(self.model, 5)
        self.path = self.folder / "talk.wav"

    def write_recording(self, seconds, pauses=False):
        samples = whisper_folder.make_samples(seconds, 5)
        if pauses:  # of 0.15 s, two in each second
            samples[np.arange(len(samples)) % 8000 < 2400] = 0
        whisper_folder.write_wav(self.path, samples)
        return samples.astype(np.float32) / 32768

    def convert(self, *arguments):
        package = self.folder / "tiny.mlpackage"
        result = run("convert", self.model, "-o", package, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return package

    def tokens(self, package, window):
        """Of the logits that pippin predict computes."""
        normed = (window - window.mean()) / np.sqrt(window.var() + 1e-7)
        np.savez(self.folder / "in.npz", input_values=normed[None].astype(np.float32))
        result = run("predict", package, "--input", self.folder / "in.npz", "--output", self.folder / "out.npz")
        self.assertEqual(result.returncode, 0, result.stderr)
        tokens = folders.greedy(np.load(self.folder / "out.npz")["logits"][0].astype(np.float64), 0)
        return [token for token in tokens if token[0] not in folders.SPECIAL]

    def test_a_package(self):
        samples = self.write_recording(4.0)
        package = self.convert()
        expected = self.tokens(package, samples)
        self.assertGreater(len(expected), 10)
        found = transcribe(package, self.path, "--word-timestamps")
        self.assertEqual(tokens_of(found), [token[0] for token in expected])
        text = "".join(folders.letter_text(token[0]) for token in expected)
        self.assertEqual(found["text"].replace(" ", ""), text.replace(" ", ""))
        self.assertEqual(found["text"], text.strip())
        self.assertEqual((found["language"], found["task"], found["duration"]), ("", "transcribe", 4.0))
        self.assertAlmostEqual(sum_of_scores(found), sum(math.log(token[3]) for token in expected), delta=2e-3)
        # Words, from letter to letter.
        letters = [token for token in expected if folders.letter_text(token[0]) != " "]
        words = [word for segment in found["segments"] for word in segment["words"]]
        self.assertGreater(len(words), 5)
        self.assertEqual([word["word"].strip() for word in words], text.split())
        place = 0
        for word in words:
            first, place = letters[place], place + len(word["word"].strip())
            self.assertAlmostEqual(word["start"], first[1] * FRAME, delta=0.0051)
            self.assertAlmostEqual(word["end"], (letters[place - 1][2] + 1) * FRAME, delta=0.0051)
        for before, after in zip(found["segments"], found["segments"][1:]):
            self.assertGreater(after["start"] - before["end"], 0.59)

    def test_a_folder(self):
        self.write_recording(2.0)
        whole = transcribe(self.model, self.path)
        self.assertTrue(whole["text"])
        self.assertNotIn("words", whole)
        folders.write_letters(self.model, do_lower_case=True)
        self.assertEqual(transcribe(self.model, self.path)["text"], whole["text"].lower())

    def test_long_recordings_are_cut_in_pauses(self):
        samples = self.write_recording(8.0, pauses=True)
        package = self.convert("--context", "100")  # windows of 2 s
        most = 100 * 320
        expected, begin, seeks = [], 0, []
        while begin < len(samples):
            length = folders.window_length(samples[begin:], most)
            expected += self.tokens(package, samples[begin : begin + length])
            seeks.append(round(begin / 160))
            begin += length
        self.assertGreater(len(seeks), 3)
        found = transcribe(package, self.path)
        self.assertEqual(tokens_of(found), [token[0] for token in expected])
        self.assertLessEqual({segment["seek"] for segment in found["segments"]}, set(seeks))
        self.assertEqual(found["segments"][-1]["seek"], seeks[-1])

    def test_windows_overlap_where_no_pause_is(self):
        samples = self.write_recording(8.0)
        package = self.convert("--context", "100")  # windows of 2 s, of which 0.5 s are those of the next one
        most, expected = 100 * 320, None
        for begin in range(0, len(samples) - most // 4, most * 3 // 4):
            offset = begin / 16000
            words = folders.letter_words(self.tokens(package, samples[begin : begin + most]), offset, FRAME)
            expected = words if expected is None else folders.join_words(expected, words, offset, offset + 0.5)
        found = transcribe(package, self.path, "--word-timestamps")
        words = [word for segment in found["segments"] for word in segment["words"]]
        self.assertGreater(len(words), 10)
        self.assertEqual([word["word"].strip() for word in words], [word[0] for word in expected])
        for word, (_, start, end) in zip(words, expected):
            self.assertAlmostEqual(word["start"], start, delta=0.0051)
            self.assertAlmostEqual(word["end"], end, delta=0.0051)

    def test_formats(self):
        self.write_recording(2.0)
        found = transcribe(self.model, self.path)
        result = run("transcribe", self.model, self.path, "-f", "all", "-o", self.folder / "out", "--word-timestamps",
                     "--highlight-words")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"talk\.wav: 2\.0 s of sound in")
        files = {path.suffix: path.read_text() for path in (self.folder / "out").iterdir()}
        self.assertEqual(set(files), {".txt", ".json", ".srt", ".vtt", ".tsv", ".lrc"})
        lines = [segment["text"].strip() for segment in found["segments"]]
        self.assertEqual(files[".txt"].splitlines(), lines)
        self.assertEqual([line.split("\t")[2] for line in files[".tsv"].splitlines()[1:]], lines)
        self.assertEqual(re.sub(r"\[.*?\]", "", files[".lrc"]).splitlines(), lines)
        self.assertIn("<u>", files[".srt"])

    def test_a_package_is_compared_with_its_folder(self):
        self.write_recording(4.0)
        package = self.convert()
        command = ["verify", package, "--against", self.model, "--sound", self.path, "--json"]
        result = run(*command, "--max-kl", "0.001", "--max-part-difference", "0.01", "--min-top1", "98")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertTrue(found["holds"], found)
        self.assertGreater(found["tokens"], 100)  # the frames
        self.assertGreater(found["greedy_tokens"], 10)
        result = run(*command, "--ids", "1,2")
        self.assertIn("--sound is for models of speech", result.stderr)
        result = run(*command[:4], "--ids", "1,2")
        self.assertRegex(result.stderr, "tiny: a model of speech is compared on a recording")
        self.assertEqual(run(*command, "--max-part-difference", "0").returncode, 1)

    def test_refusals(self):
        self.write_recording(1.0)
        for flag, value in (("--language", "de"), ("--task", "translate"), ("--initial-prompt", "a"),
                            ("--hotwords", "a"), ("--temperature", "0.5"), ("--beam-size", "2"), ("--seed", "3"),
                            ("--max-tokens", "5"), ("--no-speech-threshold", "none"), ("--clip-timestamps", "0,1")):
            self.expect_failure(f"{flag}: only Whisper models take it", self.model, self.path, flag, value)
        whisper_folder.write_wav(self.path, whisper_folder.make_samples(0.01, 1))
        self.expect_failure(r"talk\.wav: 160 samples: the model takes \d+ at least", self.model, self.path)
        self.write_recording(1.0)
        (self.model / "vocab.json").write_text('{"A": 0')
        self.expect_failure("vocab.json", self.model, self.path)
        (self.model / "vocab.json").unlink()
        self.expect_failure("tokenizer", self.model, self.path)
        folders.write_letters(self.model)
        (self.model / "preprocessor_config.json").unlink()
        self.expect_failure("preprocessor_config.json", self.model, self.path)

    def test_a_server(self):
        self.write_recording(3.0)
        process = subprocess.Popen([PIPPIN, "serve", "--port", "0", f"tiny={self.model}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                found = re.search(r"listening at https?://\S*:(\d+)", line)
                if found:
                    break
            threading.Thread(target=process.stderr.read, daemon=True).start()

            def post(path="/v1/audio/transcriptions", **fields):
                connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=60)
                type_, body = form([*({"model": "tiny"} | fields).items()], [("file", self.path.read_bytes())])
                connection.request("POST", path, body, {"Content-Type": type_})
                answer = connection.getresponse()
                return answer.status, answer.read().decode()

            wanted = transcribe(self.model, self.path, "--word-timestamps")
            status, text = post(response_format="verbose_json", word_timestamps="true", temperature="0")
            self.assertEqual((status, json.loads(text)), (200, wanted))
            self.assertEqual(post(response_format="text"), (200, wanted["text"] + "\n"))
            events = [json.loads(line.removeprefix("data: ")) for line in post(stream="true")[1].splitlines()
                      if line.startswith("data: ")]
            self.assertEqual("".join(one["delta"] for one in events[:-1]), wanted["text"])
            for field, value in (("language", "de"), ("prompt", "a"), ("translate", "true"), ("beam_size", "4"),
                                 ("temperature", "0.5"), ("log_prob_threshold", "-2"), ("hotwords", "a")):
                status, text = post(**{field: value})
                self.assertEqual((status, json.loads(text)["error"]["param"]), (400, field), text)
                self.assertIn(f'{field}: the model "tiny" does not take it', text.replace("\\", ""))
            self.assertEqual(post("/v1/audio/translations")[0], 400)
        finally:
            process.terminate()
            process.wait(30)
            process.stderr.close()


@testing.needs_numpy
class Goldens(Case):
    """Models with random weights whose outputs transformers computed."""

    def open(self, name):
        self.model = self.folder / name
        shutil.copytree(testing.shared_data(f"models2026/speech/{name}"), self.model, copy_function=shutil.copyfile)
        self.model.chmod(0o755)
        self.golden = np.load(self.model / "golden.npz")
        self.path = self.folder / "wave.wav"
        write_floats(self.path, self.golden["waveform"])
        self.config = json.loads((self.model / "config.json").read_text())

    def expect_text(self, tokens, text_of, found):
        self.assertEqual(tokens_of(found), tokens)
        self.assertEqual(found["text"], "".join(map(text_of, tokens)).strip())
        self.assertEqual(found["duration"], len(self.golden["waveform"]) / 16000)

    def test_letters(self):
        for name in ("wav2vec2_base", "hubert", "wavlm", "wav2vec2_bert"):
            with self.subTest(name):
                self.open(name)
                folders.write_letters(self.model)
                tokens = folders.greedy(self.golden["logits"][0].astype(np.float64), self.config["pad_token_id"])
                tokens = [token for token in tokens if token[0] not in folders.SPECIAL]
                found = transcribe(self.model, self.path)
                self.expect_text([token[0] for token in tokens], folders.letter_text, found)
                self.assertAlmostEqual(sum_of_scores(found), sum(math.log(t[3]) for t in tokens), delta=2e-3)

    def piece(self, token):
        return folders.piece(token).replace("▁", " ")

    def test_pieces(self):
        for name in ("parakeet_ctc", "lasr_ctc"):
            with self.subTest(name):
                self.open(name)
                logits = self.golden["logits"][0].astype(np.float64)
                blank = self.config["pad_token_id"]
                folders.write_pieces(self.model, logits.shape[-1], special=[blank])
                tokens = folders.greedy(logits, blank)
                found = transcribe(self.model, self.path, "--word-timestamps")
                self.expect_text([token[0] for token in tokens], self.piece, found)
                self.assertAlmostEqual(sum_of_scores(found), sum(math.log(t[3]) for t in tokens), delta=2e-3)

    def test_transducers(self):
        for name in ("parakeet_rnnt", "parakeet_tdt"):
            with self.subTest(name):
                self.open(name)
                blank = self.config["blank_token_id"]
                folders.write_pieces(self.model, self.config["vocab_size"], special=[blank])
                tokens = [token for token in self.golden["gen_sequences"][0].tolist() if token != blank]
                found = transcribe(self.model, self.path)
                if name == "parakeet_rnnt":  # the golden ends at its limit of tokens, which counts the first blank
                    self.assertEqual(len(self.golden["gen_sequences"][0]), len(tokens_of(found)))
                    tokens += tokens_of(found)[-1:]
                self.expect_text(tokens, self.piece, found)

    def test_moonshine(self):
        for name in ("moonshine", "moonshine_streaming"):
            with self.subTest(name):
                self.expect_moonshine(name)

    def expect_moonshine(self, name):
        self.open(name)
        folders.write_pieces(self.model, self.config["vocab_size"])
        golden = self.golden["gen_ids"][0].tolist()
        package = self.folder / f"{name}.mlpackage"
        self.assertEqual(run("convert", self.model, "-o", package).returncode, 0)
        for model in (self.model, package):
            found = transcribe(model, self.path)
            tokens = tokens_of(found)
            self.assertEqual(tokens[: len(golden)], golden[: len(tokens)])
            self.assertGreaterEqual(len(tokens), len(golden))
            self.assertLessEqual(len(tokens), 30)  # 13 per second
            self.assertEqual(found["text"], "".join(map(self.piece, tokens)).strip())
            segment, = found["segments"]
            self.assertEqual((segment["start"], segment["end"]), (0, len(self.golden["waveform"]) / 16000))
        self.expect_failure("no times of words", self.model, self.path, "--word-timestamps")
        self.expect_failure("--language: only Whisper", self.model, self.path, "--language", "en")

    def test_packages_are_compared_with_their_folders(self):
        package = self.folder / "compared.mlpackage"
        for name, has_scores in (("parakeet_ctc", True), ("parakeet_tdt", False), ("moonshine", False)):
            with self.subTest(name):
                self.open(name)
                folders.write_pieces(self.model, self.config["vocab_size"])
                shutil.rmtree(package, ignore_errors=True)
                self.assertEqual(run("convert", self.model, "-o", package).returncode, 0)
                result = run("verify", package, "--against", self.model, "--sound", self.path, "--json",
                             "--max-part-difference", "0.02")
                self.assertEqual(result.returncode, 0, result.stderr)
                found = json.loads(result.stdout)
                self.assertGreater(found["greedy_tokens"], 0)
                self.assertEqual(found["tokens"] > 0, has_scores)
                self.assertGreater(found["parts"][0]["difference"], 0)


if __name__ == "__main__":
    testing.main()
