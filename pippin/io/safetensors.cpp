#include "pippin/io/safetensors.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxRank = 64;

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// Returns the number of bytes that dtype and shape require.
uint64_t needed_bytes(const std::string& where, Dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t elements = 1;
  for (const int64_t size : shape) {
    const auto product = checked_mul(elements, static_cast<uint64_t>(size));
    if (!product) {
      fail(ErrorCode::InvalidFile, "{}: shape {} overflows 64 bits", where, shape_text(shape));
    }
    elements = *product;
  }
  const auto total = checked_mul(elements, static_cast<uint64_t>(bits(dtype)));
  if (!total) {
    fail(ErrorCode::InvalidFile, "{}: shape {} of {} overflows 64 bits", where, shape_text(shape),
         to_string(dtype));
  }
  if (*total % 8 != 0) {
    fail(ErrorCode::InvalidFile, "{}: shape {} of {} ends inside a byte", where, shape_text(shape),
         to_string(dtype));
  }
  return *total / 8;
}

TensorInfo read_entry(const std::string& file, std::string_view name, const Json& entry,
                      ByteSpan buffer) {
  const std::string where = fmt::format("{}: tensor {}", file, name);
  const std::string dtype_name = entry.get_string("dtype");
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) fail(ErrorCode::InvalidFile, "{}: unknown dtype \"{}\"", where, dtype_name);
  const Json shape_json = entry.at("shape");
  if (shape_json.size() > kMaxRank) {
    fail(ErrorCode::LimitExceeded, "{}: rank {}, at most {}", where, shape_json.size(), kMaxRank);
  }
  std::vector<int64_t> shape;
  for (const Json& size : shape_json.elements()) shape.push_back(size.as_int(0));
  const Json offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    fail(ErrorCode::InvalidFile, "{}: data_offsets: expected two numbers, found {}", where,
         offsets.is_array() ? fmt::format("{}", offsets.size()) : offsets.dump().substr(0, 60));
  }
  const uint64_t begin = offsets.at(size_t{0}).as_uint64();
  const uint64_t end = offsets.at(size_t{1}).as_uint64();
  if (begin > end) {
    fail(ErrorCode::InvalidFile, "{}: data begins at {} and ends before it, at {}", where, begin,
         end);
  }
  if (end > buffer.size()) {
    fail(ErrorCode::InvalidFile, "{}: data ends at {}, the file holds {} bytes of data", where, end,
         buffer.size());
  }
  const uint64_t needed = needed_bytes(where, *dtype, shape);
  if (needed != end - begin) {
    fail(ErrorCode::InvalidFile, "{}: {} of shape {} needs {} bytes, data_offsets give {}", where,
         to_string(*dtype), shape_text(shape), needed, end - begin);
  }
  return {std::string(name), *dtype, std::move(shape), buffer.subspan(begin, end - begin)};
}

// Checks that the tensors, sorted by data offset, cover the buffer exactly.
void check_cover(const std::string& file, const std::vector<TensorInfo>& tensors, ByteSpan buffer) {
  uint64_t covered = 0;
  for (const TensorInfo& tensor : tensors) {
    const auto begin = static_cast<uint64_t>(tensor.bytes.data() - buffer.data());
    if (begin < covered) {
      fail(ErrorCode::InvalidFile, "{}: tensor {}: data at {} overlaps data that ends at {}", file,
           tensor.name, begin, covered);
    }
    if (begin > covered) {
      fail(ErrorCode::InvalidFile, "{}: tensor {}: data begins at {}, the one before ends at {}",
           file, tensor.name, begin, covered);
    }
    covered += tensor.bytes.size();
  }
  if (covered != buffer.size()) {
    fail(ErrorCode::InvalidFile, "{}: tensors cover {} bytes of data, the file holds {}", file,
         covered, buffer.size());
  }
}

}  // namespace

int64_t TensorInfo::num_elements() const {
  // Unsigned, because the product may exceed 2^63 before it is multiplied by a size of 0.
  uint64_t count = 1;
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(count);
}

SafetensorsContent parse_safetensors(ByteSpan file, const std::string& name) {
  ByteReader reader(file, name);
  if (file.size() < sizeof(uint64_t)) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes, no room for a safetensors header", name,
         file.size());
  }
  const auto header_bytes = reader.read<uint64_t>();
  if (header_bytes > kMaxHeaderBytes) {
    fail(ErrorCode::InvalidFile, "{}: a header of {} bytes, at most {} are allowed", name,
         header_bytes, kMaxHeaderBytes);
  }
  if (header_bytes > reader.remaining()) {
    fail(ErrorCode::InvalidFile, "{}: a header of {} bytes, the file has {} left", name,
         header_bytes, reader.remaining());
  }
  const std::string_view text = as_text(reader.take(header_bytes));
  const ByteSpan buffer = reader.take(reader.remaining());
  if (!text.starts_with('{')) {
    fail(ErrorCode::InvalidFile, "{}: the header does not start with '{{'", name);
  }
  JsonLimits limits;
  limits.unique_keys = true;
  const Json header = Json::parse(text, name + ": header", limits);

  SafetensorsContent content;
  content.tensors.reserve(header.size());
  for (const auto& [key, value] : header.members()) {
    if (key == "__metadata__") {
      for (const auto& [meta, meaning] : value.members()) {
        content.metadata.emplace(meta, meaning.as_string());
      }
    } else {
      content.tensors.push_back(read_entry(name, key, value, buffer));
    }
  }
  // Sorted by begin, then end, so that an empty tensor comes before one that starts at the same
  // place.
  std::stable_sort(content.tensors.begin(), content.tensors.end(),
                   [](const TensorInfo& a, const TensorInfo& b) {
                     return std::tuple(a.bytes.data(), a.bytes.size()) <
                            std::tuple(b.bytes.data(), b.bytes.size());
                   });
  check_cover(name, content.tensors, buffer);
  return content;
}

SafetensorsFile::SafetensorsFile(std::shared_ptr<const MappedFile> file)
    : file_(std::move(file)),
      content_(parse_safetensors(file_->bytes(), file_->path().filename().string())) {
  by_name_.reserve(content_.tensors.size());
  for (const TensorInfo& tensor : content_.tensors) by_name_.emplace(tensor.name, &tensor);
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  return std::shared_ptr<const SafetensorsFile>(new SafetensorsFile(MappedFile::open(path)));
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace pippin
