"""pippin.core.array: construction, indices compared with NumPy, shared memory."""

import copy
import ctypes
import itertools
import pickle
import random
import tempfile
import unittest
import weakref

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin.core as mx

SEED = random.SystemRandom().randrange(1 << 32)
DTYPES = ["bool_", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
          "float64", "bfloat16", "complex64"]
OF_NUMPY = [name for name in DTYPES if name != "bfloat16"]


class DlpackView(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("type", ctypes.c_uint32),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class DlpackVersioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("view", DlpackView)]


class DlpackLegacy(ctypes.Structure):
    _fields_ = [("view", DlpackView), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def dlpack_of(capsule):
    """The structure in a capsule, which keeps owning it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_versioned = "versioned" in repr(capsule)
    layout, name = (DlpackVersioned, b"dltensor_versioned") if is_versioned else (DlpackLegacy, b"dltensor")
    held = layout.from_address(get(capsule, name))
    held.capsule = capsule
    return held


class Making(unittest.TestCase):
    def test_numbers_and_lists(self):
        for value, dtype in [(1, mx.int32), (1 << 40, mx.int64), (1 << 63, mx.uint64), (-3, mx.int32),
                             (1.5, mx.float32), (True, mx.bool_), (1j, mx.complex64)]:
            for nested in (value, [value], [[value, value], [value, value]], ((value,),)):
                a = mx.array(nested)
                self.assertEqual(a.dtype, dtype)
                # Tuples become lists.
                self.assertEqual(np.array(nested).tolist(), a.tolist())
        self.assertEqual(mx.array([1, 2.5]).dtype, mx.float32)
        self.assertEqual(mx.array([True, 2]).dtype, mx.int32)
        self.assertEqual(mx.array([]).dtype, mx.float32)
        self.assertEqual(mx.array([[], []]).shape, (2, 0))
        self.assertEqual(mx.array(0.1, mx.float64).item(), 0.1)
        self.assertEqual(mx.array([0.1], mx.float64).tolist(), [0.1])
        self.assertEqual(mx.array([mx.array([1, 2]), mx.array([3, 4])]).tolist(), [[1, 2], [3, 4]])

    def test_what_is_no_array_is_refused(self):
        for wrong in ([[1], [1, 2]], [[1, 2], 3], ["a"], "text", None, [None], {}, [mx.array([1]), mx.array([1, 2])],
                      1 << 70, [1 << 70]):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                mx.array(wrong)
        with self.assertRaises(TypeError):
            mx.array([1], dtype="float32")
        with self.assertRaisesRegex(ValueError, "300 to uint8"):
            mx.array(300, mx.uint8)
        itself = []
        itself.append(itself)
        with self.assertRaises(ValueError):
            mx.array(itself)

    def test_numpy_both_ways(self):
        generator = np.random.default_rng(SEED)
        for name in OF_NUMPY:
            kind = np.dtype(name.rstrip("_"))
            a = (generator.normal(size=(3, 4, 5)) * 100).astype(kind)
            for layout in (a, a.T, a[::-1, ::2], a[:, :0], a[1, 2, 3], np.broadcast_to(a[0, 0], (2, 5))):
                made = mx.array(layout)
                wanted = mx.float32 if name == "float64" else getattr(mx, name)
                self.assertEqual(made.dtype, wanted)
                back = np.array(made)
                self.assertEqual(back.dtype, np.float32 if name == "float64" else kind)
                np.testing.assert_array_equal(back, layout.astype(back.dtype))
        self.assertEqual(mx.array(np.float64(0.1), mx.float64).item(), 0.1)
        self.assertEqual(mx.array(np.array(1 + 2j)).item(), 1 + 2j)
        self.assertEqual(mx.array(memoryview(b"ab")).tolist(), [97, 98])

    def test_copies_are_copies(self):
        source = np.zeros(4, np.float32)
        a = mx.array(source)
        source[0] = 1
        self.assertEqual(a.tolist(), [0, 0, 0, 0])
        b = mx.array(a)
        b[0] = 5
        self.assertEqual(a.tolist(), [0, 0, 0, 0])

    def test_shared_memory_stays_as_long_as_the_array(self):
        source = np.arange(6, dtype=np.int32).reshape(2, 3).T
        gone = weakref.ref(source)
        a = mx.asarray(source)
        np.testing.assert_array_equal(np.array(a), source)
        source[0, 0] = 7
        self.assertEqual(a[0, 0].item(), 7)
        a[0, 0] = 1  # the array gets a new value: NumPy's memory is not written
        self.assertEqual((a[0, 0].item(), source[0, 0]), (1, 7))
        view = mx.asarray(source)
        del a, source
        self.assertIsNotNone(gone())
        view = view + 0
        mx.eval(view)
        self.assertIsNone(gone())

    def test_buffers_of_arrays(self):
        a = mx.array([[1, 2, 3], [4, 5, 6]])
        view = memoryview(a)
        self.assertEqual((view.format, view.shape, view.tolist()), ("i", (2, 3), [[1, 2, 3], [4, 5, 6]]))
        turned = np.asarray(a.T)
        np.testing.assert_array_equal(turned, [[1, 4], [2, 5], [3, 6]])
        with self.assertRaises((TypeError, ValueError)):  # NumPy has no such type
            np.array(mx.array(1, mx.bfloat16))
        a += 1  # the view keeps the old values
        self.assertEqual(view.tolist(), [[1, 2, 3], [4, 5, 6]])

    def test_dlpack_both_ways(self):
        for name in OF_NUMPY[1:]:
            a = mx.array([[1, 2], [3, 4]]).astype(getattr(mx, name))
            np.testing.assert_array_equal(np.from_dlpack(a.T), np.array(a).T)
            self.assertTrue(mx.array_equal(mx.from_dlpack(a), a).item())
        half = mx.array([1.5, -2], mx.bfloat16)
        self.assertEqual(mx.from_dlpack(half).dtype, mx.bfloat16)
        self.assertEqual(mx.from_dlpack(half).tolist(), [1.5, -2])
        with self.assertRaises(BufferError):
            half.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(TypeError):
            mx.from_dlpack([1, 2])

    def test_dlpack_of_memory_that_is_read_only(self):
        wanted = [[1.0, 2.0], [3.0, 4.0]]
        with tempfile.TemporaryDirectory() as folder:
            mx.save_safetensors(folder + "/a.safetensors", {"w": mx.array(wanted)})
            arrays = {
                "safetensors": mx.load(folder + "/a.safetensors")["w"],
                "a view": mx.load(folder + "/a.safetensors")["w"].T.T,
                "a buffer": mx.asarray(np.array(wanted, np.float32)),
                "bytes": mx.asarray(np.frombuffer(np.array(wanted, np.float32).tobytes(), np.float32).reshape(2, 2)),
                "its own": mx.array(wanted),
            }
            for name, a in arrays.items():
                with self.subTest(name):
                    with memoryview(a) as view:
                        is_read_only = view.readonly
                    self.assertEqual(is_read_only, name != "its own")
                    shared = dlpack_of(a.__dlpack__(max_version=(1, 0)))
                    self.assertEqual(shared.flags, 1 if is_read_only else 0)
                    copied = dlpack_of(a.__dlpack__(max_version=(1, 0), copy=True))
                    self.assertEqual(copied.flags, 2)
                    self.assertNotEqual(copied.view.data, shared.view.data)
                    # Before version 1 read-only memory is not marked, and consumers write to it.
                    capsule = a.__dlpack__()
                    legacy = dlpack_of(capsule)
                    self.assertEqual(legacy.view.data == shared.view.data, not is_read_only)
                    ctypes.memset(legacy.view.data, 0, 16)
                    self.assertEqual(a.tolist(), wanted if is_read_only else [[0, 0], [0, 0]])
                    if is_read_only:
                        with self.assertRaisesRegex(BufferError, "read-only"):
                            a.__dlpack__(copy=False)
                    else:
                        self.assertEqual(dlpack_of(a.__dlpack__(copy=False)).view.data, shared.view.data)

    def test_pickles_and_copies(self):
        for name in DTYPES:
            a = mx.array([[0, 1, 2], [3, 4, 5]]).astype(getattr(mx, name)).T
            for other in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a), copy.deepcopy([a])[0]):
                self.assertEqual((other.dtype, other.shape), (a.dtype, a.shape))
                self.assertTrue(mx.array_equal(other, a).item())
            self.assertIs(pickle.loads(pickle.dumps(a.dtype)), a.dtype)
        self.assertIs(copy.deepcopy(mx.exp), mx.exp)
        self.assertIs(pickle.loads(pickle.dumps(mx.fast.rope)), mx.fast.rope)

    def test_numbers_of_arrays(self):
        a = mx.array(2.5)
        self.assertEqual((a.item(), float(a), int(a), bool(a), complex(a)), (2.5, 2.5, 2, True, 2.5 + 0j))
        self.assertEqual(f"{a:.2f} {mx.array(3)}", "2.50 array(3, dtype=int32)")
        for wrong in (lambda: mx.array([1, 2]).item(), lambda: bool(mx.array([1, 2])), lambda: float(mx.zeros((2,)))):
            with self.assertRaises(ValueError):
                wrong()
        self.assertEqual([x.item() for x in mx.array([1, 2, 3])], [1, 2, 3])
        self.assertEqual(len(mx.zeros((4, 2))), 4)
        with self.assertRaises(TypeError):
            len(a)

    def test_as_text(self):
        self.assertEqual(repr(mx.array([True, False])), "array([True, False], dtype=bool)")
        self.assertEqual(repr(mx.arange(20)), "array([0, 1, 2, ..., 17, 18, 19], dtype=int32)")
        self.assertEqual(str(mx.array([[1.5], [float("nan")]])), "array([[1.5],\n       [nan]], dtype=float32)")
        with mx.printoptions(precision=2):
            self.assertEqual(str(mx.array(1 / 3)), "array(0.33, dtype=float32)")
        self.assertEqual(str(mx.array(1 / 3)), "array(0.333333, dtype=float32)")


def random_index(random, shape):
    """An index for an array of a shape, and the same for NumPy."""
    entries = []
    common = tuple(random.choice([1, 3]) for _ in range(random.randrange(3)))
    # Some of the first axes, and with "..." some of the last.
    first = random.randrange(len(shape) + 1)
    last = random.randrange(len(shape) - first + 1) if random.random() < 0.5 else None
    sizes = list(shape[:first]) + ([] if last is None else list(shape[len(shape) - last:]))
    for size in sizes:
        kind = random.choice(["integer", "slice", "slice", "full", "array"])
        if kind == "integer" and size > 0:
            entries.append(random.randrange(-size, size))
        elif kind == "array" and size > 0:
            cut = common[random.randrange(len(common) + 1):]
            picked = np.array([random.randrange(-size, size) for _ in range(int(np.prod(cut)))], int).reshape(cut)
            entries.append(picked)
        elif kind == "slice":
            bound = [None, *range(-size - 2, size + 3)]
            entries.append(slice(random.choice(bound), random.choice(bound), random.choice([None, 1, 2, -1, -3])))
        else:
            entries.append(slice(None))
    # A new axis separates index arrays in NumPy, but not in MLX.
    has_arrays = any(isinstance(each, np.ndarray) for each in entries)
    if last is not None and not (has_arrays and first + last == len(shape)):
        entries.insert(first, Ellipsis)
    if random.random() < 0.4:
        entries.insert(random.randrange(len(entries) + 1), None)
    mine = tuple(mx.array(each, mx.int32) if isinstance(each, np.ndarray) else each for each in entries)
    return (mine, tuple(entries)) if len(entries) != 1 or random.random() < 0.5 else (mine[0], entries[0])


class Indices(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)

    def cases(self, count):
        for _ in range(count):
            shape = tuple(self.random.choice([0, 1, 2, 3, 5]) for _ in range(self.random.randrange(1, 5)))
            source = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
            yield source, *random_index(self.random, shape)

    def test_reading(self):
        for source, mine, numpys in self.cases(600):
            with self.subTest(seed=SEED, shape=source.shape, index=numpys):
                wanted = source[numpys]
                found = mx.array(source)[mine]
                self.assertEqual(found.shape, wanted.shape)
                np.testing.assert_array_equal(np.array(found), wanted)

    def test_writing(self):
        for source, mine, numpys in self.cases(600):
            with self.subTest(seed=SEED, shape=source.shape, index=numpys):
                target = source[numpys].shape
                # The last axes of the values written, some of them with size 1.
                shape = tuple(self.random.choice([1, size]) for size in target[self.random.randrange(len(target) + 1):])
                update = np.full(shape, -7, np.int32)
                wanted, found = source.copy(), mx.array(source)
                kept = found + 0
                wanted[numpys] = update
                found[mine] = mx.array(update)
                np.testing.assert_array_equal(np.array(found), wanted)
                np.testing.assert_array_equal(np.array(kept), source)

    def test_updates_count_each(self):
        ways = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
                "minimum": np.minimum}
        for source, mine, numpys in self.cases(200):
            for name, way in ways.items():
                with self.subTest(seed=SEED, shape=source.shape, index=numpys, way=name):
                    wanted = source.astype(np.float32)
                    found = getattr(mx.array(wanted).at[mine], name)(2)
                    way.at(wanted, numpys, 2)
                    np.testing.assert_array_equal(np.array(found), wanted)
        x = mx.array([8.0, 8.0])
        self.assertEqual(x.at[mx.array([0, 0])].divide(2).tolist(), [2, 8])
        with self.assertRaises(ValueError):
            x.at.add(1)

    def test_masks_are_written(self):
        generator = np.random.default_rng(SEED)
        for shape in ((7,), (3, 4), (2, 3, 4), (0, 3)):
            for rank in range(1, len(shape) + 1):
                source = generator.normal(size=shape).astype(np.float32)
                mask = generator.random(shape[:rank]) < 0.5
                for update in (np.float32(3), generator.normal(size=source[mask].shape).astype(np.float32)):
                    wanted, found = source.copy(), mx.array(source)
                    wanted[mask] = update
                    found[mx.array(mask)] = mx.array(update)
                    np.testing.assert_array_equal(np.array(found), wanted)

    def test_what_is_no_index_is_refused(self):
        a = mx.zeros((3, 4))
        for index in (3, -4, (0, 4), (slice(None), -5)):
            with self.assertRaises(IndexError):
                a[index]
        for index in (1.5, "a", (0, 0, 0), (Ellipsis, Ellipsis), slice(0, 2, 0), mx.array([1.5]), True, {},
                      slice("a", None), mx.array([True, False, True])):
            with self.assertRaises(ValueError, msg=repr(index)):
                a[index]
        with self.assertRaisesRegex(ValueError, "bounds"):
            mx.eval(a[mx.array([3])])
        for index, update in [(0, mx.zeros((3,))), ((slice(None), 1), mx.zeros((4,))), (None, mx.zeros((2, 3, 4))),
                              (slice(None), "text")]:
            with self.assertRaises(ValueError, msg=repr(index)):
                a[index] = update
        with self.assertRaises(TypeError):
            del a[0]
        self.assertEqual(a.tolist(), [[0] * 4] * 3)

    def test_what_has_one_owner_is_written_in_place(self):
        a = mx.zeros((1 << 20,))
        mx.eval(a)
        before = np.asarray(memoryview(a)).ctypes.data
        a[5:9] = mx.ones((4,))
        mx.eval(a)
        self.assertEqual(np.asarray(memoryview(a)).ctypes.data, before)
        other = a + 0
        kept = mx.array(a)
        a[0] = 3
        self.assertEqual((kept[0].item(), other[0].item(), a[0].item()), (0, 0, 3))


class Types(unittest.TestCase):
    def test_categories(self):
        self.assertTrue(mx.issubdtype(mx.bfloat16, mx.floating))
        self.assertFalse(mx.issubdtype(mx.bool_, mx.number))
        self.assertTrue(mx.issubdtype(mx.signedinteger, mx.integer))
        self.assertTrue(mx.isdtype(mx.int8, ("bool", "signed integer")))
        self.assertEqual(mx.finfo(mx.bfloat16).eps, 2**-7)
        self.assertEqual((mx.iinfo(mx.int8).min, mx.iinfo(mx.uint64).max), (-128, 2**64 - 1))
        with self.assertRaises(ValueError):
            mx.finfo(mx.int32)
        with self.assertRaises(ValueError):
            mx.iinfo(mx.float32)

    def test_promotion_is_symmetric_and_that_of_operators(self):
        for a, b in itertools.product(DTYPES[:-1], repeat=2):
            left, right = mx.zeros((1,), getattr(mx, a)), mx.zeros((1,), getattr(mx, b))
            self.assertEqual((left + right).dtype, mx.result_type(left, right))
            self.assertEqual(mx.result_type(left, right), mx.result_type(right.dtype, left.dtype))
        self.assertEqual(mx.result_type(mx.float16, mx.bfloat16), mx.float32)
        self.assertEqual(mx.result_type(mx.uint64, mx.int8), mx.float32)
        self.assertEqual(mx.result_type(mx.uint32, mx.int32), mx.int64)

    def test_numbers_are_weak(self):
        for name in DTYPES[1:-1]:
            dtype = getattr(mx, name)
            a = mx.ones((2,), dtype)
            for result in (a + 1, 1 + a, a * 2, 3 - a, mx.maximum(a, 1), a & 1 if "int" in name else a):
                self.assertEqual(result.dtype, dtype)
            wanted = dtype if mx.issubdtype(dtype, mx.inexact) else mx.float32
            self.assertEqual((a * 2.5).dtype, wanted)
        self.assertEqual((mx.array([True]) + 1).dtype, mx.int32)
        with self.assertRaises(ValueError):
            mx.ones((2,), mx.uint8) + 300


if __name__ == "__main__":
    unittest.main()
