#!/usr/bin/env python3
"""pippin transcribe with a tiny Whisper model, compared with a slow implementation in NumPy (slow_whisper.py).

    transcribe_test.py PIPPIN
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "python")]
import testing

try:
    import numpy as np
    import slow_whisper
    import whisper_folder
except ModuleNotFoundError:  # NumPy
    pass

PIPPIN = sys.argv.pop(1)
# Without these, the program may draw samples, or leave a window out.
CERTAIN = ["--temperature-increment-on-fallback", "0", "--no-speech-threshold", "none", "--no-stats"]
LEAST_GAP = 5e-5  # of the scores between which the oracle chose


def run(*arguments, **options):
    return subprocess.run([PIPPIN, "transcribe", *map(str, arguments)], capture_output=True, timeout=120, **options)


def clock(seconds, mark, hours):
    ms = round(seconds * 1000)
    text = f"{ms // 60000 % 60:02}:{ms // 1000 % 60:02}{mark}{ms % 1000:03}"
    return f"{ms // 3600000:02}:{text}" if hours else text


@testing.needs_numpy
class Transcribe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.models = {}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def model(self, seed, multilingual=True):
        """The folder and the weights of a model."""
        key = (seed, multilingual)
        if key not in self.models:
            folder = self.folder / f"model-{seed}-{multilingual}"
            self.models[key] = folder, whisper_folder.write_folder(folder, seed, multilingual)
        return self.models[key]

    def recording(self, seconds, seed):
        path = self.folder / f"{seed}-{seconds}.wav"
        samples = whisper_folder.make_samples(seconds, seed)
        whisper_folder.write_wav(path, samples)
        return path, samples

    def oracle(self, seed, samples, multilingual=True, **options):
        folder, weights = self.model(seed, multilingual)
        generation = json.loads((folder / "generation_config.json").read_text())
        decoder = slow_whisper.Decoder(weights, generation, **options)
        result = decoder.transcribe(samples)
        self.assertGreater(decoder.least_gap, LEAST_GAP, "the oracle's choice is a matter of rounding")
        return result

    def expect_equal(self, seed, seconds, *arguments, multilingual=True, **options):
        folder, _ = self.model(seed, multilingual)
        path, samples = self.recording(seconds, seed)
        segments, language = self.oracle(seed, samples, multilingual, **options)
        result = run(folder, path, "--json", *CERTAIN, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        found = json.loads(result.stdout)
        names = {"en": "english", "de": "german", "zh": "chinese"}
        self.assertEqual(found["language"], names[language])
        self.assertEqual(found["duration"], seconds)
        self.assertEqual(len(found["segments"]), len(segments))
        for i, (one, expected) in enumerate(zip(found["segments"], segments)):
            self.assertEqual(one["id"], i)
            for key in ("seek", "tokens", "text"):
                self.assertEqual(one[key], expected[key])
            for key in ("start", "end", "compression_ratio"):
                self.assertAlmostEqual(one[key], expected[key], 6)
            for key in ("avg_logprob", "no_speech_prob"):
                self.assertAlmostEqual(one[key], expected[key], 3)
            for word, right in zip(one.get("words", []), expected.get("words", []), strict=True):
                self.assertEqual(word["word"], right["word"])
                for key in ("start", "end"):
                    self.assertAlmostEqual(word[key], right[key], 6)
                self.assertAlmostEqual(word["probability"], right["probability"], 3)
        return segments

    def test_windows_of_a_long_recording(self):
        segments = self.expect_equal(1, 11)
        self.assertGreater(len({segment["seek"] for segment in segments}), 2)

    def test_short_recording(self):
        self.expect_equal(6, 2.5, "--language", "German", language="de")

    def test_translation(self):
        self.expect_equal(7, 5, "--task", "translate", task="translate")

    def test_beams(self):
        segments = self.expect_equal(3, 9, "--beam-size", 3, beam_size=3)
        _, samples = self.recording(9, 3)
        greedy, _ = self.oracle(3, samples)
        self.assertNotEqual([s["tokens"] for s in segments], [s["tokens"] for s in greedy])

    def test_words(self):
        segments = self.expect_equal(2, 11, "--word-timestamps", word_timestamps=True)
        self.assertTrue(any(len(segment["words"]) > 1 for segment in segments))

    def test_words_of_beams(self):
        self.expect_equal(5, 3, "--word-timestamps", "--beam-size", 2, word_timestamps=True, beam_size=2)

    def test_words_of_a_language_without_spaces(self):
        segments = self.expect_equal(2, 11, "--word-timestamps", "--language", "zh", word_timestamps=True,
                                     language="zh")
        self.assertTrue(any(len(segment["words"]) > 3 for segment in segments))

    def test_text_in_silence_is_left_out(self):
        path, samples = self.recording(11, 2)
        kept = self.expect_equal(2, 11, "--word-timestamps", "--hallucination-silence-threshold", 0.5,
                                 word_timestamps=True, hallucination_silence_threshold=0.5)
        self.assertNotEqual(kept, self.oracle(2, samples, word_timestamps=True)[0])

    def test_english_only_without_timestamps(self):
        self.expect_equal(8, 6, "--without-timestamps", multilingual=False, without_timestamps=True)

    def test_formats(self):
        folder, _ = self.model(1)
        path, samples = self.recording(11, 1)
        segments, _ = self.oracle(1, samples)
        lines = [(s["start"], s["end"], s["text"].strip()) for s in segments if s["text"].strip()]
        out = self.folder / "out"
        result = run(folder, path, "-f", "all", "-o", out, *CERTAIN)
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        text = {file.suffix: file.read_text() for file in out.iterdir()}
        self.assertEqual(sorted(text), [".json", ".lrc", ".srt", ".tsv", ".txt", ".vtt"])
        self.assertEqual(text[".txt"], "".join(f"{t}\n" for _, _, t in lines))
        self.assertEqual(text[".srt"], "".join(
            f"{i}\n{clock(a, ',', True)} --> {clock(b, ',', True)}\n{t}\n\n" for i, (a, b, t) in enumerate(lines, 1)))
        self.assertEqual(text[".vtt"], "WEBVTT\n\n" + "".join(
            f"{clock(a, '.', False)} --> {clock(b, '.', False)}\n{t}\n\n" for a, b, t in lines))
        self.assertEqual(text[".tsv"], "start\tend\ttext\n" + "".join(
            f"{round(a * 1000)}\t{round(b * 1000)}\t{t}\n" for a, b, t in lines))
        printed = run(folder, path, *CERTAIN)
        self.assertEqual(printed.stdout.decode(), text[".txt"])
        self.assertEqual(run(folder, path, "-f", "srt", *CERTAIN).stdout.decode(), text[".srt"])

    def test_standard_input_and_several_files(self):
        folder, _ = self.model(1)
        path, samples = self.recording(11, 1)
        text = run(folder, path, *CERTAIN).stdout
        self.assertTrue(text)
        self.assertEqual(run(folder, "-", *CERTAIN, input=samples.tobytes()).stdout, text)
        self.assertEqual(run(folder, "-", *CERTAIN, input=path.read_bytes()).stdout, text)
        both = run(folder, path, path, *CERTAIN).stdout
        head = f"==> {path} <==\n".encode()
        self.assertEqual(both, head + text + b"\n" + head + text)
        whole = run(folder, path, "--json", *CERTAIN).stdout.decode()
        self.assertGreater(whole.count("\n"), 10)
        for options in (["--json"], ["-f", "json"]):
            lines = run(folder, path, path, *options, *CERTAIN).stdout.decode().splitlines()
            self.assertEqual([json.loads(line) for line in lines], 2 * [json.loads(whole)])

    def test_samples_at_higher_temperatures_depend_on_the_seed(self):
        folder, _ = self.model(1)
        path, _ = self.recording(11, 1)

        def sampled(seed):
            result = run(folder, path, "--json", "--temperature", 1, "--seed", seed, "--best-of", 2, "--no-stats")
            found = json.loads(result.stdout)["segments"]
            self.assertEqual({segment["temperature"] for segment in found}, {1.0})
            return [segment["tokens"] for segment in found]

        self.assertEqual(sampled(1), sampled(1))
        self.assertNotEqual(sampled(1), sampled(2))
        negative = run(folder, path, "--seed", -1)
        self.assertEqual((negative.returncode, negative.stdout), (2, b""))
        self.assertIn(b"--seed: -1 is not a number from 0 to 18446744073709551615", negative.stderr)

    def test_failed_texts_are_decoded_again(self):
        folder, _ = self.model(1)
        path, _ = self.recording(11, 1)
        found = json.loads(run(folder, path, "--json", "--logprob-threshold", "-0.001", "--no-speech-threshold",
                               "none").stdout)
        self.assertEqual({segment["temperature"] for segment in found["segments"]}, {1.0})

    def test_package(self):
        folder, _ = self.model(1)
        path, _ = self.recording(11, 1)
        package = self.folder / "whisper.mlpackage"
        subprocess.run([PIPPIN, "convert", folder, "-o", package], check=True, capture_output=True)
        results = [json.loads(run(model, path, "--json", "--word-timestamps", *CERTAIN).stdout)
                   for model in (folder, package)]
        self.assertEqual(*([(s["start"], s["text"]) for s in result["segments"]] for result in results))

    def whisperkit(self, seed, *options, heads=None):
        """The folder of a model whose weights are numbers of fp16, and its WhisperKit folder."""
        key = f"whisperkit-{seed}-{'-'.join(options)}"
        if key not in self.models:
            folder = self.folder / key
            weights = whisper_folder.write_folder(folder, seed)
            weights = {name: values.astype("float16").astype("float32") for name, values in weights.items()}
            whisper_folder.write_safetensors(folder / "model.safetensors", weights)
            path = folder / "generation_config.json"
            generation = json.loads(path.read_text())
            generation["alignment_heads"] = heads or generation["alignment_heads"]
            path.write_text(json.dumps(generation))
            packages = self.folder / f"{key}-packages"
            subprocess.run([PIPPIN, "convert", folder, "--family", "whisperkit", "-o", packages, *options], check=True,
                           capture_output=True)
            self.models[key] = folder, packages
        return self.models[key]

    def expect_same_transcription(self, models, path, *arguments):
        texts = []
        for model in models:
            result = run(model, path, "--json", *CERTAIN, *arguments)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            texts.append(json.loads(result.stdout))
        first, second = texts
        self.assertEqual(first["language"], second["language"])
        self.assertTrue(any(segment["text"] for segment in first["segments"]))
        for one, other in zip(first["segments"], second["segments"], strict=True):
            words = [segment.pop("words", []) for segment in (one, other)]
            for key in ("avg_logprob", "no_speech_prob"):
                self.assertAlmostEqual(one.pop(key), other.pop(key), 3)
            self.assertEqual(one, other)
            for word, right in zip(*words, strict=True):
                self.assertAlmostEqual(word.pop("probability"), right.pop("probability"), 3)
                self.assertEqual(word, right)
        return first

    def test_whisperkit_folder_of_one_window(self):
        for seed in (1, 6):
            self.expect_same_transcription(self.whisperkit(seed, heads=[[1, 2]]), self.recording(3.5, 1)[0])

    def test_whisperkit_folder_with_words(self):
        found = self.expect_same_transcription(self.whisperkit(6, heads=[[1, 2]]), self.recording(3.5, 6)[0],
                                               "--word-timestamps")
        self.assertTrue(found["words"])

    def test_whisperkit_folder_with_beams(self):
        self.expect_same_transcription(self.whisperkit(6, heads=[[1, 2]]), self.recording(3.5, 6)[0], "--beam-size", 3)

    def test_whisperkit_folder_without_mel_spectrogram(self):
        folder, packages = self.whisperkit(1, heads=[[1, 2]])
        without = self.folder / "without-mel"
        shutil.copytree(packages, without)
        shutil.rmtree(without / "MelSpectrogram.mlpackage")
        found = self.expect_same_transcription((folder, without), self.recording(11, 1)[0])
        self.assertGreater(len({segment["seek"] for segment in found["segments"]}), 2)

    def test_whisperkit_folder_of_several_windows_in_few_bits(self):
        path, _ = self.recording(11, 1)
        for options in ((), ("--quantize", "int8"), ("--palettize", "6")):
            _, packages = self.whisperkit(2, *options)
            result = run(packages, path, "--json", "--word-timestamps", *CERTAIN)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            found = json.loads(result.stdout)
            self.assertGreater(len({segment["seek"] for segment in found["segments"]}), 1)
            self.assertTrue(found["words"])

    def test_whisperkit_tokenizer_of_another_folder(self):
        folder, packages = self.whisperkit(1, heads=[[1, 2]])
        path, _ = self.recording(3.5, 1)
        without = self.folder / "without-tokenizer"
        shutil.copytree(packages, without)
        (without / "tokenizer.json").unlink()
        self.expect_error(1, "has no tokenizer inside", without, path)
        self.expect_same_transcription((packages, without), path, "--tokenizer", folder)

    def test_whisperkit_folder_of_compiled_models(self):
        folder, packages = self.whisperkit(6, heads=[[1, 2]])
        compiled = self.folder / "compiled"
        shutil.copytree(packages, compiled, ignore=shutil.ignore_patterns("*.mlpackage", "meta.json", "*processor*"))
        for package in packages.glob("*.mlpackage"):
            subprocess.run([PIPPIN, "compile", package, "-o", compiled / f"{package.stem}.mlmodelc"], check=True,
                           capture_output=True)
        self.expect_same_transcription((folder, compiled), self.recording(3.5, 6)[0], "--word-timestamps")

    def test_errors_of_whisperkit_folders(self):
        _, packages = self.whisperkit(1, heads=[[1, 2]])
        path, _ = self.recording(3.5, 1)
        broken = self.folder / "broken"

        def expect(status, message, change):
            shutil.copytree(packages, broken)
            change()
            self.expect_error(status, message, broken, path)
            shutil.rmtree(broken)

        def swap():
            (broken / "AudioEncoder.mlpackage").rename(broken / "old")
            (broken / "MelSpectrogram.mlpackage").rename(broken / "AudioEncoder.mlpackage")

        weights = broken / "TextDecoder.mlpackage/Data/com.apple.CoreML/weights/weight.bin"
        model = broken / "TextDecoder.mlpackage/Data/com.apple.CoreML/model.mlmodel"
        expect(1, "holds no TextDecoder", lambda: shutil.rmtree(broken / "TextDecoder.mlpackage"))
        expect(1, "holds no AudioEncoder", lambda: shutil.rmtree(broken / "AudioEncoder.mlpackage"))
        expect(3, "AudioEncoder.mlpackage: takes 'audio'", swap)
        expect(1, "TextDecoder.mlpackage: function", lambda: os.truncate(weights, 1000))
        expect(1, "TextDecoder.mlpackage: model.mlmodel", lambda: os.truncate(model, 1000))
        result = subprocess.run([PIPPIN, "run", packages, "Hello"], capture_output=True)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"pippin transcribe", result.stderr)

    def test_whisperkit_conversions_that_are_refused(self):
        folder, packages = self.whisperkit(1, heads=[[1, 2]])

        def expect(message, *arguments):
            result = subprocess.run([PIPPIN, "convert", *arguments, "--family", "whisperkit"], capture_output=True,
                                    text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(message, result.stderr)

        out = self.folder / "refused"
        expect("a context of 65 tokens: 2 to 64", folder, "-o", out, "--context", "65")
        expect("cannot end in .mlpackage", folder, "-o", out.with_suffix(".mlpackage"))
        expect("--prefix: not for", folder, "-o", out, "--prefix", "p")
        expect("is not a folder of packages", folder, "-o", self.folder)
        expect("takes a Hugging Face folder", packages, "-o", out)
        other = self.folder / "other"
        other.mkdir()
        (other / "config.json").write_text('{"model_type": "bart"}')
        expect("takes Whisper models", other, "-o", out)
        self.assertFalse(out.exists())
        # A folder that it wrote is replaced.
        subprocess.run([PIPPIN, "convert", folder, "--family", "whisperkit", "-o", packages], check=True,
                       capture_output=True)

    def expect_error(self, status, message, *arguments, **options):
        result = run(*arguments, **options)
        error = result.stderr.decode()
        self.assertEqual(result.returncode, status, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(message, error)

    def test_errors_are_one_line(self):
        folder, _ = self.model(1)
        path, _ = self.recording(11, 1)
        cut = self.folder / "cut.wav"
        cut.write_bytes(path.read_bytes()[:5000])
        self.expect_error(1, "cut.wav", folder, cut)
        self.expect_error(1, "no such file", folder, self.folder / "absent.wav")
        (self.folder / "text.wav").write_text("This is not a recording.")
        self.expect_error(3, "text.wav", folder, self.folder / "text.wav")
        self.expect_error(1, "does not have the language fr", folder, path, "--language", "French")
        self.expect_error(2, "Klingon", folder, path, "--language", "Klingon")
        self.expect_error(2, "need --vad MODEL", folder, path, "--vad-threshold", "0.7")
        self.expect_error(2, "--output-dir", folder, path, "-f", "srt", "-f", "vtt")
        self.expect_error(2, "--output-dir", folder, path, path, "-f", "srt")
        self.expect_error(1, "two files would be written", folder, path, path, "-o", self.folder / "out")
        self.expect_error(1, "999999 is not a token", folder, path, "--suppress-tokens", "-1,999999")
        self.expect_error(1, "bytes of a frame", folder, "-", input=b"123")
        self.expect_error(2, "read once", folder, "-", "-")
        self.expect_error(1, "cannot make the folder", folder, path, "-o", path / "out")
        english, _ = self.model(8, multilingual=False)
        self.expect_error(1, "English only", english, path, "--task", "translate")

    def test_a_full_disk_leaves_no_folder(self):
        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

        folder, _ = self.model(1)
        path, _ = self.recording(3, 1)
        out = self.folder / "deep" / "out"
        self.expect_error(1, "out", folder, path, "-o", out, "--no-cache", "--no-stats", preexec_fn=limit_files)
        self.assertFalse(out.parent.exists())

    def test_nothing_to_transcribe(self):
        folder, _ = self.model(1)
        self.assertEqual(run(folder, "-", "--no-stats", input=b"").returncode, 0)
        found = json.loads(run(folder, "-", "--json", "--no-stats", input=bytes(100)).stdout)
        self.assertEqual((found["segments"], found["text"], found["duration"]), ([], "", 50 / 16000))
        self.assertNotIn("words", found)
        found = json.loads(run(folder, "-", "--json", "--word-timestamps", "--no-stats", input=bytes(100)).stdout)
        self.assertEqual((found["segments"], found["words"]), ([], []))

    def test_text_appears_while_sound_arrives(self):
        folder, _ = self.model(1)
        process = subprocess.Popen([PIPPIN, "transcribe", str(folder), "-", "--language", "en", *CERTAIN],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
        lines = []

        def read():
            for line in process.stdout:
                lines.append(line)

        reader = threading.Thread(target=read)
        tones = (np.clip(whisper_folder.make_samples(2, 3), -1, 1) * 32767).astype("<i2").tobytes()
        phrase = tones + bytes(2 * 16000 * 12 // 10)
        second = 2 * 16000
        try:
            reader.start()
            deadline = time.monotonic() + 100
            while not lines and time.monotonic() < deadline:
                for begin in range(0, len(phrase), second // 10):
                    process.stdin.write(phrase[begin:begin + second // 10])
                    process.stdin.flush()
                    time.sleep(0.1)
            self.assertIsNone(process.poll())
            self.assertTrue(lines, "no text before the end of the sound")
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
        finally:
            process.kill()
            reader.join()
            process.stdout.close()

    def test_interruption_ends_a_wait_for_input(self):
        folder, _ = self.model(1)
        process = subprocess.Popen([PIPPIN, "transcribe", str(folder), "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.stdin.write(bytes(1000))
            process.stdin.flush()
            # The handler is installed before the files are opened, which the program does next.
            deadline = time.monotonic() + 60
            opened = f"/proc/{process.pid}/maps"
            while os.path.exists(opened) and "model.safetensors" not in Path(opened).read_text():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
        finally:
            process.kill()
            process.communicate()

    def test_other_commands_point_to_this_one(self):
        folder, _ = self.model(1)
        package = self.folder / "whisper.mlpackage"
        subprocess.run([PIPPIN, "convert", folder, "-o", package], capture_output=True, check=True)
        for model in folder, package:
            result = subprocess.run([PIPPIN, "run", model, "Hello"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 3)
            self.assertIn("a model of speech: `pippin transcribe` runs it", result.stderr)


if __name__ == "__main__":
    testing.main()
