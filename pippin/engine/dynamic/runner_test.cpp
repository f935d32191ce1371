// The runner on programs that plans alone would compute wrongly.
#include "pippin/engine/runner.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/run/profile.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/text/text.h"

namespace pippin::engine {
namespace {

mil::Model model_of(const std::string& signature, const std::string& body,
                    const std::string& outputs) {
  return mil::describe_program(mil::parse_text("program(1.3)\n{\n    func main<ios18>(" +
                                                   signature + ") {\n" + body + "        } -> (" +
                                                   outputs + ");\n}\n",
                                               "test"));
}

NamedHostTensors run(const mil::Model& model, const NamedHostTensors& inputs,
                     RunnerOptions options = {}) {
  ThreadPool pool(1);
  State state(model.description("main").states);
  return Runner::make(model, "main", pool, options)->run(inputs, state);
}

HostTensor ints(std::vector<int64_t> shape, const std::vector<double>& values) {
  mil::Tensor tensor(mil::DataType::Int32, std::move(shape));
  tensor.values = values;
  return to_host(tensor);
}

HostTensor floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  mil::Tensor tensor(mil::DataType::Float32, std::move(shape));
  tensor.values = values;
  return to_host(tensor);
}

TEST(Runner, IntegerProductsAreExact) {
  const mil::Model model = model_of(
      "tensor<int32, [1, 2]> x, tensor<int32, [2, 1]> y",
      "            tensor<int32, [1, 1]> z = matmul(transpose_x = bool(false), transpose_y = "
      "bool(false), x = x, y = y)[name = string(\"z\")];\n",
      "z");
  // Values beyond the range of fp32.
  const auto outputs =
      run(model, {{"x", ints({1, 2}, {16777217, 1})}, {"y", ints({2, 1}, {3, 1})}});
  EXPECT_EQ(to_tensor(outputs.at("z")).values, (std::vector<double>{50331652}));
}

TEST(Runner, ValidatesIndicesWhereAsked) {
  const auto gather = [](const char* validate) {
    return model_of("tensor<fp32, [3]> x, tensor<int32, [1]> i",
                    std::string("            tensor<fp32, [1]> y = gather(axis = int32(0), "
                                "batch_dims = int32(0), indices = i, validate_indices = bool(") +
                        validate + "), x = x)[name = string(\"y\")];\n",
                    "y");
  };
  const NamedHostTensors inside = {{"x", floats({3}, {5, 6, 7})}, {"i", ints({1}, {2})}};
  const NamedHostTensors outside = {{"x", floats({3}, {5, 6, 7})}, {"i", ints({1}, {3})}};
  EXPECT_EQ(to_tensor(run(gather("true"), inside).at("y")).values, (std::vector<double>{7}));
  EXPECT_EQ(to_tensor(run(gather("false"), inside).at("y")).values, (std::vector<double>{7}));
  EXPECT_ERROR(run(gather("true"), outside), ErrorCode::InvalidFile,
               "gather 'y': index 3 is out of range for size 3");
}

// One plan for every position; a size that depends on a position is planned for its number.
TEST(Runner, SlicesWhereDataSays) {
  const mil::Model model = model_of(
      "tensor<fp32, [6]> x, tensor<int32, [1]> p",
      "            tensor<int32, [1]> one = const()[name = string(\"one\"), val = tensor<int32, "
      "[1]>([1])];\n"
      "            tensor<int32, [1]> e = add(x = p, y = one)[name = string(\"e\")];\n"
      "            tensor<fp32, [1]> y = slice_by_index(begin = p, end = e, x = x)[name = "
      "string(\"y\")];\n"
      "            tensor<fp32, [?]> z = slice_by_size(begin = p, size = p, x = x)[name = "
      "string(\"z\")];\n",
      "y, z");
  const HostTensor x = floats({6}, {0, 1, 2, 3, 4, 5});
  ThreadPool pool(1);
  State state({});
  const auto runner = Runner::make(model, "main", pool);
  for (const double p : {0.0, 1.0, 3.0, 2.0, 1.0}) {
    const auto outputs = runner->run({{"x", x}, {"p", ints({1}, {p})}}, state);
    EXPECT_EQ(to_tensor(outputs.at("y")).values, (std::vector<double>{p}));
    std::vector<double> slice;
    for (double i = 0; i < p; ++i) slice.push_back(p + i);
    EXPECT_EQ(to_tensor(outputs.at("z")).values, slice);
  }
  const NamedHostTensors outside = {{"x", x}, {"p", ints({1}, {6})}};
  EXPECT_ERROR(runner->run(outside, state), ErrorCode::InvalidFile,
               "slice_by_index 'y': 'y' is declared tensor<fp32, [1]>: 0 and 1");
}

// A decoder's loop: its body is planned once, whatever the position and the loop-carried values.
TEST(Runner, LoopsKeepTheirPlans) {
  const auto constant = [](const std::string& type, const std::string& name,
                           const std::string& value) {
    return type + " " + name + " = const()[name = string(\"" + name + "\"), val = " + type + "(" +
           value + ")];\n";
  };
  const mil::Model model =
      model_of("tensor<fp32, [4]> x",
               constant("int32", "zero", "0") + constant("int32", "one", "1") +
                   constant("int32", "many", "50") + constant("fp32", "half", "0.5") +
                   "tensor<int32, []> i, tensor<fp32, [4]> y = while_loop(loop_vars = (zero, x))\n"
                   "[name = string(\"i\")]\n"
                   "(tensor<int32, []> i1, tensor<fp32, [4]> y1) {\n"
                   "tensor<bool, []> more = less(x = i1, y = many)[name = string(\"more\")];\n"
                   "} -> (more)\n"
                   "(tensor<int32, []> i2, tensor<fp32, [4]> y2) {\n"
                   "tensor<int32, []> next = add(x = i2, y = one)[name = string(\"next\")];\n"
                   "tensor<fp32, [4]> z = mul(x = y2, y = half)[name = string(\"z\")];\n"
                   "tensor<fp32, [4]> w = add(x = z, y = half)[name = string(\"w\")];\n"
                   "} -> (next, w);\n",
               "y");
  const auto profile = std::make_shared<Profile>();
  ThreadPool pool(1);
  State state({});
  const auto runner = Runner::make(model, "main", pool);
  const auto plans_made = [&] {
    const auto events = profile->events();
    return std::count_if(events.begin(), events.end(),
                         [](const auto& event) { return event.name == "plan"; });
  };
  const ProfileScope scope(profile);
  const auto outputs = runner->run({{"x", floats({4}, {0, 1, 2, 3})}}, state);
  for (const double value : to_tensor(outputs.at("y")).values) EXPECT_NEAR(value, 1, 1e-6);
  const auto after_one_run = plans_made();
  EXPECT_GE(after_one_run, 1);
  EXPECT_LE(after_one_run, 3);  // of the condition, of the body, and perhaps of a part of it
  runner->run({{"x", floats({4}, {4, 5, 6, 7})}}, state);
  EXPECT_EQ(plans_made(), after_one_run);
}

TEST(Runner, NothingLeavesItsMemory) {
  // The declared type does not match the constant.
  const mil::Model model = model_of(
      "tensor<fp32, [4]> x, tensor<int32, [1]> p",
      "            tensor<int32, [1]> n = const()[name = string(\"n\"), val = tensor<int32, "
      "[1]>([3])];\n"
      "            tensor<fp32, [3]> y = slice_by_size(begin = p, size = n, x = x)[name = "
      "string(\"y\")];\n",
      "y");
  const HostTensor x = floats({4}, {0, 1, 2, 3});
  EXPECT_EQ(to_tensor(run(model, {{"x", x}, {"p", ints({1}, {1})}}).at("y")).values,
            (std::vector<double>{1, 2, 3}));
  for (const char* place : {"2", "2147483647"}) {
    const NamedHostTensors outside = {{"x", x}, {"p", ints({1}, {std::stod(place)})}};
    EXPECT_ERROR(run(model, outside), ErrorCode::InvalidArgument,
                 std::string("copy: [3] from element ") + place +
                     " on reaches beyond its value of 4 elements");
  }
}

}  // namespace
}  // namespace pippin::engine
