"""Trees: pippin.utils."""

import unittest
from typing import NamedTuple

from pippin.utils import (tree_flatten, tree_map, tree_map_with_path, tree_merge, tree_reduce,
                          tree_unflatten)


class Point(NamedTuple):
    x: int
    y: int


TREE = {"a": [1, {"b": 2}], "c": (3, Point(4, 5)), "empty": [], "none": None}


class Trees(unittest.TestCase):
    def test_flattened_and_back(self):
        flat = tree_flatten(TREE)
        self.assertEqual(flat, [("a.0", 1), ("a.1.b", 2), ("c.0", 3), ("c.1.0", 4), ("c.1.1", 5), ("none", None)])
        self.assertEqual(tree_unflatten(flat), {"a": [1, {"b": 2}], "c": [3, [4, 5]], "none": None})
        self.assertEqual(tree_flatten(7), [("", 7)])
        self.assertEqual(tree_unflatten([("", 7)]), 7)
        self.assertEqual(tree_flatten([1], prefix=".model"), [("model.0", 1)])

    def test_a_destination_is_filled(self):
        into = {"old": 0}
        self.assertIs(tree_flatten({"a": [1]}, destination=into), into)
        self.assertEqual(into, {"old": 0, "a.0": 1})
        self.assertEqual(tree_flatten([2], destination=[("x", 1)]), [("x", 1), ("0", 2)])
        with self.assertRaisesRegex(ValueError, "set"):
            tree_flatten([1], destination=set())

    def test_numbers_make_lists_with_their_places(self):
        self.assertEqual(tree_unflatten([("2", "c"), ("0", "a")]), ["a", {}, "c"])
        self.assertEqual(tree_unflatten({"10.w": 1, "9.w": 2})[9:], [{"w": 2}, {"w": 1}])
        # Two keys with the same number do not form a list, nor do a number and a name.
        self.assertEqual(tree_unflatten({"1": 1, "01": 2}), {"1": 1, "01": 2})
        self.assertEqual(tree_unflatten({"0": 1, "x": 2}), {"0": 1, "x": 2})
        self.assertEqual(tree_unflatten({"²": 1}), {"²": 1})

    def test_mapped(self):
        doubled = tree_map(lambda x: x and 2 * x, TREE)
        self.assertEqual(doubled, {"a": [2, {"b": 4}], "c": (6, Point(8, 10)), "empty": [], "none": None})
        self.assertIsInstance(doubled["c"][1], Point)
        self.assertEqual(tree_map(lambda x, y: x + y, [1, 2], [10, 20, 30]), [11, 22])
        paths = []
        tree_map_with_path(lambda path, leaf: paths.append(path), {"a": [1, 2], "b": 3}, path="top")
        self.assertEqual(paths, ["top.a.0", "top.a.1", "top.b"])
        self.assertEqual(tree_map(len, [[1, 2], [3]], is_leaf=lambda x: len(x) < 2 or x[0] == 1), [2, 1])

    def test_reduced(self):
        self.assertEqual(tree_reduce(lambda total, x: total + x, {"a": [1, 2], "b": 3}), 6)
        self.assertEqual(tree_reduce(lambda total, x: total + x, [1, [2]], 10), 13)
        self.assertEqual(tree_reduce(lambda total, x: total + len(x), [[1], [2, 3]], 0, lambda x: x[0] in (1, 2)), 3)

    def test_merged(self):
        self.assertEqual(tree_merge({"a": 1, "b": {}}, {"b": {"c": 2}, "d": 3}), {"a": 1, "b": {"c": 2}, "d": 3})
        self.assertEqual(tree_merge([1, {}], [{}, 2, 3]), [1, 2, 3])
        self.assertEqual(tree_merge([1, 2], [3, 4], lambda a, b: a * b), [3, 8])
        with self.assertRaisesRegex(ValueError, "same place"):
            tree_merge({"a": 1}, {"a": 2})
        with self.assertRaisesRegex(ValueError, "list and an empty dict"):
            tree_merge([], {})


if __name__ == "__main__":
    unittest.main()
