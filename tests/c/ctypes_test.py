#!/usr/bin/env python3
"""libpippin.so.0 through Python's ctypes, without any C: arrays in, arrays out, and errors for invalid arguments."""

import ctypes
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vision"))
try:
    import smolvlm_folder
except ModuleNotFoundError:
    smolvlm_folder = None

MODEL = Path(__file__).resolve().parents[1] / "install/add_half.mlmodelc"
FLOAT32 = 10
NOT_FOUND, INVALID_ARGUMENT = 4, 3

pippin = ctypes.CDLL(os.environ["PIPPIN_LIBRARY"])
pippin.pippin_error_message.restype = ctypes.c_char_p
pippin.pippin_version.restype = ctypes.c_char_p
for name in ("pippin_model_function_name", "pippin_feature_name", "pippin_feature_text", "pippin_completion_text"):
    getattr(pippin, name).restype = ctypes.c_char_p
pippin.pippin_function_feature.restype = ctypes.c_void_p
pippin.pippin_tensor_data.restype = ctypes.c_void_p


class Object(ctypes.c_void_p):
    """A pointer that ctypes does not convert to a number."""


class Failed(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def call(name, *arguments):
    """Calls a function that can fail; raises its error."""
    error = Object()
    code = getattr(pippin, name)(*arguments, ctypes.byref(error))
    if code:
        message = pippin.pippin_error_message(error).decode()
        assert pippin.pippin_error_code(error) == code
        pippin.pippin_error_free(error)
        raise Failed(code, message)


def made(name, *arguments):
    """The object that such a function returns."""
    result = Object()
    call(name, *arguments, ctypes.byref(result))
    return result


class Models(unittest.TestCase):
    def setUp(self):
        self.model = made("pippin_model_load", str(MODEL).encode(), None)
        self.function = made("pippin_function_open", self.model, None)
        self.addCleanup(pippin.pippin_model_free, self.model)
        self.addCleanup(pippin.pippin_function_free, self.function)

    def test_predicts_in_the_callers_memory(self):
        feature = Object(pippin.pippin_function_feature(self.function, 0, ctypes.c_int64(0)))
        self.assertEqual(pippin.pippin_feature_text(feature), b"float32 [1, 3]")
        x, y = (ctypes.c_float * 3)(1, 2, 3), (ctypes.c_float * 3)()
        shape = (ctypes.c_int64 * 2)(1, 3)
        released = []
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda user: released.append(user))
        tensors = [made("pippin_tensor_wrap", FLOAT32, 2, shape, None, memory, release, ctypes.c_void_p(number))
                   for number, memory in ((1, x), (2, y))]
        run = made("pippin_call_new", self.function)
        call("pippin_call_set_input", run, b"x", tensors[0])
        call("pippin_call_set_output", run, b"y", tensors[1])
        for tensor in tensors:
            pippin.pippin_tensor_free(tensor)
        call("pippin_call_run", run, None)
        self.assertEqual(list(y), [1.5, 2.5, 3.5])
        x[0] = -7
        call("pippin_call_run", run, None)
        self.assertEqual(list(y), [-6.5, 2.5, 3.5])
        self.assertEqual(released, [])
        cancel = made("pippin_cancel_new")
        pippin.pippin_cancel_trigger(cancel)
        self.assertEqual(pippin.pippin_cancel_is_triggered(cancel), 1)
        pippin.pippin_cancel_free(cancel)
        pippin.pippin_call_free(run)
        self.assertEqual(sorted(released), [1, 2])

    def test_errors_are_objects(self):
        with self.assertRaisesRegex(Failed, "no such package") as caught:
            made("pippin_model_load", b"/none.mlpackage", None)
        self.assertEqual(caught.exception.code, NOT_FOUND)
        for arguments, said in (((None, None), "path is NULL"), ((b"", None), "")):
            with self.assertRaisesRegex(Failed, said):
                made("pippin_model_load", *arguments)
        with self.assertRaisesRegex(Failed, "function is NULL") as caught:
            made("pippin_call_new", None)
        self.assertEqual(caught.exception.code, INVALID_ARGUMENT)
        self.assertEqual(pippin.pippin_model_load(None, None, None, None), INVALID_ARGUMENT)


class Token(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("id", ctypes.c_int32), ("text", ctypes.c_char_p), ("bytes", ctypes.c_int64)]


class Image(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("path", ctypes.c_char_p), ("data", ctypes.c_char_p),
                ("bytes", ctypes.c_int64)]

    @classmethod
    def of(cls, path=None, data=None):
        return cls(ctypes.sizeof(cls), path, data, len(data or b""))


def asked(*texts):
    """A conversation with an image before each of the user's texts; every second one is an answer."""
    return json.dumps([
        {"role": "assistant", "content": text} if number % 2 else
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}
        for number, text in enumerate(texts)]).encode()


@unittest.skipIf(smolvlm_folder is None, "NumPy is not installed")
class Images(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        smolvlm_folder.write_folder(Path(folder.name) / "model")
        self.path = Path(folder.name) / "picture.png"
        smolvlm_folder.write_png(self.path, smolvlm_folder.make_pixels(1))
        self.other = self.path.with_name("other.png")
        smolvlm_folder.write_png(self.other, smolvlm_folder.make_pixels(2))
        self.model = made("pippin_language_model_load", str(self.path.with_name("model")).encode(), None, None)
        self.addCleanup(pippin.pippin_language_model_free, self.model)
        self.session = made("pippin_session_open", self.model)
        self.addCleanup(pippin.pippin_session_free, self.session)

    def begin(self, conversation, *images):
        ids, count = ctypes.POINTER(ctypes.c_int32)(), ctypes.c_int64()
        call("pippin_session_prompt", self.session, conversation, (Image * len(images))(*images),
             ctypes.c_int64(len(images)), None, ctypes.byref(ids), ctypes.byref(count))
        result = ids[:count.value]
        pippin.pippin_free(ids)
        return result

    def pull(self, ids, count=6):
        """Feeds tokens and chooses others after them."""
        call("pippin_session_feed", self.session, (ctypes.c_int32 * len(ids))(*ids), ctypes.c_int64(len(ids)), None)
        pulled, token = [], ctypes.c_int32()
        while len(pulled) < count:
            call("pippin_session_next", self.session, None, None, ctypes.byref(token))
            pulled.append(token.value)
        return pulled

    def test_images_are_part_of_a_conversation(self):
        self.assertEqual(pippin.pippin_language_model_takes_images(self.model), 1)
        at_path, in_memory = Image.of(path=str(self.path).encode()), Image.of(data=self.path.read_bytes())
        other = Image.of(path=str(self.other).encode())
        ids = self.begin(asked("this is red"), at_path)
        self.assertEqual(sum(id < 0 for id in ids), 5 * smolvlm_folder.ROWS)
        self.assertEqual(self.begin(asked("this is red"), in_memory), ids)
        self.assertNotEqual(self.begin(asked("this is red"), other), ids)
        self.assertEqual(self.begin(asked("this is red"), at_path), ids)
        text = self.pull(ids)
        call("pippin_session_reset", self.session)
        self.assertEqual(self.pull(self.begin(asked("this is red"), in_memory)), text)

        longer = asked("this is red", "a fox", "and that")
        with_both = self.begin(longer, at_path, other)
        position = pippin.pippin_session_position(self.session)
        self.assertGreaterEqual(position, len(ids) - 1)
        self.assertEqual(sum(id < 0 for id in with_both), 5 * smolvlm_folder.ROWS)  # of the second image
        text = self.pull(with_both)
        call("pippin_session_reset", self.session)
        whole = self.begin(longer, at_path, other)
        self.assertEqual(whole[position:], with_both)
        self.assertEqual(self.pull(whole), text)

    def test_images_that_are_refused(self):
        for images, said in (([Image.of(data=b"text")], r"images\[0\]: "), ([], "1 parts for images, 0 images"),
                             ([Image.of(path=b"/none.png")], "/none.png")):
            with self.assertRaisesRegex(Failed, said):
                self.begin(asked("this is red"), *images)
        call("pippin_session_reset", self.session)
        ids = self.begin(asked("this is red"), Image.of(path=str(self.path).encode()))
        call("pippin_session_reset", self.session)
        with self.assertRaises(Failed) as caught:  # the rows were released
            self.pull(ids)
        self.assertEqual(caught.exception.code, INVALID_ARGUMENT)


class LanguageModels(unittest.TestCase):
    def setUp(self):
        self.model = made("pippin_language_model_load", b"demo", None, None)
        self.session = made("pippin_session_open", self.model)
        self.addCleanup(pippin.pippin_language_model_free, self.model)
        self.addCleanup(pippin.pippin_session_free, self.session)
        conversation = b'[{"role": "user", "content": "Tell me a story about a fox called Mia."}]'
        text = Object()
        call("pippin_language_model_render", self.model, conversation, ctypes.byref(text), None)
        self.count, self.ids = ctypes.c_int64(), Object()
        call("pippin_language_model_encode", self.model, text, ctypes.c_int64(-1), 0, ctypes.byref(self.ids), ctypes.byref(self.count))
        pippin.pippin_free(text)
        self.addCleanup(pippin.pippin_free, self.ids)

    def test_a_text_is_pulled_and_called_back(self):
        call("pippin_session_feed", self.session, self.ids, self.count, None)
        pulled, token = [], ctypes.c_int32()
        while len(pulled) < 10:
            call("pippin_session_next", self.session, None, None, ctypes.byref(token))
            pulled.append(token.value)
        call("pippin_session_reset", self.session)

        options = made("pippin_options_new")
        call("pippin_options_set", options, b"max_tokens", b"10")
        heard = []

        @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Token))
        def on_token(_, given):
            heard.append((given.contents.id, given.contents.text))
            return 1

        completion = made("pippin_generate", self.session, self.ids, self.count, options, on_token, None, None)
        self.assertEqual([number for number, _ in heard if number >= 0], pulled)
        size = ctypes.c_int64()
        text = pippin.pippin_completion_text(completion, ctypes.byref(size))
        self.assertEqual(text, b"".join(piece for _, piece in heard))
        self.assertEqual(len(text), size.value)
        pippin.pippin_completion_free(completion)
        pippin.pippin_options_free(options)

    def test_a_long_prompt_is_refused(self):
        many = (ctypes.c_int32 * 100000)()
        with self.assertRaisesRegex(Failed, "100000"):
            call("pippin_session_feed", self.session, many, ctypes.c_int64(100000), None)


class Library(unittest.TestCase):
    def test_says_which_it_is(self):
        self.assertRegex(pippin.pippin_version().decode(), r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(pippin.pippin_abi_version(), 1)


if __name__ == "__main__":
    unittest.main()
