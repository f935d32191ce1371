// What the commands that write a package have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "pippin/mil/package/package.h"

namespace pippin::app {

// Throws InvalidArgument if `output` does not end in .mlpackage, or something is there that is
// neither a package nor an empty folder: only a package gives way to a package.
void check_package_output(const std::filesystem::path& output);

// The same for a folder of packages: only such a one, as `convert --family` writes it, or an empty
// folder gives way to one.
void check_folder_output(const std::filesystem::path& output);

// A package or compiled model as one to be written: without what Core ML's compiler has added,
// which the description says, too.
mil::Model read_to_rewrite(const std::filesystem::path& source);

// What was written, a package or a folder of packages.
struct PackageOutput {
  std::filesystem::path path;
  uint64_t bytes = 0;  // of all files
  double seconds = 0;  // that making it took
};

// Writes the model as the package `output`; the work on it began at `start`. Throws as
// mil::write_package.
PackageOutput write_output(const mil::Model& model, const std::filesystem::path& output,
                           const mil::WriteOptions& options,
                           std::chrono::steady_clock::time_point start);

// The bytes of a folder's files.
uint64_t folder_bytes(const std::filesystem::path& folder);

}  // namespace pippin::app
