// A mark that this process crashed, for those that continue its work.
#pragma once

#include <filesystem>

namespace pippin::cli {

// From now on, a signal for a fault of this process (SIGSEGV, SIGABRT, SIGFPE, SIGILL) creates an
// empty file before it ends the process.
void mark_crashes(const std::filesystem::path& path);

}  // namespace pippin::cli
