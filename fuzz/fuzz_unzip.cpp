#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/io/gzip.h"
#include "pippin/io/unzip.h"

// No archive may create files outside the folder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  namespace fs = std::filesystem;
  const TempDir root;
  if (root.path().empty()) return 0;
  fs::create_directory(root / "in");
  const ByteSpan file = std::as_bytes(std::span(data, size));
  const UnzipLimits limits{.max_bytes = 1 << 20, .max_entries = 50};
  try {
    if (is_gzip(file)) {
      gunzip(file, "x.gz", root / "in" / "x", limits);
    } else {
      unzip(file, "x.zip", root / "in", limits);
    }
  } catch (const Error&) {
  }
  if (std::distance(fs::directory_iterator(root.path()), {}) != 1) __builtin_trap();
  for (const auto& entry : fs::recursive_directory_iterator(root.path())) {
    if (entry.is_symlink()) __builtin_trap();
  }
  return 0;
}
