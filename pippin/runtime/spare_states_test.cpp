#include "pippin/runtime/spare_states.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

constexpr int64_t kSize = 1 << 20;

engine::State take(SpareStates& spares) {
  return spares.take(
      {mil::Feature{.name = "cache", .data_type = mil::DataType::Int8, .shape = {kSize}}}, {});
}

engine::State written_state(SpareStates& spares) {
  engine::State state = take(spares);
  std::fill_n(state.here("cache").begin(), kSize / 2, std::byte{1});
  return state;
}

const std::byte* place(engine::State& state) {
  return state.here("cache").data();
}

bool is_zero(engine::State& state) {
  const MutableByteSpan bytes = state.here("cache");
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(SpareStates, GiveTheLastOneAgainAsZeros) {
  SpareStates spares(4 * kSize);
  engine::State one = written_state(spares), two = written_state(spares);
  const std::byte* const first = place(one);
  const std::byte* const second = place(two);
  const uint64_t id = two.id();
  spares.keep(std::move(one));
  spares.keep(std::move(two));
  engine::State taken = take(spares);
  EXPECT_EQ(place(taken), second);
  EXPECT_NE(taken.id(), id);
  EXPECT_TRUE(is_zero(taken));
  engine::State next = take(spares);
  EXPECT_EQ(place(next), first);
  EXPECT_TRUE(is_zero(next));
}

#if defined(__linux__)
TEST(SpareStates, KeepNoMoreThanTheirLimit) {
  SpareStates spares(kSize + kSize / 4);
  std::vector<engine::State> states;
  for (int i = 0; i < 3; ++i) states.push_back(written_state(spares));
  std::set<const std::byte*> places;
  for (engine::State& state : states) {
    places.insert(place(state));
    spares.keep(std::move(state));
  }
  // Half of each was written, so two are kept.
  std::vector<engine::State> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(take(spares));
  EXPECT_EQ(taken[0].bytes_present(), kSize / 2);
  EXPECT_EQ(taken[1].bytes_present(), kSize / 2);
  EXPECT_EQ(taken[2].bytes_present(), 0);
  EXPECT_TRUE(places.contains(place(taken[0])));
  EXPECT_TRUE(places.contains(place(taken[1])));
}
#endif

}  // namespace
}  // namespace pippin::runtime
