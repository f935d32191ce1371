#include "pippin/io/weight_file.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/ggml.h"
#include "pippin/io/gguf.h"
#include "pippin/io/npz.h"
#include "pippin/io/torch_file.h"
#include "pippin/io/zip_directory.h"

namespace pippin {
namespace {

// "V2", two bytes without a type, is MLX's spelling of bfloat16, for which NumPy has no name.
std::optional<Dtype> dtype_of(std::string_view descr) {
  static constexpr std::pair<std::string_view, Dtype> kTypes[] = {
      {"f2", Dtype::F16}, {"V2", Dtype::BF16}, {"f4", Dtype::F32}, {"f8", Dtype::F64},
      {"i1", Dtype::I8},  {"u1", Dtype::U8},   {"i2", Dtype::I16}, {"u2", Dtype::U16},
      {"i4", Dtype::I32}, {"u4", Dtype::U32},  {"i8", Dtype::I64}, {"u8", Dtype::U64},
      {"b1", Dtype::Bool}};
  if (descr.size() != 3 || descr[0] == '>') return std::nullopt;
  for (const auto& [name, dtype] : kTypes) {
    if (descr.substr(1) == name) return dtype;
  }
  return std::nullopt;
}

void check_size(const std::string& where, const TensorInfo& tensor) {
  auto bytes = std::optional(static_cast<uint64_t>(bits(tensor.dtype)) / 8);
  for (const int64_t size : tensor.shape) {
    if (bytes) bytes = checked_mul(*bytes, static_cast<uint64_t>(size));
  }
  if (bytes == tensor.bytes.size()) return;
  fail(ErrorCode::InvalidFile, "{}: shape ({}) of {} does not take the {} bytes that there are",
       where, fmt::join(tensor.shape, ", "), to_string(tensor.dtype), tensor.bytes.size());
}

}  // namespace

bool WeightFile::is_known(const std::filesystem::path& path) {
  const auto extension = path.extension();
  return extension == ".safetensors" || extension == ".bin" || extension == ".npz" ||
         extension == ".gguf";
}

std::shared_ptr<const WeightFile> WeightFile::open(const std::filesystem::path& path) {
  if (!is_known(path)) {
    fail(ErrorCode::Unsupported,
         "{}: weights are read from .safetensors, .bin, .npz and .gguf files", path.string());
  }
  std::shared_ptr<WeightFile> result(new WeightFile(MappedFile::open(path)));
  const ByteSpan bytes = result->file_->bytes();
  const std::string name = path.filename().string();
  if (path.extension() == ".safetensors") {
    result->tensors_ = parse_safetensors(bytes, name).tensors;
  } else if (path.extension() == ".bin" && looks_like_ggml(bytes)) {
    result->add_blocks(parse_ggml(bytes, name).tensors);
  } else if (path.extension() == ".bin") {
    OwnedTensors own(bytes.size());
    result->tensors_ = parse_torch_file(bytes, name, own);
    result->unpacked_ = std::move(own.copies());
  } else if (path.extension() == ".gguf") {
    result->add_blocks(parse_gguf(bytes, name).tensors);
  } else {
    result->add_npz();
  }
  return result;
}

void WeightFile::add_npz() {
  const std::string name = file_->path().filename().string();
  std::optional<NpzFile> archive;  // for arrays that cannot be used in place
  // Entries that share bytes could require unbounded memory.
  const uint64_t most = std::max<uint64_t>(uint64_t{1} << 30, 64 * file_->bytes().size());
  uint64_t total = 0;
  for (const ZipEntry& entry : read_zip_directory(file_->bytes(), name)) {
    if (!entry.name.ends_with(".npy")) {
      fail(ErrorCode::InvalidFile, "{}: entry \"{}\" is not a .npy file", name,
           entry.name.substr(0, 100));
    }
    const std::string array = entry.name.substr(0, entry.name.size() - 4);
    const std::string where = fmt::format("{}: {}", name, array);
    TensorInfo tensor{array, Dtype::F32, {}, {}};
    std::optional<Dtype> dtype;
    std::optional<NpyView> view;
    if (entry.stored) view = view_npy(entry.data, where);
    if (view && (!view->fortran_order || view->shape.size() < 2)) {
      dtype = dtype_of(view->descr);
      tensor.shape = view->shape;
      tensor.bytes = view->data;
    } else {
      if (!archive) archive = NpzFile::parse(file_->bytes(), name);
      NpyArray unpacked = archive->read(array);
      total += unpacked.data.size();
      if (total > most) {
        fail(ErrorCode::LimitExceeded, "{}: its arrays take more than {} bytes", name, most);
      }
      dtype = dtype_of(to_string(unpacked.type));
      tensor.shape = unpacked.shape;
      unpacked_.push_back(std::move(unpacked.data));
      tensor.bytes = unpacked_.back();
    }
    if (!dtype) {
      fail(ErrorCode::Unsupported, "{}: NumPy type '{}' is not read", where,
           view ? view->descr.substr(0, 40) : "");
    }
    tensor.dtype = *dtype;
    check_size(where, tensor);
    tensors_.push_back(std::move(tensor));
  }
}

void WeightFile::add_blocks(std::vector<GgufTensor> tensors) {
  const std::string name = file_->path().filename().string();
  tensors_.reserve(tensors.size());
  for (GgufTensor& tensor : tensors) {
    const GgufBlock block = gguf_block(tensor.type, name);
    std::string type(block.name);
    const auto plain = parse_dtype(type);
    TensorInfo info{std::move(tensor.name), plain.value_or(Dtype::U8), std::move(tensor.shape),
                    tensor.data};
    if (!plain) {
      for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      info.name += "." + type;
      if (info.shape.empty()) info.shape.push_back(1);
      info.shape.back() = info.shape.back() / block.elements * block.bytes;
    }
    tensors_.push_back(std::move(info));
  }
}

void WeightFile::release(const TensorInfo& tensor) const noexcept {
  const ByteSpan all = file_->bytes();
  const std::less_equal<> at_most;
  const bool mapped = at_most(all.data(), tensor.bytes.data()) &&
                      at_most(tensor.bytes.data() + tensor.bytes.size(), all.data() + all.size());
  if (mapped) file_->release(tensor.bytes);
}

}  // namespace pippin
