// What the commands that write a package have in common.
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/mil/model.h"

namespace pippin::app {

// Throws InvalidArgument where `output` does not end in .mlpackage, or something is there that is
// neither a package nor an empty folder: only a package gives way to a package.
void check_package_output(const std::filesystem::path& output);

// The same for a folder of packages: only such a one, as `convert --family` writes it, or an empty
// folder gives way to one.
void check_folder_output(const std::filesystem::path& output);

// A package or compiled model as one to be written: without what Core ML's compiler has added,
// which the description says, too.
mil::Model read_to_rewrite(const std::filesystem::path& source);

// The bytes of a folder's files.
uint64_t folder_bytes(const std::filesystem::path& folder);

}  // namespace pippin::app
