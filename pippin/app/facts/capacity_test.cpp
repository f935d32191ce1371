#include "pippin/app/facts/capacity.h"

#include <gtest/gtest.h>

#include "pippin/base/error.h"

namespace pippin::app {
namespace {

// 8 layers of 1 GB, 2 G operations and 1000 bytes of cache a token.
ModelShape eight_layers() {
  ModelShape shape;
  for (int i = 0; i < 8; ++i) {
    shape.parts.push_back({"layer " + std::to_string(i), 1000000000, 1000000000, 2e9, 1000});
  }
  shape.width = 4096;
  shape.vocabulary = 32000;
  return shape;
}

MachineSpeed speed() {
  MachineSpeed speed;
  speed.bytes_per_second = 40e9;
  speed.memory_bandwidth = 50e9;
  speed.lanes = {{2, 400e9}, {8, 800e9}};
  speed.prompt_operations_per_second = 1e12;
  return speed;
}

TEST(Capacity, OneMachineReadsTheWeightsOnceForAStep) {
  Machines machines;
  machines.memory_bytes = 20000000000;
  Load load;
  load.streams = 8;
  load.context = 1000;
  load.prompt = 100;
  load.answer = 0;
  const CapacityPlan plan = plan_capacity(eight_layers(), speed(), machines, load);
  EXPECT_EQ(plan.machines_per_copy, 1);
  const double one = (8e9 + 100 * 8000.0) / 40e9;
  EXPECT_NEAR(plan.one_stream, 1 / one, 1e-9);
  const double eight = (8e9 + 8 * 100 * 8000.0) / 40e9 + 7 * 16e9 / 800e9;
  EXPECT_NEAR(plan.many_streams, 8 / eight, 1e-9);
  EXPECT_NEAR(plan.prompt, 1e12 / 16e9, 1e-9);
  EXPECT_NEAR(plan.first_token, 100 * 16e9 / 1e12, 1e-9);
  EXPECT_EQ(plan.messages_per_token, 0);
}

TEST(Capacity, SmallMachinesShareAModel) {
  Machines machines;
  machines.count = 9;
  machines.memory_bytes = 2200000000;
  machines.network_bytes_per_second = 125e6;
  machines.network_latency = 1e-3;
  machines.price_per_hour = 2;
  Load load;
  load.streams = 1;
  load.context = 1000;
  load.prompt = 128;
  load.answer = 2;
  load.requests = 1000;
  const CapacityPlan plan = plan_capacity(eight_layers(), speed(), machines, load);
  EXPECT_EQ(plan.machines_per_copy, 4);
  EXPECT_EQ(plan.copies, 2);
  ASSERT_EQ(plan.shares.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.shares[i].first_part, 2 * i);
    EXPECT_EQ(plan.shares[i].end_part, 2 * i + 2);
    EXPECT_EQ(plan.shares[i].weight_bytes, 2000000000U);
    EXPECT_EQ(plan.shares[i].cache_bytes, 2000000U);
  }
  const double network = 3 * (1e-3 + 4096 * 4 / 125e6) + 1e-3 + 32000 * 4 / 125e6;
  EXPECT_NEAR(1 / plan.one_stream, (8e9 + 129 * 8000.0) / 40e9 + network, 1e-9);
  EXPECT_NEAR(plan.prompt, 1e12 / 4e9, 1e-6);  // of the slowest quarter
  EXPECT_NEAR(plan.messages_per_token, 8, 0);
  EXPECT_NEAR(plan.sent_bytes_per_token, 3 * 4096 * 4 + 32000 * 4, 0);
  const double seconds = 1000 * (128 / plan.prompt + 2 / plan.many_streams) / 2;
  EXPECT_NEAR(plan.corpus_seconds, seconds, 1e-9);
  EXPECT_NEAR(plan.corpus_cost, seconds / 3600 * 2 * 8, 1e-9);
}

// Two stages of two machines: each reads half of the weights of four layers, and its head half of
// the caches. Results are sent after five steps of a layer and after the head.
TEST(Capacity, MachinesComputeLayersTogether) {
  ModelShape model = eight_layers();
  for (PlannedPart& part : model.parts) part.products = 30000;
  model.logit_operations = 1e9;
  Machines machines;
  machines.count = 4;
  machines.tensor_parallel = 2;
  machines.memory_bytes = 2200000000;
  machines.network_bytes_per_second = 125e6;
  machines.network_latency = 1e-3;
  Load load;
  load.streams = 1;
  load.context = 1000;
  load.prompt = 100;
  load.answer = 0;
  const CapacityPlan plan = plan_capacity(model, speed(), machines, load);
  EXPECT_EQ(plan.machines_per_copy, 4);
  EXPECT_EQ(plan.copies, 1);
  ASSERT_EQ(plan.shares.size(), 2U);
  for (const MachineShare& share : plan.shares) {
    EXPECT_EQ(share.weight_bytes, 2000000000U);
    EXPECT_EQ(share.cache_bytes, 4000000U);
  }
  const double numbers = 8 * (30000 + 4096) + 32000;  // half of them by each machine
  const double exchanges = 41 * 1e-3 + numbers / 2 * 4 / 125e6;
  const double network = 1e-3 + 4096 * 4 / 125e6 + 1e-3 + 32000 * 4 / 125e6 + exchanges;
  EXPECT_NEAR(1 / plan.one_stream, (8e9 + 100 * 8000.0) / 2 / 40e9 + network, 1e-9);
  EXPECT_NEAR(plan.sent_bytes_per_token, numbers * 4 + 2 * 4096 * 4 + 32000 * 4, 1e-6);
  EXPECT_NEAR(plan.messages_per_token, 41 * 2 + 1 + 2 * 2 + 2, 0);
}

// Two of eight sequences are in each of four steps in flight, and each step reads the weights.
TEST(Capacity, GroupsOfSequencesFollowEachOther) {
  Machines machines;
  machines.count = 4;
  machines.memory_bytes = 2200000000;
  machines.network_latency = 1e-3;
  Load load;
  load.streams = 8;
  load.context = 100;
  load.prompt = 10;
  load.answer = 0;
  ModelShape model = eight_layers();
  const auto network = [](double rows) {
    return 3 * (1e-3 + rows * 4096 * 4 / 125e6) + 1e-3 + rows * 32000 * 4 / 125e6;
  };
  const double slowest = (2e9 + 2 * 10 * 2000.0) / 40e9 + 4e9 / 400e9;
  const double two = (8e9 + 2 * 10 * 8000.0) / 40e9 + 16e9 / 400e9 + network(2);
  ASSERT_LT(4 * slowest, two);
  EXPECT_NEAR(plan_capacity(model, speed(), machines, load).many_streams, 8 / two, 1e-9);
  model.logit_operations = 100e9;  // of the last machine
  const double head = (2e9 + 2 * 10 * 2000.0) / 40e9 + (4e9 + 100e9) / 400e9;
  EXPECT_NEAR(plan_capacity(model, speed(), machines, load).many_streams, 8 / (4 * head), 1e-9);
  // Chunks that are packages end a step before the next one.
  model.is_one_program = false;
  const double eight = (8e9 + 8 * 10 * 8000.0) / 40e9 + 7 * (16e9 + 100e9) / 800e9 + network(8);
  EXPECT_NEAR(plan_capacity(model, speed(), machines, load).many_streams, 8 / eight, 1e-9);
}

TEST(Capacity, BandwidthScalesReadingOnly) {
  Machines machines;
  machines.memory_bytes = 20000000000;
  machines.bandwidth = 100e9;
  Load load;
  load.prompt = 1;
  load.answer = 0;
  const CapacityPlan plan = plan_capacity(eight_layers(), speed(), machines, load);
  EXPECT_NEAR(plan.one_stream, 80e9 / (8e9 + 8000), 1e-6);
}

TEST(Capacity, TellsHowManyMachinesAreNeeded) {
  Machines machines;
  machines.count = 3;
  machines.memory_bytes = 2200000000;
  const auto message = [&](const Load& load) {
    try {
      plan_capacity(eight_layers(), speed(), machines, load);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::LimitExceeded);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message({.streams = 1, .context = 10}).find("; 4 do"), std::string::npos);
  machines.memory_bytes = 500000000;
  EXPECT_NE(message({.streams = 1, .context = 10}).find("8 parts cannot be split further"),
            std::string::npos);
}

TEST(Capacity, ReadsReportsOfBench) {
  const std::string report = R"({"results": [
    {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "n_parallel": 1,
     "median_tokens_per_second": 100, "operations_per_token": 2e9},
    {"n_prompt": 0, "n_gen": 32, "n_depth": 0, "n_parallel": 1, "median_tokens_per_second": 10,
     "bytes_per_token": 1e9, "operations_per_token": 2e9, "median_bytes_per_second": 20e9},
    {"n_prompt": 0, "n_gen": 32, "n_depth": 0, "n_parallel": 8, "median_tokens_per_second": 40,
     "bytes_per_token": 1.3e8, "operations_per_token": 2e9, "median_bytes_per_second": 20e9},
    {"n_prompt": 0, "n_gen": 32, "n_depth": 512, "n_parallel": 1, "median_tokens_per_second": 5,
     "bytes_per_token": 2e9, "operations_per_token": 2e9, "median_bytes_per_second": 20e9}]})";
  const MachineSpeed read = read_speed(report, "report.json");
  EXPECT_DOUBLE_EQ(read.bytes_per_second, 1e10);
  EXPECT_DOUBLE_EQ(read.memory_bandwidth, 20e9);
  EXPECT_DOUBLE_EQ(read.prompt_operations_per_second, 2e11);
  ASSERT_EQ(read.lanes.size(), 1U);
  EXPECT_DOUBLE_EQ(read.lanes[0].operations_per_second, 7 * 2e9 / 0.1);  // 8 tokens in 0.2 s

  EXPECT_THROW(read_speed("{}", "report.json"), Error);
  EXPECT_THROW(read_speed(R"({"results": []})", "report.json"), Error);
}

}  // namespace
}  // namespace pippin::app
