#!/usr/bin/env python3
"""The server's endpoints for recordings, compared with pippin transcribe. The model is a tiny Whisper.

    serve_test.py PIPPIN
"""

import http.client
import json
import re
import shutil
import socket
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
    import whisper_folder
except ModuleNotFoundError:  # NumPy
    pass

PIPPIN = sys.argv.pop(1)
TRANSCRIPTIONS = "/v1/audio/transcriptions"
SEED = 3
# Without these, the program may draw samples, or leave a window out.
CERTAIN = ["--temperature-increment-on-fallback", "0", "--no-speech-threshold", "1", "--no-stats"]
CERTAIN_FIELDS = {"temperature_inc": "0", "no_speech_threshold": "1"}


@testing.needs_numpy
class Transcriptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = Path(cls.temporary.name)
        cls.model = folder / "tiny-whisper"
        whisper_folder.write_folder(cls.model, SEED)
        cls.path = folder / "talk.wav"
        whisper_folder.write_wav(cls.path, whisper_folder.make_samples(9.5, SEED))
        cls.recording = cls.path.read_bytes()
        later, package = folder / "later", folder / "tiny-whisper.mlpackage"
        shutil.copytree(cls.model, later)
        subprocess.run([PIPPIN, "convert", cls.model, "-o", package], check=True, capture_output=True, timeout=120)
        cls.process = subprocess.Popen(
            [PIPPIN, "serve", "--port", "0", f"whisper-1={cls.model}", "demo", f"later={later}", f"packed={package}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in cls.process.stderr:
            found = re.search(r"listening at https?://\S*:(\d+)", line)
            if found:
                cls.port = int(found.group(1))
                break
        threading.Thread(target=cls.process.stderr.read, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(30)
        cls.temporary.cleanup()

    def request(self, path, body, headers, method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def post(self, path=TRANSCRIPTIONS, files=None, **fields):
        """The status and the text of an answer. `fields`: texts, or lists of texts."""
        pairs = [(name, value) for name, given in ({"model": "whisper-1"} | CERTAIN_FIELDS | fields).items()
                 for value in (given if isinstance(given, list) else [given])]
        type_, body = form(pairs, [("file", self.recording)] if files is None else files)
        self.answer, text = self.request(path, body, {"Content-Type": type_})
        return self.answer.status, text

    def command(self, *arguments):
        result = subprocess.run([PIPPIN, "transcribe", self.model, self.path, *CERTAIN, *arguments],
                                capture_output=True, text=True, timeout=120, check=True)
        return result.stdout

    def expect_error(self, status, pattern, path=TRANSCRIPTIONS, files=None, **fields):
        found, text = self.post(path, files, **fields)
        self.assertEqual(found, status, text)
        self.assertRegex(json.loads(text)["error"]["message"], pattern)

    def test_answers_are_those_of_the_command(self):
        for format_ in ("srt", "vtt"):
            self.assertEqual(self.post(response_format=format_), (200, self.command("-f", format_)))
            self.assertTrue(self.answer.getheader("content-type").startswith("text/plain"))
        wanted = json.loads(self.command("--json"))
        self.assertTrue(wanted["text"])
        status, text = self.post(response_format="verbose_json")
        self.assertEqual((status, json.loads(text)), (200, wanted))
        self.assertEqual(self.post(response_format="text"), (200, wanted["text"] + "\n"))
        status, text = self.post()
        self.assertEqual(json.loads(text), {"text": wanted["text"], "usage": {"type": "duration", "seconds": 10}})
        self.assertEqual(json.loads(self.post("/inference")[1])["text"], wanted["text"])

    def test_options(self):
        for flags, fields in ((["--language", "de"], {"language": "de"}),
                              (["--language", "de"], {"language": "German"}),
                              (["--language", "de", "--initial-prompt", "Ab"], {"language": "de", "prompt": "Ab"}),
                              (["--task", "translate"], {"translate": "true"}),
                              (["--without-timestamps"], {"without_timestamps": "true"}),
                              (["--beam-size", "3"], {"beam_size": "3"})):
            status, text = self.post(response_format="verbose_json", **fields)
            self.assertEqual((status, json.loads(text)), (200, json.loads(self.command("--json", *flags))), flags)
        status, text = self.post("/v1/audio/translations", response_format="verbose_json")
        self.assertEqual(json.loads(text), json.loads(self.command("--json", "--task", "translate")))

    def test_words(self):
        wanted = json.loads(self.command("--json", "--word-timestamps"))
        both = {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]}
        self.assertEqual(json.loads(self.post(**both)[1]), wanted)
        both["timestamp_granularities[]"] = ["word"]
        answer = json.loads(self.post(**both)[1])
        self.assertNotIn("segments", answer)
        self.assertEqual(answer["words"], wanted["words"])
        # A recording without words, for clients that require the key.
        silence = self.path.with_name("silence.wav")
        whisper_folder.write_wav(silence, whisper_folder.make_samples(9.5, SEED)[:10])
        files = [("file", silence.read_bytes())]
        self.assertEqual(json.loads(self.post(files=files, **both)[1])["words"], [])
        del both["timestamp_granularities[]"]
        self.assertNotIn("words", json.loads(self.post(files=files, **both)[1]))

    def test_a_model_of_no_voice_ends_the_start(self):
        for model in (self.model, "/no/such/model"):
            told = subprocess.run([PIPPIN, "transcribe", self.model, self.path, "--vad", model, "--no-stats"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((told.returncode, told.stderr.count("\n")), (1, 1), told.stderr)
            # The demo model is opened at start; the model of speech would be on the first request.
            served = subprocess.run([PIPPIN, "serve", "--port", "0", "demo", f"later={self.model}", "--vad", model],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual((served.returncode, served.stderr), (1, told.stderr))

    def test_a_stream(self):
        status, text = self.post(stream="true")
        self.assertEqual(status, 200)
        self.assertTrue(self.answer.getheader("content-type").startswith("text/event-stream"))
        events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
        wanted = json.loads(self.post()[1])["text"]
        self.assertEqual("".join(one["delta"] for one in events[:-1]), wanted)
        self.assertEqual({one["type"] for one in events[:-1]}, {"transcript.text.delta"})
        self.assertEqual((events[-1]["type"], events[-1]["text"]), ("transcript.text.done", wanted))

    def test_errors(self):
        self.expect_error(400, "file: is missing", files=[])
        self.expect_error(400, "file: there are several", files=[("file", self.recording)] * 2)
        self.expect_error(400, "talk.wav", files=[("file", b"Dear all,\nplease find attached nothing.\n" * 20)])
        self.expect_error(400, "talk.wav", files=[("file", b"")])
        self.expect_error(400, "talk.wav", files=[("file", self.recording[:1000])])
        self.expect_error(400, "language: 'xx' is neither a language", language="xx")
        self.expect_error(400, 'response_format: "docx" is not json', response_format="docx")
        self.expect_error(400, "temperature: 2 is not from 0 to 1", temperature="2")
        self.expect_error(400, 'temperature: "hot" is not a number', temperature="hot")
        self.expect_error(400, 'stream: "maybe" is neither true nor false', stream="maybe")
        self.expect_error(400, "stream: needs", stream="true", response_format="srt")
        self.expect_error(400, "timestamp_granularities: needs", **{"timestamp_granularities[]": ["word"]})
        self.expect_error(400, "beam_size", beam_size="1000000")
        self.expect_error(400, "diarize is not supported", diarize="true")
        self.expect_error(400, "language: given 2 times", language=["de", "en"])
        self.expect_error(400, 'the model "demo" does not take recordings', model="demo")
        self.expect_error(404, "whisper-2", model="whisper-2")
        answer, text = self.request(TRANSCRIPTIONS, b"{}", {"Content-Type": "application/json"})
        self.assertEqual((answer.status, json.loads(text)["error"]["message"][:35]),
                         (415, "the request must be a form with a f"))
        answer, text = self.request(TRANSCRIPTIONS, b"--x\r\nno end", {"Content-Type": "multipart/form-data; boundary=x"})
        self.assertEqual(answer.status, 400, text)
        self.post(speed="2")
        self.assertEqual(self.answer.getheader("x-ignored-fields"), "speed")

    def test_other_endpoints_refuse_the_model(self):
        message = [{"role": "user", "content": "Hello"}]
        for path, body in (("/v1/chat/completions", {"messages": message}), ("/v1/embeddings", {"input": "Hello"}),
                           ("/embedding", {"input": "Hello"}), ("/v1/rerank", {"query": "a", "documents": ["b"]})):
            answer, text = self.request(path, json.dumps(body | {"model": "whisper-1"}),
                                        {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 400, text)
            self.assertIn("takes recordings, not texts", text)
        answer, text = self.request("/v1/models/whisper-1", None, {}, "GET")
        self.assertEqual(json.loads(text)["capabilities"], ["transcription"])

    def test_models_are_known_before_they_are_loaded(self):
        for name in ("later", "packed"):
            answer, text = self.request("/api/show", json.dumps({"model": name}), {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 200, text)
            self.assertEqual(json.loads(text)["capabilities"], ["transcription"])
            _, text = self.request(f"/v1/models/{name}", None, {}, "GET")
            self.assertEqual(json.loads(text)["state"], "absent")

    def test_a_client_that_leaves(self):
        type_, body = form([("model", "whisper-1")], [("file", self.recording)])
        head = f"POST {TRANSCRIPTIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {type_}\r\n" \
               f"Content-Length: {len(body)}\r\n\r\n".encode()
        for sent in (len(body) // 2, len(body)):  # during the upload, and while it is transcribed
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                connection.sendall(head + body[:sent])
        self.assertEqual(self.post()[0], 200)


if __name__ == "__main__":
    testing.main()
