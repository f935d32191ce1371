// Attention, emulated, against the CPU's scalar kernels.
#include <algorithm>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/node_testing.h"

namespace pippin::cuda {
namespace {

using engine::AttentionNode;
using engine::Storage;

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t batch, heads, kv_heads, rows, keys, head_dim, value_dim;
};

struct Problem {
  Problem(const Sizes& s, Storage cache, uint32_t seed) : sizes(s), make(seed) {
    q = TestArrays::transposed(make.floats({s.batch, s.rows, s.heads, s.head_dim}, 4),
                               {0, 2, 1, 3});
    k = store({s.batch, s.kv_heads, s.keys, s.head_dim}, cache);
    v = store({s.batch, s.kv_heads, s.keys, s.value_dim}, cache);
    out = TestArrays::transposed(make.result({s.batch, s.rows, s.heads, s.value_dim}, 3),
                                 {0, 2, 1, 3});
    node.over_root = true;
  }

  TestArray store(const std::vector<int64_t>& shape, Storage cache, int64_t gap = 8) {
    return cache == Storage::F32 ? make.floats(shape, gap) : make.halves(shape, cache, gap);
  }
  // Row r sees the keys up to keys - rows + r - empty, and of those the last `window`.
  void mask_causally(int64_t empty = 0, int64_t window = 1 << 30) {
    mask_by([&](int64_t, int64_t row, int64_t key) {
      const int64_t last = sizes.keys - sizes.rows + row - empty;
      return key > last || key <= last - window ? kExcluded : 0.0F;
    });
  }
  // The same for all batches; for all heads, too, unless `by_head`.
  template <typename Rule>
  void mask_by(const Rule& rule, bool by_head = false) {
    node.is_masked = true;
    const int64_t heads = by_head ? sizes.heads : 1;
    mask = make.floats({1, heads, sizes.rows, sizes.keys}, 2);
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t row = 0; row < sizes.rows; ++row) {
        for (int64_t key = 0; key < sizes.keys; ++key) {
          put(mask, head * mask.strides[1] + row * mask.strides[2] + key, rule(head, row, key));
        }
      }
    }
    mask = TestArrays::broadcast(mask, {sizes.batch, sizes.heads, sizes.rows, sizes.keys});
  }
  void add_sinks(const std::vector<float>& kinds) {
    node.has_sinks = true;
    sinks = make.floats({sizes.heads});
    for (int64_t i = 0; i < sizes.heads; ++i) {
      put(sinks, i, kinds[static_cast<size_t>(i) % kinds.size()]);
    }
  }
  static void put(TestArray& array, int64_t place, float x) {
    std::memcpy(array.memory.data() + place * 4, &x, 4);
  }
  void check(const NodeCheck& options = {}) const {
    std::vector<TestArray> arrays = {out, q, k, v};
    if (node.is_masked) arrays.push_back(mask);
    if (node.has_sinks) arrays.push_back(sinks);
    expect_as_cpu(node, arrays, 1, options);
  }

  Sizes sizes;
  TestArrays make;
  AttentionNode node;
  TestArray q, k, v, out, mask, sinks;
};

constexpr Storage kCaches[] = {Storage::F32, Storage::F16, Storage::BF16};
constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},     {1, 2, 2, 1, 3, 8, 8},    {2, 4, 2, 1, 17, 16, 16},
    {1, 3, 1, 5, 33, 20, 12},  {2, 2, 1, 2, 64, 24, 40}, {1, 2, 1, 1, 300, 64, 64},
    {1, 2, 1, 3, 270, 5, 131},
};

TEST(CudaAttention, OddSizes) {
  uint32_t seed = 1;
  for (const Sizes& sizes : kSizes) {
    for (const Storage cache : kCaches) {
      SCOPED_TRACE(testing::Message() << "case " << seed);
      Problem problem(sizes, cache, seed++);
      problem.check();
      if (sizes.keys < sizes.rows) continue;
      problem.mask_causally();
      problem.check();
    }
  }
}

TEST(CudaAttention, MasksOfAllKinds) {
  const Sizes sizes = {2, 4, 2, 2, 530, 8, 8};
  Problem problem(sizes, Storage::F16, 5);
  problem.mask_causally(300, 20);  // chunks that no row sees
  problem.check();
  problem.mask_by(
      [](int64_t head, int64_t row, int64_t key) {
        return (head * 7 + row * 5 + key * 3) % 4 == 0 ? kExcluded : static_cast<float>(key % 3);
      },
      true);
  problem.check();
  problem.mask_by([](int64_t, int64_t row, int64_t key) {  // a row that sees nothing
    return row == 0 ? kExcluded : key == 299 ? 1e30F : -1e4F;
  });
  problem.check();
  problem.add_sinks({0.5F, kExcluded, 90.0F, -90.0F});
  problem.check();
  for (const float x : {NAN, -kExcluded}) {
    problem.mask_by([&](int64_t, int64_t row, int64_t key) {
      return key == 277 && row == 1 ? x : key > 290 ? kExcluded : 0.0F;
    });
    problem.check();
  }
}

TEST(CudaAttention, SinksAndSoftCaps) {
  Problem problem({1, 6, 2, 2, 40, 12, 20}, Storage::BF16, 6);
  problem.add_sinks({0.5F, -1.0F, 3.0F, 90.0F, -90.0F, kExcluded});
  problem.check();
  problem.node.softcap = 2.5;
  problem.node.scale = 3;
  problem.node.over_root = false;
  problem.mask_causally();
  problem.check();
}

// Caches with an element's keys side by side, masks by key.
TEST(CudaAttention, OtherOrdersOfAxes) {
  for (const Storage cache : kCaches) {
    Problem problem({1, 2, 1, 3, 280, 17, 33}, cache, 7);
    const auto turned = [&](int64_t columns) {
      return TestArrays::transposed(problem.store({1, 1, columns, 280}, cache, 1), {0, 1, 3, 2});
    };
    problem.k = turned(17);
    problem.check();
    problem.v = turned(33);
    problem.q = TestArrays::transposed(problem.make.floats({1, 2, 17, 3}, 1), {0, 1, 3, 2});
    problem.out = TestArrays::transposed(problem.make.result({1, 2, 33, 3}, 1), {0, 1, 3, 2});
    problem.node.is_masked = true;
    problem.mask = TestArrays::broadcast(
        TestArrays::transposed(problem.make.floats({1, 1, 280, 3}, 1), {0, 1, 3, 2}),
        {1, 2, 3, 280});
    problem.check();
  }
}

// Keys in several parts, groups of all sizes.
TEST(CudaAttention, PartsOfKeys) {
  uint32_t seed = 20;
  for (const Sizes& sizes : {Sizes{1, 2, 2, 1, 129, 8, 16}, Sizes{1, 3, 1, 1, 260, 64, 64},
                             Sizes{2, 7, 1, 1, 128, 80, 96}, Sizes{1, 4, 2, 5, 140, 128, 128},
                             Sizes{1, 2, 1, 1, 150, 256, 192}}) {
    for (const Storage cache : kCaches) {
      SCOPED_TRACE(testing::Message() << "case " << seed);
      Problem problem(sizes, cache, seed++);
      problem.mask_causally();
      problem.check();
      problem.add_sinks({0.5F, kExcluded, 9.0F});
      problem.mask_causally(100, 20);  // a part that no row sees
      problem.check();
    }
  }
}

// A few rows have the bits of each alone, before the later keys exist.
TEST(CudaAttention, RowsHaveTheBitsOfEachAlone) {
  for (const int64_t heads : {1, 3}) {
    Problem problem({1, heads, 1, 3, 130, 16, 24}, Storage::F16, 30);
    problem.mask_causally();
    problem.add_sinks({0.7F});
    const std::vector<TestArray> arrays = {problem.out, problem.q,    problem.k,
                                           problem.v,   problem.mask, problem.sinks};
    const TestArray together = run_emulated(problem.node, arrays).front();
    for (int64_t row = 0; row < 3; ++row) {
      std::vector<TestArray> alone = arrays;
      for (const size_t i : {0, 1, 4}) {
        alone[i].shape[2] = 1;
        alone[i].offset += row * alone[i].strides[2];
      }
      for (const size_t i : {2, 3}) alone[i].shape[2] = 128 + row;
      alone[4].shape[3] = 128 + row;
      const TestArray result = run_emulated(problem.node, alone).front();
      for (int64_t head = 0; head < heads; ++head) {
        for (int64_t i = 0; i < 24; ++i) {
          ASSERT_EQ(result.number(head * 24 + i), together.number((head * 3 + row) * 24 + i))
              << "row " << row << " of head " << head;
        }
      }
    }
  }
}

TEST(CudaAttention, WhatNoRowSeesIsNotUsed) {
  for (const int64_t rows : {1, 3, 20}) {
    for (const int64_t dims : {8, 9}) {
      Problem problem({1, 2, 1, rows, 140, dims, dims}, Storage::F16, 40);
      const auto is_hidden = [](int64_t key) { return key % 5 == 1 || key > 132; };
      problem.mask_by(
          [&](int64_t, int64_t, int64_t key) { return is_hidden(key) ? kExcluded : 0.0F; });
      for (TestArray* cache : {&problem.k, &problem.v}) {
        for (int64_t key = 0; key < 140; ++key) {
          const size_t row = static_cast<size_t>(cache->strides[2]) * 2;
          if (is_hidden(key)) {
            std::memset(cache->memory.data() + static_cast<size_t>(key) * row, 0xFF, row);
          }
        }
      }
      problem.check();
    }
  }
}

// Tensor cores: weights and queries are sums of two halves each.
TEST(CudaAttention, TilesOfRows) {
  uint32_t seed = 50;
  for (const Sizes& sizes : {Sizes{1, 1, 1, 17, 17, 8, 8}, Sizes{2, 1, 1, 20, 130, 24, 40},
                             Sizes{1, 2, 2, 66, 20, 16, 136}}) {
    for (const Storage cache : {Storage::F16, Storage::BF16}) {
      SCOPED_TRACE(testing::Message() << "case " << seed);
      NodeCheck options;
      options.precision = engine::Precision::Fast;
      options.tolerance = cache == Storage::F16 ? 2e-6F : 3e-5F;
      Problem problem(sizes, cache, seed++);
      problem.check(options);
      problem.mask_causally(0, 30);
      problem.check(options);
      options.limits.shared_bytes = 99 << 10;
      problem.mask_by(
          [](int64_t head, int64_t row, int64_t key) {
            return (head * 7 + row * 5 + key * 3) % 4 == 0 ? kExcluded
                                                           : static_cast<float>(key % 3);
          },
          true);
      problem.add_sinks({0.5F, kExcluded, 9.0F});
      problem.node.softcap = 5;
      problem.check(options);
    }
  }
}

TEST(CudaAttention, NothingToCompute) {
  for (const Sizes& sizes : {Sizes{1, 2, 1, 0, 4, 8, 8}, Sizes{0, 2, 1, 3, 4, 8, 8},
                             Sizes{1, 2, 1, 3, 4, 8, 0}, Sizes{1, 2, 1, 3, 0, 8, 8}}) {
    Problem(sizes, Storage::F16, 8).check();
  }
  Problem problem({1, 2, 1, 3, 0, 8, 8}, Storage::F16, 9);
  problem.add_sinks({1.0F});
  problem.check();
}

}  // namespace
}  // namespace pippin::cuda
