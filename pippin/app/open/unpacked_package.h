// Packages in archives, for commands that need more of a package than its program.
#pragma once

#include <filesystem>

namespace pippin::app {

// The location of the package in an archive, unpacked on first use and removed when the process
// ends; with `several`, the folder of several packages, or of one with a tokenizer next to it.
// Returns any other path unchanged. Throws as mil::UnpackedArchive.
std::filesystem::path unpacked_package(const std::filesystem::path& path, bool several);

}  // namespace pippin::app
