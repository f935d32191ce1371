#include <numeric>

#include "pippin/mx/core/index.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/families.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

std::vector<mx::array> rest_of(const Args& args) {
  // Several arrays, or one list of arrays.
  std::vector<mx::array> result;
  for (PyObject* const each : args.rest()) {
    if (auto found = try_array(each, std::nullopt)) {
      result.push_back(*std::move(found));
    } else if (PyList_Check(each) != 0 || PyTuple_Check(each) != 0) {
      for (const py::handle one : py::handle(each)) {
        auto inner = try_array(one.ptr(), std::nullopt);
        if (!inner) throw py::type_error("arrays are needed");
        result.push_back(*std::move(inner));
      }
    } else {
      throw py::type_error("arrays are needed, not " + std::string(Py_TYPE(each)->tp_name));
    }
  }
  return result;
}

template <mx::array (*function)(const mx::array&)>
PyObject* at_least(const Args& args) {
  std::vector<mx::array> arrays = rest_of(args);
  for (mx::array& each : arrays) each = function(each);
  return arrays.size() == 1 ? give(std::move(arrays[0])) : give_list(std::move(arrays));
}

std::vector<mx::array> promoted(std::vector<mx::array> arrays) {
  const mx::Dtype dtype = mx::result_type(arrays);
  for (mx::array& each : arrays) each = mx::astype(each, dtype);
  return arrays;
}

PyObject* concatenate(const Args& args) {
  std::vector<mx::array> arrays = args.arrays(0);
  if (args.raw(1) == Py_None) {
    for (mx::array& each : arrays) each = mx::flatten(each);
    return give(mx::concatenate(arrays, 0));
  }
  return give(mx::concatenate(arrays, args.small(1, 0)));
}

PyObject* stack(const Args& args) {
  std::vector<mx::array> arrays = args.arrays(0);
  if (args.raw(1) == Py_None) {
    for (mx::array& each : arrays) each = mx::flatten(each);
    return give(mx::concatenate(promoted(std::move(arrays)), 0));
  }
  return give(mx::stack(promoted(std::move(arrays)), args.small(1, 0)));
}

// pad_width: n, (n,), (before, after), or a pair for each axis.
std::vector<std::pair<int, int>> pad_widths(const Args& args, size_t i, size_t rank) {
  const py::handle given = args.raw(i);
  const auto number = [&](py::handle value) {
    PyObject* const one[] = {args.raw(0), value.ptr()};
    return args.of(one).small(1);
  };
  std::vector<std::pair<int, int>> result;
  const bool is_sequence = py::isinstance<py::sequence>(given) && !py::isinstance<py::str>(given);
  if (!is_sequence) {
    const int width = number(given);
    result.assign(rank, {width, width});
    return result;
  }
  const py::sequence widths = py::reinterpret_borrow<py::sequence>(given);
  const auto pair_of = [&](const py::sequence& pair) {
    if (py::len(pair) == 1)
      return std::pair{number(py::object(pair[0])), number(py::object(pair[0]))};
    if (py::len(pair) != 2) throw py::value_error("[pad] A width has one number or two.");
    return std::pair{number(py::object(pair[0])), number(py::object(pair[1]))};
  };
  if (py::len(widths) > 0 && PyIndex_Check(py::object(widths[0]).ptr()) != 0) {
    result.assign(rank, pair_of(widths));
    return result;
  }
  for (const py::handle each : widths) {
    result.push_back(pair_of(py::reinterpret_borrow<py::sequence>(each)));
  }
  if (result.size() == 1 && rank > 1) result.resize(rank, result[0]);
  return result;
}

PyObject* split(const Args& args) {
  const mx::array a = args.array(0);
  const int axis = args.small(2, 0);
  if (PyIndex_Check(args.raw(1)) != 0) return give_list(mx::split(a, args.small(1), axis));
  return give_list(mx::split(a, args.shape(1), axis));
}

PyObject* take(const Args& args) {
  const mx::array a = args.array(0);
  if (PyLong_Check(args.raw(1)) != 0) {
    const int64_t index = args.integer(1);
    if (args.has(2)) return give(mx::take(a, index, args.small(2)));
    return give(mx::take(mx::flatten(a), index, 0));
  }
  return give(mx::take(a, args.array(1), args.maybe_small(2)));
}

PyObject* roll(const Args& args) {
  const mx::array a = args.array(0);
  mx::Shape shifts = args.shape(1);
  if (!args.has(2)) {
    // Rolls the flattened array by the sum of the shifts.
    const int64_t sum = std::accumulate(shifts.begin(), shifts.end(), int64_t{0});
    return give(mx::roll(a, mx::Shape{sum}));
  }
  std::vector<int> axes = args.smalls(2);
  if (shifts.size() == 1 && axes.size() > 1) shifts.resize(axes.size(), shifts[0]);
  if (axes.size() == 1 && shifts.size() > 1) axes.resize(shifts.size(), axes[0]);
  return give(mx::roll(a, shifts, axes));
}

PyObject* broadcast_shapes(const Args& args) {
  if (args.rest().empty()) throw py::value_error("[broadcast_shapes] No shapes are given.");
  mx::Shape result;
  for (PyObject* const each : args.rest()) {
    mx::Shape shape;
    for (const py::handle size : py::handle(each)) shape.push_back(size.cast<int64_t>());
    result = mx::broadcast_shapes("broadcast_shapes", result, shape);
  }
  py::tuple shape(result.size());
  for (size_t i = 0; i < result.size(); ++i) shape[i] = result[i];
  return shape.release().ptr();
}

PyObject* as_strided(const Args& args) {
  const mx::array a = args.array(0);
  const mx::Shape shape = args.has(1) ? args.shape(1) : a.shape();
  const mx::Strides strides = args.has(2) ? args.shape(2) : mx::row_major_strides(shape);
  return give(mx::as_strided(a, shape, strides, args.has(3) ? args.integer(3) : 0));
}

constexpr Definition kShapes[] = {
    {"reshape", "a, /, shape",
     [](const Args& args) { return give(mx::reshape(args.array(0), args.shape(1))); }},
    {"flatten", "a, /, start_axis=0, end_axis=-1",
     [](const Args& args) {
       return give(mx::flatten(args.array(0), args.small(1, 0), args.small(2, -1)));
     }},
    {"unflatten", "a, /, axis, shape",
     [](const Args& args) {
       return give(mx::unflatten(args.array(0), args.small(1), args.shape(2)));
     }},
    {"squeeze", "a, /, axis=None",
     [](const Args& args) {
       const mx::array a = args.array(0);
       return give(args.has(1) ? mx::squeeze(a, args.smalls(1)) : mx::squeeze(a));
     }},
    {"expand_dims", "a, /, axis",
     [](const Args& args) { return give(mx::expand_dims(args.array(0), args.smalls(1))); }},
    {"transpose", "a, /, axes=None",
     [](const Args& args) {
       const mx::array a = args.array(0);
       return give(args.has(1) ? mx::transpose(a, args.smalls(1)) : mx::transpose(a));
     }},
    {"swapaxes", "a, /, axis1, axis2",
     [](const Args& args) {
       return give(mx::swapaxes(args.array(0), args.small(1), args.small(2)));
     }},
    {"moveaxis", "a, /, source, destination",
     [](const Args& args) {
       return give(mx::moveaxis(args.array(0), args.small(1), args.small(2)));
     }},
    {"broadcast_to", "a, /, shape",
     [](const Args& args) { return give(mx::broadcast_to(args.array(0), args.shape(1))); }},
    {"broadcast_arrays", "*arrays",
     [](const Args& args) { return give_tuple(mx::broadcast_arrays(rest_of(args))); }},
    {"broadcast_shapes", "*shapes", &broadcast_shapes},
    {"as_strided", "a, /, shape=None, strides=None, offset=0", &as_strided},
    {"atleast_1d", "*arys", &at_least<&mx::atleast_1d>},
    {"atleast_2d", "*arys", &at_least<&mx::atleast_2d>},
    {"atleast_3d", "*arys", &at_least<&mx::atleast_3d>},
    {"contiguous", "a, /, allow_col_major=False",
     [](const Args& args) { return give(mx::contiguous(args.array(0), args.flag(1, false))); }},
    {"diagonal", "a, offset=0, axis1=0, axis2=1",
     [](const Args& args) {
       return give(
           mx::diagonal(args.array(0), args.small(1, 0), args.small(2, 0), args.small(3, 1)));
     }},
    {"diag", "a, /, k=0",
     [](const Args& args) { return give(mx::diag(args.array(0), args.small(1, 0))); }},
    {"trace", "a, /, offset=0, axis1=0, axis2=1, dtype=None",
     [](const Args& args) {
       return give(mx::trace(args.array(0), args.small(1, 0), args.small(2, 0), args.small(3, 1),
                             args.maybe_dtype(4)));
     }},
    {"flip", "a, /, axis=None",
     [](const Args& args) { return give(mx::flip(args.array(0), args.axes(1))); }},
    {"split", "a, /, indices_or_sections, axis=0", &split},
    {"unstack", "x, /, *, axis=0",
     [](const Args& args) { return give_list(mx::unstack(args.array(0), args.small(1, 0))); }},
    {"concatenate", "arrays, axis=0", &concatenate},
    {"stack", "arrays, axis=0", &stack},
    {"repeat", "array, repeats, axis=None",
     [](const Args& args) {
       return give(mx::repeat(args.array(0), args.small(1), args.maybe_small(2)));
     }},
    {"tile", "a, reps, /",
     [](const Args& args) { return give(mx::tile(args.array(0), args.smalls(1))); }},
    {"pad", "a, pad_width, mode='constant', constant_values=0",
     [](const Args& args) {
       const mx::array a = args.array(0);
       const mx::array value = args.has(3) ? args.operands(0, 3).second : mx::array(0, a.dtype());
       return give(mx::pad(a, pad_widths(args, 1, a.ndim()), value, args.text(2, "constant")));
     }},
    {"roll", "a, shift, axis=None, /", &roll},
    {"meshgrid", "*arrays, sparse=False, indexing='xy'",
     [](const Args& args) {
       return give_tuple(mx::meshgrid(rest_of(args), args.flag(0, false), args.text(1, "xy")));
     }},
};

constexpr Definition kElements[] = {
    {"take", "a, /, indices, axis=None", &take},
    {"take_along_axis", "a, /, indices, axis=None",
     [](const Args& args) {
       return give(mx::take_along_axis(args.array(0), args.array(1), args.maybe_small(2)));
     }},
    {"put_along_axis", "a, /, indices, values, axis=None",
     [](const Args& args) {
       return give(mx::put_along_axis(args.array(0), args.array(1), args.operands(0, 2).second,
                                      args.maybe_small(3)));
     }},
    {"slice", "a, start_indices, axes, slice_size",
     [](const Args& args) {
       return give(mx::slice(args.array(0), args.array(1), args.smalls(2), args.shape(3)));
     }},
    {"slice_update", "a, update, start_indices, axes",
     [](const Args& args) {
       return give(mx::slice_update(args.array(0), args.operands(0, 1).second, args.array(2),
                                    args.smalls(3)));
     }},
};

}  // namespace

void bind_shapes(py::module_& module) {
  define(module, "pippin.core", kShapes);
  define(module, "pippin.core", kElements);
  alias(module, "permute_dims", "transpose");
  alias(module, "concat", "concatenate");
}

}  // namespace pippin::python::core
