// A plan's lanes: the engine's arrays, Core ML's arrays, and the transfers between them.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "pippin/coreml/plan.h"
#include "pippin/coreml/state.h"
#include "pippin/engine/run/memory.h"

namespace pippin::coreml {

// An array seen by both. If the types are equal, they share the memory.
class SharedArray {
 public:
  // The engine's type is float or int32; Core ML's is that of `feature`. Does nothing if nothing
  // changed.
  void bind(Framework& framework, const mil::Feature& feature, std::vector<int64_t> shape);
  bool is_bound() const { return core_ != nullptr; }

  std::byte* data() const { return packed_.data(); }
  size_t bytes() const { return bytes_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::shared_ptr<CoreArray>& core() const { return core_; }

  void give(const mil::Feature& feature);  // copies the engine's elements to Core ML
  // Copies Core ML's result, from this array's own memory or from elsewhere. Throws Device.
  void take(const mil::Feature& feature, CoreArray& array);

 private:
  void resize(size_t bytes);

  engine::Memory packed_;
  engine::Memory converted_;  // in Core ML's type, if it differs
  size_t bytes_ = 0;
  std::vector<int64_t> shape_;
  std::shared_ptr<CoreArray> core_;
};

class CoreExecution final : public engine::DeviceExecution {
 public:
  explicit CoreExecution(const CorePlan& plan) : plan_(plan) { reserve_lanes(1); }

  void reserve_lanes(size_t count) override;
  size_t lanes() const override { return lanes_.size(); }
  void bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state,
            size_t lane) override;
  MutableByteSpan input_bytes(size_t index, size_t lane) override;
  void run(size_t lane, std::optional<engine::WantedRows> rows) override;
  void run_together(std::span<const size_t> lanes) override;
  ByteSpan output_bytes(size_t index, size_t lane) const override;
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override;

 private:
  struct Lane {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<SharedArray> inputs, outputs;
    std::vector<std::vector<int64_t>> output_shapes;
    CoreStateMemory* state = nullptr;
  };
  Request prepare(Lane& lane) const;
  void take(Lane& lane, const std::vector<Output>& outputs) const;

  const CorePlan& plan_;
  std::deque<Lane> lanes_;
};

}  // namespace pippin::coreml
