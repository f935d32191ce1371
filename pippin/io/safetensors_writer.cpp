#include "pippin/io/safetensors_writer.h"

#include <set>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

uint64_t data_bytes(const SafetensorsWriter::Declaration& tensor) {
  auto total = std::optional(static_cast<uint64_t>(bits(tensor.dtype)));
  for (const int64_t size : tensor.shape) {
    if (size < 0) fail(ErrorCode::InvalidArgument, "tensor {}: size {}", tensor.name, size);
    if (total) total = checked_mul(*total, static_cast<uint64_t>(size));
  }
  if (!total || *total % 8 != 0) {
    fail(ErrorCode::InvalidArgument, "tensor {}: no whole number of bytes below 2^64", tensor.name);
  }
  return *total / 8;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<Declaration>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : name_(path.filename().string()), output_(path), writer_(output_.path()) {
  JsonWriter header;
  header.begin_object();
  if (!metadata.empty()) {
    header.key("__metadata__").begin_object();
    for (const auto& [key, value] : metadata) header.member(key, value);
    header.end_object();
  }
  std::set<std::string_view> names;
  for (const Declaration& tensor : tensors) {
    if (!names.insert(tensor.name).second || tensor.name == "__metadata__") {
      fail(ErrorCode::InvalidArgument, "{}: tensor name {} cannot be used twice", name_,
           tensor.name);
    }
    const uint64_t begin = total_;
    const auto end = checked_add(begin, data_bytes(tensor));
    if (!end) fail(ErrorCode::InvalidArgument, "{}: more than 2^64 bytes", name_);
    total_ = *end;
    header.key(tensor.name).begin_object();
    header.member("dtype", to_string(tensor.dtype)).member("shape", tensor.shape);
    header.key("data_offsets").begin_array().value(begin).value(total_).end_array();
    header.end_object();
  }
  std::string text = header.end_object().text();
  text.resize(align_up(text.size(), size_t{8}), ' ');  // aligns the data
  const uint64_t length = text.size();
  writer_.write(std::as_bytes(std::span(&length, 1)));
  writer_.write(text);
}

void SafetensorsWriter::append(ByteSpan bytes) {
  if (bytes.size() > total_ - appended_) {
    fail(ErrorCode::InvalidArgument, "{}: {} bytes of data, {} were declared", name_,
         appended_ + bytes.size(), total_);
  }
  writer_.write(bytes);
  appended_ += bytes.size();
}

void SafetensorsWriter::finish() {
  if (appended_ != total_) {
    fail(ErrorCode::InvalidArgument, "{}: {} bytes of data, {} were declared", name_, appended_,
         total_);
  }
  writer_.close();
  output_.commit();
}

}  // namespace pippin
