#include "pippin/engine/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/mil/text.h"

namespace pippin::engine {
namespace {

using mil::DataType;
using mil::Tensor;
using NamedTensors = std::map<std::string, Tensor>;

mil::Program program_of(const std::string& signature, const std::string& body,
                        const std::string& outputs) {
  return mil::parse_text(
      fmt::format("program(1.3)\n{{\nfunc main<ios18>({}) {{\n{}}} -> ({});\n}}\n", signature, body,
                  outputs),
      "test");
}

Tensor tensor(std::vector<int64_t> shape, std::vector<double> values,
              DataType type = DataType::Float32) {
  Tensor result(type, std::move(shape));
  result.values = std::move(values);
  return result;
}

ErrorCode code_of(const mil::Program& program, const NamedTensors& inputs,
                  const ReferenceOptions& options = {}) {
  try {
    ReferenceState state;
    ReferenceInterpreter(program, "main", options).run(inputs, state);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::Internal;
}

TEST(Reference, StatesAreCopiedAndPersist) {
  const mil::Program program = program_of("tensor<fp16, [2]> x, state<tensor<fp16, [2]>> s", R"(
    tensor<fp16, [2]> before = read_state(input = s)[name = string("before")];
    tensor<fp16, [2]> sum = add(x = before, y = x)[name = string("sum")];
    write_state(data = sum, input = s)[name = string("write")];
    tensor<fp16, [2]> after = read_state(input = s)[name = string("after")];
)",
                                          "before, after");
  const ReferenceInterpreter interpreter(program, "main");
  ReferenceState state;
  const NamedTensors inputs = {{"x", tensor({2}, {1, 2})}};
  auto outputs = interpreter.run(inputs, state);
  EXPECT_EQ(outputs.at("before").values, (std::vector<double>{0, 0}));
  EXPECT_EQ(outputs.at("after").values, (std::vector<double>{1, 2}));
  outputs = interpreter.run(inputs, state);
  EXPECT_EQ(outputs.at("before").values, (std::vector<double>{1, 2}));
  EXPECT_EQ(outputs.at("after").values, (std::vector<double>{2, 4}));
  ReferenceState other;
  EXPECT_EQ(interpreter.run(inputs, other).at("before").values, (std::vector<double>{0, 0}));
}

TEST(Reference, InputsAreRoundedAndChecked) {
  const mil::Program program =
      program_of("tensor<fp16, []> x", "fp16 y = exp(x = x)[name = string(\"y\")];\n", "y");
  const ReferenceInterpreter interpreter(program, "main");
  ReferenceState state;
  // [1] stands for a scalar, and 0.0001 is no fp16.
  const Tensor y = interpreter.run({{"x", tensor({1}, {0})}}, state).at("y");
  EXPECT_TRUE(y.shape.empty());
  EXPECT_EQ(y.type, DataType::Float16);
  EXPECT_EQ(y.values, std::vector<double>{1});
  EXPECT_EQ(code_of(program, {}), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(program, {{"x", tensor({2}, {0, 0})}}), ErrorCode::InvalidArgument);
}

TEST(Reference, LimitsElements) {
  const mil::Program program = program_of("tensor<int32, [2]> shape", R"(
    tensor<fp32, [?, ?]> y = fill(shape = shape, value = fp32(0x1p+0))[name = string("y")];
)",
                                          "y");
  ReferenceOptions options;
  options.max_elements = 1000;
  EXPECT_EQ(code_of(program, {{"shape", tensor({2}, {1000, 1000}, DataType::Int32)}}, options),
            ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(program, {{"shape", tensor({2}, {-1, 2}, DataType::Int32)}}, options),
            ErrorCode::LimitExceeded);
}

TEST(Reference, SizesThatOnlyTheRunTellsAreChecked) {
  const mil::Program program = program_of("tensor<fp32, [2, 4]> x, tensor<int32, [1]> end", R"(
    tensor<int32, [2]> stop = concat(values = (int32(2), end), axis = int32(0))[name = string("s")];
    tensor<fp32, [2, ?]> part = slice_by_index(x = x, begin = tensor<int32, [2]>([0, 0]), end = stop)[name = string("p")];
    tensor<fp32, [2, 1]> y = linear(x = part, weight = tensor<fp32, [1, 2]>([[0x1p+0, 0x1p+0]]))[name = string("y")];
)",
                                          "y");
  const Tensor x = tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const ReferenceInterpreter interpreter(program, "main");
  ReferenceState state;
  const NamedTensors fits = {{"x", x}, {"end", tensor({1}, {2}, DataType::Int32)}};
  EXPECT_EQ(interpreter.run(fits, state).at("y").values, (std::vector<double>{3, 11}));
  EXPECT_EQ(code_of(program, {{"x", x}, {"end", tensor({1}, {4}, DataType::Int32)}}),
            ErrorCode::InvalidFile);
}

TEST(Reference, LoopsAndBranches) {
  const mil::Program program = program_of("tensor<fp32, [1]> x, tensor<int32, []> n", R"(
    tensor<int32, []> i, tensor<fp32, [?]> all = while_loop(loop_vars = (n, x))[name = string("w")]
      (tensor<int32, []> i_1, tensor<fp32, [?]> a_1) {
        tensor<bool, []> go = greater(x = i_1, y = int32(0))[name = string("go")];
      } -> (go)
      (tensor<int32, []> i_2, tensor<fp32, [?]> a_2) {
        tensor<int32, []> less = sub(x = i_2, y = int32(1))[name = string("less")];
        tensor<fp32, [?]> more = concat(values = (a_2, x), axis = int32(0))[name = string("more")];
      } -> (less, more);
)",
                                          "all");
  const ReferenceInterpreter interpreter(program, "main");
  ReferenceState state;
  const auto outputs =
      interpreter.run({{"x", tensor({1}, {7})}, {"n", tensor({}, {2}, DataType::Int32)}}, state);
  EXPECT_EQ(outputs.at("all").values, (std::vector<double>{7, 7, 7}));
}

TEST(Reference, SymbolsAgreeWithNumbers) {
  const mil::Program program = program_of("tensor<fp32, [?, 4]> x", R"(
    tensor<int32, [2]> s = shape(x = x)[name = string("s")];
    tensor<int32, [1]> n = slice_by_index(x = s, begin = tensor<int32, [1]>([0]), end = tensor<int32, [1]>([1]))[name = string("n")];
    tensor<int32, [2]> to = concat(values = (n, int32(-1)), axis = int32(0))[name = string("to")];
    tensor<fp32, [4, ?]> t = transpose(x = x, perm = tensor<int32, [2]>([1, 0]))[name = string("t")];
    tensor<fp32, [?, 4]> y = reshape(x = t, shape = to)[name = string("y")];
)",
                                          "y");
  ReferenceOptions options;
  options.check_symbolic = true;
  const ReferenceInterpreter interpreter(program, "main", options);
  ReferenceState state;
  const Tensor y =
      interpreter.run({{"x", tensor({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}}, state).at("y");
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(y.values, (std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7}));
}

}  // namespace
}  // namespace pippin::engine
