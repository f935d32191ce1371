#include "pippin/python/core/index.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

bool is_integer(PyObject* object) {
  if (PyLong_CheckExact(object) != 0) return true;
  if (PyBool_Check(object) != 0 || is_array(object)) return false;
  if (PyIndex_Check(object) == 0) return false;
  // NumPy arrays of any rank have __index__.
  const py::object rank = py::getattr(py::handle(object), "ndim", py::none());
  return rank.is_none() || rank.cast<int>() == 0;
}

int64_t integer_of(PyObject* object) {
  const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_IndexError);
  if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return value;
}

mx::Shape slice_of(PyObject* object) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(object, &start, &stop, &step) != 0) {
    PyErr_Clear();
    throw py::value_error("Slice indices must be integers or None, and the step not 0.");
  }
  return {start, stop, step};
}

}  // namespace

Index::Index(PyObject* object, const mx::Shape& shape) {
  PyObject* const single[] = {object};
  std::span<PyObject* const> given = single;
  if (PyTuple_Check(object) != 0) {
    given = {&PyTuple_GET_ITEM(object, 0), static_cast<size_t>(PyTuple_GET_SIZE(object))};
  }
  const auto is_ellipsis = [](PyObject* each) { return each == Py_Ellipsis; };
  const auto is_axis = [&](PyObject* each) { return each != Py_None && !is_ellipsis(each); };
  const auto num_axes = static_cast<size_t>(std::count_if(given.begin(), given.end(), is_axis));
  if (num_axes > shape.size()) {
    throw py::value_error("Too many indices for an array with " + std::to_string(shape.size()) +
                          " dimensions: " + std::to_string(num_axes) + ".");
  }
  if (std::count_if(given.begin(), given.end(), is_ellipsis) > 1) {
    throw py::value_error("An index can only have a single ellipsis (...)");
  }
  size_t num_left = shape.size() - num_axes;
  const auto fill = [&] {
    for (; num_left > 0; --num_left) entries_.push_back({Kind::Slice, 0, {0, INT64_MAX, 1}});
  };
  // The axis of the next entry is the first of `rest`.
  mx::Shape rest = shape;
  const auto axis = [&] {
    size_t count = 0;
    for (const Entry& each : entries_) count += each.kind == Kind::New ? 0 : 1;
    return count;
  };
  for (PyObject* const each : given) {
    if (is_ellipsis(each)) {
      fill();
    } else if (each == Py_None) {
      entries_.push_back({Kind::New});
    } else {
      add(each, mx::Shape{rest[axis()], static_cast<int64_t>(axis())});
    }
  }
  fill();
}

// `about`: the size and index of the axis.
void Index::add(PyObject* object, const mx::Shape& about) {
  if (is_integer(object)) {
    const int64_t value = integer_of(object);
    if (value < -about[0] || value >= about[0]) {
      throw py::index_error("Index " + std::to_string(value) + " is out of bounds for axis " +
                            std::to_string(about[1]) + " of size " + std::to_string(about[0]) +
                            ".");
    }
    entries_.push_back({Kind::Integer, value < 0 ? value + about[0] : value});
    return;
  }
  if (PySlice_Check(object) != 0) {
    entries_.push_back({Kind::Slice, 0, slice_of(object)});
    return;
  }
  std::optional<mx::array> found;
  if (PyList_Check(object) != 0) {
    found = array_of_lists(object, std::nullopt);
    if (found->size() == 0) found = mx::astype(*found, mx::int32);
  } else if (PyBool_Check(object) == 0 && PyFloat_Check(object) == 0) {
    found = try_array(object, std::nullopt);
  }
  if (!found || !(mx::is_integer(found->dtype()) || found->dtype() == mx::bool_)) {
    throw py::value_error(
        "Cannot index an array using " +
        std::string(found ? "an array of " + std::string(mx::to_string(found->dtype()))
                          : "the type " + std::string(Py_TYPE(object)->tp_name)) +
        ".");
  }
  if (found->dtype() == mx::bool_) {
    throw py::value_error("boolean indices are not yet supported");
  }
  has_arrays_ = true;
  entries_.push_back({Kind::Array, 0, {}, std::move(found)});
}

// Whether the axes of the index arrays replace the entry's axis.
bool Index::is_pointer(const Entry& entry) const {
  return entry.kind == Kind::Array || (has_arrays_ && entry.kind == Kind::Integer);
}

bool Index::is_full() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const Entry& each) {
    return each.kind != Kind::Slice ||
           (each.slice[0] == 0 && each.slice[1] == INT64_MAX && each.slice[2] == 1);
  });
}

// Applies the slices, and the integers without index arrays; keeps all axes.
mx::array Index::sliced(const mx::array& a) const {
  mx::Shape start(a.ndim(), 0), stop = a.shape(), step(a.ndim(), 1);
  size_t axis = 0;
  for (const Entry& each : entries_) {
    if (each.kind == Kind::New) continue;
    if (each.kind == Kind::Slice) {
      start[axis] = each.slice[0];
      stop[axis] = each.slice[1];
      step[axis] = each.slice[2];
    } else if (!is_pointer(each)) {
      start[axis] = each.integer;
      stop[axis] = each.integer + 1;
    }
    ++axis;
  }
  return mx::slice(a, start, stop, step);
}

std::vector<mx::array> Index::pointers(std::vector<int>& axes) const {
  std::vector<mx::array> result;
  int axis = 0;
  for (const Entry& each : entries_) {
    if (each.kind == Kind::New) continue;
    if (is_pointer(each)) {
      axes.push_back(axis);
      result.push_back(each.array ? *each.array : mx::array(static_cast<int>(each.integer)));
    }
    ++axis;
  }
  return result;
}

size_t Index::pointed_rank() const {
  size_t rank = 0;
  for (const Entry& each : entries_) {
    if (each.array) rank = std::max(rank, each.array->ndim());
  }
  return rank;
}

// Whether the entries with index arrays are adjacent.
bool Index::stands_in_place() const {
  const auto pointer = [&](const Entry& each) { return is_pointer(each); };
  const auto first = std::find_if(entries_.begin(), entries_.end(), pointer);
  const auto end = std::find_if_not(first, entries_.end(), pointer);
  return std::find_if(end, entries_.end(), pointer) == entries_.end();
}

// The position, without new axes, of the index arrays' first axis in the result.
size_t Index::place_of_pointed() const {
  if (!stands_in_place()) return 0;
  size_t place = 0;
  for (const Entry& each : entries_) {
    if (is_pointer(each)) break;
    place += each.kind == Kind::New ? 0 : 1;
  }
  return place;
}

mx::array Index::get(const mx::array& a) const {
  std::vector<int> gone, fresh;
  mx::array result = is_full() && (has_arrays_ || entries_.empty()) ? a : sliced(a);
  if (!has_arrays_) {
    int axis = 0, place = 0;
    for (const Entry& each : entries_) {
      if (each.kind == Kind::Integer) gone.push_back(axis);
      if (each.kind == Kind::New) fresh.push_back(place);
      axis += each.kind == Kind::New ? 0 : 1;
      place += each.kind == Kind::Integer ? 0 : 1;
    }
    if (!gone.empty()) result = mx::squeeze(result, gone);
    return fresh.empty() ? result : mx::expand_dims(result, fresh);
  }
  std::vector<int> axes;
  const std::vector<mx::array> indices = pointers(axes);
  const size_t place = place_of_pointed(), rank = pointed_rank();
  if (indices.size() == 1) {
    result = mx::take(result, indices[0], axes[0]);
  } else {
    mx::Shape sizes = result.shape();
    for (const int axis : axes) sizes[static_cast<size_t>(axis)] = 1;
    result = mx::gather(result, indices, axes, sizes);
    for (int& axis : axes) axis += static_cast<int>(rank);
    result = mx::squeeze(result, axes);
    if (place > 0 && rank > 0) {
      std::vector<int> order;
      for (size_t i = 0; i < place; ++i) order.push_back(static_cast<int>(rank + i));
      for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int>(i));
      for (size_t i = rank + place; i < result.ndim(); ++i) order.push_back(static_cast<int>(i));
      result = mx::transpose(result, order);
    }
  }
  // The positions of the new axes.
  size_t at = stands_in_place() ? 0 : rank;
  bool is_placed = !stands_in_place();
  for (const Entry& each : entries_) {
    if (is_pointer(each)) {
      at += is_placed ? 0 : rank;
      is_placed = true;
    } else {
      if (each.kind == Kind::New) fresh.push_back(static_cast<int>(at));
      ++at;
    }
  }
  return fresh.empty() ? result : mx::expand_dims(result, fresh);
}

mx::array Index::set(const mx::array& a, const mx::array& update, mx::UpdateMode mode) const {
  return has_arrays_ ? set_pointed(a, update, mode) : set_slices(a, update, mode);
}

namespace {

// Changes the rank to `rank` by adding or removing leading axes of size 1.
mx::array with_rank(const mx::array& update, size_t rank) {
  mx::Shape shape = update.shape();
  while (shape.size() > rank && shape[0] == 1) shape.erase(shape.begin());
  while (shape.size() < rank) shape.insert(shape.begin(), 1);
  if (shape.size() > rank) {
    throw py::value_error("An update of shape " + mx::to_string(update.shape()) +
                          " has more axes than the " + std::to_string(rank) +
                          " that are assigned to.");
  }
  return shape == update.shape() ? update : mx::reshape(update, shape);
}

[[noreturn]] void refuse_new_axis(const mx::array& update) {
  throw py::value_error("An update of shape " + mx::to_string(update.shape()) +
                        " does not fit new axes, which have one element.");
}

}  // namespace

mx::array Index::set_slices(const mx::array& a, const mx::array& update,
                            mx::UpdateMode mode) const {
  size_t rank = 0;
  for (const Entry& each : entries_) rank += each.kind == Kind::Integer ? 0 : 1;
  const mx::array given = with_rank(update, rank);
  mx::Shape shape, start, stop, step;
  size_t at = 0;
  for (const Entry& each : entries_) {
    if (each.kind == Kind::New) {
      if (given.shape()[at++] != 1) refuse_new_axis(update);
      continue;
    }
    const bool is_slice = each.kind == Kind::Slice;
    start.push_back(is_slice ? each.slice[0] : each.integer);
    stop.push_back(is_slice ? each.slice[1] : each.integer + 1);
    step.push_back(is_slice ? each.slice[2] : 1);
    shape.push_back(is_slice ? given.shape()[at++] : 1);
  }
  const mx::array shaped = shape == given.shape() ? given : mx::reshape(given, shape);
  return mx::slice_update(a, shaped, std::move(start), std::move(stop), std::move(step), mode);
}

mx::array Index::set_pointed(const mx::array& a, const mx::array& update,
                             mx::UpdateMode mode) const {
  const bool takes_all = is_full();
  const mx::array part = takes_all ? a : sliced(a);
  std::vector<int> axes;
  const std::vector<mx::array> indices = pointers(axes);
  const size_t place = place_of_pointed(), rank = pointed_rank();
  mx::Shape places;
  for (const mx::array& each : indices) {
    places = mx::broadcast_shapes("scatter", places, each.shape());
  }
  // The shapes that the update broadcasts to, with and without the new axes.
  mx::Shape whole, plain, sizes = part.shape();
  for (const int axis : axes) sizes[static_cast<size_t>(axis)] = 1;
  bool is_placed = false;
  const auto put_places = [&] {
    for (const int64_t size : places) {
      whole.push_back(size);
      plain.push_back(size);
    }
    is_placed = true;
  };
  if (!stands_in_place()) put_places();
  size_t axis = 0;
  for (const Entry& each : entries_) {
    if (each.kind == Kind::New) {
      whole.push_back(1);
      continue;
    }
    if (is_pointer(each)) {
      if (!is_placed) put_places();
    } else {
      whole.push_back(part.shape()[axis]);
      plain.push_back(part.shape()[axis]);
    }
    ++axis;
  }
  mx::array given = mx::broadcast_to(with_rank(update, whole.size()), whole);
  if (!(whole == plain)) given = mx::reshape(given, plain);
  if (place > 0 && rank > 0) {
    std::vector<int> order(plain.size());
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(place + i);
    for (size_t i = 0; i < place; ++i) order[rank + i] = static_cast<int>(i);
    for (size_t i = rank + place; i < order.size(); ++i) order[i] = static_cast<int>(i);
    given = mx::transpose(given, order);
  }
  mx::Shape scattered = places;
  for (const int64_t size : sizes) scattered.push_back(size);
  mx::array changed = mx::scatter(part, indices, mx::reshape(given, scattered), axes, mode);
  if (takes_all) return changed;
  mx::Shape start(a.ndim(), 0), stop = a.shape(), step(a.ndim(), 1);
  axis = 0;
  for (const Entry& each : entries_) {
    if (each.kind == Kind::New) continue;
    if (each.kind == Kind::Slice) {
      start[axis] = each.slice[0];
      stop[axis] = each.slice[1];
      step[axis] = each.slice[2];
    }
    ++axis;
  }
  return mx::slice_update(a, changed, std::move(start), std::move(stop), std::move(step));
}

}  // namespace pippin::python::core
