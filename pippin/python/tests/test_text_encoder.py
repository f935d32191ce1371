"""pippin.TextEncoder on golden models, with a tokenizer whose words are ids."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None
import pippin
import fixtures  # noqa: F401
from testing import shared_data


def word_tokenizer(folder):
    text = {"Sequence": {"id": "A", "type_id": 0}}
    pair = [text, {"Sequence": {"id": "B", "type_id": 1}}]
    tokenizer = {
        "version": "1.0",
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "TemplateProcessing", "special_tokens": {}, "single": [text],
                           "pair": pair},
        "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {f"w{i}": i for i in range(160)}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


class TextEncoders(unittest.TestCase):
    def golden(self, name):
        return self.copy(f"architectures2/{name}")

    def copy(self, name):
        source = shared_data(name)
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        word_tokenizer(folder)
        return folder, np.load(source / "golden.npz")

    @staticmethod
    def write(folder, files):
        for name, value in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(json.dumps(value), encoding="utf-8")

    @staticmethod
    def words(ids):
        return " ".join(f"w{id}" for id in ids)

    def test_embeds(self):
        folder, golden = self.golden("bert_mean")
        encoder = pippin.TextEncoder(folder)
        rows = zip(golden["input_ids"], golden["attention_mask"])
        texts = [self.words(ids[mask == 1]) for ids, mask in rows]
        vectors = encoder.embed(texts)
        self.assertEqual(vectors.dtype, np.float32)
        np.testing.assert_allclose(vectors, golden["sentence_embedding"], atol=1e-5)
        self.assertEqual(encoder.max_tokens, 64)
        self.assertEqual(encoder.prompt_names, ["document", "query"])
        self.assertFalse(encoder.is_cross_encoder)
        self.assertEqual(encoder.embed(texts, dimensions=8).shape, (3, 8))
        np.testing.assert_array_equal(encoder.embed(["w3"], prompt="w1 w2 "), encoder.embed(["w1 w2 w3"]))
        with self.assertRaises(pippin.InvalidArgumentError):
            encoder.embed([])
        with self.assertRaises(pippin.InvalidArgumentError):
            encoder.embed(["w1"], prompt_name="no such prompt")

    def test_scores(self):
        folder, golden = self.golden("bert_cross")
        encoder = pippin.TextEncoder(folder)
        self.assertTrue(encoder.is_cross_encoder)
        for row in range(3):
            ids, types = golden["input_ids"][row], golden["token_type_ids"][row]
            used = golden["attention_mask"][row] == 1
            query, document = self.words(ids[used & (types == 0)]), self.words(ids[used & (types == 1)])
            score = encoder.score(query, [document])
            self.assertAlmostEqual(score[0], float(golden["scores"][row].item()), places=5)
        with self.assertRaises(pippin.UnsupportedError):
            encoder.embed(["w1"])

    def test_embeds_sparse(self):
        folder, golden = self.copy("models2026/enc/bert_mlm")
        self.write(folder, {
            "modules.json": [
                {"idx": 0, "path": "", "type": "x.models.MLMTransformer"},
                {"idx": 1, "path": "1_SpladePooling", "type": "x.models.SpladePooling"}],
            "1_SpladePooling/config.json": {"pooling_strategy": "max", "activation_function": "relu"}})
        encoder = pippin.TextEncoder(folder)
        self.assertEqual(encoder.kind, "sparse")
        used = golden["attention_mask"][2] == 1
        text = self.words(golden["input_ids"][2][used])
        want = np.log1p(np.maximum(golden["logits"][2][used], 0)).max(0)
        [(indices, values)] = encoder.embed_sparse([text])
        dense = np.zeros_like(want)
        dense[indices] = values
        np.testing.assert_allclose(dense, want, atol=2e-5)
        [(indices, values)] = encoder.embed_sparse([text], active=3)
        np.testing.assert_allclose(np.sort(values), np.sort(want)[-3:], atol=2e-5)
        for refused in (encoder.embed, encoder.embed_tokens):
            with self.assertRaisesRegex(pippin.UnsupportedError, "returns sparse vectors"):
                refused([text])

    def test_embeds_tokens(self):
        folder, golden = self.copy("models2026/enc/data2vec_text")
        self.write(folder, {
            "modules.json": [
                {"idx": 0, "path": "", "type": "x.base.modules.Transformer"},
                {"idx": 1, "path": "1_Normalize", "type": "x.base.modules.Normalize"},
                {"idx": 2, "path": "2_MultiVectorMask", "type": "x.modules.MultiVectorMask"}],
            "1_Normalize/config.json": {"module_input_name": "token_embeddings"},
            "2_MultiVectorMask/config.json": {"skiplist_words": []},
            "tokenizer_config.json": {"mask_token": "w3"},
            "sentence_bert_config.json": {
                "query_expansion": {"strategy": "fixed", "attend": False, "token": None, "length": 6}},
            "config_sentence_transformers.json": {"model_type": "MultiVectorEncoder"}})
        encoder = pippin.TextEncoder(folder)
        self.assertEqual(encoder.kind, "tokens")
        used = golden["attention_mask"][2] == 1
        states = golden["last_hidden_state"][2][used]
        [vectors] = encoder.embed_tokens([self.words(golden["input_ids"][2][used])])
        np.testing.assert_allclose(vectors, states / np.linalg.norm(states, axis=1, keepdims=True), atol=2e-5)
        [query] = encoder.embed_tokens(["w5 w6"], query=True)
        self.assertEqual(query.shape, (6, 32))
        with self.assertRaisesRegex(pippin.UnsupportedError, "returns a vector for each token"):
            encoder.embed_sparse(["w5"])


class ImageEncoders(unittest.TestCase):
    def test_embeds(self):
        folder = Path(shared_data("models2026/enc/clip"))
        with np.load(folder / "golden.npz") as golden:
            expected = golden["image_embeds"]
        encoder = pippin.ImageEncoder(folder, threads=1)
        rows = encoder.embed([folder / "image0.png", (folder / "image1.png").read_bytes()])
        np.testing.assert_allclose(rows, expected, atol=5e-3)
        self.assertEqual(encoder.embed(folder / "image0.png", dimensions=3).shape, (1, 3))
        self.assertFalse(encoder.is_classifier)
        with self.assertRaisesRegex(pippin.UnsupportedError, "is not a classifier"):
            encoder.classify(folder / "image0.png")

    def test_classifies(self):
        folder = Path(shared_data("models2026/enc/dinov2_reg"))
        with np.load(folder / "golden.npz") as golden:
            logits = golden["logits"][0]
        encoder = pippin.ImageEncoder(folder)
        labels = encoder.classify(folder / "image0.png", top=2)
        self.assertEqual(labels[0]["index"], int(np.argmax(logits)))
        self.assertEqual(labels[0]["label"], encoder.labels[labels[0]["index"]])
        probabilities = np.exp(logits) / np.exp(logits).sum()
        self.assertAlmostEqual(labels[0]["probability"], probabilities.max(), delta=5e-3)
        self.assertEqual(len(labels), 2)


if __name__ == "__main__":
    unittest.main()
