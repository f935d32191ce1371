#include "pippin/io/torch_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/pickle.h"
#include "pippin/io/torch_legacy.h"
#include "pippin/io/zip_directory.h"

namespace pippin {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";

void refuse_other_formats(ByteSpan file, const std::string& name) {
  const std::string_view text = as_text(file.first(std::min<size_t>(file.size(), 300)));
  if (text.starts_with("PK")) return;
  // A bare pickle, or a tar archive, from before torch.save had a magic number.
  if (text.starts_with("\x80\x02") || (text.size() > 262 && text.substr(257, 5) == "ustar")) {
    fail(ErrorCode::Unsupported,
         "{}: the format of PyTorch before 0.2, which is not read; load and save it again with a "
         "newer one, or convert it to safetensors",
         name);
  }
  fail(ErrorCode::InvalidFile, "{}: not a file of PyTorch's torch.save", name);
}

// Returns whether the elements are in row-major order; axes of size one do not matter.
bool is_row_major(const PickledTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];  // already checked for overflow
  }
  return true;
}

// Copies a tensor whose storage has another order to row-major order. The copy must not exceed the
// storage: with repeated elements, a few bytes of a file could require unbounded memory.
TensorInfo gathered(const PickledTensor& tensor, ByteSpan storage, uint64_t bytes,
                    const std::string& name, OwnedTensors& own) {
  const auto element = static_cast<uint64_t>(bits(tensor.dtype)) / 8;
  const auto elements = static_cast<int64_t>(storage.size() / element);
  auto last = std::optional(static_cast<uint64_t>(tensor.offset));
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto reach = tensor.strides[i] < 0
                           ? std::nullopt
                           : checked_mul(static_cast<uint64_t>(tensor.shape[i] - 1),
                                         static_cast<uint64_t>(tensor.strides[i]));
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
  }
  if (!last || *last >= static_cast<uint64_t>(elements) || bytes > storage.size() ||
      own.held() + bytes > own.most()) {
    fail(ErrorCode::Unsupported,
         "{}: tensor {}: shape [{}] with strides [{}] of {} elements, which are not all "
         "its own",
         name, tensor.name.substr(0, 100), fmt::join(tensor.shape, ", "),
         fmt::join(tensor.strides, ", "), elements);
  }
  std::vector<std::byte> copy(bytes);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  int64_t from = tensor.offset;
  for (uint64_t to = 0; to < bytes; to += element) {
    std::memcpy(copy.data() + to, storage.data() + static_cast<uint64_t>(from) * element, element);
    for (size_t axis = index.size(); axis-- > 0;) {
      from += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      from -= tensor.strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return {std::string(tensor.name), tensor.dtype, tensor.shape, own.keep(std::move(copy))};
}

TensorInfo place(const PickledTensor& tensor, ByteSpan storage, const std::string& name,
                 OwnedTensors& own) {
  const auto where = [&] { return fmt::format("{}: tensor {}", name, tensor.name.substr(0, 100)); };
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
  if (bytes && *bytes > 0 && !is_row_major(tensor))
    return gathered(tensor, storage, *bytes, name, own);
  const auto end = bytes && begin ? checked_add(*begin, *bytes) : std::nullopt;
  if (!end || *end > storage.size()) {
    fail(ErrorCode::InvalidFile,
         "{}: shape [{}] of {} from element {} on, the storage has {} bytes", where(),
         fmt::join(tensor.shape, ", "), to_string(tensor.dtype), tensor.offset, storage.size());
  }
  return {std::string(tensor.name), tensor.dtype, tensor.shape, storage.subspan(*begin, *bytes)};
}

// Reads the pickle and the storages of an archive.
LegacyTorchFile read_archive(ByteSpan file, const std::string& name) {
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
  LegacyTorchFile result;
  result.tensors = read_tensor_pickle(contents.at(folder + std::string(kPickleName)), name);
  const std::string data = folder + "/data/";
  for (const auto& [path, bytes] : contents) {
    if (path.starts_with(data)) result.storages.emplace(path.substr(data.size()), bytes);
  }
  return result;
}

}  // namespace

std::vector<TensorInfo> parse_torch_file(ByteSpan file, const std::string& name,
                                         OwnedTensors& own) {
  const bool is_legacy = is_legacy_torch_file(file);
  if (!is_legacy) refuse_other_formats(file, name);
  const LegacyTorchFile content =
      is_legacy ? read_legacy_torch_file(file, name) : read_archive(file, name);
  std::vector<TensorInfo> tensors;
  // Keyed by the address of a key in the pickle, because any number of tensors may share a long
  // key.
  std::unordered_map<const char*, ByteSpan> storages;
  for (const PickledTensor& tensor : content.tensors) {
    const auto [known, is_new] = storages.try_emplace(tensor.storage.data());
    if (is_new) {
      const auto storage = content.storages.find(tensor.storage);
      if (storage == content.storages.end()) {
        fail(ErrorCode::InvalidFile, "{}: tensor {}: its storage '{}' is missing", name,
             tensor.name.substr(0, 100), tensor.storage.substr(0, 60));
      }
      known->second = storage->second;
    }
    tensors.push_back(place(tensor, known->second, name, own));
  }
  return tensors;
}

}  // namespace pippin
