// Indexing. Negative indices count from the end; an index out of range is InvalidArgument when the
// array is evaluated, with the operation, the index and the size.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Without an axis, indexes the flattened array.
PIPPIN_API array take(const array& a, const array& indices, std::optional<int> axis = std::nullopt);
PIPPIN_API array take(const array& a, int64_t index, int axis);
PIPPIN_API array take_along_axis(const array& a, const array& indices, std::optional<int> axis);
PIPPIN_API array put_along_axis(const array& a, const array& indices, const array& values,
                                std::optional<int> axis);

// For each position of the indices, which broadcast together, the slice of `slice_sizes` that
// begins at indices[i] along axes[i]. The shape is that of the indices, then that of the slices.
PIPPIN_API array gather(const array& a, const std::vector<array>& indices,
                        const std::vector<int>& axes, const Shape& slice_sizes);

// The way updates are combined with existing elements.
enum class UpdateMode : uint8_t { None, Add, Multiply, Maximum, Minimum };

// The reverse of gather: a with updates written at the positions. `updates` has the shape of the
// indices, then that of the slices (a's rank). With UpdateMode::None the last of several updates
// wins.
PIPPIN_API array scatter(const array& a, const std::vector<array>& indices, const array& updates,
                         const std::vector<int>& axes, UpdateMode mode = UpdateMode::None);
PIPPIN_API array scatter_add_axis(const array& a, const array& indices, const array& values,
                                  int axis);

// a with the slice replaced or updated; in place if nothing else needs a.
PIPPIN_API array slice_update(const array& a, const array& update, Shape start, Shape stop,
                              Shape strides, UpdateMode mode = UpdateMode::None);
PIPPIN_API array slice_update(const array& a, const array& update, const Shape& start,
                              const Shape& stop);
inline array slice_update(const array& a, const array& update, std::initializer_list<int64_t> start,
                          const Shape& stop) {
  return slice_update(a, update, Shape(start), stop);
}
// With computed starts, clamped to fit.
PIPPIN_API array slice_update(const array& a, const array& update, const array& start,
                              const std::vector<int>& axes);
// a with the elements where `mask` is true replaced by `values`, in order; a single number replaces
// all.
PIPPIN_API array masked_scatter(const array& a, const array& mask, const array& values);

}  // namespace pippin::mx
