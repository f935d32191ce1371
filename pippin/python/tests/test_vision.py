"""Images in the prompts of a tiny SmolVLM, compared with `pippin run --json`."""

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None
try:
    from PIL import Image
except ImportError:
    Image = None
import pippin
from fixtures import PROGRAM, SOURCE
from pippin import lm
from testing import shared_data

sys.path.insert(0, str(SOURCE / "tests/vision"))
import smolvlm_folder
import smolvlm_gguf

COUNT = 8  # generated tokens
GREEDY = {"max_tokens": COUNT, "temperature": 0, "end_tokens": []}


def asked(*images, text="this is red"):
    return [{"role": "user", "content": [*({"type": "image", **image} for image in images),
                                         {"type": "text", "text": text}]}]


def with_placeholders(prompt, placeholder):
    """The tokens as the program reports them."""
    return [placeholder if token < 0 else token for token in prompt.tokens]


class Vision(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        smolvlm_folder.write_folder(cls.folder / "model")
        cls.pixels = smolvlm_folder.make_pixels(1)
        cls.path = cls.folder / "picture.png"
        smolvlm_folder.write_png(cls.path, cls.pixels)
        cls.other = smolvlm_folder.make_pixels(2)
        cls.model, cls.tokenizer = lm.load(cls.folder / "model", num_threads=1)
        cls.wanted = cls.model.prompt(asked({"path": cls.path}))

    def written(self, prompt, sequence=None):
        generation = self.model.generate(sequence or self.model.new_sequence(), prompt, GREEDY)
        for _ in generation:
            pass
        return generation.tokens

    def run_program(self, *flags):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([PROGRAM, "run", self.folder / "model", "--json", "-t", "1", "-n", str(COUNT), "--temp",
                               "0", *flags], check=True, capture_output=True, env=environment)
        return json.loads(done.stdout)

    def test_prompts_and_texts_are_those_of_the_program(self):
        said = self.run_program("--image", self.path, "this is red")
        self.assertTrue(self.model.takes_images)
        self.assertEqual(with_placeholders(self.wanted, smolvlm_folder.VOCABULARY["<image>"]), said["prompt_ids"])
        self.assertEqual(len(self.wanted), len(said["prompt_ids"]))
        rows = [token for token in self.wanted.tokens if token < 0]
        self.assertEqual(len(rows), 5 * smolvlm_folder.ROWS)  # 2 x 2 tiles and the whole
        self.assertEqual(lm.generate(self.model, self.tokenizer, self.wanted, max_tokens=COUNT), said["text"])

    def test_an_image_in_all_forms(self):
        file = self.path.read_bytes()
        data = "data:image/png;base64," + base64.b64encode(file).decode()
        images = [str(self.path), self.path, self.path.as_uri(), data, file, bytearray(file), self.pixels,
                  np.ascontiguousarray(self.pixels[::-1])[::-1]]
        if Image is not None:
            images += [Image.open(io.BytesIO(file)), Image.fromarray(self.pixels), Image.fromarray(self.pixels).convert("RGBA")]
        for image in images:
            self.assertEqual(self.model.prompt(asked({"image": image})).tokens, self.wanted.tokens, type(image))
        parts = [{"path": self.path}, {"url": data}, {"base64": base64.b64encode(file).decode()},
                 {"type": "image_url", "image_url": {"url": data}}, {"type": "image_url", "image_url": data}]
        for part in parts:
            self.assertEqual(self.model.prompt(asked(part)).tokens, self.wanted.tokens, part.keys())
        self.assertEqual(self.model.prompt(asked({}), self.path).tokens, self.wanted.tokens)
        self.assertEqual(self.model.prompt(asked({}), images=[self.pixels]).tokens, self.wanted.tokens)
        self.assertNotEqual(self.model.prompt(asked({"image": self.other})).tokens, self.wanted.tokens)
        gray = self.pixels[:, :, 0]
        tokens = self.model.prompt(asked({"image": np.stack([gray] * 3, 2)})).tokens
        for image in (gray, gray[:, :, None]):
            self.assertEqual(self.model.prompt(asked({"image": image})).tokens, tokens)

    @unittest.skipIf(Image is None, "Pillow is not installed")
    def test_modes_and_orientation_of_pil_images(self):
        colors = Image.fromarray(self.pixels)
        for mode in ("L", "1", "P", "CMYK", "YCbCr"):
            image = colors.convert(mode)
            self.assertEqual(self.model.prompt(asked({"image": image})).tokens,
                             self.model.prompt(asked({"image": image.convert("RGB")})).tokens, mode)
        file = self.folder / "turned.jpg"
        exif = Image.Exif()
        exif[0x0112] = 6
        colors.save(file, exif=exif)
        with Image.open(file) as image:
            self.assertEqual(self.model.prompt(asked({"image": image})).tokens,
                             self.model.prompt(asked({"image": file})).tokens)
        with self.assertRaisesRegex(ValueError, r"content\[0\]: a picture of the mode F; expected 8 bits"):
            self.model.prompt(asked({"image": Image.new("F", (4, 4))}))

    def test_messages_and_texts(self):
        text = self.tokenizer.apply_chat_template(asked({}), add_generation_prompt=True, tokenize=False)
        self.assertEqual(self.model.prompt(text, [self.path], add_special_tokens=False).tokens, self.wanted.tokens)
        # Texts and images in any order, in several messages.
        parts = [{"type": "text", "text": "this"}, {"type": "image", "image": self.path},
                 {"type": "text", "text": "and"}, {"type": "image", "image": self.other}]
        prompt = self.model.prompt([{"role": "user", "content": parts}, {"role": "assistant", "content": "a fox"},
                                    *asked({}, text="that")], images=self.path)
        first = [token for token in self.wanted.tokens if token < 0]
        second = [token for token in self.model.prompt(asked({"image": self.other})).tokens if token < 0]
        self.assertEqual([token for token in prompt.tokens if token < 0], first + second + first)
        self.assertLess(prompt.tokens.index(smolvlm_folder.VOCABULARY["this"]), prompt.tokens.index(first[0]))
        self.assertEqual(self.model.prompt([{"role": "user", "content": "a fox"}]).tokens,
                         self.model.encode_chat([{"role": "user", "content": "a fox"}]))
        other = pippin.ChatTemplate.from_source("<s>{% for m in messages %}{{ m.content }} {{ word }}{% endfor %}")
        tokens = self.model.prompt(asked({"path": self.path}), chat_template=other, word="fox").tokens
        self.assertEqual(tokens[-1], smolvlm_folder.VOCABULARY["fox"])
        self.assertEqual([token for token in tokens if token < 0], first)

    def test_videos(self):
        folder = self.folder / "frames"
        folder.mkdir()
        frames = [self.pixels, self.other, self.pixels]
        for number, pixels in enumerate(frames):
            smolvlm_folder.write_png(folder / f"frame{number + 9}.png", pixels)
        said = self.run_program("--video", folder, "--fps", "2", "this is red")

        def tokens(video, fps=2):
            part = {"type": "video", "video": video, "fps": fps}
            return self.model.prompt([{"role": "user", "content": [part, {"type": "text", "text": "this is red"}]}])

        wanted = tokens(folder)
        self.assertEqual(with_placeholders(wanted, smolvlm_folder.VOCABULARY["<image>"]), said["prompt_ids"])
        self.assertEqual(lm.generate(self.model, self.tokenizer, wanted, max_tokens=COUNT), said["text"])
        rows = [token for token in wanted.tokens if token < 0]
        self.assertEqual(len(rows), 3 * smolvlm_folder.ROWS)
        paths = [folder / f"frame{number}.png" for number in (9, 10, 11)]
        for video in (str(folder), frames, tuple(frames), np.stack(frames), paths, [paths[0], self.other, frames[2]]):
            self.assertEqual(tokens(video).tokens, wanted.tokens, type(video))
        self.assertNotEqual(tokens(frames[::-1] + frames[:1]).tokens, wanted.tokens)
        if Image is not None:
            file = self.folder / "film.gif"
            pictures = [Image.fromarray(pixels) for pixels in frames]
            pictures[0].save(file, save_all=True, append_images=pictures[1:], duration=500)
            for video in (file, file.read_bytes()):
                self.assertEqual(len([token for token in tokens(video).tokens if token < 0]), len(rows))
        for part, message in (({}, "has no"), ({"video": frames, "fps": "2"}, "fps is not a number"),
                              ({"video": frames, "fps": 0}, "0 frames per second"),
                              ({"video": frames[:1]}, "a video of 1 frames"), ({"video": self.path}, "one picture")):
            with self.assertRaisesRegex(ValueError, message):
                self.model.prompt([{"role": "user", "content": [{"type": "video", **part}]}])

    def test_texts_depend_on_the_pixels(self):
        tokens = self.written(self.wanted)
        self.assertEqual(len(tokens), COUNT)
        self.assertEqual(self.written(self.wanted), tokens)
        images = [smolvlm_folder.make_pixels(seed) for seed in range(2, 8)]
        self.assertTrue(any(self.written(self.model.prompt(asked({"image": image}))) != tokens for image in images))
        together = self.model.generate_together([self.wanted, self.model.encode("a fox"), self.wanted], [], [GREEDY] * 3)
        self.assertEqual(together["tokens"], [tokens, self.written(self.model.encode("a fox")), tokens])
        with self.assertRaisesRegex(ValueError, "was not provided"):  # ids without the rows
            self.written(self.wanted.tokens)

    def test_a_conversation_goes_on(self):
        sequence = self.model.new_sequence()
        tokens = self.written(self.wanted, sequence)
        asked_again = [*asked({"path": self.path}), {"role": "assistant", "content": "a fox"},
                       *asked({"image": self.other}, text="and that")]
        whole = self.model.prompt(asked_again)
        sequence.truncate(len(self.wanted))
        fresh = self.written(whole)
        self.assertEqual(self.written(whole.after(len(self.wanted)), sequence), fresh)
        self.assertEqual(self.written(whole.after(0)), fresh)
        self.assertEqual(len(tokens), COUNT)
        with self.assertRaisesRegex(ValueError, "token 6 of the prompt is within an image"):
            whole.after(6)
        with self.assertRaisesRegex(ValueError, "tokens of a prompt of"):
            whole.after(len(whole) + 1)

    def test_lm(self):
        def text(prompt, **options):
            return lm.generate(self.model, self.tokenizer, prompt, max_tokens=COUNT, **options)

        wanted = text(self.wanted)
        template = self.tokenizer.apply_chat_template(asked({}), add_generation_prompt=True, tokenize=False)
        self.assertEqual(text(template, images=self.path), wanted)
        self.assertEqual(text(template, images=[self.pixels]), wanted)
        self.assertEqual(text(asked({"image": self.pixels})), wanted)
        self.assertEqual(text(asked({}), images=self.pixels), wanted)
        calls = []
        self.assertEqual(text(self.wanted, prompt_progress_callback=lambda *call: calls.append(call)), wanted)
        self.assertEqual(calls, [(0, len(self.wanted)), (len(self.wanted), len(self.wanted))])
        batch = lm.batch_generate(self.model, self.tokenizer, [asked({"path": self.path}), "a fox"], max_tokens=COUNT)
        self.assertEqual(batch.texts[0], wanted)
        [first, *_] = lm.stream_generate(self.model, self.tokenizer, self.wanted, max_tokens=2)
        self.assertEqual(first.prompt_tokens, len(self.wanted))
        with self.assertRaisesRegex(ValueError, "images: they belong to a text or to messages"):
            text([1, 2], images=self.path)
        own = lm.load(self.folder / "model", {"chat_template": "<s>{{ messages[0].content }}"}, num_threads=1)[1]
        self.assertNotEqual(own.template().source, self.tokenizer.chat_template)
        self.assertEqual(lm.generate(self.model, own, asked({"path": self.path}, text="red"), max_tokens=COUNT),
                         text("<s><image>red", images=self.path))

    def test_values_that_are_not_images(self):
        def fails(error, message, *images, **more):
            with self.assertRaisesRegex(error, message):
                self.model.prompt(asked(*images), **more)

        place = r"messages\[0\]\.content\[0\]"
        fails(FileNotFoundError, "nowhere.png", {"path": "nowhere.png"})
        fails(pippin.InvalidFileError, place + ": ", {"image": self.path.read_bytes()[:200]})
        fails(pippin.Error, place + ": ", {"image": b"text"})
        fails(ValueError, place + r": float64 \[24, 40, 3\] is not an image", {"image": self.pixels / 255})
        fails(ValueError, place + r": uint8 \[24, 40, 2\] is not an image", {"image": self.pixels[:, :, :2]})
        fails(ValueError, place + ": a NoneType is not an image", {"image": None})
        fails(ValueError, place + ": has no image, and images has 0", {})
        fails(ValueError, place + ": not valid base64", {"url": "data:image/png;base64,*"})
        fails(ValueError, place + ": expected a data URL in base64", {"url": "data:image/png,x"})
        fails(ValueError, place + ': image_url has no "url"', {"type": "image_url", "image_url": {}})
        fails(pippin.NetworkError, "http://127.0.0.1", {"url": "http://127.0.0.1:9/x.png"})
        fails(ValueError, "images: 1 images, the messages have 0 parts", {"path": self.path}, images=[self.path])
        fails(ValueError, "audio.*not supported", {"type": "audio"})
        fails(MemoryError, "rows, the context holds", *[{"path": self.path}] * 13)
        with self.assertRaisesRegex(ValueError, r"messages\[0\].content\[0\]: a str is not a part"):
            self.model.prompt([{"role": "user", "content": ["this"]}])
        with self.assertRaisesRegex(ValueError, "prompt\\(\\) takes lists of parts"):
            self.model.encode_chat(asked({"path": self.path}))
        with self.assertRaises(ValueError):  # a placeholder too few
            self.model.prompt("<image> this", images=[self.path, self.path])
        with self.assertRaisesRegex(ValueError, "neither chat_template nor its variables"):
            self.model.prompt("this", word="fox")
        demo = pippin.LanguageModel("demo")
        with self.assertRaisesRegex(NotImplementedError, "takes text only"):
            demo.prompt(asked({"path": self.path}))

    def test_hugging_faces_model(self):
        folder = shared_data("models2026/vlm/smolvlm")
        copy = self.folder / "shared"
        shutil.copytree(folder, copy)
        copy.chmod(0o755)
        config = json.loads((copy / "config.json").read_text())
        ids = {token: id for token, id in smolvlm_folder.VOCABULARY.items() if token != "<image>"}
        tokenizer = smolvlm_folder.tokenizer()
        tokenizer["model"]["vocab"] = {**ids, "<image>": config["image_token_id"]}
        for added in tokenizer["added_tokens"]:
            added["id"] = tokenizer["model"]["vocab"][added["content"]]
        (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
        (copy / "chat_template.jinja").write_text(smolvlm_folder.TEMPLATE)
        (copy / "processor_config.json").write_text(
            json.dumps({"processor_class": "SmolVLMProcessor", "image_seq_len": 4}))
        model, _ = lm.load(copy, num_threads=1)
        prompt = model.prompt(asked({"path": copy / "image0.png"}))
        said = json.loads(subprocess.run(
            [PROGRAM, "run", copy, "--json", "-t", "1", "-n", "1", "--image", copy / "image0.png", "this is red"],
            check=True, capture_output=True).stdout)
        self.assertEqual(with_placeholders(prompt, config["image_token_id"]), said["prompt_ids"])
        self.assertEqual(sum(token < 0 for token in prompt.tokens), 40)  # image_features of golden.npz

    def test_gguf_files(self):
        folder = self.folder / "gguf"
        smolvlm_gguf.write_all(folder, smolvlm_gguf.SHAPES["tiny"])
        question, file = asked({"path": folder / "picture.png"}), folder / "model-f16.gguf"

        def text_of(model, tokenizer):
            return lm.generate(model, tokenizer, model.prompt(question), max_tokens=COUNT)

        wanted = text_of(*lm.load(folder / "model", num_threads=1))
        self.assertEqual(text_of(*lm.load(file, num_threads=1)), wanted)  # with the tower next to it
        named = lm.load(file, mmproj=folder / "mmproj-model-f16.gguf", num_threads=1)
        self.assertEqual(text_of(*named), wanted)
        self.assertFalse(lm.load(file, mmproj="none", num_threads=1)[0].takes_images)
        with self.assertRaisesRegex(FileNotFoundError, "mmproj: absent.gguf"):
            lm.load(file, mmproj="absent.gguf", num_threads=1)
        with self.assertRaisesRegex(ValueError, "belongs to a GGUF file"):
            lm.load(folder / "model", mmproj=folder / "mmproj-model-f16.gguf", num_threads=1)


if __name__ == "__main__":
    unittest.main()
