// Sorted rows, emulated, against the CPU's.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::Storage;

TestArray with_specials(TestArray x) {
  constexpr float kNumbers[] = {NAN, -0.0F, 0.0F, INFINITY, -INFINITY, 1.0F, 1.0F};
  for (size_t i = 0; i < x.memory.size() / 4; i += 3) {
    std::memcpy(x.memory.data() + 4 * i, &kNumbers[i / 3 % 7], 4);
  }
  return x;
}

void check_sort(int64_t rows, int64_t n, int64_t k, bool ascending) {
  SCOPED_TRACE(n);
  SCOPED_TRACE(k);
  TestArrays make(1);
  const engine::SortNode node{"sort", ascending};
  const auto places = [&] { return make.result({rows, k}, 0, Storage::I32); };
  expect_as_cpu(node,
                {places(), make.result({rows, k}, 2), with_specials(make.floats({rows, n}, 3))}, 2);
  expect_as_cpu(
      node, {places(), make.result({rows, k}, 1, Storage::I32), make.integers({rows, n}, -5, 6)},
      2);
  expect_as_cpu(node, {places(), make.floats({rows, n})}, 1);
}

TEST(CudaSorting, Rows) {
  for (const bool ascending : {false, true}) {
    for (const auto& [n, k] : {std::pair{1, 1}, {7, 3}, {64, 64}, {100, 8}, {65, 65}}) {
      check_sort(3, n, k, ascending);
    }
  }
  check_sort(2, 5, 0, true);
  check_sort(0, 5, 2, true);
}

TEST(CudaSorting, LongRowsInChunks) {
  TestArrays make(2);
  for (const auto& [n, k] : {std::pair{5000, 10}, {9000, 6000}}) {
    expect_as_cpu(engine::SortNode{"sort", n == 9000},
                  {make.result({1, k}, 0, Storage::I32), make.result({1, k}),
                   with_specials(make.floats({1, n}))},
                  2);
  }
}

}  // namespace
}  // namespace pippin::cuda
