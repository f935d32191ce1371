#include "pippin/engine/reference/reference.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/text/text.h"

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
  // [1] stands for a scalar, and fp16 cannot hold 0.0001.
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

// [x, 2x, ...], n of them, in a list that grows from one element.
const char* kListLoop = R"(
    list<tensor<fp32, [2]>, 1> empty = make_list(init_length = int32(1), elem_shape = (int32(2)), dtype = string("fp32"))[name = string("empty")];
    tensor<int32, []> i, list<tensor<fp32, [2]>, 1> filled = while_loop(loop_vars = (int32(0), empty))[name = string("w")]
      (tensor<int32, []> i_1, list<tensor<fp32, [2]>, 1> l_1) {
        tensor<bool, []> go = less(x = i_1, y = n)[name = string("go")];
      } -> (go)
      (tensor<int32, []> i_2, list<tensor<fp32, [2]>, 1> l_2) {
        tensor<int32, []> next = add(x = i_2, y = int32(1))[name = string("next")];
        tensor<fp32, []> factor = cast(x = next, dtype = string("fp32"))[name = string("factor")];
        tensor<fp32, [2]> item = mul(x = x, y = factor)[name = string("item")];
        list<tensor<fp32, [2]>, 1> longer = list_write(ls = l_2, index = i_2, value = item)[name = string("longer")];
      } -> (next, longer);
    tensor<int32, []> count = list_length(ls = filled)[name = string("count")];
    tensor<int32, [?]> all = range_1d(start = int32(0), end = count, step = int32(1))[name = string("all")];
    tensor<fp32, [?, 2]> y = list_gather(ls = filled, indices = all)[name = string("y")];
)";
const char* kListLoopInputs = "tensor<fp32, [2]> x, tensor<int32, []> n";

NamedTensors list_loop_inputs(double count) {
  return {{"x", tensor({2}, {1, 10})}, {"n", tensor({}, {count}, DataType::Int32)}};
}

TEST(Reference, ListsGrowInLoops) {
  const mil::Program program = program_of(kListLoopInputs, kListLoop, "y");
  const ReferenceInterpreter interpreter(program, "main");
  ReferenceState state;
  const Tensor y = interpreter.run(list_loop_inputs(3), state).at("y");
  EXPECT_EQ(y.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 10, 2, 20, 3, 30}));
  // No iteration: the one element keeps its initial value.
  EXPECT_EQ(interpreter.run(list_loop_inputs(0), state).at("y").values,
            (std::vector<double>{0, 0}));
}

TEST(Reference, ListsThatCannotGrow) {
  const mil::Program program = program_of("tensor<fp32, []> x, tensor<int32, []> at", R"(
    list<tensor<fp32, []>, 2> two = make_list(init_length = int32(2), dynamic_length = bool(false), elem_shape = ())[name = string("two")];
    list<tensor<fp32, []>, 2> set = list_write(ls = two, index = at, value = x)[name = string("set")];
    tensor<fp32, []> y = list_read(ls = set, index = int32(1))[name = string("y")];
    tensor<int32, []> count = list_length(ls = set)[name = string("count")];
    tensor<int32, [2]> all = range_1d(start = int32(0), end = count, step = int32(1))[name = string("all")];
)",
                                          "y, all");
  const auto inputs = [](double at) -> NamedTensors {
    return {{"x", tensor({}, {5})}, {"at", tensor({}, {at}, DataType::Int32)}};
  };
  ReferenceState state;
  // The length is known without running: range_1d is declared with it.
  EXPECT_EQ(ReferenceInterpreter(program, "main").run(inputs(1), state).at("y").values,
            (std::vector<double>{5}));
  EXPECT_EQ(ReferenceInterpreter(program, "main").run(inputs(0), state).at("y").values,
            (std::vector<double>{0}));
  EXPECT_EQ(code_of(program, inputs(2)), ErrorCode::InvalidFile);
}

// The size of the elements is known from the first write.
TEST(Reference, ListsOfUnknownElements) {
  const auto program = [](const std::string& index) {
    return program_of("tensor<fp32, [3]> x",
                      R"(
    list<tensor<fp32, [?]>, 2> two = make_list(init_length = int32(2), elem_shape = (string("size")), dtype = string("fp32"))[name = string("two")];
    list<tensor<fp32, [?]>, 2> set = list_write(ls = two, index = int32(1), value = x)[name = string("set")];
    tensor<fp32, [?]> y = list_read(ls = set, index = int32()" +
                          index + R"())[name = string("y")];
)",
                      "y");
  };
  const mil::Program good = program("1"), bad = program("0");
  const NamedTensors inputs = {{"x", tensor({3}, {1, 2, 3})}};
  ReferenceState state;
  EXPECT_EQ(ReferenceInterpreter(good, "main").run(inputs, state).at("y").values,
            (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(code_of(bad, inputs), ErrorCode::InvalidFile);
}

std::string message_of(const mil::Program& program, const NamedTensors& inputs,
                       const ReferenceOptions& options = {}) {
  try {
    ReferenceState state;
    ReferenceInterpreter(program, "main", options).run(inputs, state);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Reference, LimitsTurnsOfLoops) {
  const mil::Program program = program_of("tensor<int32, []> x", R"(
    tensor<int32, []> y = while_loop(loop_vars = (x))[name = string("endless")]
      (tensor<int32, []> a) {
        tensor<bool, []> go = equal(x = a, y = a)[name = string("go")];
      } -> (go)
      (tensor<int32, []> b) {
        tensor<int32, []> same = identity(x = b)[name = string("same")];
      } -> (same);
)",
                                          "y");
  ReferenceOptions options;
  options.max_loop_turns = 100;
  const NamedTensors inputs = {{"x", tensor({}, {0}, DataType::Int32)}};
  EXPECT_EQ(code_of(program, inputs, options), ErrorCode::LimitExceeded);
  EXPECT_EQ(message_of(program, inputs, options),
            "while_loop 'endless': the loops of this run have made 100 turns, the limit");
  // The condition runs once more than the body.
  const mil::Program list = program_of(kListLoopInputs, kListLoop, "y");
  EXPECT_EQ(message_of(list, list_loop_inputs(99), options), "");
  EXPECT_EQ(code_of(list, list_loop_inputs(100), options), ErrorCode::LimitExceeded);
}

TEST(Reference, LimitsWhatIsAlive) {
  ReferenceOptions options;
  options.max_live_elements = 25;
  const auto chain = [](const std::string& last_operand) {
    return program_of("tensor<fp32, [10]> x",
                      R"(
    tensor<fp32, [10]> a = relu(x = x)[name = string("a")];
    tensor<fp32, [10]> b = relu(x = a)[name = string("b")];
    tensor<fp32, [10]> c = relu(x = b)[name = string("c")];
    tensor<fp32, [10]> y = add(x = c, y = )" +
                          last_operand + R"()[name = string("y")];
)",
                      "y");
  };
  const NamedTensors inputs = {{"x", tensor({10}, std::vector<double>(10, 1))}};
  // Two at a time, unless the first is needed to the end.
  EXPECT_EQ(message_of(chain("c"), inputs, options), "");
  EXPECT_EQ(message_of(chain("x"), inputs, options),
            "'b': with its 10 elements there are 30, the limit is 25");
  EXPECT_EQ(code_of(chain("x"), inputs, options), ErrorCode::LimitExceeded);
  // Lists count with their elements.
  options.max_live_elements = 35;
  const mil::Program list = program_of(kListLoopInputs, kListLoop, "y");
  EXPECT_EQ(message_of(list, list_loop_inputs(2), options), "");
  EXPECT_EQ(code_of(list, list_loop_inputs(50), options), ErrorCode::LimitExceeded);
}

TEST(Reference, LimitsNameTheOperation) {
  const mil::Program program = program_of("tensor<int32, [1]> shape", R"(
    tensor<fp32, [?]> y = fill(shape = shape, value = fp32(0x1p+0))[name = string("big")];
)",
                                          "y");
  ReferenceOptions options;
  options.max_elements = 1000;
  EXPECT_EQ(message_of(program, {{"shape", tensor({1}, {1001}, DataType::Int32)}}, options),
            "fill 'big': a value of 1001 elements, the limit is 1000");
}

// Values that a loop does not change stay known in its body, for example a shape.
TEST(Reference, LoopsKeepWhatTheyLeaveAlone) {
  const mil::Program program = program_of("tensor<fp32, [6]> x, tensor<int32, []> n", R"(
    tensor<int32, [2]> shape = const()[name = string("shape"), val = tensor<int32, [2]>([2, 3])];
    tensor<int32, []> i, tensor<int32, [2]> s, tensor<fp32, [2, 3]> y = while_loop(loop_vars = (n, shape, tensor<fp32, [2, 3]>([[0x0p+0, 0x0p+0, 0x0p+0], [0x0p+0, 0x0p+0, 0x0p+0]])))[name = string("w")]
      (tensor<int32, []> i_1, tensor<int32, [2]> s_1, tensor<fp32, [2, 3]> y_1) {
        tensor<bool, []> go = greater(x = i_1, y = int32(0))[name = string("go")];
      } -> (go)
      (tensor<int32, []> i_2, tensor<int32, [2]> s_2, tensor<fp32, [2, 3]> y_2) {
        tensor<int32, []> less = sub(x = i_2, y = int32(1))[name = string("less")];
        tensor<fp32, [2, 3]> part = reshape(x = x, shape = s_2)[name = string("part")];
        tensor<fp32, [2, 3]> sum = add(x = y_2, y = part)[name = string("sum")];
      } -> (less, s_2, sum);
)",
                                          "y");
  const mil::Inference inference = mil::infer(program.function("main"), {});
  EXPECT_TRUE(inference.constraints.empty());
  ReferenceState state;
  const Tensor y =
      ReferenceInterpreter(program, "main")
          .run({{"x", tensor({6}, {1, 2, 3, 4, 5, 6})}, {"n", tensor({}, {2}, DataType::Int32)}},
               state)
          .at("y");
  EXPECT_EQ(y.values, (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST(Reference, ClassifiersGiveDictionaries) {
  const mil::Program program = program_of("tensor<fp32, [1, 3]> x", R"(
    list<string, 3> classes = const()[name = string("classes"), val = list<string, 3>(["a", "b", "c"])];
    tensor<string, []> label, dict<string, fp64> chances = classify(probabilities = x, classes = classes)[name = string("classify")];
)",
                                          "label, chances");
  ReferenceState state;
  const NamedTensors outputs =
      ReferenceInterpreter(program, "main").run({{"x", tensor({1, 3}, {1, 3, 2})}}, state);
  EXPECT_EQ(outputs.at("label").strings, std::vector<std::string>{"b"});
  ASSERT_EQ(outputs.at("chances").items.size(), 2u);
  EXPECT_EQ(outputs.at("chances").items[1]->values, (std::vector<double>{1, 3, 2}));
}

TEST(Reference, RefusesWhatItDoesNotKnowBeforeItRuns) {
  const NamedTensors inputs = {{"x", tensor({1}, {0})}};
  const auto refusal = [&](const std::string& body) {
    return message_of(program_of("tensor<fp32, [1]> x", body, "y"), inputs);
  };
  EXPECT_EQ(refusal("tensor<fp32, [1]> y = frobnicate(x = x)[name = string(\"f\")];\n"),
            "frobnicate 'f': the op is not supported in opset CoreML8");
  EXPECT_EQ(refusal("tensor<fp32, [1]> y = gelu(x = x, mode = string(\"SOME\"))[name = "
                    "string(\"g\")];\n"),
            "gelu 'g': mode \"SOME\" is unknown");
}

// One number in 4096 would be rounded up to 1.
TEST(Reference, UniformNumbersAreBelowTheirLimit) {
  const mil::Program program = program_of("tensor<fp16, [1]> x", R"(
    tensor<fp16, [100000]> y = random_uniform(shape = tensor<int32, [1]>([100000]), low = fp16(0), high = fp16(1), seed = int32(5))[name = string("y")];
)",
                                          "y");
  ReferenceState state;
  const Tensor drawn = ReferenceInterpreter(program, "main")
                           .run({{"x", tensor({1}, {0}, DataType::Float16)}}, state)
                           .at("y");
  const auto [least, most] = std::minmax_element(drawn.values.begin(), drawn.values.end());
  EXPECT_GE(*least, 0);
  EXPECT_LT(*most, 1);
  EXPECT_GT(*most, 0.999);
}

}  // namespace
}  // namespace pippin::engine
