#include "pippin/mx/core/slice_bounds.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"

namespace pippin::mx {

void check_dynamic(std::string_view op, const Shape& shape, const array& start,
                   const std::vector<int>& axes, const Shape& slice_size) {
  if (start.size() != static_cast<int64_t>(axes.size()) || start.ndim() > 1) {
    fail(ErrorCode::InvalidArgument, "[{}] {} axes, and starts of shape {}.", op, axes.size(),
         to_string(start.shape()));
  }
  if (!is_integer(start.dtype())) {
    fail(ErrorCode::InvalidArgument, "[{}] Starts are integers, not {}.", op,
         to_string(start.dtype()));
  }
  normal_axes(op, axes, shape.size());
  bool fits = slice_size.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = slice_size[i] >= 0 && slice_size[i] <= shape[i];
  }
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "[{}] A slice of shape {} does not fit into {}.", op,
         to_string(slice_size), to_string(shape));
  }
}

int64_t dynamic_offset(const Node& x, const Node& start, const std::vector<int>& axes,
                       const Shape& slice_size) {
  std::vector<int64_t> starts(axes.size());
  copy_to(start, reinterpret_cast<std::byte*>(starts.data()), int64);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    int64_t first = starts[i] < 0 ? starts[i] + x.shape[axis] : starts[i];
    first = std::clamp(first, int64_t{0}, x.shape[axis] - slice_size[axis]);
    offset += first * x.strides[axis];
  }
  return offset;
}

}  // namespace pippin::mx
