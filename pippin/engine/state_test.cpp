#include "pippin/engine/state.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"

namespace pippin::engine {
namespace {

mil::Feature feature(const std::string& name, mil::DataType type, std::vector<int64_t> shape) {
  mil::Feature feature;
  feature.name = name;
  feature.kind = mil::Feature::Kind::State;
  feature.data_type = type;
  feature.shape = std::move(shape);
  return feature;
}

TEST(State, TellsWhatItHas) {
  State state({feature("keys", mil::DataType::Float16, {2, 3}),
               feature("count", mil::DataType::Float32, {1}),
               feature("keys", mil::DataType::Float16, {2, 3})});
  ASSERT_EQ(state.features().size(), 2U);
  EXPECT_EQ(state.features()[0].name, "keys");
  EXPECT_EQ(state.features()[1].shape, std::vector<int64_t>{1});
  EXPECT_EQ(state.here("keys").size(), 12U);
  EXPECT_EQ(state.size_bytes(), 16U);
  EXPECT_ERROR(state.here("values"), ErrorCode::NotFound, "unknown state 'values'");
}

TEST(State, ACloneGoesOnByItself) {
  State state({feature("a", mil::DataType::Int32, {2000}), feature("b", mil::DataType::Int8, {7})});
  const auto fill = [](MutableByteSpan bytes, int value) {
    std::fill(bytes.begin(), bytes.end(), std::byte(value));
  };
  const auto all_are = [](ByteSpan bytes, int value) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](std::byte b) { return b == std::byte(value); });
  };
  fill(state.here("a"), 1);
  fill(state.here("b"), 2);
  State copy = state.clone();
  EXPECT_NE(copy.id(), state.id());
  fill(state.here("a"), 3);
  EXPECT_TRUE(all_are(copy.here("a"), 1));
  EXPECT_TRUE(all_are(copy.here("b"), 2));
  copy.reset();
  EXPECT_TRUE(all_are(copy.here("b"), 0));
  EXPECT_TRUE(all_are(state.here("a"), 3));
  EXPECT_TRUE(all_are(state.here("b"), 2));
}

// Writes to a shared array are visible in both, until one of them is reset.
TEST(State, ArraysAreSharedUntilAReset) {
  const std::vector<mil::Feature> features = {feature("own", mil::DataType::Int32, {3}),
                                              feature("common", mil::DataType::Int32, {2})};
  State one(features), two(features);
  const auto first = [](const State& state, const char* name) {
    int32_t value = 0;
    std::memcpy(&value, state.here(name).data(), sizeof value);
    return value;
  };
  const auto put = [](State& state, const char* name, int32_t value) {
    std::memcpy(state.here(name).data(), &value, sizeof value);
  };
  put(one, "own", 1);
  put(one, "common", 2);
  const uint64_t id = two.id();
  two.share(1, one);
  EXPECT_NE(two.id(), id);  // executions bind it again
  EXPECT_EQ(two.here("common").data(), one.here("common").data());
  EXPECT_EQ(first(two, "common"), 2);
  EXPECT_EQ(first(two, "own"), 0);
  const uint64_t before = one.id();
  one.reset();
  EXPECT_NE(one.id(), before);
  EXPECT_EQ(first(one, "common"), 0);
  EXPECT_EQ(first(two, "common"), 2);
  put(one, "common", 5);
  EXPECT_EQ(first(two, "common"), 2);
}

#if defined(__linux__)
// A cache is large and mostly empty when a sequence begins.
TEST(State, ACloneTakesNoMemoryForWhatWasNeverWritten) {
  constexpr int64_t kPages = 16384, kPage = 4096;
  State state({feature("cache", mil::DataType::Int8, {kPages * kPage})});
  state.here("cache")[1000 * kPage + 5] = std::byte{1};
  State copy = state.clone();
  const MutableByteSpan bytes = copy.here("cache");
  std::vector<unsigned char> resident(kPages);
  ASSERT_EQ(::mincore(bytes.data(), bytes.size(), resident.data()), 0);
  const auto there = [](unsigned char page) { return (page & 1) != 0; };
  const auto count = std::count_if(resident.begin(), resident.end(), there);
  EXPECT_GE(count, 1);
  EXPECT_LE(count, kPages / 8);  // the system may allocate more than a page at a time
  EXPECT_EQ(bytes[1000 * kPage + 5], std::byte{1});
}
#endif

// Pages that were touched stay; a page fault for each would take longer than zeroing them.
#if defined(__linux__)
TEST(State, AResetKeepsTheMemoryThatWasWritten) {
  constexpr int64_t kPages = 10000, kPage = 4096;
  State state({feature("cache", mil::DataType::Int8, {kPages * kPage})});
  for (const int64_t page : {0, 1, 4095, 4096, 9999}) {
    state.here("cache")[page * kPage + 7] = std::byte{1};
  }
  EXPECT_EQ(state.bytes_present(), 5 * kPage);
  state.reset();
  EXPECT_EQ(state.bytes_present(), 5 * kPage);
  for (const int64_t page : {0, 1, 4095, 4096, 9999}) {
    EXPECT_EQ(state.here("cache")[page * kPage + 7], std::byte{0}) << page;
  }
}
#endif

// Two continuations of a sequence: the results of each, and that the plans distinguish the copy
// from the original.
TEST(State, AForkedSequenceGoesOnInTwoWays) {
  const mil::Model model =
      make_model(R"(func main<ios18>(tensor<fp32, [2]> x, state<tensor<fp32, [2]>> sum) {
    tensor<fp32, [2]> before = read_state(input = sum)[name = string("before")];
    tensor<fp32, [2]> y = add(x = before, y = x)[name = string("y")];
    write_state(input = sum, data = y)[name = string("write")];
  } -> (y);)");
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main"), pool);
  const auto add = [&](State& state, float value) {
    execution.bind({{2}}, state);
    for (float& x : execution.float_input(0)) x = value;
    execution.run();
    return execution.float_output(0)[1];
  };
  State one(model.functions[0].states);
  EXPECT_EQ(add(one, 3), 3);
  State two = one.clone();
  EXPECT_EQ(add(one, 1), 4);
  EXPECT_EQ(add(two, 10), 13);
  EXPECT_EQ(add(one, 1), 5);
}

}  // namespace
}  // namespace pippin::engine
