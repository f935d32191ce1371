#include "pippin/app/facts/operation_cost.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/text/text.h"

namespace pippin::app {
namespace {

using Costs = std::vector<OperationCost>;

mil::Model model_of(const std::string& function) {
  mil::Model model =
      mil::describe_program(mil::parse_text("program(1.3) { " + function + " }", "text"));
  mil::verify(model.program);
  return model;
}

const OperationCost& of_type(const Costs& costs, std::string_view type, size_t index = 0) {
  for (const OperationCost& cost : costs) {
    if (cost.operation->type() == type && index-- == 0) return cost;
  }
  fail(ErrorCode::NotFound, "no {}", type);
}

double sum_of(const Costs& costs) {
  double sum = 0;
  for (const OperationCost& cost : costs) sum += cost.share;
  return sum;
}

TEST(OperationCost, OfProductsElementsAndConstants) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<fp16, [2, 64]> x) {
      tensor<fp16, [32, 64]> w = const()[val = tensor<fp16, [32, 64]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
      tensor<fp16, [32]> b = const()[val = tensor<fp16, [32]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(128)))];
      tensor<fp16, [2, 32]> y = linear(x = x, weight = w, bias = b);
      tensor<fp16, [64]> flat = reshape(x = y, shape = tensor<int32, [1]>([64]));
      tensor<fp16, [64]> z = mul(x = flat, y = flat);
    } -> (z);)");
  const Costs costs = operation_costs(model, "main");
  ASSERT_EQ(costs.size(), 5u);
  EXPECT_TRUE(costs[0].constant);
  EXPECT_EQ(costs[0].share, 0);
  const OperationCost& linear = of_type(costs, "linear");
  EXPECT_EQ(linear.bytes, 2.0 * (2 * 64 + 32 * 64 + 32 + 2 * 32));
  EXPECT_EQ(linear.arithmetic, 2.0 * 2 * 32 * 64);
  // Elements are not moved: no cost, but not a constant.
  const OperationCost& reshape = of_type(costs, "reshape");
  EXPECT_FALSE(reshape.constant);
  EXPECT_EQ(reshape.bytes + reshape.arithmetic + reshape.share, 0);
  // The same input twice is read once.
  const OperationCost& mul = of_type(costs, "mul");
  EXPECT_EQ(mul.bytes, 2.0 * (64 + 64));
  EXPECT_EQ(mul.arithmetic, 64);
  EXPECT_NEAR(linear.share, (4544 + 8192 / 16.0) / (4544 + 8192 / 16.0 + 256 + 64 / 16.0), 1e-12);
  EXPECT_NEAR(sum_of(costs), 1, 1e-12);
}

TEST(OperationCost, CompressedWeightsCountAsStored) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<fp16, [1, 64]> x) {
      tensor<fp16, [32, 64]> w = constexpr_blockwise_shift_scale(
        data = tensor<int4, [32, 64]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64))),
        scale = tensor<fp16, [32, 2]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(128))));
      tensor<fp16, [1, 32]> y = linear(x = x, weight = w);
    } -> (y);)");
  const Costs costs = operation_costs(model, "main");
  EXPECT_TRUE(costs.at(0).constant);
  EXPECT_EQ(costs.at(1).bytes, 32 * 64 / 2.0 + 2.0 * (32 * 2 + 64 + 32));
  EXPECT_EQ(costs.at(1).share, 1);
}

TEST(OperationCost, PartsOfTablesAndStates) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<int32, [3]> ids, state<tensor<fp16, [100, 8]>> cache) {
      tensor<fp16, [1000, 8]> table = const()[val = tensor<fp16, [1000, 8]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
      tensor<fp16, [3, 8]> rows = gather(x = table, indices = ids, axis = int32(0));
      tensor<fp16, [100, 8]> old = read_state(input = cache);
      tensor<fp16, [100, 8]> new = slice_update(x = old, update = rows, begin = tensor<int32, [2]>([4, 0]), end = tensor<int32, [2]>([7, 8]));
      write_state(data = new, input = cache);
      tensor<fp16, [100, 8]> copy = slice_update(x = table, update = rows, begin = tensor<int32, [2]>([0, 0]), end = tensor<int32, [2]>([3, 8]));
    } -> (rows);)");
  EXPECT_THROW(operation_costs(model, "other"), Error);
  const Costs costs = operation_costs(model, "main");
  EXPECT_EQ(of_type(costs, "gather").bytes, 3 * 4 + 4 + 2.0 * (3 * 8 + 3 * 8));
  EXPECT_EQ(of_type(costs, "read_state").bytes, 0);
  EXPECT_EQ(of_type(costs, "slice_update").bytes, 2.0 * 2 * 3 * 8);
  EXPECT_EQ(of_type(costs, "slice_update").arithmetic, 24);
  EXPECT_EQ(of_type(costs, "write_state").share, 0);
  EXPECT_GT(of_type(costs, "slice_update", 1).bytes, 2.0 * 1000 * 8);
}

TEST(OperationCost, Convolutions) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<fp32, [1, 8, 10, 10]> x) {
      tensor<fp32, [16, 4, 3, 3]> w = const()[val = tensor<fp32, [16, 4, 3, 3]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
      tensor<fp32, [1, 16, 4, 4]> y = conv(x = x, weight = w, strides = tensor<int32, [2]>([2, 2]), pad_type = string("valid"), groups = int32(2));
      tensor<fp32, [16, 4, 2, 2]> v = const()[val = tensor<fp32, [16, 4, 2, 2]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(128)))];
      tensor<fp32, [1, 8, 8, 8]> z = conv_transpose(x = y, weight = v, strides = tensor<int32, [2]>([2, 2]), pad_type = string("valid"), groups = int32(2));
    } -> (z);)");
  const Costs costs = operation_costs(model, "main");
  EXPECT_EQ(of_type(costs, "conv").arithmetic, 2.0 * 16 * 4 * 4 * (4 * 3 * 3));
  EXPECT_EQ(of_type(costs, "conv_transpose").arithmetic, 2.0 * 16 * 4 * 4 * (4 * 2 * 2));
}

TEST(OperationCost, AttentionAndDefaultSizes) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<fp16, [1, 2, ?, 16]> q, tensor<fp16, [1, 2, ?, 16]> k)
        [FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>>(
          (("DefaultShapes", {{"q", [1, 2, 3, 16]}, {"k", [1, 2, 5, 16]}})))] {
      tensor<fp16, [1, 2, ?, 16]> y = scaled_dot_product_attention(query = q, key = k, value = k);
    } -> (y);)");
  const Costs costs = operation_costs(model, "main");
  EXPECT_EQ(costs.at(0).arithmetic, 2.0 * 2 * 3 * 5 * (16 + 16));
  EXPECT_EQ(costs.at(0).bytes, 2.0 * 2 * 16 * (3 + 5 + 3));
}

TEST(OperationCost, BlocksFollowTheirOperation) {
  const mil::Model model = model_of(R"(
    func main<ios18>(tensor<fp32, [4]> x, bool p) {
      tensor<fp32, [4]> y = cond(pred = p)
        () { tensor<fp32, [4]> a = exp(x = x); } -> (a)
        () { tensor<fp32, [4]> b = sin(x = x); } -> (b);
    } -> (y);)");
  const Costs costs = operation_costs(model, "main");
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].operation->type(), "cond");
  EXPECT_EQ(costs[0].share, 0);
  EXPECT_EQ(costs[1].share, 0.5);
  EXPECT_EQ(costs[2].operation->type(), "sin");
}

}  // namespace
}  // namespace pippin::app
