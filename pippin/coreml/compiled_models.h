// Models compiled by Core ML, each once: stored in the load cache, where they are not moved again,
// or, if space is short, in a folder that is removed with its last user.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/coreml/device.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/model.h"

namespace pippin::coreml {

struct CompiledModel {
  std::filesystem::path path;
  std::string name;  // the package's, for messages
  std::string key;   // in the cache; empty: not cached
  std::shared_ptr<LoadCache> cache;
  std::shared_ptr<const void> temporary;  // removes a model that is not cached
};

struct TrialTask;

class CompiledModels {
 public:
  CompiledModels(Framework& framework, const DeviceOptions& options)
      : framework_(framework), options_(options) {}

  // Throws Unsupported for models that are not programs, and for features that the system's version
  // lacks.
  void check(const mil::Model& model, std::string_view function) const;
  // Throws Device, with Core ML's message, if it cannot be compiled in time; Cancelled.
  std::shared_ptr<const CompiledModel> get(const mil::Model& model,
                                           const std::shared_ptr<LoadCache>& cache,
                                           LoadReport& report) const;
  // Throws Device if the first prediction of the function fails or ends its process, now or in an
  // earlier trial. Without the Neural Engine there is nothing to try.
  void try_function(const CompiledModel& compiled, const std::string& function,
                    LoadReport& report) const;

 private:
  std::shared_ptr<const CompiledModel> compile(const std::filesystem::path& package,
                                               const std::string& name, const std::string& key,
                                               const std::shared_ptr<LoadCache>& cache,
                                               LoadReport& report) const;
  std::string key_of(const std::filesystem::path& package, LoadCache* cache) const;
  ErrorText run(const TrialTask& task) const;

  Framework& framework_;
  const DeviceOptions& options_;
};

}  // namespace pippin::coreml
