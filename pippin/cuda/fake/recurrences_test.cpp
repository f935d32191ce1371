// Recurrences, emulated, against the CPU's scalar kernels.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::Storage;
using Shape = std::vector<int64_t>;

TestArray state_of(TestArrays& make, Storage storage, Shape shape, int64_t gap) {
  return storage == Storage::F32 ? make.floats(std::move(shape), gap)
                                 : make.halves(std::move(shape), storage, gap);
}

// |x| or -|x|, so that states decay.
TestArray with_sign(TestArray x, float sign) {
  for (size_t i = 0; i < x.memory.size(); i += 4) {
    float number;
    std::memcpy(&number, x.memory.data() + i, 4);
    number = std::copysign(number * 0.3F, sign);
    std::memcpy(x.memory.data() + i, &number, 4);
  }
  return x;
}

// States in fp16 may be rounded to a neighbour.
NodeCheck check_for(Storage storage) {
  NodeCheck check;
  check.tolerance = storage == Storage::F32 ? 1e-5F : 1e-3F;
  return check;
}

constexpr Storage kStates[] = {Storage::F32, Storage::F16};
constexpr int64_t kTokens[] = {1, 3, 9};

TEST(CudaRecurrences, Selective) {
  TestArrays make(1);
  for (const Storage storage : kStates) {
    for (const int64_t tokens : kTokens) {
      for (const auto& [features, n] : {std::pair{5, 16}, {3, 4}, {2, 100}, {1, 256}, {9, 33}}) {
        expect_as_cpu(
            engine::SelectiveNode{},
            {make.result({tokens, features}, 1), state_of(make, storage, {features, n}, 2),
             with_sign(make.floats({tokens, features}, 3), 1), make.floats({tokens, features}),
             with_sign(make.floats({features, n}, 1), -1), make.floats({tokens, n}, 4),
             make.floats({tokens, n})},
            2, check_for(storage));
      }
    }
  }
}

TEST(CudaRecurrences, Linear) {
  TestArrays make(2);
  for (const Storage storage : kStates) {
    for (const int64_t tokens : kTokens) {
      for (const int64_t n : {1, 7, 300}) {
        expect_as_cpu(engine::LinearRecurrenceNode{},
                      {make.result({tokens, n}, 1), state_of(make, storage, {n}, 0),
                       with_sign(make.floats({tokens, n}, 3), 1), make.floats({tokens, n}, 2)},
                      2, check_for(storage));
      }
    }
  }
}

TEST(CudaRecurrences, Decayed) {
  TestArrays make(3);
  constexpr int64_t kGroups = 2, kHeads = 3;
  for (const Storage storage : kStates) {
    for (const int64_t tokens : kTokens) {
      for (const auto& [p, n] : {std::pair{4, 8}, {2, 64}, {1, 129}}) {
        for (int parts = 0; parts < 8; ++parts) {
          if (tokens == 3 && parts % 4 != 3) continue;
          const engine::DecayedNode node{(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0};
          const Shape numbers = {kGroups, kHeads, tokens};
          // As projections give them: tokens before heads.
          const auto rows = [&, p = p](bool is_result) {
            const Shape shape = {kGroups, tokens, kHeads, p};
            return TestArrays::transposed(is_result ? make.result(shape) : make.floats(shape),
                                          {0, 2, 1, 3});
          };
          std::vector<TestArray> arrays = {
              rows(true),
              state_of(make, storage, {kGroups, kHeads, p, n}, 1),
              with_sign(make.floats(numbers, 1), -1),
              rows(false),
              make.floats({kGroups, tokens, n}, 2, 0.2F),
              make.floats({kGroups, tokens, n}),
          };
          if (node.has_rates) arrays.push_back(with_sign(make.floats(numbers), 1));
          if (node.has_scales) arrays.push_back(make.floats(numbers));
          if (node.has_skip) arrays.push_back(make.floats({kGroups, kHeads}));
          expect_as_cpu(node, arrays, 2, check_for(storage));
        }
      }
    }
  }
}

TEST(CudaRecurrences, CausalConvolution) {
  TestArrays make(4);
  for (const Storage storage : kStates) {
    for (const int64_t tokens : {1, 2, 5, 9, 32, 33, 70}) {
      for (const int64_t taps : {1, 3, 4, 8}) {
        for (const bool has_silu : {false, true}) {
          const int64_t features = 35;
          std::vector<TestArray> arrays = {
              make.result({tokens, features}, 1), state_of(make, storage, {taps - 1, features}, 3),
              make.floats({tokens, features}, 2), make.floats({taps, features}, 1)};
          if (has_silu) arrays.push_back(make.floats({features}));
          expect_as_cpu(engine::CausalConvolutionNode{has_silu}, arrays, 2, check_for(storage));
        }
      }
    }
  }
}

}  // namespace
}  // namespace pippin::cuda
