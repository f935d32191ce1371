// Reductions, emulated, against the CPU's scalar kernels.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::Storage;
using kernels::ReduceOp;

struct RowLayout {
  int64_t rows, columns, gap;
};
constexpr RowLayout kRowLayouts[] = {{1, 1, 0},   {3, 7, 2},    {5, 32, 0}, {2, 512, 4},
                                     {1, 513, 0}, {2, 1500, 8}, {2, 0, 0}};
constexpr float kOdd[] = {NAN, INFINITY, -INFINITY, 0.0F, -0.0F};

void put(TestArray& array, int64_t element, float number) {
  std::memcpy(array.memory.data() + 4 * element, &number, 4);
}

TEST(CudaReductions, Floats) {
  TestArrays make(1);
  for (int op = 0; op < kernels::kNumReduceOps; ++op) {
    SCOPED_TRACE(op);
    const engine::ReduceNode node{"reduce", static_cast<ReduceOp>(op)};
    for (const auto& [rows, columns, gap] : kRowLayouts) {
      expect_as_cpu(node, {make.result({rows, 1}), make.floats({rows, columns}, gap)});
    }
    for (const float odd : kOdd) {
      for (const float other : kOdd) {
        TestArray x = make.floats({1, 3});
        put(x, 1, odd);
        put(x, 2, other);
        expect_as_cpu(node, {make.result({1, 1}), x});
      }
    }
  }
}

TEST(CudaReductions, Folds) {
  TestArrays make(2);
  for (const char* name : {"reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_prod"}) {
    SCOPED_TRACE(name);
    for (const auto& [rows, columns, gap] : kRowLayouts) {
      expect_as_cpu(engine::FoldNode{name},
                    {make.result({rows, 1}), make.floats({rows, columns}, gap)});
    }
  }
  for (const char* name :
       {"reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_prod", "reduce_sum",
        "reduce_sum_square", "reduce_max", "reduce_min", "reduce_mean", "reduce_log_sum_exp"}) {
    SCOPED_TRACE(name);
    for (const auto type : {mil::DataType::Int32, mil::DataType::UInt16}) {
      for (const auto& [rows, columns, gap] : kRowLayouts) {
        const int32_t high = columns > 100 ? 3 : 30;
        expect_as_cpu(engine::FoldNode{name, type},
                      {make.result({rows, 1}, 0, Storage::I32),
                       make.integers({rows, columns}, -high + 1, high, gap)});
      }
    }
  }
}

TEST(CudaReductions, Positions) {
  TestArrays make(3);
  for (const auto op : {ReduceOp::Max, ReduceOp::Min}) {
    const engine::ArgNode node{"arg", op};
    for (const auto& [rows, columns, gap] : kRowLayouts) {
      if (columns == 0) continue;
      expect_as_cpu(node,
                    {make.result({rows, 1}, 0, Storage::I32), make.floats({rows, columns}, gap)});
      expect_as_cpu(node, {make.result({rows, 1}, 0, Storage::I32),
                           make.integers({rows, columns}, -9, 9, gap)});
    }
    for (const float odd : kOdd) {
      for (const float other : kOdd) {
        for (const int64_t columns : {4, 600}) {
          TestArray x = make.floats({3, columns});
          for (int64_t row = 0; row < 3; ++row) {
            put(x, row * columns + row, odd);
            put(x, row * columns + columns - 1, other);
          }
          for (int64_t i = 0; i < columns; ++i) put(x, i, i % 2 != 0 ? odd : other);
          expect_as_cpu(node, {make.result({3, 1}, 0, Storage::I32), x});
        }
      }
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
