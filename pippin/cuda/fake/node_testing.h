// Tests single nodes: the CPU's scalar kernels against the device's emulated ones.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "pippin/cuda/launchers/launcher.h"
#include "pippin/cuda/launchers/weight_store.h"
#include "pippin/engine/nodes/node.h"

namespace pippin::cuda {

// An array with its own memory. Elements that no view reaches are NaN (or a pattern) and must stay.
struct TestArray {
  engine::Storage storage = engine::Storage::F32;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;             // of the first element
  std::vector<std::byte> memory;  // of all elements

  engine::Operand operand();
  int64_t size() const;
  float number(int64_t element) const;  // in row-major order of the view
};

// Random numbers from a normal distribution; integers in [low, high); bools.
class TestArrays {
 public:
  explicit TestArrays(uint32_t seed) : random_(seed) {}

  // Row-major; `gap`: so many further elements between rows of the last axis.
  TestArray floats(std::vector<int64_t> shape, int64_t gap = 0, float scale = 1);
  TestArray halves(std::vector<int64_t> shape, engine::Storage storage = engine::Storage::F16,
                   int64_t gap = 0);
  TestArray integers(std::vector<int64_t> shape, int32_t low, int32_t high, int64_t gap = 0);
  TestArray bools(std::vector<int64_t> shape);
  // The same array with its axes in another order, as transpose() gives.
  static TestArray transposed(TestArray array, const std::vector<size_t>& axes);
  // Repeated along axes of 1 (stride 0).
  static TestArray broadcast(TestArray array, const std::vector<int64_t>& shape);
  // Uninitialized, to be written.
  TestArray result(std::vector<int64_t> shape, int64_t gap = 0,
                   engine::Storage storage = engine::Storage::F32);

  std::mt19937& random() { return random_; }

 private:
  TestArray make(engine::Storage storage, std::vector<int64_t> shape, int64_t gap);
  std::mt19937 random_;
};

struct NodeCheck {
  float tolerance = 1e-5F;  // of |difference| over the largest magnitude in the array
  engine::Precision precision = engine::Precision::Exact;
  Limits limits = {};
  std::vector<int64_t> scalars = {};
};

// A node on these arrays, and the options of its steps and launchers.
engine::Node node_of(const engine::NodeKind& kind, const std::vector<TestArray>& arrays,
                     size_t num_written);
engine::ComputeOptions options_of(const NodeCheck& check);

// Runs a node both ways, the device's in three orders of threads (with the same bits), and compares
// all memory of the written arrays; the others must not change. Does the same on test_gpu()
// (gpu_node.h), if there is one. Failures of GoogleTest name the place.
void expect_as_cpu(const engine::NodeKind& kind, std::vector<TestArray> arrays,
                   size_t num_written = 1, const NodeCheck& check = {});
// The arrays after the device's kernels ran.
std::vector<TestArray> run_emulated(const engine::NodeKind& kind, std::vector<TestArray> arrays,
                                    size_t num_written = 1, const NodeCheck& check = {});
// Whether there is a launcher for these.
bool has_launcher(const engine::NodeKind& kind, std::vector<TestArray> arrays,
                  size_t num_written = 1, const NodeCheck& check = {});

// A store in the host's memory.
class HostWeights : public WeightStore {
 public:
  using WeightStore::upload;
  UploadedBytes upload(const void* host, std::string_view form, uint64_t size, uint64_t grain,
                       const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) override;
};

}  // namespace pippin::cuda
