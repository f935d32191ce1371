// Indexing: elements and slices at computed positions, and updates of them.
//
// Indices are integers of any type, and negative ones count from the end; other types throw
// InvalidArgument. An index out of range throws InvalidArgument when the array is evaluated, with
// the operation, the index and the size.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns the elements of `a` at these indices of an axis, which is replaced by the axes of
// `indices`: a.shape[:axis] + indices.shape + a.shape[axis + 1:]. Without an axis, indexes the
// flattened array. Throws InvalidArgument for an axis without elements.
PIPPIN_API array take(const array& a, const array& indices, std::optional<int> axis = std::nullopt);
// Returns the elements at one index of an axis, without that axis. Throws InvalidArgument, at once,
// for an index out of range.
PIPPIN_API array take(const array& a, int64_t index, int axis);
// Returns a[..., indices[..., i], ...]: along the axis, the elements at the indices in the same
// place. `indices` has a's rank; the other axes broadcast. Without an axis, both are flattened.
// Throws InvalidArgument for shapes that do not fit.
PIPPIN_API array take_along_axis(const array& a, const array& indices, std::optional<int> axis);
// Returns `a` with the elements that take_along_axis() would return replaced by `values`, which are
// broadcast to the shape of the indices and converted to a's type. Throws InvalidArgument for
// shapes that do not fit.
PIPPIN_API array put_along_axis(const array& a, const array& indices, const array& values,
                                std::optional<int> axis);

// Returns slices of `a`, of shape `slice_sizes`: for each position of the indices, which broadcast
// together, the one that begins at indices[i] along axes[i] and at 0 along other axes. The shape is
// that of the indices, then `slice_sizes`. Throws InvalidArgument for sizes that do not fit, also,
// during evaluation, for slices beyond the end.
PIPPIN_API array gather(const array& a, const std::vector<array>& indices,
                        const std::vector<int>& axes, const Shape& slice_sizes);

// The way updates are combined with existing elements.
enum class UpdateMode : uint8_t { None, Add, Multiply, Maximum, Minimum };

// Returns `a` with updates written to, or combined with, the slices that gather() would return.
// `updates` has the shape of the indices, then that of the slices, and is converted to a's type.
// With UpdateMode::None the last of several updates of an element wins. Throws InvalidArgument for
// shapes that do not fit.
PIPPIN_API array scatter(const array& a, const std::vector<array>& indices, const array& updates,
                         const std::vector<int>& axes, UpdateMode mode = UpdateMode::None);
// Returns `a` with `values` added to the elements that take_along_axis() would return; several
// values for one element are all added. Throws InvalidArgument for shapes that do not fit.
PIPPIN_API array scatter_add_axis(const array& a, const array& indices, const array& values,
                                  int axis);

// Returns `a` with a slice (shape_ops.h) replaced by `update`, or combined with it, in place if
// nothing else needs `a`. `update` is broadcast to the slice and converted to a's type. Throws
// InvalidArgument if it does not fit.
PIPPIN_API array slice_update(const array& a, const array& update, Shape start, Shape stop,
                              Shape strides, UpdateMode mode = UpdateMode::None);
PIPPIN_API array slice_update(const array& a, const array& update, const Shape& start,
                              const Shape& stop);
inline array slice_update(const array& a, const array& update, std::initializer_list<int64_t> start,
                          const Shape& stop) {
  return slice_update(a, update, Shape(start), stop);
}
// Returns `a` with a slice of the size of `update` replaced: start[i] along axes[i], clamped so
// that it fits, and 0 along other axes. Throws InvalidArgument if `update` is larger than `a`.
PIPPIN_API array slice_update(const array& a, const array& update, const array& start,
                              const std::vector<int>& axes);
// Returns `a` with the elements where `mask` is true replaced by `values`, in order; a single
// value, or one with the shape of the remaining axes, replaces all. `mask` is of bools and has a's
// shape or the beginning of it. Throws InvalidArgument for shapes that do not fit, also, during
// evaluation, for fewer values than elements.
PIPPIN_API array masked_scatter(const array& a, const array& mask, const array& values);

}  // namespace pippin::mx
