#include "pippin/cuda/fake/node_testing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/cuda/emulate/emulate.h"
#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/fake/gpu_node.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/engine/cpu/make_step.h"

namespace pippin::cuda {

using engine::Operand;
using engine::Storage;

// As the device's memory: aligned to 256, and without bytes behind it, for sanitizers.
struct FreeAligned {
  void operator()(std::byte* bytes) const { operator delete (bytes, std::align_val_t{256}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;
AlignedBytes aligned_bytes(size_t size) {
  return AlignedBytes(static_cast<std::byte*>(operator new (size, std::align_val_t{256})));
}

engine::Node node_of(const engine::NodeKind& kind, const std::vector<TestArray>& arrays,
                     size_t num_written) {
  engine::Node node{kind, {}, num_written};
  for (size_t i = 0; i < arrays.size(); ++i) {
    engine::View view;
    view.buffer = static_cast<int>(i);
    view.storage = arrays[i].storage;
    view.shape.assign(arrays[i].shape.begin(), arrays[i].shape.end());
    view.strides.assign(arrays[i].strides.begin(), arrays[i].strides.end());
    node.views.push_back(view);
  }
  return node;
}

engine::ComputeOptions options_of(const NodeCheck& check) {
  engine::ComputeOptions options;
  options.cpu = limit_cpu(options.cpu, "scalar");
  options.precision = check.precision;
  return options;
}

namespace {

std::vector<Operand> operands_of(std::vector<TestArray>& arrays) {
  std::vector<Operand> operands;
  operands.reserve(arrays.size());
  for (TestArray& array : arrays) operands.push_back(array.operand());
  return operands;
}

void run_on_cpu(const engine::Node& node, std::vector<TestArray>& arrays, const NodeCheck& check) {
  const auto step = engine::make_step(node, options_of(check));
  std::vector<std::byte> scratch(static_cast<size_t>(step->scratch_bytes()) + 64);
  std::byte* const aligned =
      scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  ThreadPool pool(1);
  std::exception_ptr error;
  step->run({operands_of(arrays), check.scalars, pool, aligned, &error});
  if (error) std::rethrow_exception(error);
}

void run_emulated(const Launcher& launcher, std::vector<TestArray>& arrays,
                  const NodeCheck& check) {
  const auto scratch_bytes = static_cast<size_t>(launcher.scratch_bytes());
  const AlignedBytes scratch = aligned_bytes(scratch_bytes);
  std::memset(scratch.get(), 0xFF, scratch_bytes);
  uint32_t failed = 0;
  std::vector<Launch> launches;
  launcher.add({operands_of(arrays), check.scalars, scratch.get(), &failed}, launches);
  for (const Launch& launch : launches) {
    ASSERT_LE(launch.threads, most_threads(launch.kernel)) << kernel_name(launch.kernel);
    ASSERT_LE(launch.shared_bytes, check.limits.shared_bytes) << kernel_name(launch.kernel);
    emulate_launch(launch.kernel, launch.arguments.data(), launch.blocks, 1, launch.depth,
                   launch.threads, launch.shared_bytes);
  }
  EXPECT_EQ(failed, 0u);
}

bool is_close(float have, float want, float most, float tolerance) {
  if (std::isnan(want) || std::isnan(have)) return std::isnan(want) == std::isnan(have);
  if (std::isinf(want) || std::isinf(have)) return want == have;
  return std::abs(have - want) <= tolerance * most;
}

// All elements of the memory, those outside the view bit for bit.
void compare(const TestArray& have, const TestArray& want, float tolerance, size_t index) {
  if (!engine::is_float(want.storage)) {
    EXPECT_EQ(have.memory, want.memory) << "array " << index;
    return;
  }
  float most = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const float x = want.number(i);
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  }
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(is_close(have.number(i), want.number(i), most, tolerance))
        << "array " << index << ", element " << i << ": " << have.number(i) << ", the CPU has "
        << want.number(i) << " (largest " << most << ")";
  }
}

// Elements outside the view are those of `before`.
void expect_gaps_kept(const TestArray& after, const TestArray& before, size_t index) {
  const auto size = static_cast<size_t>(engine::element_size(after.storage));
  std::vector<bool> inside(after.memory.size() / size);
  std::vector<int64_t> at(after.shape.size());
  for (int64_t i = 0; i < after.size(); ++i) {
    int64_t place = after.offset, rest = i;
    for (size_t axis = after.shape.size(); axis-- > 0;) {
      place += rest % after.shape[axis] * after.strides[axis];
      rest /= after.shape[axis];
    }
    inside[static_cast<size_t>(place)] = true;
  }
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i]) continue;
    ASSERT_EQ(std::memcmp(after.memory.data() + i * size, before.memory.data() + i * size, size), 0)
        << "array " << index << ": element " << i
        << " of its memory, outside the view, was written";
  }
}

}  // namespace

Operand TestArray::operand() {
  Operand operand;
  operand.data = memory.data() + offset * engine::element_size(storage);
  operand.storage = storage;
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape);
  std::copy(strides.begin(), strides.end(), operand.strides);
  return operand;
}
int64_t TestArray::size() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}
float TestArray::number(int64_t element) const {
  int64_t place = offset;
  for (size_t axis = shape.size(); axis-- > 0;) {
    place += element % shape[axis] * strides[axis];
    element /= shape[axis];
  }
  const std::byte* const at = memory.data() + place * engine::element_size(storage);
  uint16_t half;
  float x = 0;
  int32_t integer;
  switch (storage) {
    case Storage::F32:
      std::memcpy(&x, at, 4);
      return x;
    case Storage::F16:
      std::memcpy(&half, at, 2);
      return to_float(float16{half});
    case Storage::BF16:
      std::memcpy(&half, at, 2);
      return to_float(bfloat16{half});
    case Storage::I32:
      std::memcpy(&integer, at, 4);
      return static_cast<float>(integer);
    case Storage::Bool:
    case Storage::I8:
      return static_cast<float>(std::to_integer<int>(*at));
  }
  return x;
}

TestArray TestArrays::make(Storage storage, std::vector<int64_t> shape, int64_t gap) {
  TestArray array;
  array.storage = storage;
  array.strides.assign(shape.size(), 1);
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    array.strides[axis] = stride;
    stride *= shape[axis];
    if (axis + 1 == shape.size()) stride += gap;
  }
  array.shape = std::move(shape);
  array.memory.assign(static_cast<size_t>(stride * engine::element_size(storage)), std::byte{0xFF});
  return array;
}
TestArray TestArrays::floats(std::vector<int64_t> shape, int64_t gap, float scale) {
  TestArray array = make(Storage::F32, std::move(shape), gap);
  std::normal_distribution<float> normal(0, scale);
  for (size_t i = 0; i < array.memory.size(); i += 4) {
    const float x = normal(random_);
    std::memcpy(array.memory.data() + i, &x, 4);
  }
  return array;
}
TestArray TestArrays::halves(std::vector<int64_t> shape, Storage storage, int64_t gap) {
  TestArray array = make(storage, std::move(shape), gap);
  std::normal_distribution<float> normal(0, 1);
  for (size_t i = 0; i < array.memory.size(); i += 2) {
    const float x = normal(random_);
    const uint16_t bits = storage == Storage::F16 ? to_float16(x).bits : to_bfloat16(x).bits;
    std::memcpy(array.memory.data() + i, &bits, 2);
  }
  return array;
}
TestArray TestArrays::integers(std::vector<int64_t> shape, int32_t low, int32_t high, int64_t gap) {
  TestArray array = make(Storage::I32, std::move(shape), gap);
  std::uniform_int_distribution<int32_t> numbers(low, high - 1);
  for (size_t i = 0; i < array.memory.size(); i += 4) {
    const int32_t x = numbers(random_);
    std::memcpy(array.memory.data() + i, &x, 4);
  }
  return array;
}
TestArray TestArrays::bools(std::vector<int64_t> shape) {
  TestArray array = make(Storage::Bool, std::move(shape), 0);
  for (std::byte& x : array.memory) x = static_cast<std::byte>(random_() % 2);
  return array;
}
TestArray TestArrays::transposed(TestArray array, const std::vector<size_t>& axes) {
  const TestArray before = array;
  for (size_t i = 0; i < axes.size(); ++i) {
    array.shape[i] = before.shape[axes[i]];
    array.strides[i] = before.strides[axes[i]];
  }
  return array;
}
TestArray TestArrays::broadcast(TestArray array, const std::vector<int64_t>& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (array.shape[i] == 1) array.strides[i] = 0;
  }
  array.shape = shape;
  return array;
}
TestArray TestArrays::result(std::vector<int64_t> shape, int64_t gap, Storage storage) {
  return make(storage, std::move(shape), gap);
}

UploadedBytes HostWeights::upload(const void* /*host*/, std::string_view /*form*/, uint64_t size,
                                  uint64_t grain,
                                  const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) {
  struct Held {
    AlignedBytes bytes;
    Uploaded uploaded;
  };
  const auto held = std::make_shared<Held>();
  held->bytes = aligned_bytes(size);
  std::byte* const data = held->bytes.get();
  held->uploaded = {data, size};
  // Two parts, if there is more than one grain.
  const uint64_t middle = std::min(size, (size / 2 + grain - 1) / grain * grain);
  fill(data, 0, middle);
  if (middle < size) fill(data + middle, middle, size);
  return {held, &held->uploaded};
}

void expect_as_cpu(const engine::NodeKind& kind, std::vector<TestArray> arrays, size_t num_written,
                   const NodeCheck& check) {
  const engine::Node node = node_of(kind, arrays, num_written);
  auto want = arrays;
  run_on_cpu(node, want, check);
  HostWeights weights;
  const engine::ComputeOptions options = options_of(check);
  const LauncherPointer launcher = make_launcher({node, options, check.limits, weights});
  ASSERT_NE(launcher, nullptr) << node_name(node) << " has no kernel";
  std::vector<TestArray> first;
  using Kind = emulate::Order::Kind;
  for (const emulate::Order order :
       {emulate::Order{Kind::Forward}, {Kind::Backward}, {Kind::Shuffled, 7}}) {
    auto have = arrays;
    emulate::set_order(order);
    run_emulated(*launcher, have, check);
    emulate::set_order({});
    if (testing::Test::HasFatalFailure()) return;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (i < num_written) {
        compare(have[i], want[i], check.tolerance, i);
        expect_gaps_kept(have[i], arrays[i], i);
      } else {
        EXPECT_EQ(have[i].memory, arrays[i].memory) << "array " << i << " was only to be read";
      }
      if (!first.empty()) {
        EXPECT_EQ(have[i].memory, first[i].memory)
            << "array " << i << " depends on the order of threads";
      }
    }
    if (testing::Test::HasFatalFailure()) return;
    if (first.empty()) first = std::move(have);
  }
  Resources* const gpu = test_gpu();
  if (gpu == nullptr) return;
  SCOPED_TRACE("on the GPU");
  auto there = arrays;
  run_on_gpu(*gpu, node, options, check, there);
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (testing::Test::HasFatalFailure()) return;
    compare(there[i], i < num_written ? want[i] : arrays[i], check.tolerance, i);
    expect_gaps_kept(there[i], arrays[i], i);
  }
}

std::vector<TestArray> run_emulated(const engine::NodeKind& kind, std::vector<TestArray> arrays,
                                    size_t num_written, const NodeCheck& check) {
  const engine::Node node = node_of(kind, arrays, num_written);
  HostWeights weights;
  const engine::ComputeOptions options = options_of(check);
  const LauncherPointer launcher = make_launcher({node, options, check.limits, weights});
  EXPECT_NE(launcher, nullptr) << node_name(node) << " has no kernel";
  if (launcher != nullptr) run_emulated(*launcher, arrays, check);
  return arrays;
}
bool has_launcher(const engine::NodeKind& kind, std::vector<TestArray> arrays, size_t num_written,
                  const NodeCheck& check) {
  const engine::Node node = node_of(kind, arrays, num_written);
  HostWeights weights;
  const engine::ComputeOptions options = options_of(check);
  return make_launcher({node, options, check.limits, weights}) != nullptr;
}

}  // namespace pippin::cuda
