// Pippin's engine as the implementation of the stand-in: packed arrays by name, in and out. Errors
// are values, since Objective-C calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/runner.h"
#include "pippin/mil/model.h"

namespace pippin::standin {

struct HostArray {
  mil::DataType type = mil::DataType::Float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // packed
};
using HostArrays = std::map<std::string, HostArray>;

// Compiles into `folder`; returns the error, or an empty string.
std::string compile(const std::filesystem::path& package, const std::filesystem::path& folder,
                    int ios, std::filesystem::path& compiled);

// Returns the error, or an empty string.
std::string read_model(const std::filesystem::path& compiled, mil::Model& model);

class EngineModel {
 public:
  // An empty name is the default function.
  static std::string load(const std::filesystem::path& compiled, const std::string& function,
                          std::shared_ptr<EngineModel>& model);

  const mil::FunctionDescription& description() const { return *description_; }
  std::string new_state(std::unique_ptr<engine::State>& state) const;
  // Inputs must be as declared: the caller checks them. Calls are serialized.
  std::string predict(const HostArrays& inputs, engine::State& state, HostArrays& outputs);

 private:
  struct Ready {
    std::vector<bool> ones;  // axes of one element: each combination needs its own plan
    std::unique_ptr<engine::Execution> execution;  // null: left to the runner
  };
  Ready& ready_for(const HostArrays& inputs);
  void run_plan(engine::Execution& execution, const HostArrays& inputs, engine::State& state,
                HostArrays& outputs);
  void run_whole(const HostArrays& inputs, engine::State& state, HostArrays& outputs);

  mil::Model model_;
  const mil::FunctionDescription* description_ = nullptr;
  std::mutex mutex_;
  std::unique_ptr<ThreadPool> pool_;
  std::list<Ready> ready_;
  std::unique_ptr<engine::Runner> runner_;
};

// Options of the stand-in's computation.
struct EngineOptions {
  int threads = 0;
  engine::ComputeOptions compute;
};
EngineOptions& engine_options();

}  // namespace pippin::standin
