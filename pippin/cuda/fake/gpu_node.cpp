#include "pippin/cuda/fake/gpu_node.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/cuda/device.h"
#include "pippin/cuda/run/embedded.h"
#include "pippin/cuda/run/queue_launch.h"

namespace pippin::cuda {
namespace {

std::unique_ptr<Resources> open_test_gpu() {
  const char* const text = std::getenv("PIPPIN_CUDA_TEST_DEVICE");
  if (text == nullptr || *text == '\0') return nullptr;
  int index = 0;
  if (!parse_number(std::string_view(text), index) || index < 0) {
    fail(ErrorCode::InvalidArgument, "PIPPIN_CUDA_TEST_DEVICE: '{}' is not a number", text);
  }
  if (!has_kernels()) fail(ErrorCode::Unsupported, "built without nvcc");
  return std::make_unique<Resources>(system_driver(), index, embedded_kernels(), RunOptions());
}

Limits lesser(const Limits& a, const Limits& b) {
  Limits limits = a;
  if (std::pair(b.major, b.minor) < std::pair(a.major, a.minor)) {
    limits.major = b.major;
    limits.minor = b.minor;
  }
  limits.shared_bytes = std::min(a.shared_bytes, b.shared_bytes);
  return limits;
}

}  // namespace

Resources* test_gpu() {
  static const std::unique_ptr<Resources> gpu = open_test_gpu();
  return gpu.get();
}

void run_on_gpu(Resources& gpu, const engine::Node& node, const engine::ComputeOptions& options,
                const NodeCheck& check, std::vector<TestArray>& arrays) {
  gpu.gpu->enter();
  const Limits limits = lesser(check.limits, gpu.gpu->limits());
  const LauncherPointer launcher = make_launcher({node, options, limits, gpu.weights});
  ASSERT_NE(launcher, nullptr) << node_name(node) << " has no kernel on this GPU";
  gpu.weights.finish();

  Timeline& timeline = *gpu.copies;
  const auto lock = timeline.lock();
  std::vector<DeviceMemory> memories;
  std::vector<Timeline::Piece> pieces;
  std::vector<engine::Operand> operands;
  memories.reserve(arrays.size());
  pieces.reserve(arrays.size() + 1);
  operands.reserve(arrays.size());
  for (TestArray& array : arrays) {
    memories.emplace_back(gpu.gpu, std::max<uint64_t>(array.memory.size(), 1), "an array");
    if (!array.memory.empty()) {
      pieces.push_back({array.memory.data(), memories.back().address(), array.memory.size()});
    }
    engine::Operand operand = array.operand();
    operand.data = memories.back().data() + array.offset * engine::element_size(array.storage);
    operands.push_back(operand);
  }
  const auto scratch_bytes = static_cast<uint64_t>(launcher->scratch_bytes());
  const DeviceMemory scratch(gpu.gpu, std::max<uint64_t>(scratch_bytes, 1), "scratch");
  const DeviceMemory failed(gpu.gpu, sizeof(uint32_t), "a flag");
  timeline.upload(pieces);
  timeline.fill(scratch.address(), 0xFF, scratch.size());
  timeline.fill(failed.address(), 0, failed.size());
  std::vector<Launch> launches;
  launcher->add(
      {operands, check.scalars, scratch.data(), reinterpret_cast<uint32_t*>(failed.data())},
      launches);
  for (const Launch& launch : launches) queue_launch(timeline, gpu.kernels, launch);
  timeline.synchronize();
  uint32_t has_failed = 0;
  pieces.push_back({reinterpret_cast<std::byte*>(&has_failed), failed.address(), failed.size()});
  timeline.download(pieces);
  EXPECT_EQ(has_failed, 0U);
}

}  // namespace pippin::cuda
