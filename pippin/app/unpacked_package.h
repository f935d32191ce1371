// Packages in archives, for commands that look into a package for more than its program.
#pragma once

#include <filesystem>

namespace pippin::app {

// Where the package lies that an archive holds, unpacked when it is first asked for and gone when
// the process ends; of several packages, or of one that has a tokenizer next to it, their folder
// where `several` are allowed. Any other path is returned as it is. Throws what
// mil::UnpackedArchive throws.
std::filesystem::path unpacked_package(const std::filesystem::path& path, bool several);

}  // namespace pippin::app
