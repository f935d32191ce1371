"""The structure of models and the costs of their operations."""

import importlib
import tempfile
import unittest
from pathlib import Path

import pippin
from fixtures import package

native = importlib.import_module("pippin._pippin")

# Version 1, one function; a compiled model needs only text.
PROGRAM = """program(1.3) {
  func main<ios18>(tensor<fp32, [2, 3]> x, bool p) {
    tensor<fp32, [2, 3]> y = add(x = x, y = fp32(0x1p-1))[name = string("y")];
    tensor<fp32, [3, 2]> z = transpose(x = y, perm = tensor<int32, [2]>([1, 0]))[name = string("z")];
    tensor<fp32, [3, 2]> w = cond(pred = p)[name = string("w")]
      () { tensor<fp32, [3, 2]> a = exp(x = z)[name = string("a")]; } -> (a)
      () { tensor<fp32, [3, 2]> b = concat(values = (z), axis = int32(0))[name = string("b")]; } -> (b);
  } -> (w);
}"""


def operations_of(block):
    for operation in block["operations"]:
        yield operation
        for nested in operation["blocks"]:
            yield from operations_of(nested)


class Structure(unittest.TestCase):
    def compiled(self):
        folder = tempfile.TemporaryDirectory(suffix=".mlmodelc")
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "model.mil").write_text(PROGRAM, encoding="utf-8")
        return folder.name

    def test_of_a_program(self):
        model = native.structure(self.compiled())
        self.assertEqual(model["kind"], "program")
        main = model["functions"]["main"]
        self.assertEqual(main["inputs"], [{"name": "x", "type": "tensor<fp32, [2, 3]>"},
                                          {"name": "p", "type": "tensor<bool, []>"}])
        block = main["block"]
        self.assertEqual(block["output_names"], ["w"])
        add, transpose, cond = block["operations"]
        self.assertEqual(add["operator_name"], "add")
        self.assertEqual(add["inputs"], {"x": [{"name": "x"}], "y": [{"value": 0.5, "type": "tensor<fp32, []>"}]})
        self.assertEqual(add["outputs"], [{"name": "y", "type": "tensor<fp32, [2, 3]>"}])
        self.assertEqual(transpose["inputs"]["perm"][0]["value"], [1, 0])
        self.assertEqual([one["operations"][0]["operator_name"] for one in cond["blocks"]], ["exp", "concat"])
        self.assertEqual(cond["blocks"][1]["output_names"], ["b"])

    def test_costs_follow_the_order_of_operations(self):
        path = self.compiled()
        costs = native.operation_costs(path, "main")
        names = [one["operator_name"] for one in operations_of(native.structure(path)["functions"]["main"]["block"])]
        self.assertEqual(names, ["add", "transpose", "cond", "exp", "concat"])
        self.assertEqual(len(costs), len(names))
        self.assertAlmostEqual(sum(costs), 1)
        self.assertEqual(costs[2], 0)

    def test_of_a_language_model(self):
        block = native.structure(package())["functions"]["main"]["block"]
        operations = list(operations_of(block))
        costs = native.operation_costs(package())
        self.assertEqual(len(costs), len(operations))
        shares = {}
        for operation, cost in zip(operations, costs):
            self.assertEqual(cost is None, operation["operator_name"].startswith("const"))
            shares[operation["operator_name"]] = shares.get(operation["operator_name"], 0) + (cost or 0)
        self.assertAlmostEqual(sum(shares.values()), 1)
        self.assertEqual(shares["read_state"], 0)
        self.assertGreater(shares["linear"], 0.5)

    def test_compiled_models_are_what_they_were(self):
        output = self.compiled()
        for file in Path(output).iterdir():
            file.unlink()
        self.assertEqual(pippin.compile(package(), output), output)
        self.assertEqual(native.structure(output), native.structure(package()))
        given, compiled = pippin.Model(package()), pippin.Model(output)
        self.assertEqual(compiled.features(), given.features())
        self.assertEqual(compiled.metadata, given.metadata)
        self.assertTrue((Path(output) / "weights/weight.bin").samefile(
            Path(package()) / "Data/com.apple.CoreML/weights/weight.bin"))
        with self.assertRaisesRegex(pippin.InvalidArgumentError, "has to end in .mlmodelc"):
            pippin.compile(package(), output + "/x")

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(FileNotFoundError):
            native.structure("none.mlpackage")
        with self.assertRaisesRegex(RuntimeError, "no function 'other'"):
            native.operation_costs(self.compiled(), "other")
        with self.assertRaisesRegex(RuntimeError, "no stage 0"):
            native.operation_costs(self.compiled(), stage=[0])


if __name__ == "__main__":
    unittest.main()
