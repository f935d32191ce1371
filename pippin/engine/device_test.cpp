// The interface between programs and devices: plans, states, lanes and runners on a device other
// than the CPU.
#include "pippin/engine/device.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "pippin/engine/device_testing.h"
#include "pippin/engine/plan_testing.h"

namespace pippin::engine {
namespace {

// Rows [past, end) of a cache are written, [0, end) are summed; `past` is an input.
constexpr const char* kCached = R"(func main<ios18>(tensor<fp16, [?, 4]> x, tensor<int32, [1]> past,
                                                     state<tensor<fp16, [16, 4]>> cache) {
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 four = const()[name = string("four"), val = int32(4)];
    tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([0])];
    bool no = const()[name = string("no"), val = bool(false)];
    bool yes = const()[name = string("yes"), val = bool(true)];
    tensor<int32, [2]> x_shape = shape(x = x)[name = string("x_shape")];
    int32 rows = gather(x = x_shape, indices = zero, axis = zero)[name = string("rows")];
    int32 first = squeeze(x = past, axes = axes)[name = string("first")];
    int32 end = add(x = first, y = rows)[name = string("end")];
    tensor<int32, [2]> begin = concat(values = (first, zero), axis = zero, interleave = no)[name = string("begin")];
    tensor<int32, [2]> stop = concat(values = (end, four), axis = zero, interleave = no)[name = string("stop")];
    tensor<fp16, [16, 4]> before = read_state(input = cache)[name = string("before")];
    tensor<fp16, [16, 4]> after = slice_update(x = before, update = x, begin = begin, end = stop)[name = string("after")];
    write_state(input = cache, data = after)[name = string("write")];
    tensor<fp16, [16, 4]> now = read_state(input = cache)[name = string("now")];
    tensor<fp16, [1, 4]> y = reduce_sum(x = now, axes = axes, keep_dims = yes)[name = string("y")];
    tensor<int32, [1]> z = add(x = past, y = rows)[name = string("z")];
  } -> (y, z);)";

ComputeOptions on(std::shared_ptr<Device> device) {
  ComputeOptions compute;
  compute.device = std::move(device);
  return compute;
}

ComputeOptions on_cpu() {
  ComputeOptions compute;
  compute.precision = Precision::Reference;
  return compute;
}

// A sequence of rows of random numbers in one lane of an execution.
class Sequence {
 public:
  Sequence(const mil::Model& model, const ComputeOptions& compute, uint32_t seed)
      : state_(model.functions[0].states, compute), random_(seed) {}
  Sequence(State state, const Sequence& other)
      : state_(std::move(state)), random_(other.random_), past_(other.past_) {}

  void prepare(Execution& execution, size_t lane, int64_t rows) {
    execution.bind({{rows, 4}, {1}}, state_, lane);
    std::normal_distribution<float> normal;
    for (float& x : execution.float_input(0, lane)) x = normal(random_);
    execution.int_input(1, lane)[0] = static_cast<int32_t>(past_);
    past_ += rows;
  }
  State& state() { return state_; }

 private:
  State state_;
  std::mt19937 random_;
  int64_t past_ = 0;
};

std::vector<float> result(const Execution& execution, size_t lane) {
  const auto y = execution.float_output(0, lane);
  std::vector<float> all(y.begin(), y.end());
  all.push_back(static_cast<float>(execution.int_output(1, lane)[0]));
  return all;
}

PlanOptions plan_options(const ComputeOptions& compute) {
  PlanOptions options;
  options.compute = compute;
  options.input_ranges["x"] = {{1, 8}, {4, 4}};
  return options;
}

TEST(Device, RunsPlansInSeatsWithStates) {
  const mil::Model model = make_model(kCached);
  const auto device = std::make_shared<ReferenceDevice>();
  ThreadPool pool(2);
  Execution there(Plan::make(model, "main", plan_options(on(device))), pool);
  Execution here(Plan::make(model, "main", plan_options(on_cpu())), pool);
  EXPECT_EQ(there.plan().describe(), "main on the reference device\n");
  there.reserve_lanes(3);
  here.reserve_lanes(3);
  std::vector<Sequence> there_all, here_all;
  for (uint32_t i = 0; i < 3; ++i) {
    there_all.emplace_back(model, on(device), i);
    here_all.emplace_back(model, on_cpu(), i);
  }
  const auto prepare = [&](size_t lane, int64_t rows) {
    there_all[lane].prepare(there, lane, rows);
    here_all[lane].prepare(here, lane, rows);
    EXPECT_EQ(there.output_shape(0, lane), (std::vector<int64_t>{1, 4}));
  };
  const auto compare = [&](size_t lane) {
    EXPECT_EQ(result(there, lane), result(here, lane)) << "lane " << lane;
  };
  prepare(1, 5);
  there.run(1);
  here.run(1);
  compare(1);
  for (const std::vector<size_t>& lanes :
       std::vector<std::vector<size_t>>{{0, 1, 2}, {2, 0}, {1}}) {
    for (const size_t lane : lanes) prepare(lane, 1 + static_cast<int64_t>(lane));
    there.run_together(lanes);
    here.run_together(lanes);
    for (const size_t lane : lanes) compare(lane);
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(there_all[i].state().read("cache"), here_all[i].state().read("cache")) << i;
  }
  EXPECT_EQ(device->plans(), 1);
  EXPECT_EQ(device->states(), 3);
  EXPECT_EQ(device->runs(), 7);
}

TEST(Device, RefusesASeatOrAStateTwice) {
  const mil::Model model = make_model(kCached);
  ThreadPool pool(1);
  const ComputeOptions compute = on(std::make_shared<ReferenceDevice>());
  Execution execution(Plan::make(model, "main", plan_options(compute)), pool);
  execution.reserve_lanes(2);
  Sequence one(model, compute, 1);
  one.prepare(execution, 0, 1);
  one.prepare(execution, 1, 1);
  for (const std::vector<size_t>& lanes : std::vector<std::vector<size_t>>{{0, 0}, {0, 1}}) {
    EXPECT_EQ(fault([&] { execution.run_together(lanes); }).first, ErrorCode::InvalidArgument);
  }
}

// Writes of the host take effect, and reads return the contents of the device.
TEST(Device, StatesAreReadWrittenAndCloned) {
  const mil::Model model = make_model(kCached);
  ThreadPool pool(1);
  const ComputeOptions compute = on(std::make_shared<ReferenceDevice>());
  Execution execution(Plan::make(model, "main", plan_options(compute)), pool);
  Sequence one(model, compute, 1), source(model, compute, 1);
  one.prepare(execution, 0, 3);
  execution.run();
  const std::vector<float> first = result(execution, 0);
  EXPECT_EQ(one.state().read("cache").size(), 16U * 4 * 2);
  // The rows of another sequence after those that are there.
  source.prepare(execution, 0, 3);
  std::vector<std::byte> rows(3 * 4 * 2);
  one.state().read_rows(0, {1, 16, 4 * 2, 0, 3}, rows.data(), rows.size());
  source.state().write_rows(0, {1, 16, 4 * 2, 3, 3}, rows.data(), rows.size());
  EXPECT_EQ(fault([&] {
              one.state().read_rows(0, {1, 16, 4 * 2, 14, 3}, rows.data(), rows.size());
            }).second,
            "rows [14, 17) of 16 in 1 groups, of 8 bytes each: state 'cache' has 128 bytes");
  State with_both = source.state().clone();
  execution.run();
  const std::vector<float> doubled = result(execution, 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(doubled[i], 2 * first[i], 0.02F);

  Sequence clone(std::move(with_both), Sequence(model, compute, 1));
  clone.prepare(execution, 0, 3);
  execution.run();
  EXPECT_EQ(result(execution, 0), doubled);
  clone.state().reset();
  const std::vector<std::byte> zeros = clone.state().read("cache");
  EXPECT_TRUE(
      std::all_of(zeros.begin(), zeros.end(), [](std::byte b) { return b == std::byte(0); }));
}

TEST(Device, RefusesTheStateOfAnother) {
  const mil::Model model = make_model(kCached);
  ThreadPool pool(1);
  const ComputeOptions compute = on(std::make_shared<ReferenceDevice>());
  Execution there(Plan::make(model, "main", plan_options(compute)), pool);
  Execution here(Plan::make(model, "main", plan_options(on_cpu())), pool);
  Sequence on_device(model, compute, 1), in_memory(model, on_cpu(), 1);
  EXPECT_EQ(fault([&] { in_memory.prepare(there, 0, 1); }),
            std::pair(ErrorCode::InvalidArgument,
                      std::string("a state of the device 'cpu' cannot be used on the device "
                                  "'reference device'")));
  EXPECT_EQ(fault([&] { on_device.prepare(here, 0, 1); }),
            std::pair(ErrorCode::InvalidArgument,
                      std::string("a state of the device 'reference device' cannot be used on the "
                                  "device 'cpu'")));
}

// A failed launch ends its execution, and no other.
TEST(Device, AnExecutionIsDeadAfterTheDeviceFailed) {
  const mil::Model model = make_model(kCached);
  ThreadPool pool(1);
  const auto device = std::make_shared<ReferenceDevice>(/*failing_run=*/3);
  const auto plan = Plan::make(model, "main", plan_options(on(device)));
  Execution execution(plan, pool), other(plan, pool);
  execution.reserve_lanes(2);
  Sequence one(model, on(device), 1), two(model, on(device), 2);
  one.prepare(execution, 0, 1);
  execution.run();
  one.prepare(execution, 0, 1);
  two.prepare(execution, 1, 1);
  const auto failure =
      std::pair(ErrorCode::Device, std::string("the reference device failed in run 3"));
  const std::vector<size_t> both = {0, 1};
  EXPECT_EQ(fault([&] { execution.run_together(both); }), failure);
  EXPECT_EQ(fault([&] { execution.run(); }), failure);
  EXPECT_EQ(fault([&] { execution.run_together(both); }), failure);
  EXPECT_EQ(fault([&] { execution.bind({{1, 4}, {1}}, one.state()); }), failure);
  EXPECT_EQ(fault([&] { execution.float_input(0); }), failure);
  EXPECT_EQ(fault([&] { execution.float_output(0); }), failure);
  EXPECT_EQ(fault([&] { execution.reserve_lanes(4); }), failure);
  EXPECT_EQ(device->runs(), 3);  // the device received no further call
  EXPECT_EQ(&execution.plan(), plan.get());

  Sequence again(model, on(device), 1);
  again.prepare(other, 0, 1);
  other.run();
  EXPECT_EQ(device->runs(), 4);
}

// Wrong data is the caller's error: the next run may succeed.
TEST(Device, OtherErrorsLeaveAnExecutionAlive) {
  const mil::Model model = make_model(kCached);
  ThreadPool pool(1);
  const ComputeOptions compute = on(std::make_shared<ReferenceDevice>());
  Execution execution(Plan::make(model, "main", plan_options(compute)), pool);
  Sequence one(model, compute, 1);
  EXPECT_EQ(fault([&] { one.prepare(execution, 0, 9); }).first, ErrorCode::InvalidArgument);
  one.prepare(execution, 0, 1);
  execution.int_input(1)[0] = 16;  // a row that the cache does not have
  EXPECT_NE(fault([&] { execution.run(); }).second, "no error");
  one.prepare(execution, 0, 1);
  execution.run();
}

HostTensor host(mil::DataType type, std::vector<int64_t> shape, std::vector<double> values) {
  mil::Tensor tensor(type, std::move(shape));
  tensor.values = std::move(values);
  return to_host(tensor);
}

// Runners on a device give the reference's results, for every shape.
TEST(Device, RunsFunctionsOfTheirCallersShapes) {
  const mil::Model model = make_model(R"(func main<ios18>(tensor<fp16, [?, 2]> x, fp32 scale,
                                                          tensor<bool, [2]> mask, tensor<int32, [?]> ids) {
    tensor<fp16, [2]> ones = const()[name = string("ones"), val = tensor<fp16, [2]>([0x1p+0, 0x1p+1])];
    tensor<fp16, [?, 2]> sum = add(x = x, y = ones)[name = string("sum")];
    string wide = const()[name = string("wide"), val = string("fp32")];
    tensor<fp32, [?, 2]> more = cast(x = sum, dtype = wide)[name = string("more")];
    tensor<fp32, [?, 2]> y = mul(x = more, y = scale)[name = string("y")];
    tensor<fp32, [?, 2]> kept = select(cond = mask, a = y, b = more)[name = string("kept")];
    tensor<bool, [2]> turned = logical_not(x = mask)[name = string("turned")];
    tensor<int32, [?, 1]> where = non_zero(x = ids)[name = string("where")];
  } -> (sum, kept, turned, where);)");
  ThreadPool pool(1);
  const auto device = std::make_shared<ReferenceDevice>();
  RunnerOptions there_options{.compute = on(device)}, here_options{.compute = on_cpu()};
  there_options.trace = true;
  const auto there = Runner::make(model, "main", pool, there_options);
  const auto here = Runner::make(model, "main", pool, here_options);
  State there_state(model.functions[0].states, on(device)), here_state(model.functions[0].states);
  EXPECT_EQ(device->plans(), 1);  // for the declared shapes
  for (const int64_t rows : {3, 1, 3, 2}) {
    std::vector<double> values, ids;
    for (int64_t i = 0; i < 2 * rows; ++i) values.push_back(0.5 * static_cast<double>(i) - 1.0 / 3);
    for (int64_t i = 0; i < rows + 1; ++i) ids.push_back(static_cast<double>(i % 2));
    const NamedHostTensors inputs = {{"x", host(mil::DataType::Float16, {rows, 2}, values)},
                                     {"scale", host(mil::DataType::Float32, {1}, {1.5})},
                                     {"mask", host(mil::DataType::Bool, {2}, {1, 0})},
                                     {"ids", host(mil::DataType::Int32, {rows + 1}, ids)}};
    const auto have = there->run(inputs, there_state), want = here->run(inputs, here_state);
    ASSERT_EQ(have.size(), want.size());
    for (const auto& [name, value] : want) {
      SCOPED_TRACE(name);
      EXPECT_EQ(have.at(name).type, value.type);
      EXPECT_EQ(have.at(name).shape, value.shape);
      EXPECT_EQ(have.at(name).bytes, value.bytes);
    }
  }
  EXPECT_EQ(device->plans(), 4);  // of three shapes, and those declared
  EXPECT_EQ(device->runs(), 4);
  EXPECT_EQ(there->describe(), "main on the reference device\n");
  EXPECT_EQ(fault([&] { there->run({}, there_state); }),
            std::pair(ErrorCode::InvalidArgument, std::string("input 'x' is missing")));
}

TEST(Device, RefusesWhatIsNoTensorOfNumbers) {
  const mil::Model model = make_model(R"(func main<ios18>(tensor<fp32, [2]> x) {
    string s = const()[name = string("s"), val = string("text")];
  } -> (s);)");
  ThreadPool pool(1);
  const RunnerOptions options{.compute = on(std::make_shared<ReferenceDevice>())};
  EXPECT_EQ(
      fault([&] { Runner::make(model, "main", pool, options); }),
      std::pair(
          ErrorCode::Unsupported,
          std::string("output 's' is tensor<string, []>; the device 'reference device' takes and "
                      "gives tensors of numbers")));
}

}  // namespace
}  // namespace pippin::engine
