#include "pippin/base/files/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "pippin/base/error.h"

namespace pippin {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(std::string_view purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    const char* named = std::getenv("TMPDIR");
    fail(ErrorCode::Io, "TMPDIR ({}): {}", named == nullptr ? "not set" : named, error.message());
  }
  std::string pattern = (parent / fmt::format("pippin-{}-XXXXXX", purpose)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    fail(ErrorCode::Io, "{}: no folder can be made there ({}); set TMPDIR", parent.string(),
         std::strerror(errno));
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  if (process_ != fork_count()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace pippin
