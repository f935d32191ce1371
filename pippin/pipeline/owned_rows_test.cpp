#include "pippin/pipeline/owned_rows.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "pippin/base/error.h"

namespace pippin::pipeline {
namespace {

mil::Feature four_slices() {
  mil::Feature state;
  state.name = "cache";
  state.data_type = mil::DataType::Int32;
  state.shape = {4, 3, 2};
  return state;
}

std::vector<int32_t> values_of(const engine::State& state) {
  const std::vector<std::byte> bytes = state.read("cache");
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

engine::State counted() {
  engine::State state({four_slices()});
  std::vector<int32_t> values(24);
  std::iota(values.begin(), values.end(), 1);
  state.write("cache", std::as_bytes(std::span(values)));
  return state;
}

// Rows 1 and 2 of 3, in 4 groups, of 2 numbers each.
constexpr engine::StateRows kLastTwo = {
    .groups = 4, .rows = 3, .row_bytes = 8, .first = 1, .count = 2};

TEST(OwnedRows, TouchTheSlicesOfTheRank) {
  const std::vector<int> slices = {0, 0, 1, -1};
  const OwnedRows first(kLastTwo, slices, 0), second(kLastTwo, slices, 1);
  EXPECT_EQ(first.groups(), (std::vector<uint64_t>{0, 1, 3}));
  EXPECT_EQ(second.groups(), (std::vector<uint64_t>{2}));
  const engine::State state = counted();
  const Message bytes = second.read(state, 0);
  engine::State other({four_slices()});
  second.write(other, 0, bytes);
  std::vector<int32_t> want(24);
  std::iota(want.begin() + 14, want.begin() + 18, 15);
  EXPECT_EQ(values_of(other), want);

  engine::State copy({four_slices()});
  second.copy(copy, 0, state);
  EXPECT_EQ(values_of(copy), want);
  first.copy(copy, 0, state);
  EXPECT_EQ(values_of(copy)[2], 3);
  EXPECT_EQ(values_of(copy)[0], 0);
  EXPECT_EQ(values_of(copy)[23], 24);
  EXPECT_THROW(first.write(other, 0, bytes), Error);
}

TEST(OwnedRows, GroupsLieInSlicesOrConsistOfThem) {
  EXPECT_EQ(
      OwnedRows({.groups = 8, .rows = 1, .row_bytes = 12, .count = 1}, {0, 0, 1, 1}, 1).groups(),
      (std::vector<uint64_t>{4, 5, 6, 7}));
  EXPECT_EQ(
      OwnedRows({.groups = 2, .rows = 1, .row_bytes = 48, .count = 1}, {0, 0, 1, 1}, 1).groups(),
      (std::vector<uint64_t>{1}));
  EXPECT_THROW(OwnedRows({.groups = 1, .rows = 1, .row_bytes = 96, .count = 1}, {0, 0, 1, 1}, 1),
               Error);
  EXPECT_EQ(OwnedRows({.groups = 3, .rows = 1, .row_bytes = 32, .count = 1}, {}, 0).groups().size(),
            3U);
}

TEST(OwnedRows, AWholeArrayHasTheGroupsOfItsSlices) {
  const engine::StateRows whole = {.row_bytes = 96, .count = 1};
  const engine::StateRows rows = by_slices(four_slices(), whole);
  EXPECT_EQ(rows.groups, 4U);
  EXPECT_EQ(rows.group_bytes(), 24U);
  EXPECT_EQ(by_slices(four_slices(), kLastTwo).groups, 4U);
}

}  // namespace
}  // namespace pippin::pipeline
