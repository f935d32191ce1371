// Failures of the driver: an Error each time, nothing left behind, and the next device works.
#include <gtest/gtest.h>

#include "pippin/cuda/fake/device_testing.h"

namespace pippin::cuda {
namespace {

using engine::Execution;
using engine::Plan;
using engine::State;

// Uses all that a device can do.
std::vector<float> use_device(const FakeDriver& fake, const mil::Model& model) {
  const auto compute = on(open_device(0, fake.driver()));
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main", tiny_options(compute, 1)), pool);
  TinySequence one(model, compute, 1);
  for (int i = 0; i < 3; ++i) {  // the second run is captured
    one.prepare(execution, 0, 1, /*writes_mask=*/i == 0);
    execution.run();
  }
  execution.reserve_lanes(2);
  TinySequence two(one.state().clone(), one);
  two.prepare(execution, 1, 1);
  one.prepare(execution, 0, 1);
  execution.run_together(std::vector<size_t>{0, 1});
  execution.largest(0, 0, 4, 1);
  execution.largest_ones(0, 0, 4, 1);
  one.state().write("cache", two.state().read("cache"));
  State shared(model.functions[0].states, compute);
  shared.share(0, one.state());
  shared.reset();
  shared.copy_rows(0, {1, 16, 8, 0, 3}, one.state());
  return result_of(execution, 0);
}

TEST(CudaErrors, EveryCallMayFail) {
  const mil::Model model = engine::make_model(kTinyDecoder);
  std::vector<float> want;
  int64_t calls = 0;
  {
    FakeDriver fake;
    want = use_device(fake, model);
    calls = fake.calls();
  }
  EXPECT_GT(calls, 100);
  int refused = 0;
  for (int64_t n = 1; n <= calls; ++n) {
    for (const Result result : {1, 2, 700}) {  // an invalid value, no memory, an illegal address
      SCOPED_TRACE(fmt::format("call {}, result {}", n, result));
      {
        FakeDriver fake;
        fake.fail_at(n, result);
        const auto [code, message] = fault([&] { use_device(fake, model); });
        const bool is_expected = message == "no error" || code == ErrorCode::Device ||
                                 (result == 2 && code == ErrorCode::LimitExceeded);
        EXPECT_TRUE(is_expected) << message;
        if (message != "no error") ++refused;
        if (result != 700 && n % 8 == 0) {
          std::vector<float> again;
          const auto later = fault([&] { again = use_device(fake, model); });
          EXPECT_EQ(again, want) << message << "; " << later.second;
        }
      }
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(refused, calls * 2);  // of three; calls that release are the others
}

class CudaErrorsOfADevice : public testing::Test {
 protected:
  void open(const FakeFacts& facts = {}) {
    fake_ = std::make_unique<FakeDriver>(facts);
    device_ = open_device(0, fake_->driver());
  }
  std::shared_ptr<const Plan> plan() {
    return Plan::make(model_, "main", tiny_options(on(device_)));
  }

  const mil::Model model_ = engine::make_model(kTinyDecoder);
  std::unique_ptr<FakeDriver> fake_;
  std::shared_ptr<engine::Device> device_;
  ThreadPool pool_{1};
};

TEST_F(CudaErrorsOfADevice, AStickyErrorEndsTheDevice) {
  open();
  {
    const auto made = plan();
    Execution execution(made, pool_), other(made, pool_);
    TinySequence one(model_, on(device_), 1), two(model_, on(device_), 1);
    one.prepare(execution, 0, 1);
    two.prepare(other, 0, 1);
    execution.run();
    fake_->fail_next("cuStreamSynchronize", 719);
    const auto first = fault([&] { result_of(execution, 0); });
    EXPECT_EQ(first.first, ErrorCode::Device);
    EXPECT_EQ(first.second, "cuStreamSynchronize failed: CUDA_ERROR_719 (as the test wants)");
    const auto later = fault([&] { other.run(); });
    EXPECT_EQ(later.first, ErrorCode::Device);
    EXPECT_NE(later.second.find("the GPU has failed earlier: "), std::string::npos) << later.second;
    EXPECT_EQ(fault([&] { one.state().read("cache"); }).first, ErrorCode::Device);
    EXPECT_EQ(fault([&] { State(model_.functions[0].states, on(device_)); }).first,
              ErrorCode::Device);
    EXPECT_EQ(fault([&] { plan(); }).first, ErrorCode::Device);
  }
  device_ = nullptr;
  fake_ = nullptr;
  open();
  EXPECT_EQ(plan()->name(), "main");
}

TEST_F(CudaErrorsOfADevice, OtherErrorsEndTheirExecution) {
  open();
  const auto made = plan();
  Execution execution(made, pool_), other(made, pool_);
  TinySequence one(model_, on(device_), 1), two(model_, on(device_), 1);
  one.prepare(execution, 0, 1);
  fake_->fail_at(3, 1);
  EXPECT_EQ(fault([&] {
              execution.run();
              result_of(execution, 0);
            }).first,
            ErrorCode::Device);
  EXPECT_EQ(fault([&] { execution.run(); }).first, ErrorCode::Device);
  two.prepare(other, 0, 1);
  other.run();
  EXPECT_EQ(result_of(other, 0).size(), 5U);
}

TEST_F(CudaErrorsOfADevice, PlansSayWhatTheyNeed) {
  open({.memory_bytes = 200});
  const int64_t sent = fake_->calls("cuMemcpyHtoDAsync");
  const auto [code, message] = fault([&] { plan(); });
  EXPECT_EQ(code, ErrorCode::LimitExceeded);
  EXPECT_NE(message.find("main needs "), std::string::npos) << message;
  EXPECT_NE(message.find(" for weights, "), std::string::npos) << message;
  EXPECT_NE(message.find("200 B are free"), std::string::npos) << message;
  EXPECT_EQ(fake_->calls("cuMemcpyHtoDAsync"), sent);
}

TEST_F(CudaErrorsOfADevice, LanesThatDoNotFitLeaveTheOthers) {
  open({.memory_bytes = 100000});
  Execution execution(plan(), pool_);
  TinySequence one(model_, on(device_), 1);
  one.prepare(execution, 0, 2);
  execution.run();
  const auto first = result_of(execution, 0);
  const auto [code, message] = fault([&] { execution.reserve_lanes(1000); });
  EXPECT_EQ(code, ErrorCode::LimitExceeded);
  EXPECT_NE(message.find("of the GPU's memory; "), std::string::npos) << message;
  EXPECT_EQ(result_of(execution, 0), first);
  const auto states = [&] {
    std::vector<State> all;
    for (int i = 0; i < 1000; ++i) all.emplace_back(model_.functions[0].states, on(device_));
  };
  EXPECT_EQ(fault(states).first, ErrorCode::LimitExceeded);
  one.prepare(execution, 0, 1);
  execution.run();
}

TEST_F(CudaErrorsOfADevice, NodesWithoutKernelsAreNamed) {
  open();
  const mil::Model model = engine::make_model(R"(func main<ios18>(tensor<fp32, [1, 2, 4, 4]> x) {
    tensor<int32, [2]> twos = const()[name = string("twos"), val = tensor<int32, [2]>([2, 2])];
    tensor<int32, [4]> none = const()[name = string("none"), val = tensor<int32, [4]>([0, 0, 0, 0])];
    string valid = const()[name = string("valid"), val = string("valid")];
    bool no = const()[name = string("no"), val = bool(false)];
    tensor<fp32, [1, 2, 2, 2]> y = max_pool(x = x, kernel_sizes = twos, strides = twos, pad = none, pad_type = valid, ceil_mode = no)[name = string("y")];
  } -> (y);)");
  const auto [code, message] = fault([&] { Plan::make(model, "main", {.compute = on(device_)}); });
  EXPECT_EQ(code, ErrorCode::Unsupported);
  EXPECT_NE(message.find("main: the device 'cuda' has no kernel for "), std::string::npos)
      << message;
  engine::PlanOptions reference = tiny_options(on(device_));
  reference.compute.precision = engine::Precision::Reference;
  EXPECT_EQ(fault([&] { Plan::make(model_, "main", reference); }).first, ErrorCode::Unsupported);
}

TEST_F(CudaErrorsOfADevice, StatesOfOtherDevicesAreRefused) {
  fake_ = std::make_unique<FakeDriver>(FakeFacts{.devices = 2});
  device_ = open_device(0, fake_->driver());
  const auto second = open_device(1, fake_->driver());
  EXPECT_EQ(second->name(), "cuda:1");
  Execution execution(plan(), pool_);
  TinySequence other(model_, on(second), 1), host(model_, on(nullptr), 1);
  EXPECT_EQ(fault([&] { other.prepare(execution, 0, 1); }).second,
            "a state of another GPU cannot be used on the device 'cuda'");
  EXPECT_EQ(fault([&] { host.prepare(execution, 0, 1); }).second,
            "a state of the device 'cpu' cannot be used on the device 'cuda'");
}

TEST(CudaErrors, UnusableGpusAreExplained) {
  FakeDriver fake({.devices = 2, .major = 6, .minor = 1});
  EXPECT_EQ(fault([&] { open_device(0, fake.driver()); }),
            std::pair(ErrorCode::Unsupported,
                      std::string("GPU 0 has compute capability 6.1; 7.5 or later is needed")));
  EXPECT_EQ(
      fault([&] { open_device(2, fake.driver()); }),
      std::pair(ErrorCode::NotFound, std::string("there is no GPU 2: the NVIDIA driver finds 2")));
  const auto all = list_devices(fake.driver());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].index, 1);
  EXPECT_EQ(all[1].name, "Fake GPU");
  EXPECT_EQ(all[1].problem, "GPU 1 has compute capability 6.1; 7.5 or later is needed");
}

TEST(CudaErrors, UsableGpusAreListed) {
  FakeDriver fake;
  const auto all = list_devices(fake.driver());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].major, 9);
  EXPECT_EQ(all[0].driver_version, 12040);
  EXPECT_EQ(all[0].free_bytes, uint64_t{1} << 30);
  EXPECT_EQ(all[0].problem, "");
}

TEST(CudaErrors, ImagesThatDoNotFitAreExplained) {
  FakeDriver fake;
  fake.fail_next("cuLibraryLoadData", 209);
  const auto [code, message] = fault([&] { open_device(0, fake.driver()); });
  EXPECT_EQ(code, ErrorCode::Unsupported) << message;
  EXPECT_NE(message.find("kernels do not run on a GPU of compute capability 9.0"),
            std::string::npos)
      << message;
}

TEST(CudaErrors, TheFirstImageThatFitsIsLoaded) {
  constexpr std::byte kBytes[2] = {};
  const KernelImage images[2] = {std::span(kBytes, 1), std::span(kBytes + 1, 1)};
  for (const Result unusable : {0, 200, 209, 218, 222}) {
    FakeDriver fake;
    const auto gpu = std::make_shared<const Gpu>(fake.driver(), 0);
    gpu->enter();
    if (unusable != 0) fake.fail_next("cuLibraryLoadData", unusable);
    const LoadedKernels kernels(gpu, images);
    EXPECT_EQ(fake.calls("cuLibraryLoadData"), unusable == 0 ? 1 : 2) << unusable;
    EXPECT_NE(kernels.find(Kernel::copy, false), nullptr);
  }
  {
    FakeDriver fake;  // that loads lazily
    const auto gpu = std::make_shared<const Gpu>(fake.driver(), 0);
    gpu->enter();
    fake.fail_next("cuKernelGetFunction", 209);
    const LoadedKernels kernels(gpu, images);
    EXPECT_EQ(fake.calls("cuLibraryLoadData"), 2);
    EXPECT_EQ(fake.calls("cuLibraryUnload"), 1);
  }
  FakeDriver fake;
  const auto gpu = std::make_shared<const Gpu>(fake.driver(), 0);
  gpu->enter();
  fake.fail_next("cuLibraryLoadData", 700);  // an illegal address
  EXPECT_EQ(fault([&] { LoadedKernels(gpu, images); }).first, ErrorCode::Device);
}

}  // namespace
}  // namespace pippin::cuda
