// Helpers shared by the commands that write packages.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "pippin/mil/package/package.h"

namespace pippin::app {

// Throws InvalidArgument if `output` does not end in .mlpackage, or exists and is neither a package
// nor an empty folder: a package replaces only a package.
void check_package_output(const std::filesystem::path& output);

// The same for a folder of packages: it replaces only a folder written by `convert --family`, or an
// empty folder.
void check_folder_output(const std::filesystem::path& output);

// Reads a package or compiled model for rewriting: without the additions of Core ML's compiler,
// which the description repeats.
mil::Model read_to_rewrite(const std::filesystem::path& source);

// The written package or folder of packages.
struct PackageOutput {
  std::filesystem::path path;
  uint64_t bytes = 0;  // total over all files
  double seconds = 0;  // time taken
};

// Writes the model as the package `output`; `start` is the time at which the work began. Throws as
// mil::write_package.
PackageOutput write_output(const mil::Model& model, const std::filesystem::path& output,
                           const mil::WriteOptions& options,
                           std::chrono::steady_clock::time_point start);

// The total size of a folder's files in bytes.
uint64_t folder_bytes(const std::filesystem::path& folder);

}  // namespace pippin::app
