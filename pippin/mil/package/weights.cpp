#include "pippin/mil/package/weights.h"

#include <algorithm>

#include <sys/stat.h>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/mil/walk.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMinFileElements = 10;
// The number of records to read before releasing their pages. Each may have pulled in megabytes:
// systems also map surrounding pages.
constexpr int kRecordsPerRelease = 32;

class BlobSource : public TensorSource {
 public:
  BlobSource(std::shared_ptr<const BlobFile> file, ByteSpan data)
      : file_(std::move(file)), data_(data) {}

  uint64_t size() const override { return data_.size(); }
  ByteSpan view() const override { return data_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    if (offset > data_.size() || out.size() > data_.size() - offset) {
      fail(ErrorCode::InvalidArgument, "{} bytes at {} of a weight of {}", out.size(), offset,
           data_.size());
    }
    std::copy_n(data_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  void release() const noexcept override { file_->file()->release(data_); }
  const MappedFile& file() const { return *file_->file(); }

 private:
  std::shared_ptr<const BlobFile> file_;
  ByteSpan data_;
};

class AbsentSource : public TensorSource {
 public:
  AbsentSource(std::string file, uint64_t size) : file_(std::move(file)), size_(size) {}

  uint64_t size() const override { return size_; }
  void read(uint64_t, MutableByteSpan) const override {
    fail(ErrorCode::NotFound, "{}: the package comes without this weight file", file_);
  }

 private:
  std::string file_;
  uint64_t size_;
};

}  // namespace

std::optional<BlobType> blob_type(DataType type) {
  switch (type) {
    case DataType::Float16:
      return BlobType::Float16;
    case DataType::Float32:
      return BlobType::Float32;
    case DataType::BFloat16:
      return BlobType::BFloat16;
    case DataType::Int4:
      return BlobType::Int4;
    case DataType::Int8:
      return BlobType::Int8;
    case DataType::Int16:
      return BlobType::Int16;
    case DataType::Int32:
      return BlobType::Int32;
    case DataType::UInt1:
      return BlobType::UInt1;
    case DataType::UInt2:
      return BlobType::UInt2;
    case DataType::UInt3:
      return BlobType::UInt3;
    case DataType::UInt4:
      return BlobType::UInt4;
    case DataType::UInt6:
      return BlobType::UInt6;
    case DataType::UInt8:
      return BlobType::UInt8;
    case DataType::UInt16:
      return BlobType::UInt16;
    case DataType::UInt32:
      return BlobType::UInt32;
    case DataType::Float8E4M3FN:
      return BlobType::Float8E4M3FN;
    case DataType::Float8E5M2:
      return BlobType::Float8E5M2;
    case DataType::Bool:
    case DataType::String:
    case DataType::Float64:
    case DataType::Int64:
    case DataType::UInt64:
      break;
  }
  return std::nullopt;
}

bool belongs_in_weight_file(const Value& value, int specification_version) {
  if (!value.type.is_static() || value.type.num_elements() < kMinFileElements) return false;
  switch (value.type.data_type) {
    case DataType::Int16:
    case DataType::UInt16:
    case DataType::Int32:
    case DataType::UInt32:
      return specification_version >= 9;
    default:
      return blob_type(value.type.data_type).has_value();
  }
}

std::optional<fs::path> weight_file_of(const TensorSource& source) {
  if (const auto* blob = dynamic_cast<const BlobSource*>(&source)) {
    const auto origin = origin_of(blob->file().bytes());
    struct stat now {};
    const bool same = origin && ::stat(blob->file().path().c_str(), &now) == 0 &&
                      now.st_dev == origin->device && now.st_ino == origin->inode;
    return same ? std::optional(blob->file().path()) : std::nullopt;
  }
  if (dynamic_cast<const AbsentSource*>(&source) != nullptr) return fs::path();
  return std::nullopt;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

fs::path inside(const fs::path& base, std::string_view relative, const std::vector<fs::path>& roots,
                std::string_view what) {
  const fs::path part(relative);
  const bool climbs = std::find(part.begin(), part.end(), "..") != part.end();
  if (relative.empty() || part.is_absolute() || climbs || relative.find('\0') != relative.npos) {
    fail(ErrorCode::InvalidFile, "{}: the path '{}' leads out of the package", what, relative);
  }
  fs::path result = base / part;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(result, error);
  if (error) fail(ErrorCode::Io, "{}: {}: {}", what, relative, error.message());
  if (std::none_of(roots.begin(), roots.end(), [&](auto& root) { return is_within(real, root); })) {
    fail(ErrorCode::InvalidFile, "{}: '{}' is a link out of the package", what, relative);
  }
  return result;
}

std::shared_ptr<const BlobFile> WeightFiles::open(const std::string& path) {
  if (const auto it = files_.find(path); it != files_.end()) return it->second;
  if (path.substr(0, kModelFolderPrefix.size()) != kModelFolderPrefix) {
    fail(ErrorCode::InvalidFile, "a weight file '{}'; its path must start with {}", path,
         kModelFolderPrefix);
  }
  const fs::path part(path.substr(kModelFolderPrefix.size()));
  const fs::path normal = (model_folder_.lexically_relative(package_) / part).lexically_normal();
  fs::path file =
      inside(package_, part.empty() ? std::string() : normal.string(), roots_, "weights");
  // Stages of a compiled pipeline may find their weights in the pipeline's folder.
  if (!fs::exists(file) && model_folder_ != package_ && normal != part.lexically_normal()) {
    file = inside(package_, part.lexically_normal().string(), roots_, "weights");
  }
  auto opened = fs::is_regular_file(file) ? BlobFile::open(file) : nullptr;
  return files_.emplace(path, std::move(opened)).first->second;
}

std::shared_ptr<const TensorSource> WeightFiles::source(const Value& value) {
  const auto key = std::tuple(value.blob->path, value.blob->offset, value.type.data_type);
  const uint64_t size = packed_size(value.type.data_type, value.type.num_elements());
  auto& shared = sources_[key];
  if (shared == nullptr) {
    const auto file = open(value.blob->path);
    if (file == nullptr) return std::make_shared<AbsentSource>(value.blob->path, size);
    const Blob blob = file->read(value.blob->offset);
    if (blob.type != blob_type(value.type.data_type)) {
      fail(ErrorCode::InvalidFile, "{}: the blob at offset {} holds {}, the constant is a {}",
           value.blob->path, value.blob->offset, to_string(blob.type), to_string(value.type));
    }
    shared = std::make_shared<BlobSource>(file, blob.data);
  }
  if (shared->size() != size) {
    fail(ErrorCode::InvalidFile, "{}: the blob at offset {} has {} bytes, a {} needs {}",
         value.blob->path, value.blob->offset, shared->size(), to_string(value.type), size);
  }
  return shared;
}

void WeightFiles::attach(Program& program) {
  int records = 0;
  const auto release = [&] {
    for (const auto& [path, file] : files_) {
      if (file != nullptr) file->file()->release(file->bytes());
    }
  };
  for_each_constant(program, [&](const Value& value, const ConstantPlace& place) {
    if (!value.blob) return;
    const_cast<Value&>(value).source =
        with_context(to_string(place), [&] { return source(value); });
    if (++records % kRecordsPerRelease == 0) release();
  });
  release();
}

}  // namespace pippin::mil
