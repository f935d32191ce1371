#include "pippin/mx/loops/elementwise.h"

#include <algorithm>

#include "pippin/mx/core/nest.h"

namespace pippin::mx {
namespace {

constexpr size_t kPieceBytes = kPiece * 8;

// An input as runs of numbers of a kind.
class Source {
 public:
  Source(const Node& node, Kind kind, int64_t step)
      : data_(node.data),
        item_(static_cast<int64_t>(size_of(node.dtype))),
        step_(step),
        is_direct_(is_native(node.dtype, kind) && (step == 0 || step == 1)),
        load_(is_direct_ ? nullptr : loader(node.dtype, kind)) {}

  // Numbers from i on of the run that begins at `offset`: in place, or copied to `piece`.
  const void* get(int64_t offset, int64_t i, int64_t count, std::byte* piece) const {
    const std::byte* from = data_ + (offset + i * step_) * item_;
    if (is_direct_) return from;
    load_(from, step_, piece, step_ == 0 ? 1 : count);
    return piece;
  }
  int64_t step() const { return step_ == 0 ? 0 : 1; }

 private:
  const std::byte* data_;
  int64_t item_, step_;
  bool is_direct_;
  LoadFunction load_;
};

// The result, row-major.
class Target {
 public:
  Target(const Node& node, Kind kind)
      : data_(node.data),
        item_(static_cast<int64_t>(size_of(node.dtype))),
        store_(is_native(node.dtype, kind) ? nullptr : storer(kind, node.dtype)) {}

  void* get(int64_t offset, std::byte* piece) const {
    return store_ == nullptr ? data_ + offset * item_ : piece;
  }
  void put(int64_t offset, const std::byte* piece, int64_t count) const {
    if (store_ != nullptr) store_(piece, data_ + offset * item_, 1, count);
  }
  bool is_direct() const { return store_ == nullptr; }

 private:
  std::byte* data_;
  int64_t item_;
  StoreFunction store_;
};

void map2_run(const Source& a, const Source& b, const Target& y, const std::array<int64_t, 3>& at,
              int64_t count, BinaryFunction function) {
  alignas(64) std::byte pieces[3][kPieceBytes];
  for (int64_t i = 0; i < count; i += kPiece) {
    const int64_t n = std::min(kPiece, count - i);
    const void* left = a.get(at[0], i, n, pieces[0]);
    const void* right = b.get(at[1], i, n, pieces[1]);
    function(left, a.step(), right, b.step(), y.get(at[2] + i, pieces[2]), n);
    y.put(at[2] + i, pieces[2], n);
  }
}

int64_t plain_step(const Node& node, const Node& out) {
  return node.size == 1 ? (out.size == 1 ? 1 : 0) : 1;
}
// Whether a run of the input has the same layout as the result's.
bool is_plain(const Node& node, const Node& out) {
  return node.size == 1 || (node.row_major && node.size == out.size);
}

template <typename Body>
void runs2(const Node& a, const Node& b, const Node& out, int cost, const Body& body) {
  const Strides a_strides = broadcast_strides(a.shape, a.strides, out.shape);
  const Strides b_strides = broadcast_strides(b.shape, b.strides, out.shape);
  const Nest<3> nest(out.shape, {&a_strides, &b_strides, &out.strides});
  nest.all(cost, [&](const Nest<3>::Offsets& at, int64_t count) { body(at, nest.steps(), count); });
}

template <typename T>
void select_runs(Node& out) {
  const Node &condition = *out.inputs[0], &a = *out.inputs[1], &b = *out.inputs[2];
  const Strides strides[3] = {broadcast_strides(condition.shape, condition.strides, out.shape),
                              broadcast_strides(a.shape, a.strides, out.shape),
                              broadcast_strides(b.shape, b.strides, out.shape)};
  const Nest<4> nest(out.shape, {&strides[0], &strides[1], &strides[2], &out.strides});
  const auto steps = nest.steps();
  nest.all(1, [&](const Nest<4>::Offsets& at, int64_t count) {
    const auto* which = reinterpret_cast<const uint8_t*>(condition.data) + at[0];
    const T* left = reinterpret_cast<const T*>(a.data) + at[1];
    const T* right = reinterpret_cast<const T*>(b.data) + at[2];
    T* to = reinterpret_cast<T*>(out.data) + at[3];
    if (steps[0] == 0) {  // one condition for the whole run
      const bool is_left = *which != 0;
      const T* from = is_left ? left : right;
      const int64_t step = steps[is_left ? 1 : 2];
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      to[i] = which[i * steps[0]] != 0 ? left[i * steps[1]] : right[i * steps[2]];
    }
  });
}

}  // namespace

void map_unary(Node& out, UnaryFunction function, Kind kind, int cost) {
  const Node& x = *out.inputs[0];
  out.allocate_or_take(0);
  const auto body = [&](const std::array<int64_t, 2>& at, int64_t step, int64_t count) {
    const Source source(x, kind, step);
    const Target target(out, kind);
    alignas(64) std::byte pieces[2][kPieceBytes];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      const void* from = source.get(at[0], i, n, pieces[0]);
      function(from, target.get(at[1] + i, pieces[1]), n);
      target.put(at[1] + i, pieces[1], n);
    }
  };
  if (x.row_major && x.size * cost < kParallelWork) return body({0, 0}, 1, x.size);
  const Nest<2> nest(out.shape, {&x.strides, &out.strides});
  const int64_t step = nest.steps()[0];
  if (step == 0) {  // one number for the whole run
    return nest.all(cost, [&](const Nest<2>::Offsets& at, int64_t count) {
      for (int64_t i = 0; i < count; ++i) body({at[0], at[1] + i}, 1, 1);
    });
  }
  nest.all(cost, [&](const Nest<2>::Offsets& at, int64_t count) { body(at, step, count); });
}

void map_binary(Node& out, BinaryFunction function, Kind kind, int cost) {
  const Node &a = *out.inputs[0], &b = *out.inputs[1];
  out.allocate_or_take(out.may_take(a) || !out.may_take(b) ? 0 : 1);
  const Target target(out, kind);
  if (is_plain(a, out) && is_plain(b, out) && out.size * cost < kParallelWork) {
    const Source left(a, kind, plain_step(a, out)), right(b, kind, plain_step(b, out));
    return map2_run(left, right, target, {0, 0, 0}, out.size, function);
  }
  runs2(a, b, out, cost, [&](const auto& at, const auto& steps, int64_t count) {
    // Two different numbers for a whole run cannot both be expressed by step 0.
    if (steps[0] == 0 && steps[1] == 0 && count > 1) {
      for (int64_t i = 0; i < count; ++i) {
        map2_run({a, kind, 1}, {b, kind, 1}, target, {at[0], at[1], at[2] + i}, 1, function);
      }
    } else {
      map2_run({a, kind, steps[0]}, {b, kind, steps[1]}, target, at, count, function);
    }
  });
}

void map_compare(Node& out, BinaryFunction function, Kind kind) {
  const Node &a = *out.inputs[0], &b = *out.inputs[1];
  out.allocate();
  auto* to = reinterpret_cast<uint8_t*>(out.data);
  runs2(a, b, out, 1, [&](const auto& at, const auto& steps, int64_t count) {
    const bool is_one = steps[0] == 0 && steps[1] == 0;
    const Source left(a, kind, is_one ? 1 : steps[0]), right(b, kind, is_one ? 1 : steps[1]);
    alignas(64) std::byte pieces[2][kPieceBytes];
    if (is_one) {
      uint8_t value = 0;
      function(left.get(at[0], 0, 1, pieces[0]), 1, right.get(at[1], 0, 1, pieces[1]), 1, &value,
               1);
      return (void)std::fill(to + at[2], to + at[2] + count, value);
    }
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      function(left.get(at[0], i, n, pieces[0]), left.step(), right.get(at[1], i, n, pieces[1]),
               right.step(), to + at[2] + i, n);
    }
  });
}

void map_select(Node& out) {
  out.allocate_or_take(out.may_take(*out.inputs[1]) || !out.may_take(*out.inputs[2]) ? 1 : 2);
  with_unsigned(size_of(out.dtype),
                [&](auto type) { select_runs<typename decltype(type)::type>(out); });
}

}  // namespace pippin::mx
