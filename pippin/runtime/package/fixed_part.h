// A package of a model made of several: its default function, planned for its declared shapes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"

namespace pippin {
class Digest;
}

namespace pippin::runtime {

class FixedPart {
 public:
  // Reads the package. `name` is the file's name, for messages.
  FixedPart(const std::filesystem::path& path, std::string name,
            const engine::ComputeOptions& compute);
  // The same of a model that was read before.
  FixedPart(mil::Model model, std::string name, const engine::ComputeOptions& compute);

  const std::string& name() const { return name_; }
  const mil::FunctionDescription& description() const {
    return model_.description(model_.default_function);
  }

  // Makes the plan if none exists; release() frees it and the pages of its weights.
  void prepare(ThreadPool& pool) { prepare(pool, state_); }
  // The same for a package with states: those of its runs, until bind() changes them.
  void prepare(ThreadPool& pool, engine::State& state);
  void bind(engine::State& state);
  void release();
  // The program and its weights.
  void add_to(Digest& digest);
  bool is_ready() const { return execution_ != nullptr; }
  // Each sequence has a lane in each part.
  void reserve_lanes(size_t count);

  // Only of a part that is ready; ports by index.
  engine::Execution& execution() { return *execution_; }
  const engine::Execution& execution() const { return *execution_; }
  std::span<float> input(size_t port, size_t lane = 0) {
    return execution_->float_input(port, lane);
  }
  std::span<const float> output(size_t port, size_t lane = 0) const {
    return execution_->float_output(port, lane);
  }

  // The indices of ports, which do not change. Throw InvalidFile, naming the package.
  size_t input_port(std::string_view name) const;
  size_t output_port(std::string_view name) const;

 private:
  std::string name_;
  engine::PlanOptions plan_options_;
  engine::State state_;
  mil::Model model_;
  std::unique_ptr<engine::Execution> execution_;
};

}  // namespace pippin::runtime
