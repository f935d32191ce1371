"""The objects behind coremltools' MLModel, called as coremltools does, and pippin.coreml without coremltools."""

import gc
import os
import shutil
import tempfile
import threading
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import small_models as small

import pippin
from pippin import coreml
from pippin.coreml import _native as native

Proxy = native._MLModelProxy


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pippin-coreml-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def compiled(self, text, name="model.mlmodelc"):
        return small.write_compiled(self.folder, text, name)

    def written(self, data, name="model.mlmodel"):
        return small.write(self.folder, data, name)


class Predictions(Case):
    def test_arguments_of_all_times(self):
        path = self.compiled(small.ADD)
        given = {"x": [1, 2], "y": [3, 4]}
        for arguments in (("ALL",), (True,), ("CPU_ONLY", ""), ("CPU_AND_NE", "main", {}),
                          ("CPU_AND_GPU", "", {"reshapeFrequency": "Infrequent"}, None)):
            self.assertEqual(Proxy(path, *arguments).predict(given)["z"].tolist(), [4, 6])
        with self.assertRaisesRegex(RuntimeError, "compute_units: 'GPU' is not one of CPU_ONLY"):
            Proxy(path, "GPU")
        with self.assertRaisesRegex(RuntimeError, "no function 'train'"):
            Proxy(path, "ALL", "train")
        with self.assertRaisesRegex(RuntimeError, "nowhere"):
            Proxy(os.path.join(self.folder, "nowhere.mlmodel"), "ALL")
        with self.assertRaises(TypeError):
            Proxy(path, "ALL", None, {})
        with self.assertRaises(TypeError):
            Proxy(path, "ALL", "", {}, "asset")

    def test_halves_come_as_float32(self):
        result = Proxy(self.compiled(small.ADD)).predict({"x": np.float16([0.5, 1]), "y": np.int64([1, 2])})
        self.assertEqual(result["z"].dtype, np.float32)
        self.assertEqual(result["z"].tolist(), [1.5, 3])

    def test_what_does_not_fit_is_named(self):
        proxy = Proxy(self.compiled(small.ADD))
        for given, words in (
            ({"x": [1, 2]}, "'y'"),
            ({"x": [1, 2], "y": [0.5, 2]}, "'y'"),
            ({"x": [1, 2], "y": np.int64([1 << 40, 2])}, "'y'"),
            ({"x": [1, 2, 3], "y": [1, 2]}, r"MultiArray shape \(3\) does not match the shape \(2\) specified in"),
            ({"x": None, "y": [1, 2]}, "x"),
        ):
            with self.assertRaisesRegex(RuntimeError, words):
                proxy.predict(given)

    def test_shapes_are_refused_in_the_words_of_core_ml(self):
        ranges = Proxy(self.compiled(small.RANGES, "ranges.mlmodelc"))
        self.assertEqual(ranges.predict({"x": np.ones((5, 2), np.float32)})["y"].shape, (5, 2))
        for shape, words in (((99, 2), r"Size \(99\) of dimension \(0\) is not in allowed range \(3\.\.5\)"),
                             ((3, 1), r"Size \(1\) of dimension \(1\) is not in allowed range \(2\.\.2\)"),
                             ((3,), r"MultiArray shape \(3\) has 1 dimensions, not 2")):
            with self.assertRaisesRegex(RuntimeError, words):
                ranges.predict({"x": np.ones(shape, np.float32)})
        enumerated = Proxy(self.compiled(small.ENUMERATED, "enumerated.mlmodelc"))
        self.assertEqual(enumerated.predict({"x": np.ones((1, 2), np.float32)})["y"].shape, (1, 2))
        with self.assertRaisesRegex(
                RuntimeError, r"MultiArray Shape \(2 x 2\) was not in enumerated set of allowed shapes"):
            enumerated.predict({"x": np.ones((2, 2), np.float32)})

    def test_batches_and_durations(self):
        proxy = Proxy(self.compiled(small.ADD))
        self.assertGreater(proxy.get_load_duration_in_nano_seconds(), 0)
        self.assertIsNone(proxy.get_last_predict_duration_in_nano_seconds())
        results = proxy.batchPredict([{"x": [i, 0], "y": [1, 1]} for i in range(3)])
        self.assertEqual([one["z"].tolist() for one in results], [[1, 1], [2, 1], [3, 1]])
        self.assertGreater(proxy.get_last_predict_duration_in_nano_seconds(), 0)
        self.assertEqual(proxy.batchPredict([]), [])

    def test_further_inputs_are_left_aside(self):
        given = {"x": [1, 2], "y": [3, 4], "update_mask": np.zeros((1, 1, 8, 1))}
        self.assertEqual(Proxy(self.compiled(small.ADD)).predict(given)["z"].tolist(), [4, 6])

    def test_glms(self):
        price = Proxy(self.written(small.regressor(), "r.mlmodel")).predict({"rooms": 2, "size": 3.0})
        self.assertEqual(price, {"price": 8.5})
        self.assertIs(type(price["price"]), float)
        told = Proxy(self.written(small.classifier(), "c.mlmodel")).predict({"x": np.array([0.0])})
        self.assertEqual(told["likely"], {"cat": 0.5, "dog": 0.5})
        self.assertIs(type(told["label"]), str)

    def test_networks(self):
        proxy = Proxy(self.written(small.network(), "network.mlmodel"))
        told = proxy.predict({"x": np.array([0.0, 1.0, 0.5])})
        self.assertEqual((told["label"], list(told["likely"])), ("b", ["a", "b", "c"]))
        expected = np.exp([0, 2, 1]) / np.exp([0, 2, 1]).sum()
        np.testing.assert_allclose(list(told["likely"].values()), expected, rtol=1e-5)
        self.assertEqual(Proxy(proxy.get_compiled_model_path()).predict({"x": [0, 1, 0.5]})["label"], "b")
        with self.assertRaisesRegex(RuntimeError, r"MultiArray shape \(2\) does not match the shape \(3\)"):
            proxy.predict({"x": [0.0, 1.0]})

    def test_words(self):
        proxy = Proxy(self.written(small.review(), "review.mlmodel"))
        self.assertEqual(proxy.predict({"words": {"great": 2.0, "unknown": 1}}),
                         {"label": "good", "likely": {"bad": 0.25, "good": 0.75}})
        self.assertEqual(proxy.predict({"words": {}})["label"], "bad")
        for given, words in (({"great": "x"}, "not a number"), ({0.5: 1}, "neither a text nor a whole number"),
                             (0.5, "expected dictionary from string to float64")):
            with self.assertRaisesRegex(RuntimeError, words):
                proxy.predict({"words": given})

    def test_detectors(self):
        proxy = Proxy(self.written(small.detector()))
        given = {"scores": [[0.9, 0], [0.8, 0], [0.1, 0.2]], "boxes": [[0, 0, 2, 2], [0, 0, 2, 2], [9, 9, 1, 1]]}
        self.assertEqual(proxy.predict(given)["confidence"].tolist(), [[0.9, 0]])
        self.assertEqual(len(proxy.predict({**given, "conf": 0.15})["coordinates"]), 2)
        self.assertEqual(len(proxy.predict({**given, "conf": 0.15, "iou": 1.0})["coordinates"]), 3)

    def test_threads_predict_at_once(self):
        proxies = [Proxy(self.compiled(small.ADD, f"{i}.mlmodelc")) for i in range(2)]
        wrong = []

        def work(i):
            for j in range(50):
                z = proxies[i % 2].predict({"x": [i, j], "y": [1, 1]})["z"].tolist()
                if z != [i + 1, j + 1]:
                    wrong.append(z)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Pictures(Case):
    def test_in_and_out(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        colors = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
        for space, given, wanted in ((small.RGB, "RGB", "RGBA"), (small.BGR, "RGBA", "RGBA"),
                                     (small.GRAYSCALE, "L", "L"), (small.GRAYSCALE_FLOAT16, "F", "F")):
            proxy = Proxy(self.written(small.relu_of_image(space), f"{space}.mlmodel"))
            picture = Image.fromarray(colors).convert(given)
            result = proxy.predict({"picture": picture})
            self.assertEqual(result["again"].mode, wanted)
            expected = np.asarray(picture.convert(wanted))
            got = np.asarray(result["again"])
            np.testing.assert_allclose(got, expected, rtol=2 ** -10)
            planes = np.asarray(picture.convert(given.replace("A", "")), np.float32)
            planes = planes.transpose(2, 0, 1) if planes.ndim == 3 else planes[None]
            planes = planes[::-1] if space == small.BGR else planes
            np.testing.assert_allclose(result["array"][0], planes, rtol=2 ** -10)
        with self.assertRaisesRegex(RuntimeError, "'picture'.*4 x 4"):
            proxy.predict({"picture": Image.new("L", (4, 4))})


class States(Case):
    def test_cross_models(self):
        first = Proxy(self.compiled(small.COUNTER, "1.mlmodelc"))
        second = Proxy(self.compiled(small.COUNTER, "2.mlmodelc"))
        state = first.newState()
        first.predict({"x": [1, 2]}, state)
        self.assertEqual(second.predict({"x": [1, 2]}, state)["y"].tolist(), [2, 4])
        read = state.read_state("total")
        self.assertEqual((read.dtype, read.tolist()), (np.float32, [2, 4]))
        state.write_state("total", np.array([7.0, 8.0]))
        self.assertEqual(first.predict({"x": [0, 0]}, state)["y"].tolist(), [7, 8])

    def test_what_does_not_fit_is_named(self):
        state = Proxy(self.compiled(small.COUNTER, "1.mlmodelc")).newState()
        other = Proxy(self.compiled(small.COUNTER.replace("total", "sum"), "2.mlmodelc"))
        with self.assertRaisesRegex(RuntimeError, "'sum'"):
            other.predict({"x": [1, 2]}, state)
        with self.assertRaisesRegex(RuntimeError, "total.*shape"):
            state.write_state("total", np.zeros(3))
        with self.assertRaisesRegex(RuntimeError, "no state 'nosuch'"):
            state.read_state("nosuch")
        with self.assertRaises(TypeError):
            other.predict({"x": [1, 2]}, {"sum": [0, 0]})


class Files(Case):
    def test_a_model_outlives_its_file(self):
        path = self.written(small.regressor())
        proxy = Proxy(path)
        os.unlink(path)
        self.assertEqual(proxy.predict({"rooms": 0, "size": 0}), {"price": 0.5})
        compiled = proxy.get_compiled_model_path()
        self.assertEqual(Proxy(compiled).predict({"rooms": 1, "size": 0}), {"price": 1.5})

    def test_a_compiled_path_lives_as_long_as_the_proxy(self):
        path = self.written(small.relu_of_image(small.RGB))
        proxy = Proxy(path)
        compiled = proxy.get_compiled_model_path()
        self.assertEqual(proxy.get_compiled_model_path(), compiled)
        self.assertIn("relu", Path(compiled, "model.mil").read_text(encoding="utf-8"))
        del proxy
        gc.collect()
        self.assertFalse(os.path.exists(os.path.dirname(compiled)))
        mine = self.compiled(small.ADD)
        proxy = Proxy(mine)
        self.assertEqual(proxy.get_compiled_model_path(), mine)
        del proxy
        self.assertTrue(os.path.exists(mine))

    def test_what_is_compiled_is_the_callers(self):
        made = Proxy.compileModel(self.written(small.classifier()))
        self.addCleanup(shutil.rmtree, os.path.dirname(made))
        self.assertEqual(Proxy(made).predict({"x": [0]})["likely"], {"cat": 0.5, "dog": 0.5})
        before = set(os.listdir(tempfile.gettempdir()))
        with self.assertRaises(RuntimeError):
            Proxy.compileModel(os.path.join(self.folder, "nowhere.mlmodel"))
        left = [name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("pippin-compiled-")]
        self.assertEqual(left, [])

    def test_assets(self):
        asset = native._MLModelAssetProxy(specification=small.relu_of_image(small.GRAYSCALE))
        proxy = Proxy("", "ALL", "", {}, asset)
        self.assertEqual(list(proxy._inputs), ["picture"])
        asset = native._MLModelAssetProxy(path=self.compiled(small.ADD))
        self.assertEqual(Proxy("", "ALL", "", {}, asset).predict({"x": [1, 2], "y": [0, 0]})["z"].tolist(), [1, 2])
        with self.assertRaises(RuntimeError):
            native._MLModelAssetProxy(specification=b"no model")
        with self.assertRaisesRegex(RuntimeError, "blob_mapping: '/etc/weight.bin'"):
            native._MLModelAssetProxy(specification=small.regressor(), blobs={"/etc/weight.bin": b""})
        with self.assertRaisesRegex(RuntimeError, "blob_mapping: 'weights/../../x'"):
            native._MLModelAssetProxy(specification=small.regressor(), blobs={"weights/../../x": b""})

    def test_many_models_leave_nothing(self):
        if not os.path.exists("/proc/self/statm"):
            self.skipTest("no /proc")
        path = self.compiled(small.ADD)

        def held():
            with open("/proc/self/statm", encoding="ascii") as file:
                resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            return resident, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        def use(count):
            for i in range(count):
                proxy = Proxy(path)
                if i % 4 == 0:
                    proxy.predict({"x": [1, 2], "y": [0, 0]})

        use(100)
        resident, threads, files = held()
        use(1000)
        after, threads_after, files_after = held()
        self.assertLess(after - resident, 8 << 20)
        self.assertLessEqual(threads_after, threads)
        self.assertLessEqual(files_after, files)


class WithoutCoremltools(Case):
    def test_a_model(self):
        path = self.written(small.classifier())
        model = coreml.MLModel(path, compute_units=coreml.ComputeUnit.CPU_ONLY)
        self.assertEqual(model.predict({"x": [0.0]})["likely"], {"cat": 0.5, "dog": 0.5})
        self.assertEqual(len(model.predict([{"x": [0.0]}] * 2)), 2)
        self.assertEqual(model.input_description, {"x": "the x"})
        self.assertEqual((model.short_description, model.author), ("a small model", "the tests"))
        saved = os.path.join(self.folder, "saved.mlmodel")
        model.save(saved)
        model.save(saved)
        self.assertEqual(Path(saved).read_bytes(), Path(path).read_bytes())
        self.assertEqual(sorted(os.listdir(self.folder)), ["model.mlmodel", "saved.mlmodel"])
        compiled = coreml.CompiledMLModel(model.get_compiled_model_path())
        self.assertEqual(set(compiled.predict({"x": [0.0]})), {"label", "likely"})
        with self.assertRaisesRegex(KeyError, "no inputs .'w'.; the model's are .'x'."):
            model.predict({"x": [0.0], "w": [1]})
        with self.assertRaises(AttributeError):
            coreml.NoSuchName

    def test_states_and_assets(self):
        path = self.compiled(small.COUNTER)
        model = coreml.CompiledMLModel(path)
        state = model.make_state()
        model.predict({"x": [1, 2]}, state)
        other = coreml.CompiledMLModel.from_asset(coreml.MLModelAsset.from_path(path))
        self.assertEqual(other.predict({"x": [1, 2]}, state)["y"].tolist(), [2, 4])
        self.assertEqual(state.read_state("total").tolist(), [2, 4])
        state.write_state("total", np.zeros(2))
        self.assertEqual(model.predict({"x": [1, 2]}, state)["y"].tolist(), [1, 2])
        with self.assertRaisesRegex(ValueError, "state: a batch has none"):
            model.predict([{"x": [1, 2]}], state)

    def test_a_specification_to_read(self):
        spec = coreml.MLModel(self.written(small.classifier())).get_spec()
        feature = spec.description.input[0]
        self.assertEqual((spec.specificationVersion, feature.name), (5, "x"))
        self.assertEqual(feature.type.WhichOneof("Type"), "multiArrayType")
        self.assertEqual((feature.type.multiArrayType.shape, feature.type.multiArrayType.dataType), ([1], small.DOUBLE))
        self.assertTrue(feature.type.HasField("multiArrayType"))
        self.assertFalse(feature.type.HasField("imageType"))
        self.assertEqual(spec.description.predictedFeatureName, "label")
        label, likely = spec.description.output
        self.assertEqual(label.type.WhichOneof("Type"), "stringType")
        self.assertEqual(likely.type.dictionaryType.WhichOneof("KeyType"), "stringKeyType")
        with self.assertRaisesRegex(AttributeError, "can only be read"):
            feature.name = "y"
        self.assertEqual(spec.WhichOneof("Type"), "glmClassifier")
        with self.assertRaisesRegex(AttributeError, "no 'neuralNetwork' here"):
            spec.neuralNetwork
        network = coreml.MLModel(self.written(small.network(), "n.mlmodel"))
        self.assertEqual((network.get_spec().specificationVersion, network.author), (1, "the tests"))
        self.assertEqual(network.get_spec().WhichOneof("Type"), "neuralNetworkClassifier")
        self.assertEqual(network.output_description, {"label": "the label", "likely": "the likely"})
        ranges = coreml.MLModel(self.compiled(small.RANGES)).get_spec().description.input[0].type.multiArrayType
        self.assertEqual(ranges.WhichOneof("ShapeFlexibility"), "shapeRange")
        self.assertEqual([(one.lowerBound, one.upperBound) for one in ranges.shapeRange.sizeRanges], [(3, 5), (2, 2)])
        image = coreml.MLModel(self.written(small.relu_of_image(small.BGR), "i.mlmodel")).get_spec()
        image = image.description.input[0].type.imageType
        self.assertEqual((image.width, image.height, image.colorSpace), (3, 2, small.BGR))

    def test_structures_and_plans(self):
        path = self.compiled(small.ADD)
        main = coreml.MLModelStructure.load_from_path(path).program.functions["main"]
        self.assertEqual([one.name for one in main.inputs], ["x", "y"])
        self.assertEqual([one.operator_name for one in main.block.operations], ["cast", "add"])
        self.assertEqual(main.block.operations[1].inputs["y"].bindings[0].name, "wide")
        plan = coreml.MLComputePlan.load_from_path(path)
        shutil.rmtree(path)
        cast, add = plan.model_structure.program.functions["main"].block.operations
        usage = plan.get_compute_device_usage_for_mlprogram_operation(add)
        self.assertIsInstance(usage.preferred_compute_device, coreml.MLCPUComputeDevice)
        self.assertEqual(len(usage.supported_compute_devices), 1)
        weights = [plan.get_estimated_cost_for_mlprogram_operation(one).weight for one in (cast, add)]
        self.assertAlmostEqual(sum(weights), 1)
        detector = coreml.MLModelStructure.load_from_path(self.written(small.detector()))
        self.assertIsNone(detector.program)
        self.assertEqual([name for name, _ in detector.pipeline.sub_models], ["model0"])
        self.assertEqual(len(coreml.MLComputeDevice.get_all_compute_devices()), 1)


class Derived(unittest.TestCase):
    def test_classes_are_made_without_arguments_and_derived_from(self):
        for name in ("_MLCPUComputeDeviceProxy", "_MLGPUComputeDeviceProxy", "_MLNeuralEngineComputeDeviceProxy",
                     "_MLComputePlanProxy"):
            base = getattr(native, name)
            base()

            class Remote(base):
                def __init__(self, device):
                    base.__init__(self)
                    self.device = device

                @property
                def model_structure(self):
                    return "elsewhere"

            self.assertEqual(Remote("phone").model_structure, "elsewhere")

    def test_versions(self):
        self.assertEqual(Proxy.maximum_supported_specification_version(), 10)
        least = Proxy.auto_set_specification_version
        for made, version in ((small.regressor(), 1), (small.detector(), 3),
                              (small.relu_of_image(small.RGB), 7), (small.relu_of_image(small.GRAYSCALE_FLOAT16), 7)):
            self.assertEqual(least(made), bytes([8, version]) + made[2:])
            self.assertEqual(least(least(made)), least(made))
        described = small.description({"x": small.array_type([1], small.INT8)}, {})
        self.assertEqual(least(small.model(described, 300, b""))[:2], bytes([8, 10]))
        with self.assertRaises(TypeError):
            least(object())
        with self.assertRaisesRegex(RuntimeError, "kind 500"):
            least(small.model(b"", 500, b""))
        for broken in (b"\x08", b"\x12\x05abc", b"\x0f", small.regressor()[:-1]):
            with self.assertRaises(RuntimeError):
                least(broken)

    def test_errors_are_runtime_errors(self):
        self.assertTrue(issubclass(pippin.Error, RuntimeError))


if __name__ == "__main__":
    unittest.main()
