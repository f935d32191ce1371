// Rewrites a compiled model, a package or a bare model file as a new package.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/app/convert/package_output.h"

namespace pippin::app {

struct RepackageResult : PackageOutput {
  uint64_t weights = 0;  // bytes of the constants in weight files
};

// Keeps program, interface, metadata and weights, with the named functions or all; drops unused
// weights and files that the manifest does not list. `output` may be `source`. `change` is called
// with the model before it is written. Throws as mil::read_package and mil::write_package.
RepackageResult repackage(const std::filesystem::path& source, const std::filesystem::path& output,
                          const std::vector<std::string>& functions = {},
                          const std::function<void(uint64_t, uint64_t)>& progress = {},
                          const std::function<void(mil::Model& model)>& change = {});

}  // namespace pippin::app
