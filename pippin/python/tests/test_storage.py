"""Packages as folders, and weight files blob by blob: the stand-ins for coremltools' own libraries."""

import importlib
import os
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin

storage = importlib.import_module("pippin.coreml._milstorage")
packages = importlib.import_module("pippin.coreml._modelpackage")

# The name in the methods, the arrays' type, the smallest and the largest number.
TYPES = [
    ("int4", np.int8, -8, 7), ("uint1", np.uint8, 0, 1), ("uint2", np.uint8, 0, 3), ("uint3", np.uint8, 0, 7),
    ("uint4", np.uint8, 0, 15), ("uint6", np.uint8, 0, 63), ("int8", np.int8, -128, 127),
    ("uint8", np.uint8, 0, 255), ("int16", np.int16, -32768, 32767), ("uint16", np.uint16, 0, 65535),
    ("int32", np.int32, -(2**31), 2**31 - 1), ("uint32", np.uint32, 0, 2**32 - 1),
    ("fp16", np.uint16, 0, 65535),
]


class Blobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "weight.bin")

    def test_every_type_comes_back(self):
        random = np.random.default_rng(1)
        writer = storage._BlobStorageWriter(self.path)
        written = []
        for name, dtype, least, most in TYPES:
            for count in (0, 1, 5, 64, 1001):
                array = random.integers(least, most, count, dtype=np.int64, endpoint=True).astype(dtype)
                offset = getattr(writer, f"write_{name}_data")(array)
                self.assertEqual(offset % 64, 0)
                written.append((name, offset, array))
        floats = np.array([[0.5, -np.inf], [np.nan, 1e-40]], np.float32)
        written.append(("float", writer.write_float_data(floats), floats.ravel()))
        # The file is valid while the writer exists.
        reader = storage._BlobStorageReader(self.path)
        for name, offset, array in written:
            read = getattr(reader, f"read_{name}_data")(offset)
            self.assertEqual(read.dtype, array.dtype)
            np.testing.assert_array_equal(read, array)

    def test_the_bits_are_packed(self):
        writer = storage._BlobStorageWriter(self.path)
        for name, numbers, packed in (
            ("int4", [-8, 7, 1], [0x78, 0x01]), ("uint1", [1, 0, 0, 1], [0x09]),
            ("uint3", [1, 2, 7], [0xD1, 0x01]), ("uint6", [63, 0, 1], [0x3F, 0x10, 0x00]),
        ):
            offset = getattr(writer, f"write_{name}_data")(np.array(numbers))
            data = Path(self.path).read_bytes()
            self.assertEqual(list(data[offset + 64 : offset + 64 + len(packed)]), packed)

    def test_other_types_are_converted_where_nothing_changes(self):
        writer = storage._BlobStorageWriter(self.path)
        matrix = np.arange(12).reshape(3, 4)[:, ::2]  # int64, with strides
        offset = writer.write_uint8_data(matrix)
        np.testing.assert_array_equal(
            storage._BlobStorageReader(self.path).read_uint8_data(offset), [0, 2, 4, 6, 8, 10])
        self.assertEqual(storage._BlobStorageReader(self.path).read_int8_data(
            writer.write_int8_data([1.0, -2.0])).tolist(), [1, -2])
        for bad in ([300], [-1], [1.5], [float("nan")]):
            with self.assertRaisesRegex(ValueError, "do not fit uint8"):
                writer.write_uint8_data(np.array(bad))
        with self.assertRaisesRegex(ValueError, r"Value 80 is outside allowed subbyte datatype range \[0, 3\]."):
            writer.write_uint2_data(np.array([1, 80]))
        with self.assertRaisesRegex(ValueError, "expected an array of numbers|do not fit"):
            writer.write_int8_data(object())
        # Failed writes left no blob.
        self.assertEqual(writer.write_int8_data(np.array([3], np.int8)), offset + 4 * 64)

    def test_appends_where_told(self):
        first = storage._BlobStorageWriter(self.path).write_float_data(np.ones(3, np.float32))
        second = storage._BlobStorageWriter(self.path, False).write_int8_data(np.array([7], np.int8))
        reader = storage._BlobStorageReader(self.path)
        np.testing.assert_array_equal(reader.read_float_data(first), [1, 1, 1])
        np.testing.assert_array_equal(reader.read_int8_data(second), [7])
        again = storage._BlobStorageWriter(self.path, truncate_file=True)
        self.assertEqual(again.write_int8_data(np.array([7], np.int8)), first)

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(FileNotFoundError):
            storage._BlobStorageReader(self.path).read_int8_data(64)
        with self.assertRaises(OSError):
            storage._BlobStorageWriter(self.path + "/none/x")
        offset = storage._BlobStorageWriter(self.path).write_int8_data(np.ones(3, np.int8))
        reader = storage._BlobStorageReader(self.path)
        with self.assertRaisesRegex(pippin.InvalidFileError, "holds int8, not uint4"):
            reader.read_uint4_data(offset)
        for bad in (0, 63, 65, offset + 64, 1 << 40):
            with self.assertRaises(pippin.InvalidFileError):
                reader.read_int8_data(bad)


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "model").write_bytes(b"model")
        (self.folder / "weights").mkdir()
        (self.folder / "weights/weight.bin").write_bytes(b"weights")

    def test_a_package_is_put_together(self):
        path = str(self.folder / "m.mlpackage")
        package = packages.ModelPackage(path)
        self.assertEqual(package.path(), path)
        self.assertTrue(packages.ModelPackage.isValid(path))
        with self.assertRaisesRegex(RuntimeError, "no root model"):
            package.getRootModel()
        root = package.setRootModel(str(self.folder / "model"), "model.mlmodel", "com.apple.CoreML", "about")
        package.addItem(str(self.folder / "weights"), "weights", "com.apple.CoreML", "")
        found = packages.ModelPackage(path).getRootModel()
        self.assertIsInstance(found, packages.ModelPackageItemInfo)
        self.assertEqual(found.identifier(), root)
        self.assertEqual((found.name(), found.author(), found.description()),
                         ("model.mlmodel", "com.apple.CoreML", "about"))
        self.assertEqual(found.path(), path + "/Data/com.apple.CoreML/model.mlmodel")
        weights = package.findItemByNameAuthor("weights", "com.apple.CoreML")
        self.assertEqual((Path(weights.path()) / "weight.bin").read_bytes(), b"weights")
        self.assertIsNone(package.findItemByNameAuthor("weights", "nobody"))
        with self.assertRaises(RuntimeError):
            package.setRootModel(str(self.folder / "model"), "other", "com.apple.CoreML", "")
        package.replaceRootModel(str(self.folder / "model"), "other", "com.apple.CoreML", "")
        self.assertEqual(package.getRootModel().name(), "other")

    def test_what_is_no_package(self):
        self.assertFalse(packages.ModelPackage.isValid(str(self.folder)))
        self.assertFalse(packages.ModelPackage.isValid(str(self.folder / "none.mlpackage")))
        with self.assertRaisesRegex(RuntimeError, "no Manifest.json"):
            packages.ModelPackage(str(self.folder))


if __name__ == "__main__":
    unittest.main()
