#include "pippin/engine/nodes/view.h"

#include <random>

#include <gtest/gtest.h>

#include "pippin/engine/planning/memory_plan.h"

namespace pippin::engine {
namespace {

using mil::Dim;

View dense(const mil::Shape& shape) {
  View view;
  view.buffer = 0;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  return view;
}

TEST(View, ReshapesWithSymbols) {
  const Dim q = Dim::symbol("q", 1, 64);
  const View x = dense({Dim(1), q, Dim(512)});
  const auto heads = reshape_view(x, {Dim(1), q, Dim(8), Dim(64)});
  ASSERT_TRUE(heads.has_value());
  const View swapped = transpose_view(*heads, {0, 2, 1, 3});  // [1, 8, q, 64]
  EXPECT_FALSE(is_contiguous(swapped));
  EXPECT_FALSE(reshape_view(swapped, {Dim(1), Dim(8) * q, Dim(64)}).has_value());
  const auto split = reshape_view(swapped, {Dim(2), Dim(4), q, Dim(64)});
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->strides[0], Dim(256));
  EXPECT_EQ(split->strides[2], Dim(512));
}

// Intervals alone do not show that one batch never has more rows than all batches.
TEST(View, RowsOfTwoSymbolsAreOneAxis) {
  const Dim batch = Dim::symbol("batch", 1, 64), length = Dim::symbol("length", 1, 32);
  View view;
  view.shape = {batch, length};
  view.strides = {length * Dim(48), Dim(48)};
  const auto rows = reshape_view(view, {batch * length});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->strides[0], Dim(48));
  const auto back = reshape_view(*rows, {batch, length});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->strides[0], length * Dim(48));
  view.strides[0] = length * Dim(64);
  EXPECT_FALSE(reshape_view(view, {batch * length}));
}

TEST(View, MatrixKeepsAStrideBetweenRows) {
  View part = dense({Dim(4), Dim(10), Dim(8)});
  part.shape[1] = Dim(3);  // a slice
  EXPECT_FALSE(matrix_view(part, 1).has_value());
  part.shape[0] = Dim(1);
  const auto rows = matrix_view(part, 1);
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->strides[0], Dim(8));
}

TEST(View, KnowsTheOrderOfItsAxes) {
  using Order = std::vector<int64_t>;
  const Dim q = Dim::symbol("q", 1, 64);
  const View rows = dense({Dim(1), q, Dim(8), Dim(4)});
  EXPECT_EQ(memory_order(rows), (Order{0, 1, 2, 3}));
  const View heads = transpose_view(rows, {0, 2, 1, 3});
  EXPECT_EQ(memory_order(heads), (Order{0, 2, 1, 3}));
  EXPECT_EQ(memory_order(transpose_view(rows, {0, 3, 2, 1})), (Order{0, 3, 2, 1}));
  // Axes that repeat have no order, so all axes keep theirs.
  EXPECT_EQ(memory_order(broadcast_view(dense({Dim(4)}), {Dim(3), Dim(4)})), (Order{0, 1}));
  const auto sorted = in_memory_order({heads, rows});
  EXPECT_TRUE(is_contiguous(sorted[0]));
  EXPECT_EQ(sorted[1].shape[1], Dim(8));
}

TEST(View, TellsTheSameElements) {
  const View x = dense({Dim(1), Dim(6)});
  View other = x;
  other.strides[0] = Dim(77);  // an axis of 1 may have any stride
  EXPECT_TRUE(same_elements(x, other));
  other.offset = Dim(1);
  EXPECT_FALSE(same_elements(x, other));
  other = x;
  other.strides[1] = Dim(2);
  EXPECT_FALSE(same_elements(x, other));
  other = x;
  other.buffer = 1;
  EXPECT_FALSE(same_elements(x, other));
}

TEST(MemoryPlan, LiveSlotsNeverOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaSlot> slots(60);
    for (auto& slot : slots) {
      slot.size = static_cast<int64_t>(random() % 5000);
      slot.first = static_cast<int64_t>(random() % 100);
      slot.last = slot.first + static_cast<int64_t>(random() % 20);
    }
    const int64_t total = plan_memory(slots);
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_LE(slots[i].offset + slots[i].size, total);
      for (size_t j = 0; j < i; ++j) {
        const bool together = slots[i].first <= slots[j].last && slots[j].first <= slots[i].last;
        const bool apart = slots[i].offset + slots[i].size <= slots[j].offset ||
                           slots[j].offset + slots[j].size <= slots[i].offset;
        EXPECT_TRUE(!together || apart);
      }
    }
  }
}

}  // namespace
}  // namespace pippin::engine
