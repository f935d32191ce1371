#include "pippin/mil/package/coreml_data.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::mil {
namespace {

constexpr size_t kFirstText = 28;
constexpr size_t kAfterVersion = 28;
// No specification has a larger version; the bytes of another form do.
constexpr uint32_t kLargestVersion = 1000;
constexpr uint64_t kMostStages = 10000;

ByteSpan read_counted(ByteReader& reader) {
  const auto size = reader.read<uint64_t>();
  if (size > reader.remaining()) {
    fail(ErrorCode::InvalidFile, "coremldata.bin: {} bytes at offset {}, {} are left", size,
         reader.position(), reader.remaining());
  }
  return reader.take(size);
}

}  // namespace

int64_t coreml_data_kind(ByteSpan bytes) {
  return ByteReader(bytes, "coremldata.bin").read<uint32_t>();
}

CoreMlData parse_coreml_data(ByteSpan bytes) {
  ByteReader reader(bytes, "coremldata.bin");
  CoreMlData data;
  data.kind = reader.read<uint32_t>();
  reader.seek(std::min(kFirstText, bytes.size()));
  read_counted(reader);
  const auto version = reader.read<uint32_t>();
  if (version == 0 || version > kLargestVersion) {
    fail(ErrorCode::InvalidFile, "coremldata.bin: specification version {}", version);
  }
  data.specification_version = version;
  reader.take(kAfterVersion);
  data.description = read_counted(reader);
  return data;
}

std::vector<std::string> parse_model_names(ByteSpan bytes) {
  ByteReader reader(bytes, "modelNames/coremldata.bin");
  const auto count = reader.read<uint64_t>();
  if (count > kMostStages) {
    fail(ErrorCode::LimitExceeded, "modelNames/coremldata.bin: {} stages", count);
  }
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    names.emplace_back(as_text(read_counted(reader)));
    if (!is_valid_utf8(names.back())) {
      fail(ErrorCode::InvalidFile, "modelNames/coremldata.bin: a name that is not UTF-8");
    }
  }
  return names;
}

}  // namespace pippin::mil
