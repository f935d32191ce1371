#include "pippin/mx/ops/indices.h"

#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx {

std::vector<int64_t> read_indices(std::string_view op, const Node& indices, int64_t size) {
  std::vector<int64_t> result(static_cast<size_t>(indices.size));
  copy_to(indices, reinterpret_cast<std::byte*>(result.data()), int64);
  for (int64_t& index : result) {
    if (index < -size || index >= size) {
      fail(ErrorCode::InvalidArgument, "[{}] Index {} is out of bounds for an axis of size {}.", op,
           index, size);
    }
    if (index < 0) index += size;
  }
  return result;
}

void check_index_type(std::string_view op, const array& indices) {
  if (is_integer(indices.dtype())) return;
  fail(ErrorCode::InvalidArgument, "[{}] Indices are integers, not {}.", op,
       to_string(indices.dtype()));
}

array every_matrix(const array& x) {
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  return reshape(arange(0, static_cast<double>(num_elements(batch)), 1, int64), batch);
}

}  // namespace pippin::mx
