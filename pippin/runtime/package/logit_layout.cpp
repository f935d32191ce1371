#include "pippin/runtime/package/logit_layout.h"

#include <algorithm>

namespace pippin::runtime {

LogitLayout logit_layout(std::span<const int64_t> shape, int64_t query) {
  LogitLayout result;
  int64_t before = 1;  // all axes but the last
  for (const int64_t size : shape.first(shape.empty() ? 0 : shape.size() - 1)) before *= size;
  const int64_t last = shape.empty() ? 1 : shape.back();
  // A vector is one row, on whichever axis it is.
  const auto ones = std::count(shape.begin(), shape.end(), 1);
  if (ones + 1 >= std::ssize(shape)) return {1, before * last, 0, 1};
  result.rows = before;
  result.width = last;
  result.row_step = last;
  const auto first =
      *std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size != 1; });
  // Two axes, where only the last has the size of the query.
  if (ones + 2 == std::ssize(shape) && last == query && first != query) {
    result = {query, before, 1, query};
  }
  return result;
}

}  // namespace pippin::runtime
