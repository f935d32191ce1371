#include "pippin/base/file.h"

#include "pippin/base/mapped_file.h"

namespace pippin {

std::string read_file(const std::filesystem::path& path, size_t max_bytes) {
  const auto file = MappedFile::open(path);
  const ByteSpan bytes = file->bytes();
  if (bytes.size() > max_bytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", path.string(), bytes.size(),
         max_bytes);
  }
  return std::string(as_text(bytes));
}

}  // namespace pippin
