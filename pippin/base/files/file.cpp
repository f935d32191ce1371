#include "pippin/base/files/file.h"

namespace pippin {

std::string read_file(const std::filesystem::path& path, size_t max_bytes, StandIns stand_ins) {
  const auto file = MappedFile::open(path, stand_ins);
  const ByteSpan bytes = file->bytes();
  if (bytes.size() > max_bytes) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", path.string(), bytes.size(),
         max_bytes);
  }
  return std::string(as_text(bytes));
}

}  // namespace pippin
