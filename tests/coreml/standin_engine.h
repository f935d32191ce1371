// Pippin's engine as what computes behind the stand-in: packed arrays by name, in and out. Errors
// are values: Objective-C calls it.
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

#include "pippin/base/thread_pool.h"
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

// Compiles into `folder`, and says with what file.
std::string compile(const std::filesystem::path& package, const std::filesystem::path& folder,
                    int ios, std::filesystem::path& compiled);

// What is wrong with it, or nothing.
std::string read_model(const std::filesystem::path& compiled, mil::Model& model);

class EngineModel {
 public:
  // An empty function is the default one.
  static std::string load(const std::filesystem::path& compiled, const std::string& function,
                          std::shared_ptr<EngineModel>& model);

  const mil::FunctionDescription& description() const { return *description_; }
  std::string new_state(std::unique_ptr<engine::State>& state) const;
  // Inputs are as declared: checked by whoever calls. One call at a time computes.
  std::string predict(const HostArrays& inputs, engine::State& state, HostArrays& outputs);

 private:
  struct Ready {
    std::vector<bool> ones;                        // which axes have one element: a plan of its own
    std::unique_ptr<engine::Execution> execution;  // null: the runner has to do it
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

// How the stand-in computes.
struct EngineOptions {
  int threads = 0;
  engine::ComputeOptions compute;
};
EngineOptions& engine_options();

}  // namespace pippin::standin
