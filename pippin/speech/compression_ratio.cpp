#include "pippin/speech/compression_ratio.h"

#include <vector>

#include <zlib.h>

#include "pippin/base/error.h"

namespace pippin::speech {

double compression_ratio(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<Bytef> compressed(size);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib's type of bytes
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  if (const int status = compress(compressed.data(), &size, bytes, text.size()); status != Z_OK) {
    fail(ErrorCode::LimitExceeded, "zlib cannot compress {} bytes (status {})", text.size(),
         status);
  }
  return static_cast<double>(text.size()) / static_cast<double>(size);
}

}  // namespace pippin::speech
