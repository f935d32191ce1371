"""pippin.Tokenizer, pippin.ChatTemplate, and the wrapper that pippin.lm puts around them."""

import json
import pickle
import unittest

import pippin
from fixtures import SOURCE, folder, package
from testing import shared_entries
from pippin import lm

DEMO = SOURCE / "pippin/demo/model"
QUESTION = [{"role": "user", "content": "Hello"}]
TEXTS = ["", "a fox", "Once upon a time\n\nthere was", "ünïcödé 🦊 日本語", "  blanks  ", "\x00\t"]


class Tokenizers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = pippin.Tokenizer(DEMO)

    def test_from_all_places(self):
        wanted = self.tokenizer.encode(TEXTS[2])
        text = (DEMO / "tokenizer.json").read_text(encoding="utf-8")
        for tokenizer in (pippin.Tokenizer(DEMO / "tokenizer.json"), pippin.Tokenizer(package()),
                          pippin.Tokenizer(str(DEMO)), pippin.Tokenizer.from_json(text)):
            self.assertEqual(tokenizer.encode(TEXTS[2]), wanted)
        with self.assertRaises(FileNotFoundError):
            pippin.Tokenizer("/nowhere/at/all")
        with self.assertRaises(ValueError):
            pippin.Tokenizer.from_json("{}")

    def test_there_and_back(self):
        for text in TEXTS:
            ids = self.tokenizer.encode(text, False)
            self.assertEqual(self.tokenizer.decode(ids), text)
            self.assertEqual(b"".join(map(self.tokenizer.token_bytes, ids)).decode("utf-8").strip(), text.strip())
            stream = self.tokenizer.stream()
            pieces = [stream.push(id) for id in ids] + [stream.finish()]
            self.assertEqual("".join(pieces), text)
        self.assertEqual(self.tokenizer.encode_batch(TEXTS), [self.tokenizer.encode(text) for text in TEXTS])
        self.assertEqual(self.tokenizer.decode_batch(self.tokenizer.encode_batch(TEXTS, False)), TEXTS)
        long = "Once upon a time there was a fox. " * 40000
        self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(long, False)), long)

    def test_the_vocabulary(self):
        vocabulary = self.tokenizer.get_vocab()
        self.assertEqual(len(self.tokenizer), self.tokenizer.vocab_size)
        for token, id in list(vocabulary.items())[::97]:
            self.assertEqual(self.tokenizer.token_to_id(token), id)
            self.assertEqual(self.tokenizer.id_to_token(id), token)
        self.assertIsNone(self.tokenizer.token_to_id("no such token"))
        self.assertIsNone(self.tokenizer.id_to_token(10**6))
        self.assertTrue(self.tokenizer.special_tokens)
        for token, id in self.tokenizer.special_tokens.items():
            self.assertTrue(self.tokenizer.is_special(id))
            self.assertEqual(vocabulary[token], id)

    def test_pickles(self):
        again = pickle.loads(pickle.dumps(self.tokenizer))
        self.assertEqual(again.encode(TEXTS[2]), self.tokenizer.encode(TEXTS[2]))
        with self.assertRaisesRegex(ValueError, "is pickled as its path"):
            pickle.dumps(pippin.Tokenizer.from_json((DEMO / "tokenizer.json").read_text(encoding="utf-8")))
        own = pippin.ChatTemplate.from_source("{{ bos_token }}!", {"bos_token": "<s>"})
        for template in (own, pippin.ChatTemplate(DEMO)):
            self.assertEqual(pickle.loads(pickle.dumps(template)).render(QUESTION), template.render(QUESTION))

    def test_errors(self):
        for ids in (["a"], [1.5], 5, [2**40]):
            with self.assertRaises(TypeError):
                self.tokenizer.decode(ids)
        with self.assertRaises(TypeError):
            self.tokenizer.encode(b"\xff\xfe".decode("utf-8", "surrogateescape") and 5)

    def test_stored_vectors(self):
        files = [folder / "tokenizer.json" for folder in shared_entries("tokenizers")]
        self.assertTrue(files)
        for file in files[:8]:
            tokenizer = pippin.Tokenizer(file)
            text = "Hello, world! It's 2026."
            self.assertTrue(tokenizer.encode(text), file)


class Templates(unittest.TestCase):
    SOURCE = ("{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
              "{% if tools %}[{{ tools | length }} tools]{% endif %}{% if loud %}!{% endif %}"
              "{% if add_generation_prompt %}<assistant>{% endif %}")

    def test_render(self):
        template = pippin.ChatTemplate.from_source(self.SOURCE, {"bos_token": "<s>"})
        self.assertEqual(template.render(QUESTION), "<s><user>Hello")
        self.assertEqual(template.render(QUESTION, add_generation_prompt=True), "<s><user>Hello<assistant>")
        self.assertEqual(template.render(QUESTION, tools=[{}, {}], loud=True), "<s><user>Hello[2 tools]!")
        self.assertEqual(template.render(QUESTION, tools=None, loud=None), "<s><user>Hello")
        answer = [*QUESTION, {"role": "assistant", "content": "Once upon"}]
        self.assertEqual(template.render(answer, continue_final_message=True), "<s><user>Hello<assistant>Once upon")
        self.assertEqual(template.source, self.SOURCE)
        self.assertEqual(template.special_tokens, {"bos_token": "<s>"})
        clock = pippin.ChatTemplate.from_source("{{ strftime_now('%d.%m.%Y') }}")
        self.assertEqual(clock.render([], now="2025-01-02 03:04:05"), "02.01.2025")

    def test_from_places(self):
        wanted = pippin.ChatTemplate(DEMO).render(QUESTION, add_generation_prompt=True)
        self.assertEqual(pippin.ChatTemplate(package()).render(QUESTION, add_generation_prompt=True), wanted)
        file = folder() / "own.jinja"
        file.write_text(self.SOURCE)
        self.assertEqual(pippin.ChatTemplate(file).render(QUESTION), "<user>Hello")
        with self.assertRaises(FileNotFoundError):
            pippin.ChatTemplate(folder() / "nowhere.jinja")

    def test_errors(self):
        with self.assertRaises(pippin.InvalidFileError):
            pippin.ChatTemplate.from_source("{% if %}")
        refusing = pippin.ChatTemplate.from_source("{{ raise_exception('only two roles') }}")
        with self.assertRaisesRegex(ValueError, "only two roles"):
            refusing.render(QUESTION)
        template = pippin.ChatTemplate.from_source(self.SOURCE)
        for messages in (5, "text", [5], {}, None):
            with self.assertRaisesRegex(ValueError, "messages: "):
                template.render(messages)
        with self.assertRaisesRegex(ValueError, "only what JSON has can be given"):
            template.render(QUESTION, tools=[len])

    def test_answers_are_taken_apart(self):
        source = (
            "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}<{{ m.role }}>"
            "{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", "
            "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}{% else %}{{ m.content }}"
            "{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
        template = pippin.ChatTemplate.from_source(source)
        tools = [{"type": "function", "function": {
            "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
        got = template.read_answer('<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>',
                                   QUESTION, tools=tools)
        self.assertEqual([call["name"] for call in got["tool_calls"]], ["weather"])
        self.assertEqual(json.loads(got["tool_calls"][0]["arguments"]), {"city": "Bonn"})
        self.assertEqual(template.read_answer("Hello you", QUESTION),
                         {"content": "Hello you", "reasoning_content": "", "tool_calls": []})


class Wrapper(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.tokenizer = lm.load("demo", num_threads=1)

    def test_texts(self):
        ids = [self.tokenizer.bos_token_id, *self.tokenizer.encode("a fox", add_special_tokens=False)]
        self.assertEqual(self.tokenizer.encode("a fox"), self.tokenizer.tokenizer.encode("a fox"))
        self.assertEqual(self.tokenizer.decode(ids, skip_special_tokens=True), "a fox")
        self.assertTrue(self.tokenizer.decode(ids).startswith(self.tokenizer.bos_token))
        self.assertEqual(self.tokenizer.decode(ids[1]), self.tokenizer.decode([ids[1]]))
        self.assertEqual(self.tokenizer.batch_decode([ids, ids[1:]], True), ["a fox"] * 2)
        self.assertEqual(self.tokenizer("a fox", False), {"input_ids": ids[1:], "attention_mask": [1] * (len(ids) - 1)})
        self.assertEqual(self.tokenizer(["a fox", ""], False)["input_ids"], [ids[1:], []])
        self.assertEqual(self.tokenizer.convert_ids_to_tokens(self.tokenizer.convert_tokens_to_ids(
            self.tokenizer.tokenize("a fox"))), self.tokenizer.tokenize("a fox"))

    def test_special_tokens(self):
        self.assertIn(self.tokenizer.eos_token_id, self.tokenizer.eos_token_ids)
        self.assertEqual(self.tokenizer.vocab[self.tokenizer.eos_token], self.tokenizer.eos_token_id)
        self.assertIn(self.tokenizer.bos_token_id, self.tokenizer.all_special_ids)
        with self.assertRaisesRegex(ValueError, "is not a token of this tokenizer"):
            self.tokenizer.add_eos_token("no such token")
        _, other = lm.load("demo", tokenizer_config={"eos_token": ["a"], "trust_remote_code": True})
        self.assertEqual(other.eos_token_ids - self.tokenizer.eos_token_ids, {other.convert_tokens_to_ids("a")})

    def test_conversations(self):
        text = self.tokenizer.apply_chat_template(QUESTION, tokenize=False)
        more = self.tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True, tokenize=False)
        self.assertTrue(more.startswith(text) and len(more) > len(text))
        ids = self.tokenizer.apply_chat_template(QUESTION)
        self.assertEqual(ids, self.tokenizer.encode(text, add_special_tokens=False))
        self.assertEqual(self.tokenizer.apply_chat_template([QUESTION, QUESTION]), [ids, ids])
        self.assertEqual(self.tokenizer.apply_chat_template(QUESTION, return_dict=True)["input_ids"], ids)
        own = self.tokenizer.apply_chat_template(
            QUESTION, chat_template="{{ bos_token }}{{ messages[0].content }}{{ x }}", x=5, tokenize=False)
        self.assertEqual(own, self.tokenizer.bos_token + "Hello5")
        with self.assertRaisesRegex(NotImplementedError, "return_tensors"):
            self.tokenizer.apply_chat_template(QUESTION, return_tensors="pt")
        _, other = lm.load("demo", tokenizer_config={"chat_template": "{{ messages[0].content }}?"})
        self.assertEqual(other.apply_chat_template(QUESTION, tokenize=False), "Hello?")
        self.assertEqual(other.chat_template, "{{ messages[0].content }}?")

    def test_text_as_tokens_come(self):
        detokenizer = self.tokenizer.detokenizer
        ids = self.tokenizer.encode("ünï 🦊 fox", False)
        segments = []
        for id in ids:
            detokenizer.add_token(id)
            segments.append(detokenizer.last_segment)
        detokenizer.finalize()
        segments.append(detokenizer.last_segment)
        self.assertEqual("".join(segments), "ünï 🦊 fox")
        self.assertEqual((detokenizer.text, detokenizer.tokens), ("ünï 🦊 fox", ids))
        detokenizer.reset()
        self.assertEqual(detokenizer.text, "")


if __name__ == "__main__":
    unittest.main()
