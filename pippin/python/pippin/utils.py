"""Trees of Python lists, tuples and dicts, in which modules keep their arrays.

>>> from pippin.utils import tree_flatten, tree_map
>>> tree_flatten({"layers": [{"weight": 1}, {"weight": 2}]})
[('layers.0.weight', 1), ('layers.1.weight', 2)]
>>> tree_map(lambda x: x * 10, {"a": [1, 2]})
{'a': [10, 20]}

Everything that is not a list, tuple or dict is a leaf, and so is everything that `is_leaf` accepts.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

__all__ = ["tree_flatten", "tree_map", "tree_map_with_path", "tree_merge", "tree_reduce", "tree_unflatten"]

IsLeaf = Callable[[Any], bool]


def _is_inner(tree: Any, is_leaf: IsLeaf | None) -> bool:
    return isinstance(tree, (list, tuple, dict)) and not (is_leaf is not None and is_leaf(tree))


def _like(tree: Any, values: Iterable[Any]) -> Any:
    """A list or tuple of the type of `tree`; named tuples work as well."""
    return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)


def tree_map(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree of fn(leaf, the leaves of `rest` at the same place). Trees of `rest` may have more branches than
    `tree`."""
    if not _is_inner(tree, is_leaf):
        return fn(tree, *rest)
    if isinstance(tree, dict):
        return {key: tree_map(fn, value, *(other[key] for other in rest), is_leaf=is_leaf)
                for key, value in tree.items()}
    return _like(tree, (tree_map(fn, value, *(other[i] for other in rest), is_leaf=is_leaf)
                        for i, value in enumerate(tree)))


def tree_map_with_path(fn: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None,
                       path: Any = None) -> Any:
    """As tree_map, with the path ("layers.0.weight", after `path`) as fn's first argument."""
    if not _is_inner(tree, is_leaf):
        return fn(path, tree, *rest)

    def below(key: Any, value: Any) -> Any:
        return tree_map_with_path(fn, value, *(other[key] for other in rest), is_leaf=is_leaf,
                                  path=f"{path}.{key}" if path else f"{key}")

    if isinstance(tree, dict):
        return {key: below(key, value) for key, value in tree.items()}
    return _like(tree, (below(i, value) for i, value in enumerate(tree)))


def _leaves(tree: Any, prefix: str, is_leaf: IsLeaf | None) -> Iterable[tuple[str, Any]]:
    if not _is_inner(tree, is_leaf):
        yield prefix[1:], tree
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from _leaves(value, f"{prefix}.{key}", is_leaf)


def tree_flatten(tree: Any, prefix: str = "", is_leaf: IsLeaf | None = None,
                 destination: list[Any] | dict[str, Any] | None = None) -> Any:
    """(path, leaf) of every leaf as a list, or added to `destination`, a list or a dict, which is returned.

    Paths begin with `prefix` without its first character: ".model" gives "model.weight"."""
    if destination is None:
        destination = []
    if isinstance(destination, list):
        destination.extend(_leaves(tree, prefix, is_leaf))
    elif isinstance(destination, dict):
        destination.update(_leaves(tree, prefix, is_leaf))
    else:
        raise ValueError(f"tree_flatten: the destination is a {type(destination).__name__}, no list or dict")
    return destination


def tree_unflatten(tree: list[tuple[str, Any]] | dict[str, Any]) -> Any:
    """The tree of pairs (or a dict) of paths and leaves, the inverse of tree_flatten. Numbers become list indices; an
    index that no path has holds {}."""
    pairs = list(tree.items() if isinstance(tree, dict) else tree)
    if len(pairs) == 1 and pairs[0][0] == "":
        return pairs[0][1]
    branches: dict[str, list[tuple[str, Any]]] = {}
    for path, leaf in pairs:
        key, _, below = path.partition(".")
        branches.setdefault(key, []).append((below, leaf))
    places = {int(key): key for key in branches if key.isdecimal() and key.isascii()}
    # "1" and "01" are two keys of one number, so they do not form a list.
    if len(places) != len(branches):
        return {key: tree_unflatten(below) for key, below in branches.items()}
    result: list[Any] = []
    for place, key in sorted(places.items()):
        result.extend({} for _ in range(place - len(result)))
        result.append(tree_unflatten(branches[key]))
    return result


def tree_reduce(fn: Callable[[Any, Any], Any], tree: Any, initializer: Any = None,
                is_leaf: IsLeaf | None = None) -> Any:
    """fn(fn(fn(initializer, leaf), leaf), ...); without an initializer, starts with the first leaf."""
    total = initializer
    for _, leaf in _leaves(tree, "", is_leaf):
        total = leaf if total is None else fn(total, leaf)
    return total


def _is_empty(tree: Any) -> bool:
    return tree is None or (isinstance(tree, (list, tuple, dict)) and len(tree) == 0)


def tree_merge(tree_a: Any, tree_b: Any, merge_fn: Callable[[Any, Any], Any] | None = None) -> Any:
    """A tree with the leaves of both. Leaves at the same place are passed to `merge_fn`; without it, they are an
    error."""
    if _is_empty(tree_a) and _is_empty(tree_b) and tree_a is not None and tree_b is not None:
        if type(tree_a) is not type(tree_b):
            raise ValueError(f"tree_merge: an empty {type(tree_a).__name__} and an empty {type(tree_b).__name__}")
        return type(tree_a)()
    if _is_empty(tree_a) and tree_b is not None:
        return tree_b
    if _is_empty(tree_b) and tree_a is not None:
        return tree_a
    if isinstance(tree_a, dict) and isinstance(tree_b, dict):
        return {key: tree_merge(tree_a.get(key), tree_b.get(key), merge_fn) for key in {**tree_a, **tree_b}}
    if isinstance(tree_a, (list, tuple)) and isinstance(tree_b, (list, tuple)):
        length = max(len(tree_a), len(tree_b))

        def at(tree: Any, i: int) -> Any:
            return tree[i] if i < len(tree) else None

        return _like(tree_a, (tree_merge(at(tree_a, i), at(tree_b, i), merge_fn) for i in range(length)))
    if merge_fn is None:
        raise ValueError("tree_merge: both trees have a leaf at the same place, and no merge_fn is given")
    return merge_fn(tree_a, tree_b)
