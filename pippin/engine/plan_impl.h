// What a plan of the CPU holds; shared by plan.cpp (making) and cpu_execution.cpp (running).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/engine/builder.h"
#include "pippin/engine/plan.h"

namespace pippin::engine {

// Where a value of the arena lies: [offset, offset + size) while the steps [first, last] run.
struct ArenaSlot {
  int buffer = 0;
  int64_t size = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0;
};

// Gives every slot an offset so that slots alive at the same time do not overlap; the arena's size.
// Offsets and sizes are multiples of 64.
int64_t plan_memory(std::vector<ArenaSlot>& slots);

// Integer inputs of at most so many elements may decide positions and sizes.
constexpr int64_t kMaxValueSymbols = 16;

struct PlanImpl : Plan {
  struct InputAxis {  // a symbol and where its value is in the input shapes
    size_t input;
    size_t axis;
    mil::Dim dim;  // a number where the class fixes it
    mil::SizeRange range;
  };

  struct InputValue {  // a symbol whose value is an element of an integer input
    size_t input;
    size_t element;
    uint64_t symbol;
  };

  std::string function_name;
  std::vector<Port> input_ports, output_ports;
  std::vector<mil::Feature> state_features;
  std::vector<InputAxis> axes;
  std::vector<InputValue> values;  // only those that something depends on
  std::vector<View> input_views, output_views;
  std::vector<mil::Constraint> constraints;
  std::vector<Buffer> buffers;
  std::vector<int64_t> buffer_offsets;  // in the arena, by buffer; -1 for others
  std::vector<std::vector<std::byte>> constants;
  std::vector<SharedBytes> shared_constants;  // with other plans of the program
  std::vector<std::unique_ptr<Step>> steps;
  int64_t arena_size = 0;
  int64_t scratch_size = 0;  // per thread
  int64_t weights_read = 0, weights_saved = 0;

  const std::string& name() const override { return function_name; }
  std::span<const Port> inputs() const override { return input_ports; }
  std::span<const Port> outputs() const override { return output_ports; }
  const std::vector<mil::Feature>& states() const override { return state_features; }
  uint64_t arena_bytes() const override { return static_cast<uint64_t>(arena_size); }
  uint64_t weight_bytes() const override { return static_cast<uint64_t>(weights_read); }
  uint64_t saved_bytes() const override { return static_cast<uint64_t>(weights_saved); }
  std::string describe() const override;
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override;
};

// As Plan::make, for the CPU.
std::shared_ptr<const Plan> plan_function(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options);

// Lowers a region. `plan` has the ports, axes, values and constraints of its inputs; the rest is
// filled in. `operation_in_work` is set to what is being lowered, for callers that want to know
// what failed. Throws as Plan::make.
void plan_region(const Region& region, const mil::Inference& inference, PlanImpl& plan,
                 const mil::Operation** operation_in_work = nullptr);

}  // namespace pippin::engine
