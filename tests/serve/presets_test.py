#!/usr/bin/env python3
"""pippin serve with presets, pinned models, and adapters of a package, as a command.
PIPPIN=build/release/pippin/cli/pippin; runs alone: presets_test.py [CLASS[.TEST]...]
"""

import json
import os
import random
import shutil
import struct
import subprocess
import unittest

from command_test import PIPPIN, STORY, ServeTest

DEMO = os.path.join(os.path.dirname(__file__), "..", "..", "pippin", "demo", "model")
TEXT = {"prompt": "Once upon a time", "max_tokens": 12, "temperature": 0}


def write_adapter(folder, seed):
    """PEFT's files, with random matrices for the queries and values of the demo model's first layers."""
    os.mkdir(folder)
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "r": 4, "lora_alpha": 32, "target_modules": ["q_proj", "v_proj"]}, file)
    numbers = random.Random(seed)
    header, data = {}, b""
    for layer in range(3):
        for module, rows in (("q_proj", 192), ("v_proj", 64)):
            for name, shape in (("lora_A", (4, 192)), ("lora_B", (rows, 4))):
                values = [numbers.uniform(-0.3, 0.3) for _ in range(shape[0] * shape[1])]
                begin = len(data)
                data += struct.pack(f"<{len(values)}f", *values)
                header[f"base_model.model.model.layers.{layer}.self_attn.{module}.{name}.weight"] = {
                    "dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class PresetsTest(ServeTest):
    def start(self, text, *arguments, name="models.ini"):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.serve("--port", "0", "--presets", self.path(name), *arguments)

    def states(self, server):
        return {model["id"]: model["state"] for model in server.ask()[1]["data"]}


class Presets(PresetsTest):
    def test_models_with_options_of_their_own(self):
        shutil.copytree(DEMO, self.path("model"))
        server = self.start(f"""version = 1
[*]
ctx-size = 200
[small]
model = {self.path("model")}
alias = tiny, little
n-predict = 3
temp = 0.125
[other]
model = small
ctx-size = 100
load-on-startup = true
[demo]
""").ready()
        self.assertEqual(self.states(server), {"small": "ready", "tiny": "ready", "little": "ready", "other": "ready",
                                               "demo": "absent"})
        for model, context in (("small", 200), ("little", 200), ("other", 100), ("demo", 200)):
            status, props = server.ask(path=f"/props?model={model}")
            self.assertEqual((status, props["default_generation_settings"]["n_ctx"]), (200, context))
        for path, body in (("/v1/completions", {"prompt": "Once"}), ("/v1/chat/completions", STORY)):
            for model in ("small", "tiny", "other"):
                status, answer = server.ask("POST", path, {**body, "model": model, "ignore_eos": True})
                self.assertEqual((status, answer["usage"]["completion_tokens"]), (200, 3), answer)
        status, answer = server.ask("POST", "/api/chat", {**STORY, "model": "small", "stream": False})
        self.assertEqual((status, answer["eval_count"]), (200, 3))
        self.assertEqual(props["default_generation_settings"]["params"]["temperature"] == 0.125, False)
        self.assertEqual(server.ask(path="/props?model=small")[1]["default_generation_settings"]["params"]["temperature"],
                         0.125)
        self.assertEqual(server.end(), 0)

    def test_the_same_in_json(self):
        server = self.start(json.dumps({"*": {"context": 64}, "one": {"model": "demo", "alias": ["eins"]}}), "demo",
                            name="models.json").ready()
        self.assertEqual(list(self.states(server)), ["demo", "one", "eins"])
        self.assertEqual(server.ask(path="/props?model=eins")[1]["default_generation_settings"]["n_ctx"], 64)

    def check_refused(self, text, message, name="models.ini", arguments=(), status=1):
        server = self.start(text, *arguments, name=name)
        self.assertEqual(server.process.wait(timeout=30), status)
        server.reader.join()
        self.assertEqual(server.log().replace(self.home + "/", ""), f"pippin: error: {message}\n")

    def test_files_that_are_wrong(self):
        self.check_refused("[demo]\nctx-sise = 3\n",
                           "models.ini:2: ctx-sise: is not an option of a model (did you mean ctx-size?)")
        self.check_refused('{"demo": {"temp": "hot"}}', 'models.json: demo.temp: expected a number, found "hot"',
                           name="models.json")
        self.check_refused("[demo]\n", "two models are called demo: name them with NAME=PATH", arguments=["demo"])
        self.check_refused("[demo]\n", "--pin x: unknown model (see pippin serve --help)",
                           arguments=["--pin", "x"], status=2)
        os.remove(self.path("models.ini"))
        server = self.serve("--port", "0", "--presets", self.path("models.ini"))
        self.assertEqual(server.process.wait(timeout=30), 1)
        server.wait_for("pippin: error: .*models.ini: No such file or directory")

    def test_pinned_models_that_have_no_room_together(self):
        for name in ("a", "b"):
            shutil.copytree(DEMO, self.path(name))
        size = sum(os.path.getsize(os.path.join(DEMO, name)) for name in os.listdir(DEMO))
        server = self.start(f"[*]\npin = true\n[a]\nmodel = {self.path('a')}\n[b]\nmodel = {self.path('b')}\n",
                            "--max-model-memory", str(size * 3 // 2))
        self.assertEqual(server.process.wait(timeout=30), 1)
        server.wait_for(f"pippin: error: model b: no room for its {size} bytes: pinned models \\(a\\) take {size} of")


class Adapters(PresetsTest):
    def setUp(self):
        super().setUp()
        for seed, name in enumerate(("formal", "casual")):
            write_adapter(self.path(name), seed)
        self.package = self.path("m.mlpackage")
        subprocess.run([PIPPIN, "convert", DEMO, "-o", self.package, "--adapter", f"formal={self.path('formal')}",
                        "--adapter", f"casual={self.path('casual')}"], check=True, capture_output=True)

    def text(self, server, model):
        status, answer = server.ask("POST", "/v1/completions", {**TEXT, "model": model})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["model"], model if model != "n:formal" else "m:formal")
        return answer["choices"][0]["text"]

    def run_text(self, *arguments):
        done = subprocess.run([PIPPIN, "run", self.package, TEXT["prompt"], "--max-tokens", "12", "--temp", "0", "--raw",
                               *arguments], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_are_models_of_their_own(self):
        # There is room for the package once and a half: its files count once.
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(self.package) for name in names)
        server = self.serve("--port", "0", self.package, f"n={self.package}", "--max-model-memory",
                            str(size * 3 // 2)).ready()
        names = ["m", "n", "m:formal", "m:casual"]
        self.assertEqual([model["id"] for model in server.ask()[1]["data"]], names)
        self.assertEqual([model["name"] for model in server.ask(path="/api/tags")[1]["models"]],
                         ["m:latest", "n:latest", "m:formal", "m:casual"])
        texts = {name: self.text(server, name) for name in ("m", "m:formal", "m:casual", "n:formal")}
        self.assertEqual(len(set(texts.values())), 3, texts)
        self.assertEqual(texts["n:formal"], texts["m:formal"])
        for name in ("formal", "casual"):
            self.assertIn(texts["m:" + name].strip(), self.run_text("--adapter", name))
        self.assertEqual(set(self.states(server).values()), {"ready"})
        status, answer = server.ask("POST", "/api/generate", {"model": "m:casual", "prompt": "Once", "stream": False,
                                                              "options": {"num_predict": 2}})
        self.assertEqual((status, answer["model"]), (200, "m:casual"))
        for path, body, error in (
                ("/v1/chat/completions", STORY, lambda answer: answer["error"]["message"]),
                ("/v1/messages", {**STORY, "max_tokens": 2}, lambda answer: answer["error"]["message"]),
                ("/api/chat", STORY, lambda answer: answer["error"].removeprefix("model not found: "))):
            status, answer = server.ask("POST", path, {**body, "model": "m:loud"})
            self.assertEqual((status, error(answer)), (404, 'unknown model "m:loud": m has only m:formal, m:casual'))
        status, answer = server.ask("DELETE", "/api/delete", {"model": "m:formal"})
        self.assertEqual((status, answer["error"]), (403, '"m:formal" is an adapter of m, and goes with it'))
        self.assertEqual(server.ask("POST", "/models/unload", {"model": "m:formal"})[0], 200)
        self.assertEqual(self.states(server)["m:formal"], "absent")
        self.assertEqual(self.states(server)["m"], "ready")

    def test_whole_names_come_first(self):
        server = self.start(f"""[m]
model = {self.package}
[m:formal]
model = demo
[default]
model = {self.package}
adapter = casual
""").ready()
        self.assertEqual(list(self.states(server)), ["m", "m:formal", "default", "m:casual", "default:formal",
                                                     "default:casual"])
        status, props = server.ask(path="/props?model=m:formal")
        self.assertEqual((status, props["model"]), (200, "m:formal"))
        demo = self.text(server, "m:formal")
        self.assertEqual(demo, self.text(server, "m"))
        self.assertEqual(self.text(server, "m:casual"), self.text(server, "default"))
        self.assertNotEqual(self.text(server, "default:formal"), self.text(server, "default"))

    def test_that_are_not_there(self):
        server = self.start(f"[m]\nmodel = {self.package}\nadapter = loud\n")
        self.assertEqual(server.process.wait(timeout=30), 1)
        server.wait_for(r"models.ini:3: adapter: loud: .*m.mlpackage has no such adapter, only formal, casual\n")
        server = self.serve("--port", "0", "demo").ready()
        status, answer = server.ask("POST", "/v1/completions", {**TEXT, "model": "demo:formal"})
        self.assertEqual((status, answer["error"]["message"]), (404, 'unknown model "demo:formal": demo has no adapters'))


if __name__ == "__main__":
    unittest.main()
