"""pippin.Transcriber with a tiny Whisper model, compared with `pippin transcribe --json`."""

import json
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
from fixtures import PROGRAM, SOURCE, package

sys.path.insert(0, str(SOURCE / "tests/speech"))
import whisper_folder

SECONDS = 11
# Without these, the program may draw samples, or leave a window out.
FLAGS = ["--temperature-increment-on-fallback", "0", "--no-speech-threshold", "none"]
OPTIONS = {"temperature": 0, "no_speech_threshold": None}


class Transcribers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = cls.folder / "model"
        whisper_folder.write_folder(cls.model, 1)
        cls.samples = whisper_folder.make_samples(SECONDS, 1)
        cls.wav = cls.folder / "talk.wav"
        whisper_folder.write_wav(cls.wav, cls.samples)
        cls.transcriber = pippin.Transcriber(cls.model, num_threads=1)

    def program(self, *flags):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([PROGRAM, "transcribe", self.model, self.wav, "--json", "--no-stats", "-t", "1", *FLAGS,
                               *flags], check=True, capture_output=True, env=environment)
        return json.loads(done.stdout)

    def transcribe(self, audio, **options):
        return self.transcriber.transcribe(audio, **{**OPTIONS, **options})

    def expect_equal(self, result, expected):
        self.assertEqual(result["text"].strip(), expected["text"])
        self.assertEqual(result["duration"], expected["duration"])
        self.assertEqual(len(result["segments"]), len(expected["segments"]))
        self.assertGreater(len(result["segments"]), 1)
        for one, other in zip(result["segments"], expected["segments"]):
            self.assertEqual(set(one), set(other))
            for key, value in other.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(one[key], value, 5)
                elif key == "words":
                    self.assertEqual([word["word"] for word in one[key]], [word["word"] for word in value])
                    for mine, theirs in zip(one[key], value):
                        for part in ("start", "end", "probability"):
                            self.assertAlmostEqual(mine[part], theirs[part], 5)
                else:
                    self.assertEqual(one[key], value)

    def test_forms_of_audio(self):
        expected = self.program()
        self.assertEqual(self.transcriber.sampling_rate, 16000)
        floats = self.samples.astype(np.float32) / 32768
        apart = np.zeros((len(floats), 2), np.float32)
        apart[:, 0] = floats
        for audio in (self.wav, str(self.wav), self.wav.read_bytes(), memoryview(self.wav.read_bytes()), self.samples,
                      floats, floats.astype(np.float64), apart[:, 0], memoryview(floats)):
            with self.subTest(type(audio)):
                self.expect_equal(self.transcribe(audio), expected)

    def test_sampling_rate(self):
        # Twice the rate: half as long.
        result = self.transcribe(self.samples, sampling_rate=32000)
        self.assertAlmostEqual(result["duration"], SECONDS / 2, 3)

    def test_options_are_those_of_the_program(self):
        for flags, options in (
            (["--language", "German", "--task", "translate"], {"language": "German", "task": "translate"}),
            (["--word-timestamps"], {"word_timestamps": True}),
            (["--beam-size", "3", "--patience", "2"], {"beam_size": 3, "patience": 2.0}),
            (["--max-tokens", "9"], {"max_new_tokens": 9}),
            (["--initial-prompt", "Names"], {"initial_prompt": "Names", "fp16": False, "verbose": None}),
            (["--clip-timestamps", "0,3.5,6"], {"clip_timestamps": "0, 3.5,6"}),
            (["--clip-timestamps", "0,3.5,6"], {"clip_timestamps": [0, 3.5, 6]}),
            (["--suppress-tokens", "-1,101"], {"suppress_tokens": "-1,101"}),
            (["--suppress-tokens", "-1,101"], {"suppress_tokens": [-1, 101]}),
            (["--without-timestamps"], {"without_timestamps": True}),
            (["--temperature", "0.5", "--seed", "3"], {"temperature": 0.5, "seed": 3}),
            (["--compression-ratio-threshold", "none"], {"compression_ratio_threshold": None}),
        ):
            with self.subTest(options):
                self.expect_equal(self.transcribe(self.wav, **options), self.program(*flags))

    def test_keys_are_those_of_whisper(self):
        result = self.transcribe(self.wav, word_timestamps=True)
        self.assertEqual(set(result), {"text", "segments", "language", "duration", "words"})
        self.assertIn(result["language"], ("en", "de", "zh"))
        self.assertEqual(result["words"], [word for segment in result["segments"] for word in segment["words"]])
        self.assertTrue(result["words"])
        self.assertTrue(self.transcriber.finds_words)

    def test_temperatures(self):
        options = {"compression_ratio_threshold": None, "no_speech_threshold": None}
        tried = self.transcriber.transcribe(self.wav, temperature=(0, 0.5), logprob_threshold=-0.001, **options)
        self.assertEqual({segment["temperature"] for segment in tried["segments"]}, {0.5})
        one = self.transcriber.transcribe(self.wav, temperature=(0, 0.5), log_prob_threshold=None, **options)
        self.assertEqual({segment["temperature"] for segment in one["segments"]}, {0})

    def test_stream(self):
        stream = self.transcriber.stream(self.wav, **OPTIONS, word_timestamps=True)
        segments = list(stream)
        whole = self.transcribe(self.wav, word_timestamps=True)
        self.assertEqual(segments, whole["segments"])
        self.assertEqual(stream.result, whole)
        other = self.transcriber.stream(self.wav, **OPTIONS)
        next(other)
        other.close()
        left = self.transcriber.stream(np.tile(self.samples, 50), **OPTIONS)
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "has not ended"):
            left.result

    def test_progress(self):
        told = []
        self.transcribe(self.wav, progress=lambda done, seconds: told.append((done, seconds)))
        self.assertEqual(told[0], (0, SECONDS))
        self.assertEqual(told[-1], (SECONDS, SECONDS))
        self.assertEqual(told, sorted(told))

        def refuse(done, seconds):
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            self.transcribe(self.wav, progress=refuse)
        with self.assertRaisesRegex(KeyError, "enough"):
            list(self.transcriber.stream(self.wav, progress=refuse))

    def test_ctrl_c(self):
        def interrupt():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        long = np.tile(self.samples, 400)
        for call in (lambda: self.transcribe(long), lambda: list(self.transcriber.stream(long, **OPTIONS))):
            thread = threading.Thread(target=interrupt)
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                call()
                time.sleep(5)
            thread.join()

    def test_errors(self):
        for error, text, audio, options in (
            (pippin.InvalidArgumentError, "unknown option \"vad\"", self.wav, {"vad": True}),
            (pippin.InvalidArgumentError, "'xx' is neither a language", self.wav, {"language": "xx"}),
            (pippin.InvalidArgumentError, "'sing' is neither transcribe nor", self.wav, {"task": "sing"}),
            (pippin.InvalidArgumentError, "beam_size is 65", self.wav, {"beam_size": 65}),
            (pippin.InvalidArgumentError, "beam_size: 'many' is of the wrong type", self.wav, {"beam_size": "many"}),
            (pippin.InvalidArgumentError, "clip_timestamps: '0,x' is not a list", self.wav, {"clip_timestamps": "0,x"}),
            (pippin.InvalidArgumentError, "needs word_timestamps", self.wav, {"hallucination_silence_threshold": 1}),
            (pippin.InvalidArgumentError, "int64 is not a type of samples", self.samples.astype(np.int64), {}),
            (pippin.InvalidArgumentError, "array of 2 axes", self.samples.reshape(1, -1), {}),
            (pippin.InvalidArgumentError, "sample 1 ", np.array([0, np.nan], np.float32), {}),
            (pippin.UnsupportedError, "rate", self.samples, {"sampling_rate": 0}),
            (pippin.UnsupportedError, "verbose", self.wav, {"verbose": True}),
            (pippin.NotFoundError, "absent.wav", self.folder / "absent.wav", {}),
            (pippin.Error, "audio: ", b"no sound at all", {}),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(error, text):
                    self.transcriber.transcribe(audio, **options)
                with self.assertRaisesRegex(error, text):
                    list(self.transcriber.stream(audio, **options))
        with self.assertRaises(pippin.NotFoundError):
            pippin.Transcriber(self.folder / "absent")
        with self.assertRaises(pippin.UnsupportedError):
            pippin.Transcriber(package())
        with self.assertRaisesRegex(pippin.NotFoundError, "no such tokenizer"):
            pippin.Transcriber(self.model, tokenizer=str(self.folder / "absent"))


if __name__ == "__main__":
    unittest.main()
