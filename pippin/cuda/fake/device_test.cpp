// Plans, states and lanes on the fake driver.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/threads/cancel.h"
#include "pippin/cuda/fake/device_testing.h"

namespace pippin::cuda {
namespace {

using engine::Execution;
using engine::Plan;
using engine::State;

class CudaDevices : public testing::Test {
 protected:
  std::shared_ptr<const Plan> plan() {
    return Plan::make(model_, "main", tiny_options(on(device_)));
  }

  FakeDriver fake_;
  const mil::Model model_ = engine::make_model(kTinyDecoder);
  std::shared_ptr<engine::Device> device_ = open_device(0, fake_.driver());
  ThreadPool pool_{1};
};

void expect_near(const std::vector<float>& have, const std::vector<float>& want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-4F) << i;
}

TEST_F(CudaDevices, GiveTheNumbersOfTheCpu) {
  Execution there(plan(), pool_);
  Execution here(Plan::make(model_, "main", tiny_options(on(nullptr))), pool_);
  there.reserve_lanes(3);
  here.reserve_lanes(3);
  std::vector<TinySequence> there_all, here_all;
  for (uint32_t i = 0; i < 3; ++i) {
    there_all.emplace_back(model_, on(device_), i);
    here_all.emplace_back(model_, on(nullptr), i);
  }
  const auto prepare = [&](size_t lane, int64_t rows) {
    there_all[lane].prepare(there, lane, rows);
    here_all[lane].prepare(here, lane, rows);
    EXPECT_EQ(there.output_shape(0, lane), (std::vector<int64_t>{rows, 4}));
  };
  prepare(1, 5);
  there.run(1);
  here.run(1);
  expect_near(result_of(there, 1), result_of(here, 1));
  for (const std::vector<size_t>& lanes :
       std::vector<std::vector<size_t>>{{0, 1, 2}, {2, 0}, {1}, {0, 2}}) {
    for (const size_t lane : lanes) prepare(lane, 1 + static_cast<int64_t>(lane));
    there.run_together(lanes);
    here.run_together(lanes);
    for (const size_t lane : lanes) expect_near(result_of(there, lane), result_of(here, lane));
  }
  for (size_t i = 0; i < 3; ++i) {
    const auto have = there_all[i].state().read("cache");
    EXPECT_EQ(have.size(), 16U * 4 * 2);
  }
}

// All results of a conversation of three sequences, and the states after it.
struct Conversation {
  std::vector<std::vector<float>> rows;
  std::vector<std::vector<std::byte>> states;
  int64_t graphs = 0, of_lanes = 0;
};
Conversation converse(const RunOptions& options) {
  FakeDriver fake;
  const mil::Model model = engine::make_model(kTinyDecoder);
  const auto compute = on(open_device(0, fake.driver(), options));
  ThreadPool pool(1);
  Execution prompts(Plan::make(model, "main", tiny_options(compute)), pool);
  Execution steps(Plan::make(model, "main", tiny_options(compute, 1)), pool);
  steps.reserve_lanes(4);
  std::vector<TinySequence> all;
  for (uint32_t i = 0; i < 3; ++i) all.emplace_back(model, compute, i);
  Conversation have;
  for (size_t i = 0; i < 3; ++i) {
    all[i].prepare(prompts, 0, 2 + static_cast<int64_t>(i));
    prompts.run();
    if (i < 2) have.rows.push_back(result_of(prompts, 0));  // the last one is left in flight
  }
  for (int step = 0; step < 4; ++step) {
    all[0].prepare(steps, 0, 1);
    steps.run();
    have.rows.push_back(result_of(steps, 0));
  }
  for (int step = 0; step < 5; ++step) {
    for (size_t i = 0; i < 3; ++i) all[i].prepare(steps, i, 1);
    steps.run_together(std::vector<size_t>{0, 1, 2});
    for (size_t i = 0; i < 3; ++i) have.rows.push_back(result_of(steps, i));
  }
  for (int step = 0; step < 2; ++step) {  // lanes that are not at equal distances
    for (const size_t i : {0, 1, 2}) all[i].prepare(steps, i == 2 ? 3 : i, 1);
    steps.run_together(std::vector<size_t>{0, 1, 3});
    for (const size_t i : {0, 1, 3}) have.rows.push_back(result_of(steps, i));
  }
  for (TinySequence& one : all) have.states.push_back(one.state().read("cache"));
  have.graphs = fake.calls("cuGraphLaunch");
  for (size_t i = 0; i < kNumKernels; ++i) {
    have.of_lanes += fake.launches(std::string(kernel_name(static_cast<Kernel>(i))) + "_lanes");
  }
  return have;
}

TEST(CudaRuns, AreTheSameInAllWays) {
  const Conversation direct = converse({.graphs = false, .joins = false});
  EXPECT_EQ(direct.graphs, 0);
  EXPECT_EQ(direct.of_lanes, 0);
  for (const auto& [graphs, joins] : {std::pair{true, false}, {false, true}, {true, true}}) {
    const Conversation other = converse({.graphs = graphs, .joins = joins});
    EXPECT_EQ(other.rows, direct.rows) << graphs << joins;
    EXPECT_EQ(other.states, direct.states) << graphs << joins;
    EXPECT_EQ(other.graphs > 0, graphs);
    EXPECT_GT(other.of_lanes, 0);
  }
  const Conversation apart = converse({.graphs = false, .joins = false, .fuses = false});
  EXPECT_EQ(apart.rows, direct.rows);
  EXPECT_EQ(apart.states, direct.states);
}

TEST_F(CudaDevices, RunGraphsAgain) {
  Execution execution(Plan::make(model_, "main", tiny_options(on(device_), 1)), pool_);
  TinySequence one(model_, on(device_), 1);
  for (int i = 0; i < 10; ++i) {
    one.prepare(execution, 0, 1);
    execution.run();
    result_of(execution, 0);
  }
  EXPECT_EQ(fake_.calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake_.calls("cuGraphLaunch"), 9);
  // Another state is at another address: that is an argument in the table too.
  TinySequence other(model_, on(device_), 1);
  for (int i = 0; i < 5; ++i) {
    other.prepare(execution, 0, 1);
    execution.run();
    result_of(execution, 0);
  }
  EXPECT_EQ(fake_.calls("cuGraphInstantiateWithFlags"), 1);
}

// Rows of lanes at equal distances are one launch of a product.
TEST_F(CudaDevices, MultiplyTheRowsOfAllLanesAtOnce) {
  Execution execution(Plan::make(model_, "main", tiny_options(on(device_), 1)), pool_);
  execution.reserve_lanes(4);
  std::vector<TinySequence> all;
  for (uint32_t i = 0; i < 4; ++i) all.emplace_back(model_, on(device_), i);
  const auto dots = [&] {
    int64_t count = 0;
    for (size_t i = 0; i < kNumKernels; ++i) {
      const std::string name(kernel_name(static_cast<Kernel>(i)));
      if (name.starts_with("dot_")) count += fake_.launches(name) + fake_.launches(name + "_lanes");
    }
    return count;
  };
  for (size_t i = 0; i < 4; ++i) all[i].prepare(execution, i, 1);
  execution.run_together(std::vector<size_t>{0, 1, 2, 3});
  result_of(execution, 0);
  EXPECT_EQ(dots(), 2);
}

TEST_F(CudaDevices, CausalMasksAreNotSent) {
  device_ = open_device(0, fake_.driver(), {.graphs = false});
  Execution execution(plan(), pool_);
  std::vector<std::vector<float>> results;
  std::vector<uint64_t> sent;
  for (const bool writes : {true, false}) {
    TinySequence one(model_, on(device_), 1);
    for (const int64_t rows : {3, 1, 2}) {
      const uint64_t before = fake_.bytes_to_device();
      one.prepare(execution, 0, rows, writes);
      execution.run();
      results.push_back(result_of(execution, 0));
      sent.push_back(fake_.bytes_to_device() - before);
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i], results[3 + i]);
  EXPECT_EQ(sent[0], 3U * 4 * 4 + 3 * 16 * 4);  // x and the mask; no kernel reads `past`
  EXPECT_EQ(sent[3], 3U * 4 * 4);
}

TEST_F(CudaDevices, OutputsAreFetchedInParts) {
  Execution execution(plan(), pool_);
  TinySequence one(model_, on(device_), 1);
  one.prepare(execution, 0, 5);
  execution.run();
  const uint64_t before = fake_.bytes_to_host();
  const auto row = execution.float_output(0, 8, 4, 0);
  EXPECT_EQ(fake_.bytes_to_host() - before, 16U);
  const auto inside = execution.float_output(0, 9, 2, 0);  // is there already
  EXPECT_EQ(fake_.bytes_to_host() - before, 16U);
  const auto all = execution.float_output(0);
  EXPECT_EQ(fake_.bytes_to_host() - before, 16U + 5 * 16);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(row[i], all[8 + i]);
  EXPECT_EQ(inside[0], all[9]);
  EXPECT_EQ(fault([&] { execution.float_output(0, 18, 4, 0); }).first, ErrorCode::InvalidArgument);
}

// Doubles `size` numbers.
mil::Model doubling(int64_t size) {
  return engine::make_model(fmt::format(R"(func main<ios18>(tensor<fp32, [{0}]> x) {{
    fp32 two = const()[name = string("two"), val = fp32(0x1p+1)];
    tensor<fp32, [{0}]> y = mul(x = x, y = two)[name = string("y")];
  }} -> (y);)",
                                        size));
}

// Of a prompt's logits the last row is wanted: the product makes no other.
TEST_F(CudaDevices, ComputeTheWantedRows) {
  Execution execution(plan(), pool_), whole(plan(), pool_);
  TinySequence one(model_, on(device_), 1), two(model_, on(device_), 1);
  one.prepare(execution, 0, 4);
  two.prepare(whole, 0, 4);
  for (int i = 0; i < 3; ++i) {
    one.prepare(execution, 0, 4);
    two.prepare(whole, 0, 4);
    execution.run(0, engine::WantedRows{2, 3});
    whole.run();
    const auto have = result_of(execution, 0), want = result_of(whole, 0);
    for (size_t k = 0; k < 4; ++k) EXPECT_EQ(have[8 + k], want[8 + k]);
    EXPECT_NE(have, want);
    if (i == 0) execution.run(0, engine::WantedRows{0, 0});
  }
}

TEST_F(CudaDevices, ChooseTheLargest) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  State state({}, on(device_));
  const std::vector<size_t> both = {0, 1};
  for (const size_t size : {2, 3, 256, 4999}) {
    const mil::Model model = doubling(static_cast<int64_t>(size));
    Execution execution(Plan::make(model, "main", {.compute = on(device_)}), pool_);
    execution.reserve_lanes(2);
    for (const auto& [first, last, wanted] : {std::tuple{100.0F, 0.0F, 0},
                                              {100.0F, 100.0F, 0},
                                              {0.0F, 100.0F, 1},
                                              {inf, 1.0F, 0},
                                              {-inf, 100.0F, 1},
                                              {nan, 1.0F, -1},
                                              {1.0F, nan, -1}}) {
      for (const size_t lane : both) {
        execution.bind({{static_cast<int64_t>(size)}}, state, lane);
        const auto x = execution.float_input(0, lane);
        for (float& one : x) one = normal(random);
        x.front() = first;
        x.back() = last;
      }
      execution.run_together(both);
      const uint64_t before = fake_.bytes_to_host();
      for (const size_t lane : both) {
        const auto want = static_cast<int32_t>(wanted == 1 ? size - 1 : 0);
        EXPECT_EQ(execution.largest(0, 0, size, lane),
                  wanted < 0 ? std::nullopt : std::optional(want))
            << first << " " << last;
      }
      EXPECT_EQ(execution.largest(0, size - 1, 1, 0),
                std::isnan(last) ? std::nullopt : std::optional(0));
      EXPECT_EQ(fake_.bytes_to_host(), before);
    }
  }
  const mil::Model model = doubling(2);
  Execution execution(Plan::make(model, "main", {.compute = on(device_)}), pool_);
  execution.bind({{2}}, state);
  execution.float_input(0)[0] = execution.float_input(0)[1] = -inf;
  execution.run();
  EXPECT_EQ(execution.largest(0, 0, 2, 0), std::nullopt);
}

TEST_F(CudaDevices, ChooseTheLargestOnes) {
  const float inf = std::numeric_limits<float>::infinity();
  std::mt19937 random(8);
  State state({}, on(device_));
  const std::vector<size_t> both = {0, 1};
  for (const size_t size : {3, 128, 700, 5000}) {
    const mil::Model model = doubling(static_cast<int64_t>(size));
    Execution execution(Plan::make(model, "main", {.compute = on(device_)}), pool_);
    execution.reserve_lanes(2);
    // Some of the large ones are equal; all; one is NaN; or infinite.
    for (const auto& [most, first, is_found] : {std::tuple{100000, 1.0F, true},
                                                {size == 5000 ? 400 : 2000, 1.0F, true},
                                                {0, 0.0F, size <= 128},
                                                {1000, std::nanf(""), false},
                                                {1000, inf, false},
                                                {1000, -inf, true}}) {
      std::uniform_int_distribution<int> numbers(-most, most);
      std::vector<std::vector<float>> all;
      for (const size_t lane : both) {
        execution.bind({{static_cast<int64_t>(size)}}, state, lane);
        const auto x = execution.float_input(0, lane);
        for (float& one : x) one = static_cast<float>(numbers(random));
        x.front() = first;
        all.emplace_back(x.begin(), x.end());
      }
      execution.run_together(both);
      for (const size_t lane : both) {
        const uint64_t before = fake_.bytes_to_host();
        const auto found = execution.largest_ones(0, 0, size, lane);
        EXPECT_EQ(fake_.bytes_to_host(), before);
        EXPECT_EQ(!found.empty(), is_found) << size << " " << most << " " << first;
        if (found.empty()) continue;
        EXPECT_GE(found.size(), std::min(size, engine::kLeastRanked));
        float least = inf;
        for (const auto& [value, index] : found) {
          EXPECT_EQ(value, 2 * all[lane][static_cast<size_t>(index)]);
          least = std::min(least, value);
        }
        const auto reach = std::count_if(all[lane].begin(), all[lane].end(),
                                         [&](float x) { return 2 * x >= least; });
        EXPECT_EQ(std::ssize(found), reach);
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                                   [](const auto& a, const auto& b) { return a.index < b.index; }));
      }
      EXPECT_EQ(execution.largest(0, 1, 1, 0), std::optional(0));
    }
  }
}

TEST_F(CudaDevices, StatesAreReadWrittenAndCloned) {
  Execution execution(plan(), pool_);
  TinySequence one(model_, on(device_), 1), other(model_, on(device_), 9);
  one.prepare(execution, 0, 3);
  execution.run();
  const std::vector<float> first = result_of(execution, 0);
  // The other's rows become those of the first.
  std::vector<std::byte> rows(3 * 8);
  one.state().read_rows(0, {1, 16, 8, 0, 3}, rows.data(), rows.size());
  other.state().write_rows(0, {1, 16, 8, 0, 3}, rows.data(), rows.size());
  EXPECT_EQ(other.state().read("cache"), one.state().read("cache"));
  State empty(model_.functions[0].states, on(device_));
  empty.copy_rows(0, {2, 8, 8, 1, 2}, one.state());  // of two groups of 8 rows, rows [1, 3)
  const auto copied = empty.read("cache"), whole = one.state().read("cache");
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool is_copied = i / 8 % 8 >= 1 && i / 8 % 8 < 3;
    EXPECT_EQ(copied[i], is_copied ? whole[i] : std::byte{0}) << i;
  }
  // A clone goes on as the original does.
  TinySequence clone(one.state().clone(), one);
  one.prepare(execution, 0, 2);
  execution.run();
  const std::vector<float> next = result_of(execution, 0);
  clone.prepare(execution, 0, 2);
  execution.run();
  EXPECT_EQ(result_of(execution, 0), next);
  // Shared arrays: a reset leaves them to the others.
  State shared(model_.functions[0].states, on(device_));
  shared.share(0, one.state());
  const auto before = one.state().read("cache");
  EXPECT_EQ(shared.read("cache"), before);
  shared.reset();
  EXPECT_EQ(one.state().read("cache"), before);
  EXPECT_EQ(shared.read("cache"), std::vector<std::byte>(before.size()));
}

// A state whose run is still in flight on one execution is used by another, and destroyed.
TEST_F(CudaDevices, StatesGoFromOneExecutionToAnother) {
  const auto made = plan();
  Execution one(made, pool_), two(made, pool_);
  std::vector<float> want;
  for (const bool waits : {true, false}) {
    TinySequence sequence(model_, on(device_), 3);
    sequence.prepare(one, 0, 2);
    one.run();
    if (waits) result_of(one, 0);
    sequence.prepare(two, 0, 1);
    two.run();
    if (waits) {
      want = result_of(two, 0);
    } else {
      State clone = sequence.state().clone();
      EXPECT_EQ(result_of(two, 0), want);
    }
    sequence.prepare(one, 0, 1);
    one.run();
  }
}

TEST_F(CudaDevices, ThreadsRunAtTheSameTime) {
  const auto made = plan();
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      ThreadPool pool(1);
      Execution execution(made, pool);
      TinySequence one(model_, on(device_), 5);
      for (const int64_t rows : {2, 1, 1, 1}) {
        one.prepare(execution, 0, rows);
        execution.run();
      }
      results[i] = result_of(execution, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST_F(CudaDevices, CancelledRunsEnd) {
  Execution execution(plan(), pool_);
  TinySequence one(model_, on(device_), 1);
  one.prepare(execution, 0, 2);
  CancelToken token;
  token.request();
  {
    const CancelScope scope(token);
    EXPECT_EQ(fault([&] { execution.run_cancellable(); }).first, ErrorCode::Cancelled);
  }
  execution.run_cancellable();
  EXPECT_EQ(result_of(execution, 0).size(), 9U);
}

TEST_F(CudaDevices, GrowWithWhatTheirLanesHave) {
  Execution execution(plan(), pool_);
  TinySequence one(model_, on(device_), 1), two(model_, on(device_), 1);
  one.prepare(execution, 0, 2);
  execution.run();
  const auto first = result_of(execution, 0);
  one.prepare(execution, 0, 1);
  execution.reserve_lanes(5);
  EXPECT_EQ(execution.lanes(), 8U);
  execution.run();
  two.prepare(execution, 7, 2);
  execution.run(7);
  EXPECT_EQ(result_of(execution, 7), first);
  two.prepare(execution, 7, 1);
  execution.run(7);
  EXPECT_EQ(result_of(execution, 7), result_of(execution, 0));
}

}  // namespace
}  // namespace pippin::cuda
