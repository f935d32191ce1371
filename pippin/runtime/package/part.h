// One package of a model made of several: its program, plans and weight pages, kept loaded or only
// while in use (--low-memory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/package/functions.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin {
class Digest;
}

namespace pippin::runtime {

// The steps of a package by purpose. A step whose sizes include both 1 and others serves as both.
struct PartSteps {
  std::optional<StepSchema> one, batch;                  // one token; several at a time
  std::optional<StepSchema> one_rotated, batch_rotated;  // once the window is full
};

// Functions with `rotate` in their names are the rotated ones; otherwise the number of tokens
// decides. Throws Unsupported.
PartSteps part_steps(const std::vector<const mil::FunctionDescription*>& functions);

class Part {
 public:
  // Reads the package and joins its states to `states`, which all parts of a model share. `name` is
  // the file's name, for messages.
  Part(const std::filesystem::path& package, std::string name, const LoadOptions& options,
       SharedStates& states, ThreadPool& pool);

  const std::string& name() const { return name_; }
  const PartSteps& steps() const { return steps_; }
  bool has_adapter() const { return has_adapter_; }
  const std::vector<std::string>& adapters() const { return adapters_; }
  const mil::Metadata& metadata() const { return metadata_; }
  const mil::Model& model() const { return model_; }
  // Whether Pippin wrote the package.
  bool is_own() const { return is_own_; }

  // The steps() of the part, ready to run. The first use makes the plan; with --low-memory
  // release() frees it.
  StepRunner& one();
  StepRunner& batch(int64_t query);
  StepRunner& one_rotated();
  StepRunner& batch_rotated(int64_t query);
  // As Model::saved_bytes(), for one().
  uint64_t saved_bytes() const { return one_ ? one_->plan().saved_bytes() : 0; }
  // Makes all plans that are kept.
  void prepare(bool batches);
  void release();
  // The program and its weights.
  void add_to(Digest& digest);

 private:
  StepRunner& runner(std::unique_ptr<StepRunner>& place, const StepSchema& step,
                     mil::SizeRange query);
  mil::SizeRange batch_range(const StepSchema& step) const;

  std::string name_;
  LoadOptions options_;
  ThreadPool& pool_;
  mil::Model model_;
  PartSteps steps_;
  bool has_adapter_ = false, is_own_ = false;
  std::vector<std::string> adapters_;
  mil::Metadata metadata_;
  std::unique_ptr<StepRunner> one_, batch_, one_rotated_, batch_rotated_;
};

}  // namespace pippin::runtime
