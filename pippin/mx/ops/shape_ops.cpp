#include "pippin/mx/ops/shape_ops.h"

#include <algorithm>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// The strides for viewing an array in another shape with the same number of elements, if they
// exist: regroups axes that are one run in memory.
bool reshaped_strides(const Node& x, const Shape& shape, Strides& strides) {
  strides = Strides(shape.size(), 0);
  if (x.size == 0) {
    strides = row_major_strides(shape);
    return true;
  }
  size_t from = 0, to = 0;
  while (from < x.shape.size() || to < shape.size()) {
    const size_t from_begin = from, to_begin = to;
    int64_t before = from < x.shape.size() ? x.shape[from++] : 1;
    int64_t after = to < shape.size() ? shape[to++] : 1;
    while (before != after) {
      if (before < after) {
        before *= x.shape[from++];
      } else {
        after *= shape[to++];
      }
    }
    // Axes [from_begin, from) must be one run, ignoring those of size 1.
    int64_t step = 0, expected = 0;
    bool has_step = false;
    for (size_t axis = from; axis-- > from_begin;) {
      if (x.shape[axis] == 1) continue;
      if (has_step && x.strides[axis] != expected) return false;
      if (!has_step) step = x.strides[axis];
      has_step = true;
      expected = x.strides[axis] * x.shape[axis];
    }
    if (!has_step) step = 1;
    for (size_t axis = to; axis-- > to_begin;) {
      strides[axis] = step;
      step *= shape[axis];
    }
  }
  return true;
}

class Reshape final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "reshape"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    Strides strides;
    if (reshaped_strides(x, out.shape, strides)) return out.view(x, std::move(strides));
    out.allocate();
    copy_to(x, out.data, out.dtype);
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define_reshaped(out, recorder.input(out, 0));
  }
};

class Transpose final : public PrimitiveWith<Transpose> {
 public:
  explicit Transpose(std::vector<int> axes) : axes_(std::move(axes)) {}
  std::string_view name() const noexcept override { return "transpose"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    Strides strides(axes_.size());
    for (size_t i = 0; i < axes_.size(); ++i) {
      strides[i] = x.strides[static_cast<size_t>(axes_[i])];
    }
    out.view(x, std::move(strides));
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out,
                    pippin::array::transpose(recorder.input(out, 0), {axes_.begin(), axes_.end()}));
  }
  auto members() const { return std::tie(axes_); }

 private:
  std::vector<int> axes_;
};

class Broadcast final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "broadcast_to"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    out.view(x, broadcast_strides(x.shape, x.strides, out.shape));
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, recorder.broadcast(recorder.input(out, 0), recorder.shape(out)));
  }
};

class AsStrided final : public Primitive {
 public:
  AsStrided(Strides strides, int64_t offset) : strides_(std::move(strides)), offset_(offset) {}
  std::string_view name() const noexcept override { return "as_strided"; }
  void eval(Node& out) const override {
    const Ref<Node> x = row_major(out.inputs[0]);
    out.view(*x, strides_, offset_);
  }

 private:
  Strides strides_;
  int64_t offset_;
};

class Diagonal final : public Primitive {
 public:
  Diagonal(int axis1, int axis2, int offset) : axis1_(axis1), axis2_(axis2), offset_(offset) {}
  std::string_view name() const noexcept override { return "diagonal"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const int64_t step1 = x.strides[static_cast<size_t>(axis1_)];
    const int64_t step2 = x.strides[static_cast<size_t>(axis2_)];
    Strides strides;
    for (int axis = 0; axis < static_cast<int>(x.shape.size()); ++axis) {
      if (axis != axis1_ && axis != axis2_) {
        strides.push_back(x.strides[static_cast<size_t>(axis)]);
      }
    }
    strides.push_back(step1 + step2);
    const int64_t first = offset_ >= 0 ? offset_ * step2 : -offset_ * step1;
    out.view(x, std::move(strides), out.size == 0 ? 0 : first);
  }

 private:
  int axis1_, axis2_, offset_;
};

class Contiguous final : public Primitive {
 public:
  explicit Contiguous(bool allow_col_major) : allow_col_major_(allow_col_major) {}
  std::string_view name() const noexcept override { return "contiguous"; }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    if (x.row_major || (allow_col_major_ && is_col_major(x))) return out.view(x, x.strides);
    out.allocate();
    copy_to(x, out.data, out.dtype);
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, recorder.input(out, 0));
  }

 private:
  static bool is_col_major(const Node& x) {
    int64_t step = 1;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      if (x.shape[i] != 1 && x.strides[i] != step) return false;
      step *= x.shape[i];
    }
    return true;
  }
  bool allow_col_major_;
};

Shape with_rest(const array& a, const Shape& shape) {
  Shape result = shape;
  int64_t known = 1;
  int64_t* rest = nullptr;
  for (int64_t& size : result) {
    if (size == -1 && rest == nullptr) {
      rest = &size;
    } else if (size < 0) {
      fail(ErrorCode::InvalidArgument, "[reshape] {} is not a shape: {} is not a size.",
           to_string(shape), size);
    } else {
      known *= size;
    }
  }
  if (rest != nullptr && known > 0 && a.size() % known == 0) *rest = a.size() / known;
  if ((rest != nullptr && *rest < 0) || num_elements(result) != a.size()) {
    fail(ErrorCode::InvalidArgument, "[reshape] An array of shape {} does not become {}.",
         to_string(a.shape()), to_string(shape));
  }
  return result;
}

}  // namespace

array reshape(const array& a, const Shape& wanted) {
  if (a.shape() == wanted) return a;
  Shape shape = with_rest(a, wanted);
  if (shape == a.shape()) return a;
  const auto& primitive = shared_primitive<Reshape>();
  Strides strides;
  if (a.is_available() && reshaped_strides(*a.node(), shape, strides)) {
    return make_view(primitive, a.dtype(), std::move(shape), a);
  }
  return make(primitive, a.dtype(), std::move(shape), {&a});
}

array flatten(const array& a, int start_axis, int end_axis) {
  if (a.ndim() == 0) return reshape(a, {1});
  const int rank = static_cast<int>(a.ndim());
  const int begin = std::max(0, start_axis < 0 ? start_axis + rank : start_axis);
  const int end = std::min(rank - 1, end_axis < 0 ? end_axis + rank : end_axis);
  if (begin >= rank || end < 0 || end < begin) {
    fail(ErrorCode::InvalidArgument,
         "[flatten] Axes {} to {} are not axes of an array of shape {}.", start_axis, end_axis,
         to_string(a.shape()));
  }
  Shape shape;
  int64_t product = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t size = a.shape()[static_cast<size_t>(axis)];
    if (axis < begin || axis > end) {
      shape.push_back(size);
      continue;
    }
    product *= size;
    if (axis == end) shape.push_back(product);
  }
  return reshape(a, shape);
}

array unflatten(const array& a, int axis, const Shape& shape) {
  if (shape.empty()) fail(ErrorCode::InvalidArgument, "[unflatten] The shape has no sizes.");
  const auto at = static_cast<size_t>(normal_axis("unflatten", axis, a.ndim()));
  Shape parts = shape;
  int64_t known = 1;
  for (const int64_t size : shape) known *= size == -1 ? 1 : size;
  for (int64_t& size : parts) {
    if (size == -1 && known > 0) size = a.shape()[at] / known;
  }
  if (num_elements(parts) != a.shape()[at]) {
    fail(ErrorCode::InvalidArgument, "[unflatten] An axis of size {} does not become {}.",
         a.shape()[at], to_string(shape));
  }
  Shape result(a.shape().begin(), a.shape().begin() + at);
  for (const int64_t size : parts) result.push_back(size);
  for (size_t i = at + 1; i < a.ndim(); ++i) result.push_back(a.shape()[i]);
  return reshape(a, result);
}

array squeeze(const array& a, const std::vector<int>& axes) {
  const std::vector<int> normal = normal_axes("squeeze", axes, a.ndim());
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < a.ndim(); ++i) {
    if (next < normal.size() && normal[next] == static_cast<int>(i)) {
      ++next;
      if (a.shape()[i] != 1) {
        fail(ErrorCode::InvalidArgument, "[squeeze] Axis {} of {} has size {}, not 1.", i,
             to_string(a.shape()), a.shape()[i]);
      }
    } else {
      shape.push_back(a.shape()[i]);
    }
  }
  return reshape(a, shape);
}

array squeeze(const array& a) {
  std::vector<int> axes;
  for (size_t i = 0; i < a.ndim(); ++i) {
    if (a.shape()[i] == 1) axes.push_back(static_cast<int>(i));
  }
  return squeeze(a, axes);
}

array expand_dims(const array& a, const std::vector<int>& axes) {
  const std::vector<int> normal = normal_axes("expand_dims", axes, a.ndim() + axes.size());
  Shape shape = a.shape();
  for (const int axis : normal) shape.insert(shape.begin() + axis, 1);
  return reshape(a, shape);
}

array transpose(const array& a, const std::vector<int>& axes) {
  if (axes.size() != a.ndim()) {
    fail(ErrorCode::InvalidArgument, "[transpose] {} axes for an array of shape {}.", axes.size(),
         to_string(a.shape()));
  }
  normal_axes("transpose", axes, a.ndim());
  std::vector<int> normal;
  Shape shape;
  bool is_turned = false;
  for (const int axis : axes) {
    normal.push_back(normal_axis("transpose", axis, a.ndim()));
    is_turned = is_turned || normal.back() != static_cast<int>(shape.size());
    shape.push_back(a.shape()[static_cast<size_t>(normal.back())]);
  }
  if (!is_turned) return a;
  return make_view(new_primitive<Transpose>(std::move(normal)), a.dtype(), std::move(shape), a);
}

array transpose(const array& a) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return transpose(a, axes);
}

array swapaxes(const array& a, int axis1, int axis2) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(normal_axis("swapaxes", axis1, a.ndim()))],
            axes[static_cast<size_t>(normal_axis("swapaxes", axis2, a.ndim()))]);
  return transpose(a, axes);
}

array moveaxis(const array& a, int source, int destination) {
  const int from = normal_axis("moveaxis", source, a.ndim());
  const int to = normal_axis("moveaxis", destination, a.ndim());
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(a.ndim()); ++i) {
    if (i != from) axes.push_back(i);
  }
  axes.insert(axes.begin() + to, from);
  return transpose(a, axes);
}

array broadcast_to(const array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  if (!(broadcast_shapes("broadcast_to", a.shape(), shape) == shape)) {
    fail(ErrorCode::InvalidArgument, "[broadcast_to] An array of shape {} does not become {}.",
         to_string(a.shape()), to_string(shape));
  }
  return make_view(shared_primitive<Broadcast>(), a.dtype(), shape, a);
}

std::vector<array> broadcast_arrays(const std::vector<array>& arrays) {
  Shape shape;
  for (const array& each : arrays) {
    shape = broadcast_shapes("broadcast_arrays", shape, each.shape());
  }
  std::vector<array> result;
  result.reserve(arrays.size());
  for (const array& each : arrays) result.push_back(broadcast_to(each, shape));
  return result;
}

array as_strided(const array& a, const Shape& shape, const Strides& strides, int64_t offset) {
  if (strides.size() != shape.size()) {
    fail(ErrorCode::InvalidArgument, "[as_strided] {} strides for the shape {}.", strides.size(),
         to_string(shape));
  }
  const int64_t count = num_elements(shape);
  int64_t low = offset, high = offset;
  for (size_t i = 0; i < shape.size() && count > 0; ++i) {
    (strides[i] < 0 ? low : high) += strides[i] * (shape[i] - 1);
  }
  if (count > 0 && (low < 0 || high >= a.size())) {
    fail(ErrorCode::InvalidArgument, "[as_strided] Elements {} to {} are needed, the array has {}.",
         low, high, a.size());
  }
  return make(new_primitive<AsStrided>(strides, count > 0 ? offset : 0), a.dtype(), shape, {&a});
}

array atleast_1d(const array& a) {
  return a.ndim() >= 1 ? a : reshape(a, {1});
}
array atleast_2d(const array& a) {
  return a.ndim() >= 2 ? a : reshape(a, {1, a.size()});
}
array atleast_3d(const array& a) {
  if (a.ndim() >= 3) return a;
  if (a.ndim() == 2) return expand_dims(a, 2);
  return reshape(a, {1, a.size(), 1});
}

array contiguous(const array& a, bool allow_col_major) {
  return make(new_primitive<Contiguous>(allow_col_major), a.dtype(), a.shape(), {&a});
}

array copy(const array& a) {
  return contiguous(a, true);
}

array diagonal(const array& a, int offset, int axis1, int axis2) {
  if (a.ndim() < 2) {
    fail(ErrorCode::InvalidArgument, "[diagonal] An array of shape {} has no diagonal.",
         to_string(a.shape()));
  }
  const int first = normal_axis("diagonal", axis1, a.ndim());
  const int second = normal_axis("diagonal", axis2, a.ndim());
  if (first == second) {
    fail(ErrorCode::InvalidArgument, "[diagonal] Axis {} is given twice.", first);
  }
  Shape shape;
  for (int axis = 0; axis < static_cast<int>(a.ndim()); ++axis) {
    if (axis != first && axis != second) shape.push_back(a.shape()[static_cast<size_t>(axis)]);
  }
  const int64_t rows = a.shape()[static_cast<size_t>(first)] + std::min(offset, 0);
  const int64_t columns = a.shape()[static_cast<size_t>(second)] - std::max(offset, 0);
  shape.push_back(std::max(int64_t{0}, std::min(rows, columns)));
  return make_view(new_primitive<Diagonal>(first, second, offset), a.dtype(), std::move(shape), a);
}

}  // namespace pippin::mx
