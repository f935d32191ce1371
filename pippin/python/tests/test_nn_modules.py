"""Modules of pippin.nn: trees of parameters, weights in files, rejected arguments."""

import copy
import json
import pickle
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    from pippin import core as mx, nn
    from pippin.utils import tree_flatten
except ImportError as error:
    if "numpy" not in str(error).lower():
        raise
    raise unittest.SkipTest("NumPy is not installed") from None


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.rest = [nn.Linear(width, width, bias=False), nn.RMSNorm(width)]
        self.named = {"gate": nn.Linear(width, 64)}
        self.factor = mx.array(0.5)
        self.size = width
        self._hidden = mx.zeros((2,))

    def __call__(self, x):
        for layer in (self.first, *self.rest, self.named["gate"]):
            x = layer(x)
        return x * self.factor


NAMES = {"first.weight", "first.bias", "rest.0.weight", "rest.1.weight", "named.gate.weight", "named.gate.bias",
         "factor"}


def values(module):
    return {name: np.array(one) for name, one in tree_flatten(module.parameters())}


class Trees(unittest.TestCase):
    def test_parameters_and_modules(self):
        block = Block()
        self.assertEqual(set(tree_flatten(block.parameters(), destination={})), NAMES)
        self.assertEqual([name for name, _ in block.named_modules()], ["", "first", "rest.0", "rest.1", "named.gate"])
        self.assertEqual(len(block.modules()), 5)
        self.assertIs(block.children()["first"], block.first)
        outer = nn.Sequential(block, mx.tanh)
        self.assertEqual([name for name, _ in tree_flatten(outer.leaf_modules(), is_leaf=nn.Module.is_module)],
                         ["layers.0.first", "layers.0.rest.0", "layers.0.rest.1", "layers.0.named.gate"])
        self.assertEqual(outer.children()["layers"][1], {})
        self.assertIn("(layers.0): Block(\n    (first): Linear(input_dims=32", repr(outer))

    def test_items_are_attributes(self):
        block = Block()
        self.assertIs(block.first, block["first"])
        self.assertNotIn("size", block)
        block.size = mx.array(1)
        self.assertIn("size", block)
        block.size = 7
        self.assertEqual((block.size, "size" in block), (7, False))
        del block.first
        with self.assertRaisesRegex(AttributeError, "'Block' object has no attribute 'first'"):
            block.first
        block.state["word"] = "x"
        self.assertEqual(block.word, "x")

    def test_updated(self):
        block = Block()
        block.update({"rest": [{"weight": mx.zeros((32, 32))}]})
        self.assertEqual(np.abs(values(block)["rest.0.weight"]).sum(), 0)
        for wrong, words in (({"second": {}}, "second is not in the module"),
                             ({"rest": [{}, {}, {}]}, "rest.2 is not in the module, whose list has 2"),
                             ({"first": {"weight": 3}}, "first.weight is a int, no array"),
                             ({"first": mx.zeros(2)}, "first: a array"), ([1], "0 is not")):
            with self.assertRaisesRegex(ValueError, words):
                block.update(wrong)
        block.update({"second": {}, "rest": [{}, {}, {}]}, strict=False)
        block.apply(lambda x: x + 1, lambda module, key, value: nn.Module.valid_parameter_filter(module, key, value)
                    and key != "factor")
        self.assertEqual(block.factor.item(), 0.5)
        self.assertEqual(values(block)["rest.0.weight"].max(), 1)
        block.set_dtype(mx.float16)
        self.assertEqual({one.dtype for _, one in tree_flatten(block.parameters())}, {mx.float16})

    def test_modules_are_replaced(self):
        block = Block()
        block.update_modules({"rest": [{}, nn.LayerNorm(32)], "named": {"gate": nn.Identity()}})
        self.assertIsInstance(block.rest[1], nn.LayerNorm)
        self.assertIsInstance(block.named["gate"], nn.Identity)
        for wrong in ({"other": nn.Identity()}, {"rest": [{}, {}, nn.Identity()]}, {"rest": [5]}, {"factor": "x"}):
            with self.assertRaises(ValueError):
                block.update_modules(wrong)

    def test_frozen(self):
        block = Block()
        block.freeze(keys="bias")
        self.assertEqual(set(tree_flatten(block.trainable_parameters(), destination={})),
                         NAMES - {"first.bias", "named.gate.bias"})
        block.freeze()
        self.assertEqual(tree_flatten(block.trainable_parameters()), [])
        block.unfreeze(keys=["weight"], recurse=False)
        self.assertEqual(tree_flatten(block.trainable_parameters()), [])
        block.unfreeze()
        self.assertEqual(set(tree_flatten(block.trainable_parameters(), destination={})), NAMES)
        with self.assertRaisesRegex(KeyError, "nothing"):
            block.freeze(keys="nothing", strict=True)
        block.eval()
        self.assertFalse(any(module.training for module in block.modules()))

    def test_a_module_inside_itself_is_refused(self):
        block = Block()
        block.rest.append(nn.Sequential(block))
        for walk in (block.parameters, block.modules, block.eval, block.leaf_modules,
                     lambda: block.update(block.parameters())):
            with self.assertRaisesRegex(ValueError, "inside itself"):
                walk()
        self.assertIn("...", repr(block))
        loop = nn.Module()
        loop.items_ = []
        loop.items_.append(loop.items_)
        with self.assertRaisesRegex(ValueError, "inside itself"):
            loop.parameters()

    def test_a_module_may_be_at_two_places(self):
        shared = nn.Linear(3, 3)
        both = nn.Sequential(shared, nn.ReLU(), shared)
        self.assertEqual(len(tree_flatten(both.parameters())), 4)
        both.update({"layers": [{"weight": mx.zeros((3, 3))}]})
        self.assertIs(both.layers[2].weight, both.layers[0].weight)

    def test_copies_and_pickles(self):
        block = Block()
        x = mx.random.normal((2, 32))
        for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            np.testing.assert_array_equal(np.array(other(x)), np.array(block(x)))
            other.factor = mx.array(0.0)
            self.assertEqual((block.factor.item(), other.size), (0.5, 32))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_saved_and_loaded(self):
        block = Block()
        for name in ("w.npz", "w.safetensors"):
            block.save_weights(str(self.folder / name))
            other = Block().load_weights(self.folder / name)
            for key, value in values(block).items():
                np.testing.assert_array_equal(values(other)[key], value)
        with self.assertRaisesRegex(ValueError, "npz or .safetensors"):
            block.save_weights(str(self.folder / "w.txt"))

    def test_strict_names_what_is_wrong(self):
        block, good = Block(), dict(tree_flatten(Block().parameters()))
        file = str(self.folder / "w.npz")
        cases = (({**good, "more": mx.zeros(1)}, "w.npz: 1 parameters are not in the model: more"),
                 ({k: v for k, v in good.items() if "first" not in k},
                  "2 parameters are missing: first.bias, first.weight"),
                 ({**good, "factor": mx.zeros((3,))}, r"factor has shape \(3,\), the model expects \(\)"))
        for weights, words in cases:
            mx.savez(file, **weights)
            with self.assertRaisesRegex(ValueError, words) as caught:
                block.load_weights(file)
            self.assertNotIn("\n", str(caught.exception))
            block.load_weights(file, strict=False)
        many = {f"x{i:03}": mx.zeros(1) for i in range(100)}
        with self.assertRaisesRegex(ValueError, "x007 and 92 more$"):
            block.load_weights({**good, **many}.items())
        with self.assertRaisesRegex(ValueError, "factor is a int"):
            block.load_weights({**good, "factor": 1}.items())
        with self.assertRaises(Exception):
            block.load_weights(str(self.folder / "absent.npz"))

    def test_a_folder_in_parts(self):
        block = Block()
        weights = dict(tree_flatten(block.parameters()))
        parts = [dict(list(weights.items())[i::2]) for i in range(2)]
        index = {}
        for i, part in enumerate(parts):
            mx.save_safetensors(str(self.folder / f"model-{i}.safetensors"), part)
            index.update({name: f"model-{i}.safetensors" for name in part})
        mx.save_safetensors(str(self.folder / "other.safetensors"), {"factor": mx.zeros((9,))})
        (self.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        other = Block().load_weights(self.folder)
        np.testing.assert_array_equal(values(other)["first.weight"], values(block)["first.weight"])
        for wrong, words in (('{"weight_map": {"x": "../model-0.safetensors"}}', "not in the folder"),
                             ('{"weight_map": 3}', "no weight_map"), ("{", "no weight_map")):
            (self.folder / "model.safetensors.index.json").write_text(wrong)
            with self.assertRaisesRegex(ValueError, words):
                Block().load_weights(self.folder)

    def test_a_quantized_folder(self):
        block = Block(64)
        nn.quantize(block, 32, 8, class_predicate=lambda path, layer: isinstance(layer, nn.Linear) and path != "first")
        block.save_weights(str(self.folder / "model.safetensors"))
        (self.folder / "config.json").write_text(json.dumps({"quantization": {"group_size": 32, "bits": 8}}))
        plain = Block(64)
        plain.load_weights(self.folder)
        self.assertIsInstance(plain.rest[0], nn.QuantizedLinear)
        self.assertEqual((plain.rest[0].bits, plain.rest[0].group_size), (8, 32))
        self.assertIsInstance(plain.first, nn.Linear)
        x = mx.random.normal((2, 64))
        np.testing.assert_array_equal(np.array(plain(x)), np.array(block(x)))
        with self.assertRaises(ValueError):
            Block(64).load_weights(self.folder / "model.safetensors")


class Quantized(unittest.TestCase):
    def test_layers_come_near_what_they_were(self):
        x, ids = mx.random.normal((3, 64)), mx.array([0, 5, 9])
        linear, table = nn.Linear(64, 32), nn.Embedding(10, 64)
        for bits, allowed in ((8, 0.02), (4, 0.3)):
            small, rows = linear.to_quantized(32, bits), table.to_quantized(32, bits)
            self.assertLess(np.abs(np.array(small(x) - linear(x))).max(), allowed)
            self.assertLess(np.abs(np.array(rows(ids) - table(ids))).max(), allowed)
            self.assertLess(np.abs(np.array(rows.as_linear(x) - table.as_linear(x))).max(), 8 * allowed)
        self.assertEqual(tree_flatten(small.trainable_parameters()), [])

    def test_what_is_chosen(self):
        model = nn.Sequential(nn.Embedding(4, 64), nn.Linear(64, 64), nn.LayerNorm(64))
        nn.quantize(model, class_predicate=lambda path, layer: {"group_size": 32, "bits": 2} if path == "layers.1"
                    else False)
        self.assertIsInstance(model.layers[0], nn.Embedding)
        self.assertEqual((model.layers[1].bits, model.layers[1].group_size), (2, 32))
        nn.quantize(model)
        self.assertEqual((model.layers[0].bits, model.layers[0].group_size), (4, 64))
        with self.assertRaisesRegex(ValueError, "layers.2 is a LayerNorm"):
            nn.quantize(model, class_predicate=lambda path, layer: path == "layers.2")
        with self.assertRaisesRegex(ValueError, "'odd' is not one of affine"):
            nn.QuantizedLinear(64, 64, mode="odd")


if __name__ == "__main__":
    unittest.main()
