// Predictions from the caller's memory into the caller's memory, once and repeatedly.
#include "pippin/api/call.h"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/allocations_testing.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"

namespace pippin {
namespace {

// main: a running sum of x; types: a tensor of each type that plans support; loop: n iterations;
// found: a shape that depends on values, which cannot be planned.
constexpr std::string_view kProgram = R"(program(1.3)
{
  func main<ios18>(tensor<fp32, [2, 3]> x, state<tensor<fp16, [2, 3]>> total) {
    tensor<fp16, [2, 3]> before = read_state(input = total)[name = string("before")];
    tensor<fp16, [2, 3]> half = cast(dtype = string("fp16"), x = x)[name = string("half")];
    tensor<fp16, [2, 3]> more = add(x = before, y = half)[name = string("more")];
    write_state(data = more, input = total)[name = string("write")];
    tensor<fp32, [2, 3]> y = cast(dtype = string("fp32"), x = more)[name = string("y")];
    tensor<fp32, [2, 3]> z = mul(x = y, y = x)[name = string("z")];
  } -> (y, z);
  func types<ios18>(tensor<fp16, [2, 2]> h, tensor<int32, [2]> i, tensor<fp32, [2]> f) {
    tensor<fp16, [2, 2]> h2 = add(x = h, y = h)[name = string("h2")];
    tensor<int32, [2]> i2 = add(x = i, y = i)[name = string("i2")];
    tensor<fp32, []> sum = reduce_sum(x = f, axes = tensor<int32, [1]>([0]), keep_dims = bool(false))[name = string("sum")];
  } -> (h2, i2, sum);
  func loop<ios18>(tensor<fp32, [2]> x, int32 n) {
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 one = const()[name = string("one"), val = int32(1)];
    int32 i, tensor<fp32, [2]> y = while_loop(loop_vars = (zero, x))[name = string("loop")]
    (int32 j, tensor<fp32, [2]> a) { bool c = less(x = j, y = n)[name = string("c")]; } -> (c)
    (int32 k, tensor<fp32, [2]> b) { int32 m = add(x = k, y = one)[name = string("m")]; tensor<fp32, [2]> d = add(x = b, y = x)[name = string("d")]; } -> (m, d);
  } -> (y);
  func found<ios18>(tensor<fp32, [4]> x) {
    tensor<int32, [?, 1]> places = non_zero(x = x)[name = string("places")];
  } -> (places);
}
)";

using Floats = std::vector<float>;

Tensor floats(Floats& memory, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  return Tensor::wrap(DataType::Float32, std::move(shape), memory.data(), std::move(strides));
}

class Calls : public testing::Test {
 protected:
  Calls() { mil::write_package(mil::describe_program(mil::parse_text(kProgram, "test")), path_); }

  Model load(const LoadOptions& options = {}) { return Model::load(path_, options); }

  TempDir folder_;
  std::filesystem::path path_ = folder_ / "x.mlpackage";
};

TEST_F(Calls, ReadAndWriteTheCallersMemory) {
  for (const Precision precision : {Precision::Fast, Precision::Exact, Precision::Reference}) {
    LoadOptions options;
    options.num_threads = 1;
    options.precision = precision;
    const Function function = load(options).function("main");
    Floats x = {1, 2, 3, 4, 5, 6}, y(6), z(13, -1);
    // z is written column by column, every other float, from the end.
    Call call = function.prepare(
        {{"x", floats(x, {2, 3})}},
        {{"y", floats(y, {2, 3})},
         {"z", Tensor::wrap(DataType::Float32, {2, 3}, z.data() + 12, {-8, -16})}});
    EXPECT_EQ(call.is_planned(), precision != Precision::Reference);
    State state = function.make_state();
    call.run(state);
    EXPECT_EQ(y, (Floats{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(z, (Floats{-1, -1, 36, -1, 9, -1, 25, -1, 4, -1, 16, -1, 1}));
    x = {1, 1, 1, 1, 1, 1};
    call.run(state);
    EXPECT_EQ(y, (Floats{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(z[12], 2);
    State other = function.make_state();
    call.run(other);
    EXPECT_EQ(y, x);
    for (int i = 0; i < 2; ++i) call.run();  // from zeros each time
    EXPECT_EQ(y, x);
    call.run(state);
    EXPECT_EQ(y, (Floats{3, 4, 5, 6, 7, 8}));
    // Another input of the same form: in place, reversed and broadcast.
    Floats two = {2};
    call.inputs()["x"] = floats(two, {2, 3}, {0, 0});
    call.run();
    EXPECT_EQ(y, Floats(6, 2));
    call.inputs()["x"] = floats(y, {2, 3});  // the output is the next input
    call.run(state);
    EXPECT_EQ(y, (Floats{5, 6, 7, 8, 9, 10}));
  }
}

// The function as one plan, without intermediate copies of values: a prediction allocates only what
// the call does, and the key for finding the plan.
TEST_F(Calls, PredictionsOfFunctionsTakeTheSameWay) {
  for (const DataType type : {DataType::Float32, DataType::Float16, DataType::Float64}) {
    LoadOptions options;
    options.num_threads = 1;
    const Function function = load(options).function("main");
    const Values inputs = {{"x", Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3}).to(type)}};
    const auto count = [](const auto& predict) {
      predict();
      const int64_t before = allocations();
      predict();
      return allocations() - before;
    };
    Call call = function.prepare(inputs);
    State state = function.make_state(), other = function.make_state();
    const int64_t prepared = count([&] { call.predict(state); });
    EXPECT_LE(count([&] { function.predict(inputs, other); }), prepared + 4);
    EXPECT_EQ(tensor_at(function.predict(inputs, other), "y").to_floats(),
              tensor_at(call.predict(state), "y").to_floats());
  }
}

TEST_F(Calls, PredictIntoNewTensors) {
  for (const bool trace : {false, true}) {  // with tracing, there is no plan
    LoadOptions options;
    options.num_threads = 1;
    options.trace = trace;
    const Function function = load(options).function("main");
    Floats x = {1, 2, 3, 4, 5, 6};
    Call call = function.prepare({{"x", floats(x, {2, 3})}});
    EXPECT_EQ(call.is_planned(), !trace);
    State state = function.make_state(), other = function.make_state();
    for (int i = 0; i < 3; ++i) {
      const Values got = call.predict(state), want = function.predict(call.inputs(), other);
      ASSERT_EQ(got.size(), 2u);
      for (const auto& [name, value] : want) {
        const Tensor& tensor = tensor_at(got, name);
        EXPECT_FALSE(tensor.is_wrapped());
        EXPECT_EQ(tensor.shape(), std::get<Tensor>(value).shape());
        EXPECT_EQ(tensor.to_floats(), std::get<Tensor>(value).to_floats()) << name;
      }
      x[0] += 1;
    }
    // Into different memory each time, and only some outputs.
    Floats z(6), same(6);
    Values into = {{"z", floats(z, {2, 3})}}, in_place = {{"y", floats(x, {2, 3})}};
    call.predict(state, into);
    function.predict(call.inputs(), other, into = {{"z", floats(same, {2, 3})}});
    EXPECT_EQ(z, same);
    call.predict(other, in_place);
    EXPECT_EQ(x[5], 30);
    Values wrong = {{"z", floats(z, {3, 2})}};
    EXPECT_THROW(call.predict(state, wrong), Error);
    wrong = {{"none", floats(z, {2, 3})}};
    EXPECT_THROW(call.predict(state, wrong), Error);
    EXPECT_EQ(z, same);
    // A call prepared for some outputs can also return all of them.
    Call some = function.prepare({{"x", floats(z, {2, 3})}}, {{"y", floats(same, {2, 3})}});
    EXPECT_EQ(some.predict(state).size(), 2u);
    EXPECT_EQ(same[0], tensor_at(some.outputs(), "y").to_floats()[0]);
  }
}

TEST_F(Calls, ConvertAsPredictDoes) {
  for (const bool trace : {false, true}) {  // with tracing, there is no plan
    LoadOptions options;
    options.trace = trace;
    const Function function = load(options).function("types");
    std::vector<double> h = {0.1, 1, 2, 70000};
    std::vector<int64_t> i = {3, -4};
    std::vector<std::byte> odd(9);
    Tensor h2(DataType::Float16, {2, 2}), i2(DataType::Int32, {2});
    Tensor sum = Tensor::wrap(DataType::Float32, {1}, odd.data() + 1);
    const Values inputs = {{"h", Tensor::wrap(DataType::Float64, {2, 2}, h.data(), {8, 16})},
                           {"i", Tensor::wrap(DataType::Int64, {2}, i.data())},
                           {"f", Tensor::from(std::vector<uint8_t>{7, 8}, {2})}};
    h[3] = 3;
    Call call = function.prepare(inputs, {{"h2", h2}, {"i2", i2}, {"sum", sum}});
    EXPECT_EQ(call.is_planned(), !trace);
    call.run();
    const Values want = function.predict(inputs);
    for (const auto& [name, value] : call.outputs()) {
      EXPECT_EQ(std::get<Tensor>(value).to_doubles(), tensor_at(want, name).to_doubles()) << name;
    }
    EXPECT_EQ(sum.to_floats(), Floats{15});
    // Errors are reported as by predict(), and nothing is written.
    i[0] = int64_t{1} << 40;
    h[0] = 8;
    const std::string told = "input 'i': element 0 is 1099511627776, which int32 cannot hold";
    EXPECT_ERROR(call.run(), ErrorCode::InvalidArgument, told);
    EXPECT_ERROR(function.predict(inputs), ErrorCode::InvalidArgument, told);
    EXPECT_EQ(tensor_at(call.outputs(), "i2").to_doubles(), (std::vector<double>{6, -8}));
    EXPECT_EQ(tensor_at(call.outputs(), "h2").to_doubles(), tensor_at(want, "h2").to_doubles());
  }
}

TEST_F(Calls, TakeNoMemory) {
  const Model model = load({.num_threads = 2});
  const Function function = model.function("main"), types = model.function("types");
  Floats x = {1, 2, 3, 4, 5, 6}, y(6), z(6);
  Call call = function.prepare({{"x", floats(x, {2, 3}, {4, 8})}},
                               {{"y", floats(y, {2, 3})}, {"z", floats(z, {2, 3}, {4, 8})}});
  Call convert = types.prepare({{"h", Tensor(DataType::Float64, {2, 2})},
                                {"i", Tensor(DataType::Int8, {2})},
                                {"f", Tensor(DataType::Float16, {2})}},
                               {{"h2", Tensor(DataType::Float16, {2, 2})},
                                {"i2", Tensor(DataType::Int32, {2})},
                                {"sum", Tensor(DataType::Float32, {1})}});
  ASSERT_TRUE(call.is_planned() && convert.is_planned());
  State state = function.make_state();
  const CancelToken token;
  const auto use = [&] {
    call.run(state);
    call.run(state, token);
    convert.run();
  };
  use();
  const int64_t before = allocations();
  use();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(y[5], 24);
}

TEST_F(Calls, DoWhatCannotBePlanned) {
  const Function function = load().function("loop");
  Floats x = {1, 2}, y(2);
  std::vector<int32_t> n = {2};
  Call call =
      function.prepare({{"x", floats(x, {2})}, {"n", Tensor::wrap(DataType::Int32, {1}, n.data())}},
                       {{"y", floats(y, {2})}});
  EXPECT_FALSE(call.is_planned());
  call.run();
  EXPECT_EQ(y, (Floats{3, 6}));
  n[0] = 4;
  call.run();
  EXPECT_EQ(y, (Floats{5, 10}));
}

TEST_F(Calls, TakeAndGiveImages) {
  constexpr std::string_view program = R"(program(1.3)
{
  func main<ios18>(tensor<fp32, [1, 3, 1, 2]> picture) {
    tensor<fp32, [1, 3, 1, 2]> out = add(x = picture, y = picture)[name = string("out")];
  } -> (out);
}
)";
  mil::Model model = mil::describe_program(mil::parse_text(program, "test"));
  for (mil::Feature* feature : {&model.functions[0].inputs[0], &model.functions[0].outputs[0]}) {
    feature->kind = mil::Feature::Kind::Image;
    feature->image.size = {2, 1};
    feature->image.color_space = mil::ColorSpace::Bgr;
  }
  mil::write_package(model, folder_ / "picture.mlpackage");
  const Function function = Model::load(folder_ / "picture.mlpackage").function();
  Image picture{2, 1, 3, DataType::UInt8, {}};
  for (const int level : {1, 2, 3, 4, 200, 6}) picture.pixels.push_back(std::byte(level));
  std::vector<uint8_t> out(6);  // a pixel's colors are contiguous, as in most pictures
  Call call = function.prepare(
      {{"picture", picture}},
      {{"out", Tensor::wrap(DataType::UInt8, {1, 3, 1, 2}, out.data(), {6, 1, 6, 3})}});
  EXPECT_FALSE(call.is_planned());
  call.run();
  EXPECT_EQ(out, (std::vector<uint8_t>{6, 4, 2, 12, 255, 8}));
  picture.width = 1;
  call.inputs()["picture"] = picture;
  EXPECT_ERROR(call.run(), ErrorCode::InvalidArgument, "input 'picture': an image of 1 x 1 pixels");
}

TEST_F(Calls, RefuseTensorsThatOutputsCannotHave) {
  const Function function = load().function("main");
  Floats x(6), memory(12, -1);
  const Values inputs = {{"x", floats(x, {2, 3})}};
  State state = function.make_state();
  const auto refuses = [&](Values outputs, const std::string& part) {
    EXPECT_ERROR(function.prepare(inputs, outputs), ErrorCode::InvalidArgument, part);
    EXPECT_ERROR(function.predict(inputs, state, outputs), ErrorCode::InvalidArgument, part);
    EXPECT_EQ(memory, Floats(12, -1));
  };
  const Tensor y = floats(memory, {2, 3});
  refuses({{"w", y}}, "no output 'w'; the model's outputs: y (float32 [2, 3]), z (float32 [2, 3])");
  refuses({{"y", Image()}},
          "output 'y' (float32 [2, 3]) cannot be written into a value that is not a tensor");
  refuses({{"y", floats(memory, {3, 2})}},
          "output 'y' is written into float32 [3, 2]; expected float32 [2, 3]");
  refuses({{"y", Tensor(DataType::Float16, {2, 3})}},
          "output 'y' is written into float16 [2, 3]; expected float32 [2, 3]");
  const auto* constant = static_cast<const float*>(memory.data());
  refuses({{"y", Tensor::wrap(DataType::Float32, {2, 3}, constant)}},
          "output 'y': its tensor is const memory");
  refuses(
      {{"y", floats(memory, {2, 3}, {12, 0})}},
      "output 'y': elements of its tensor share memory: shape [2, 3], strides of [12, 0] bytes");
  refuses({{"y", floats(memory, {2, 3}, {4, 4})}}, "output 'y': elements of its tensor share");
  refuses({{"y", floats(memory, {2, 3}, {12, 3})}}, "output 'y': elements of its tensor share");
  refuses({{"y", y}, {"z", y}}, "outputs 'y' and 'z' share memory");
  refuses({{"y", y}, {"z", Tensor::wrap(DataType::Float32, {2, 3}, memory.data() + 5)}},
          "outputs 'y' and 'z' share memory");
  // Two tensors that are halves of one matrix.
  Values halves = {{"y", floats(memory, {2, 3}, {24, 4})},
                   {"z", Tensor::wrap(DataType::Float32, {2, 3}, memory.data() + 3, {24, 4})}};
  x = {1, 2, 3, 4, 5, 6};
  function.predict(inputs, state, halves);
  EXPECT_EQ(memory, (Floats{1, 2, 3, 1, 4, 9, 4, 5, 6, 16, 25, 36}));

  EXPECT_ERROR(function.prepare({{"x", floats(x, {3, 2})}}, {}), ErrorCode::InvalidArgument,
               "input 'x': shape [3, 2]; expected float32 [2, 3]");
  EXPECT_ERROR(function.prepare({}, {}), ErrorCode::InvalidArgument, "input 'x' is missing");
  Call call = function.prepare(inputs, {});
  call.inputs()["x"] = floats(x, {6});
  EXPECT_ERROR(call.run(), ErrorCode::InvalidArgument,
               "input 'x': shape [6]; expected float32 [2, 3]");
  State wrong = load().function("types").make_state();
  EXPECT_ERROR(call.run(wrong), ErrorCode::InvalidArgument, "the given state has no 'total'");
  // More elements than allowed.
  EXPECT_ERROR(load({.max_elements = 5}).function("main").predict(inputs), ErrorCode::LimitExceeded,
               "input 'x': a value of 6 elements, the limit is 5");
}

TEST_F(Calls, WriteNothingWhereTheShapeIsAnother) {
  const Function function = load().function("found");
  Floats x = {1, 0, 1, 0};
  std::vector<int32_t> places(2, -1);
  const Values inputs = {{"x", floats(x, {4})}};
  Values outputs = {{"places", Tensor::wrap(DataType::Int32, {2, 1}, places.data())}};
  State state = function.make_state();
  Call call = function.prepare(inputs, outputs);
  call.run();
  EXPECT_EQ(places, (std::vector<int32_t>{0, 2}));
  x[3] = 1;
  const char* told = "output 'places' has the shape [3, 1], the tensor for it [2, 1]";
  EXPECT_ERROR(call.run(), ErrorCode::InvalidArgument, told);
  EXPECT_ERROR(function.predict(inputs, state, outputs), ErrorCode::InvalidArgument, told);
  EXPECT_EQ(places, (std::vector<int32_t>{0, 2}));
  x = {0, 0, 0, 0};  // nothing is found, which is also a tensor
  Values none = {{"places", Tensor(DataType::Int32, {0, 1})}};
  function.predict(inputs, state, none);
  EXPECT_EQ(tensor_at(none, "places").size(), 0);
}

// While a call waits for the model, another thread's run of it is an error; so is the end of the
// wait if it is cancelled.
TEST_F(Calls, AreForOneThreadAtATime) {
  const Model model = load({.num_threads = 1, .max_iterations = int64_t{1} << 40});
  const Function main = model.function("main"), loop = model.function("loop");
  Floats x(6, 1), y(6);
  Call call = main.prepare({{"x", floats(x, {2, 3})}}, {{"y", floats(y, {2, 3})}});
  CancelToken stop, give_up;
  std::thread busy([&] {
    const CancelScope scope(stop);
    const Values inputs = {{"x", Tensor(DataType::Float32, {2})},
                           {"n", Tensor::from(std::vector<int32_t>{1 << 30}, {1})}};
    EXPECT_ERROR(loop.predict(inputs), ErrorCode::Cancelled, "cancelled");
  });
  std::thread waiting([&] {
    State state = main.make_state();
    for (bool waits = true; waits;) {
      try {
        call.run(state, give_up);
      } catch (const Error& error) {  // that the other thread is in it
        waits = error.code() == ErrorCode::InvalidArgument;
        EXPECT_TRUE(waits || error.code() == ErrorCode::Cancelled);
      }
    }
  });
  State state = main.make_state();
  CancelToken now;
  now.request();
  for (bool is_refused = false; !is_refused;) {
    try {
      call.run(state, now);
    } catch (const Error& error) {
      is_refused = std::string(error.what()).starts_with("the call is in use: one thread");
      EXPECT_EQ(error.code(), is_refused ? ErrorCode::InvalidArgument : ErrorCode::Cancelled);
    }
  }
  give_up.request();
  waiting.join();
  stop.request();
  busy.join();
  call.run();
  EXPECT_EQ(y, x);
}

}  // namespace
}  // namespace pippin
