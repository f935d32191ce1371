#include "pippin/engine/nodes/view.h"

#include <cassert>
#include <numeric>

namespace pippin::engine {

using mil::Dim;
using mil::Shape;

int64_t element_size(Storage storage) {
  switch (storage) {
    case Storage::F16:
    case Storage::BF16:
      return 2;
    case Storage::Bool:
    case Storage::I8:
      return 1;
    default:
      return 4;
  }
}

bool is_float(Storage storage) {
  return storage == Storage::F32 || storage == Storage::F16 || storage == Storage::BF16;
}

std::string to_string(Storage storage) {
  switch (storage) {
    case Storage::F32:
      return "f32";
    case Storage::F16:
      return "f16";
    case Storage::BF16:
      return "bf16";
    case Storage::I32:
      return "i32";
    case Storage::Bool:
      return "bool";
    case Storage::I8:
      return "i8";
  }
  return {};
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

bool is_contiguous(const View& view) {
  Dim expected = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == Dim(1)) continue;
    if (!(view.strides[i] == expected)) return false;
    expected = expected * view.shape[i];
  }
  return true;
}

bool same_elements(const View& a, const View& b) {
  if (a.buffer != b.buffer || a.state_version != b.state_version || a.storage != b.storage ||
      a.shape != b.shape || !(a.offset == b.offset)) {
    return false;
  }
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (!(a.shape[i] == Dim(1)) && !(a.strides[i] == b.strides[i])) return false;
  }
  return true;
}

std::vector<int64_t> memory_order(const View& view) {
  std::vector<int64_t> own(view.shape.size()), ones, order;
  std::iota(own.begin(), own.end(), 0);
  for (const int64_t i : own) {
    const auto axis = static_cast<size_t>(i);
    if (view.shape[axis] == Dim(1)) {
      ones.push_back(i);
      continue;
    }
    const Dim& stride = view.strides[axis];
    if (stride.lower() < 1) return own;
    auto place = order.begin();
    for (; place != order.end(); ++place) {
      const Dim wider = stride - view.strides[static_cast<size_t>(*place)];
      if (wider.lower() >= 0) break;
      if (wider.upper() > 0) return own;
    }
    order.insert(place, i);
  }
  ones.insert(ones.end(), order.begin(), order.end());
  return ones;
}

namespace {

// Whether a product is a multiple of another one, which intervals do not always tell.
bool is_multiple(const Dim& product, const Dim& factor) {
  if (factor.lower() < 1) return false;
  const Dim quotient = floor_div(product, factor);
  return quotient.lower() >= 1 && quotient * factor == product;
}

}  // namespace

std::optional<View> reshape_view(const View& view, const Shape& shape) {
  View result = view;
  result.shape = shape;
  if (is_contiguous(view)) {
    result.strides = contiguous_strides(shape);
    return result;
  }
  // Matches runs of old dimensions with runs of new ones of the same product; a run of old
  // dimensions must be one dimension in memory.
  result.strides.assign(shape.size(), Dim(0));
  size_t i = 0, j = 0;
  const size_t old_rank = view.shape.size(), new_rank = shape.size();
  while (i < old_rank || j < new_rank) {
    const size_t old_begin = i, new_begin = j;
    Dim old_product = i < old_rank ? view.shape[i++] : Dim(1);
    Dim new_product = j < new_rank ? shape[j++] : Dim(1);
    while (!(old_product == new_product)) {
      // If one product is never larger than the other, it needs another dimension.
      const Dim difference = old_product - new_product;
      const bool old_is_less = difference.upper() <= 0 || is_multiple(new_product, old_product);
      const bool new_is_less = difference.lower() >= 0 || is_multiple(old_product, new_product);
      if (old_is_less && i < old_rank) {
        old_product = old_product * view.shape[i++];
      } else if (new_is_less && j < new_rank) {
        new_product = new_product * shape[j++];
      } else {
        return std::nullopt;
      }
    }
    // Trailing ones belong to this run: they take no memory.
    while (i < old_rank && view.shape[i] == Dim(1)) ++i;
    while (j < new_rank && shape[j] == Dim(1)) ++j;
    std::optional<Dim> stride;  // of the innermost dimension that is not 1
    Dim expected = 0;
    for (size_t k = i; k-- > old_begin;) {
      if (view.shape[k] == Dim(1)) continue;
      if (!stride) {
        stride = view.strides[k];
      } else if (!(view.strides[k] == expected)) {
        return std::nullopt;
      }
      expected = view.strides[k] * view.shape[k];
    }
    Dim next = stride.value_or(Dim(1));
    for (size_t k = j; k-- > new_begin;) {
      result.strides[k] = next;
      next = next * shape[k];
    }
  }
  return result;
}

View transpose_view(const View& view, const std::vector<int64_t>& perm) {
  View result = view;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto source = static_cast<size_t>(perm[i]);
    result.shape[i] = view.shape[source];
    result.strides[i] = view.strides[source];
  }
  return result;
}

std::vector<View> in_memory_order(std::vector<View> views) {
  const std::vector<int64_t> order = memory_order(views.front());
  for (View& view : views) view = transpose_view(view, order);
  return views;
}

View broadcast_view(const View& view, const Shape& shape) {
  assert(shape.size() >= view.shape.size());
  View result = view;
  result.shape = shape;
  result.strides.assign(shape.size(), Dim(0));
  const size_t shift = shape.size() - view.shape.size();
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (!(view.shape[i] == Dim(1)) || shape[i + shift] == Dim(1)) {
      result.strides[i + shift] = view.strides[i];
    }
  }
  return result;
}

std::optional<View> matrix_view(const View& view, int64_t column_axes) {
  const size_t split = view.shape.size() - static_cast<size_t>(column_axes);
  const Shape rows(view.shape.begin(), view.shape.begin() + static_cast<std::ptrdiff_t>(split));
  const Shape columns(view.shape.begin() + static_cast<std::ptrdiff_t>(split), view.shape.end());
  // Reshapes the two halves separately, so that a stride between rows is kept.
  View outer = view, inner = view;
  outer.shape = rows;
  outer.strides.resize(split);
  inner.shape = columns;
  inner.strides.assign(view.strides.begin() + static_cast<std::ptrdiff_t>(split),
                       view.strides.end());
  const auto merged_rows = reshape_view(outer, {mil::num_elements(rows)});
  const auto merged_columns = reshape_view(inner, {mil::num_elements(columns)});
  if (!merged_rows || !merged_columns) return std::nullopt;
  const bool one_column = merged_columns->shape[0] == Dim(1);
  if (!one_column && !(merged_columns->strides[0] == Dim(1))) return std::nullopt;
  View result = view;
  result.shape = {merged_rows->shape[0], merged_columns->shape[0]};
  result.strides = {merged_rows->strides[0], Dim(1)};
  return result;
}

}  // namespace pippin::engine
