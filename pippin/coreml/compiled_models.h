// Models as Core ML's compiler left them, each compiled once: in the load cache, where they are not
// moved any more, or, without place there, in a folder that goes with the last who uses it.
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
  std::string name;  // of the package, for messages
  std::string key;   // in the cache; empty: it is not kept
  std::shared_ptr<LoadCache> cache;
  std::shared_ptr<const void> temporary;  // removes what is not kept
};

struct TrialTask;

class CompiledModels {
 public:
  CompiledModels(Framework& framework, const DeviceOptions& options)
      : framework_(framework), options_(options) {}

  // Throws Unsupported for what is no program, and for what the system's version lacks.
  void check(const mil::Model& model, std::string_view function) const;
  // Throws Device, with Core ML's words, where it cannot be compiled in time; Cancelled.
  std::shared_ptr<const CompiledModel> get(const mil::Model& model,
                                           const std::shared_ptr<LoadCache>& cache,
                                           LoadReport& report) const;
  // Throws Device if the first prediction of the function fails or ends its process, also where
  // an earlier one did. Without Neural Engine there is nothing to try.
  void try_function(const CompiledModel& compiled, const std::string& function,
                    LoadReport& report) const;

 private:
  std::shared_ptr<const CompiledModel> compile(const std::filesystem::path& package,
                                               const std::string& name, const std::string& key,
                                               const std::shared_ptr<LoadCache>& cache,
                                               LoadReport& report) const;
  std::string key_of(const std::filesystem::path& package, LoadCache* cache) const;
  Trouble run(const TrialTask& task) const;

  Framework& framework_;
  const DeviceOptions& options_;
};

}  // namespace pippin::coreml
