#include "pippin/cli/package_output.h"

#include "pippin/base/error.h"

namespace pippin::cli {

namespace fs = std::filesystem;

void check_package_output(const fs::path& output) {
  if (output.extension() != ".mlpackage") {
    fail(ErrorCode::InvalidArgument, "{}: the output has to end in .mlpackage", output.string());
  }
  if (!fs::exists(output) || fs::exists(output / "Manifest.json")) return;
  if (fs::is_directory(output) && fs::is_empty(output)) return;
  fail(ErrorCode::InvalidArgument, "{}: is there and no package, so it is not replaced",
       output.string());
}

uint64_t folder_bytes(const fs::path& folder) {
  uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  return total;
}

}  // namespace pippin::cli
