// Plans as lists of nodes, as text and as JSON.
#include "pippin/engine/nodes/print.h"

#include <regex>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/engine/device_execution.h"
#include "pippin/engine/fusion/fusion_testing.h"
#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

// A norm, two products of it as one node, a gate, and a product that adds x.
mil::Model small_layer() {
  ProgramText text("tensor<fp32, [2, 4]> x");
  text.number("eps", 0.5).array("gamma", {4}, 1).array("gate_w", {3, 4}).array("up_w", {3, 4}, 1);
  text.array("down_w", {4, 3}).array("down_b", {4}).integers("axes", {-1});
  text.op("square", "tensor<fp32, [2, 4]>", "mul(x = x, y = x)");
  text.op("mean", "tensor<fp32, [2, 1]>", "reduce_mean(x = square, axes = axes, keep_dims = yes)");
  text.op("root", "tensor<fp32, [2, 1]>", "rsqrt(x = mean, epsilon = eps)");
  text.op("unit", "tensor<fp32, [2, 4]>", "mul(x = x, y = root)");
  text.op("norm", "tensor<fp32, [2, 4]>", "mul(x = unit, y = gamma)");
  text.op("gate", "tensor<fp32, [2, 3]>", "linear(x = norm, weight = gate_w)");
  text.op("up", "tensor<fp32, [2, 3]>", "linear(x = norm, weight = up_w)");
  text.op("turned", "tensor<fp32, [2, 3]>", "silu(x = gate)");
  text.op("middle", "tensor<fp32, [2, 3]>", "mul(x = turned, y = up)");
  text.op("down", "tensor<fp32, [2, 4]>", "linear(x = middle, weight = down_w, bias = down_b)");
  text.op("sum", "tensor<fp32, [2, 4]>", "add(x = x, y = down)");
  return text.returns("sum");
}

TEST(PrintedNodes, SayWhatEachDoes) {
  const auto plan = Plan::make(small_layer(), "main");
  // The number of a buffer depends on the values that were lowered and dropped.
  const std::string text = std::regex_replace(plan->nodes_text(), std::regex("%[0-9]+"), "%");
  EXPECT_EQ(text,
            "% f32[2, 4] = rms_norm(x f32[2, 4], const f32[4]) epsilon = 0.5\n"
            "% f32[2, 3], % f32[2, 3] = 2 linear(% f32[2, 4], const f32[3, 4], const f32[3, 4]) "
            "columns = [3, 3], bias = [false, false]\n"
            "% f32[2, 3] = silu * up(% f32[2, 3], % f32[2, 3])\n"
            "% f32[2, 4] = linear + residual(% f32[2, 3], const f32[4, 3], const f32[4], "
            "x f32[2, 4]) columns = [4], bias = [true]\n");
}

TEST(PrintedNodes, AreObjectsInJson) {
  const auto plan = Plan::make(small_layer(), "main");
  const Json nodes = Json::parse(plan->nodes_json(), "nodes");
  ASSERT_EQ(nodes.size(), 4U);
  const Json norm = nodes.at(0);
  EXPECT_EQ(norm.get_string("node"), "rms_norm");
  EXPECT_EQ(norm.at("parameters").get_float("epsilon"), 0.5);
  EXPECT_EQ(norm.at("reads").size(), 2U);
  const Json x = norm.at("reads").at(0);
  EXPECT_EQ(x.get_string("memory"), "x");
  EXPECT_EQ(x.get_string("storage"), "f32");
  EXPECT_EQ(x.get_strings("shape"), (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(x.get_strings("strides"), (std::vector<std::string>{"4", "1"}));
  EXPECT_EQ(nodes.at(1).at("writes").size(), 2U);
  EXPECT_EQ(nodes.at(1).at("writes").at(0).get_string("memory"),
            nodes.at(2).at("reads").at(0).get_string("memory"));
}

// A device that runs whole functions has no list of nodes.
TEST(PrintedNodes, AreNotKnownOfOtherDevices) {
  class Silent : public Plan {
    const std::string& name() const override { return name_; }
    std::span<const Port> inputs() const override { return {}; }
    std::span<const Port> outputs() const override { return {}; }
    const std::vector<mil::Feature>& states() const override { return states_; }
    uint64_t arena_bytes() const override { return 0; }
    uint64_t weight_bytes() const override { return 0; }
    uint64_t saved_bytes() const override { return 0; }
    std::string describe() const override { return {}; }
    std::unique_ptr<DeviceExecution> make_execution(ThreadPool&) const override { return nullptr; }

    std::string name_ = "main";
    std::vector<mil::Feature> states_;
  };
  const Silent plan;
  EXPECT_ERROR(static_cast<const Plan&>(plan).nodes_text(), ErrorCode::Unsupported,
               "the device of 'main' does not list the plan's nodes");
}

}  // namespace
}  // namespace pippin::engine
