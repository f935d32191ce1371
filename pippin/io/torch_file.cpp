#include "pippin/io/torch_file.h"

#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/checked.h"
#include "pippin/base/error.h"
#include "pippin/io/pickle.h"
#include "pippin/io/zip_directory.h"

namespace pippin {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";

void refuse_old_formats(ByteSpan file, const std::string& name) {
  const std::string_view text = as_text(file.first(std::min<size_t>(file.size(), 300)));
  if (text.starts_with("PK")) return;
  // A pickle (protocol 2), or a tar archive, both before PyTorch 1.6.
  if (text.starts_with("\x80\x02") || (text.size() > 262 && text.substr(257, 5) == "ustar")) {
    fail(ErrorCode::Unsupported,
         "{}: the format of PyTorch before 1.6, which is not read; load and save it again with a "
         "newer one, or convert it to safetensors",
         name);
  }
  fail(ErrorCode::InvalidFile, "{}: not a file of PyTorch's torch.save", name);
}

// Whether elements follow one another in row-major order; axes of one element have no order.
bool is_row_major(const PickledTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];  // checked before
  }
  return true;
}

TensorInfo place(const PickledTensor& tensor, ByteSpan storage, const std::string& name) {
  const auto where = [&] { return fmt::format("{}: tensor {}", name, tensor.name); };
  const auto element = static_cast<uint64_t>(bits(tensor.dtype)) / 8;
  auto bytes = std::optional(element);
  for (const int64_t size : tensor.shape) {
    if (size < 0) fail(ErrorCode::InvalidFile, "{}: a size of {}", where(), size);
    if (bytes) bytes = checked_mul(*bytes, static_cast<uint64_t>(size));
  }
  if (tensor.offset < 0 || tensor.strides.size() != tensor.shape.size()) {
    fail(ErrorCode::InvalidFile, "{}: offset {}, {} sizes and {} strides", where(), tensor.offset,
         tensor.shape.size(), tensor.strides.size());
  }
  const auto begin = checked_mul(static_cast<uint64_t>(tensor.offset), element);
  const auto end = bytes && begin ? checked_add(*begin, *bytes) : std::nullopt;
  if (!end || *end > storage.size()) {
    fail(ErrorCode::InvalidFile,
         "{}: shape [{}] of {} from element {} on, the storage has {} bytes", where(),
         fmt::join(tensor.shape, ", "), to_string(tensor.dtype), tensor.offset, storage.size());
  }
  if (*bytes > 0 && !is_row_major(tensor)) {
    fail(ErrorCode::Unsupported,
         "{}: shape [{}] with strides [{}]; only row-major tensors are read", where(),
         fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "));
  }
  return {tensor.name, tensor.dtype, tensor.shape, storage.subspan(*begin, *bytes)};
}

}  // namespace

std::vector<TensorInfo> parse_torch_file(ByteSpan file, const std::string& name) {
  refuse_old_formats(file, name);
  std::map<std::string, ByteSpan, std::less<>> contents;
  std::string folder;
  bool found = false;
  for (ZipEntry& entry : read_zip_directory(file, name)) {
    if (!entry.stored) {
      fail(ErrorCode::Unsupported, "{}: entry {} is compressed, torch.save only stores", name,
           entry.name.substr(0, 100));
    }
    if (entry.name.ends_with(kPickleName)) {
      if (found) fail(ErrorCode::InvalidFile, "{}: two entries are called data.pkl", name);
      found = true;
      folder = entry.name.substr(0, entry.name.size() - kPickleName.size());
    }
    contents.emplace(std::move(entry.name), entry.data);
  }
  if (!found) {
    fail(ErrorCode::InvalidFile, "{}: a zip archive without data.pkl: not a file of torch.save",
         name);
  }
  const auto order = contents.find(folder + "/byteorder");
  if (order != contents.end() && as_text(order->second) != "little") {
    fail(ErrorCode::Unsupported, "{}: its numbers are not little-endian", name);
  }
  std::vector<TensorInfo> tensors;
  for (const PickledTensor& tensor :
       read_tensor_pickle(contents.at(folder + std::string(kPickleName)), name)) {
    const auto storage = contents.find(fmt::format("{}/data/{}", folder, tensor.storage));
    if (storage == contents.end()) {
      fail(ErrorCode::InvalidFile, "{}: tensor {}: its storage '{}' is missing", name, tensor.name,
           tensor.storage.substr(0, 60));
    }
    tensors.push_back(place(tensor, storage->second, name));
  }
  return tensors;
}

}  // namespace pippin
