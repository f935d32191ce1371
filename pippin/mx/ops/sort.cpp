#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/unwritten.h"
#include "pippin/engine/cpu/sort_keys.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/core/rows.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/scan_sort.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// NaN sorts last.
template <typename T>
bool is_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (b != b && a == a);
  } else {
    return a < b;
  }
}

enum class Order : uint8_t { Sorted, Partitioned };

template <typename T>
void order_rows(const Node& x, Node& out, Kind kind, size_t axis, Order order, int64_t kth,
                bool gives_indices) {
  const int64_t count = x.shape[axis];
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  const LoadFunction load = loader(x.dtype, kind);
  const StoreFunction store = storer(kind, out.dtype);
  each_row(x, out, axis, count * 16, [&](int64_t from, int64_t to) {
    const auto num_keys = static_cast<size_t>(engine::num_sort_keys(count, count));
    const auto size = static_cast<size_t>(count);
    const auto keys = make_unwritten<engine::SortKey<T>>(num_keys);
    const auto values = make_unwritten<T>(2 * size);
    T* ordered = values.get() + size;
    load(x.data + from * item, x.strides[axis], values.get(), count);
    if (order == Order::Sorted) {
      engine::smallest_keys(values.get(), count, count, true, keys.get());
    } else {
      engine::partition_keys(values.get(), count, kth, keys.get());
    }
    if (gives_indices) {
      auto* indices = reinterpret_cast<uint32_t*>(out.data) + to;
      for (int64_t i = 0; i < count; ++i) {
        indices[i * out.strides[axis]] = engine::place_of(keys[i]);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) ordered[i] = values[engine::place_of(keys[i])];
      store(ordered, out.data + to * item, out.strides[axis], count);
    }
  });
}

class Sort final : public PrimitiveWith<Sort> {
 public:
  Sort(int axis, Order order, int64_t kth, bool gives_indices)
      : axis_(static_cast<size_t>(axis)), order_(order), kth_(kth), gives_indices_(gives_indices) {}
  std::string_view name() const noexcept override {
    return order_ == Order::Sorted ? (gives_indices_ ? "argsort" : "sort")
                                   : (gives_indices_ ? "argpartition" : "partition");
  }
  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    const Kind kind = kind_of(x.dtype, "sort");
    out.allocate();
    with_kind(kind, [&](auto type) {
      order_rows<typename decltype(type)::type>(x, out, kind, axis_, order_, kth_, gives_indices_);
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& x = recorder.input(out, 0);
    const auto axis = static_cast<int64_t>(axis_);
    const auto order = Recorder::one("argsort", {{"x", x}, {"axis", axis}, {"ascending", true}});
    recorder.define(out, gives_indices_
                             ? order
                             : Recorder::one("gather_along_axis",
                                             {{"x", x}, {"indices", order}, {"axis", axis}}));
  }
  auto members() const { return std::tie(axis_, order_, kth_, gives_indices_); }

 private:
  size_t axis_;
  Order order_;
  int64_t kth_;
  bool gives_indices_;
};

class SearchSorted final : public Primitive {
 public:
  explicit SearchSorted(bool is_right) : is_right_(is_right) {}
  std::string_view name() const noexcept override { return "searchsorted"; }
  void eval(Node& out) const override {
    const Node& sorted = *out.inputs[0];
    const Node& values = *out.inputs[1];
    const Kind kind = kind_of(sorted.dtype, "searchsorted");
    out.allocate();
    with_kind(kind,
              [&](auto type) { search<typename decltype(type)::type>(sorted, values, out, kind); });
  }

 private:
  template <typename T>
  void search(const Node& sorted, const Node& values, Node& out, Kind kind) const {
    std::vector<T> row(static_cast<size_t>(sorted.size));
    loader(sorted.dtype, kind)(sorted.data, sorted.strides[0], row.data(), sorted.size);
    const Ref<Node> wanted = row_major(out.inputs[1]);
    std::vector<T> keys(static_cast<size_t>(values.size));
    loader(values.dtype, kind)(wanted->data, 1, keys.data(), values.size);
    auto* to = reinterpret_cast<uint32_t*>(out.data);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto place = is_right_
                             ? std::upper_bound(row.begin(), row.end(), keys[i], is_before<T>)
                             : std::lower_bound(row.begin(), row.end(), keys[i], is_before<T>);
      to[i] = static_cast<uint32_t>(place - row.begin());
    }
  }

  bool is_right_;
};

void refuse_complex(const char* op, const array& a) {
  if (a.dtype() == complex64) {
    fail(ErrorCode::Unsupported, "[{}] complex64 has no order here.", op);
  }
}

array ordered(const char* op, const array& a, std::optional<int> axis, Order order, int64_t kth,
              bool gives_indices) {
  refuse_complex(op, a);
  const array x = axis ? a : flatten(a);
  const Dtype dtype = gives_indices ? uint32 : a.dtype();
  if (x.ndim() == 0) {
    normal_axis(op, *axis, 1);
    return gives_indices ? zeros({}, uint32) : a;
  }
  const int at = axis ? normal_axis(op, *axis, x.ndim()) : 0;
  if (order == Order::Partitioned) {
    const int64_t size = x.shape(at);
    if (kth < -size || kth >= size) {
      fail(ErrorCode::InvalidArgument, "[{}] Element {} of an axis of size {}.", op, kth, size);
    }
    if (kth < 0) kth += size;
  }
  return make(new_primitive<Sort>(at, order, kth, gives_indices), dtype, x.shape(), {&x});
}

}  // namespace

array sort(const array& a, std::optional<int> axis) {
  if (a.dtype() == complex64) {
    const array x = axis ? a : flatten(a);
    return take_along_axis(x, argsort(x, axis ? *axis : 0), axis ? *axis : 0);
  }
  return ordered("sort", a, axis, Order::Sorted, 0, false);
}
array argsort(const array& a, std::optional<int> axis) {
  if (a.dtype() == complex64) {
    // By the imaginary parts, then, stably, by the real ones.
    const array x = axis ? a : flatten(a);
    const int at = axis ? *axis : 0;
    const array first = argsort(imag(x), at);
    return take_along_axis(first, argsort(take_along_axis(real(x), first, at), at), at);
  }
  return ordered("argsort", a, axis, Order::Sorted, 0, true);
}
array partition(const array& a, int kth, std::optional<int> axis) {
  return ordered("partition", a, axis, Order::Partitioned, kth, false);
}
array argpartition(const array& a, int kth, std::optional<int> axis) {
  return ordered("argpartition", a, axis, Order::Partitioned, kth, true);
}

array topk(const array& a, int k, std::optional<int> axis) {
  const array x = axis ? a : flatten(a);
  const int at = normal_axis("topk", axis ? *axis : 0, x.ndim());
  const int64_t size = x.shape(at);
  if (k < 0 || k > size) {
    fail(ErrorCode::InvalidArgument, "[topk] {} elements of an axis of size {}.", k, size);
  }
  const array last = k == 0 || k == size ? x : partition(x, static_cast<int>(size - k), at);
  return slice_axis(last, at, size - k, size);
}

array searchsorted(const array& sorted, const array& values, const std::string& side) {
  if (side != "left" && side != "right") {
    fail(ErrorCode::InvalidArgument,
         "[searchsorted] The side is \"left\" or \"right\", not \"{}\".", side);
  }
  if (sorted.ndim() != 1) {
    fail(ErrorCode::InvalidArgument, "[searchsorted] A sorted vector is needed, not {}.",
         to_string(sorted.shape()));
  }
  const Dtype dtype = promote_types(sorted.dtype(), values.dtype());
  const array row = astype(sorted, dtype), wanted = astype(values, dtype);
  refuse_complex("searchsorted", row);
  const array keys[] = {row, wanted};
  return make(side == "right" ? shared_primitive<SearchSorted, true>()
                              : shared_primitive<SearchSorted, false>(),
              uint32, values.shape(), std::span<const array>(keys));
}

}  // namespace pippin::mx
