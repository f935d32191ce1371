#include "pippin/io/npz.h"

#include <algorithm>

#include <zip.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"

namespace pippin {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kMaxEntries = 1 << 20;
// Deflate's maximum ratio: 258 bytes from a code of two bits.
constexpr uint64_t kMaxRatio = 1032;
constexpr size_t kChunk = size_t{1} << 20;

std::string zip_message(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  return message;
}

struct Closer {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Zip = std::unique_ptr<zip_t, Closer>;

// Moves the bytes of an archive in memory to a file, which appears complete.
void copy_to_file(zip_source_t* archive, const std::filesystem::path& path) {
  const auto check = [&](bool done) {
    if (done) return;
    fail(ErrorCode::Internal, "{}: {}", path.string(),
         zip_error_strerror(zip_source_error(archive)));
  };
  PendingOutput output(path);
  FileWriter writer(output.path());
  check(zip_source_open(archive) == 0);
  std::vector<std::byte> chunk(kChunk);
  while (true) {
    const zip_int64_t count = zip_source_read(archive, chunk.data(), chunk.size());
    check(count >= 0);
    if (count == 0) break;
    writer.write(ByteSpan(chunk).first(static_cast<size_t>(count)));
  }
  zip_source_close(archive);
  writer.close();
  output.commit();
}

}  // namespace

struct NpzFile::Archive {
  Zip zip;
};

NpzFile::NpzFile(ByteSpan bytes, std::string name, const NpyLimits& limits)
    : name_(std::move(name)), limits_(limits), archive_(std::make_unique<Archive>()) {
  constexpr size_t kEndRecord = 22;  // libzip accepts zero bytes as an empty archive
  if (bytes.size() < kEndRecord) {
    fail(ErrorCode::InvalidFile, "{}: not a .npz file: {} bytes", name_, bytes.size());
  }
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) fail(ErrorCode::Internal, "{}: {}", name_, zip_error_strerror(&error));
  archive_->zip.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive_->zip) {
    const std::string message = zip_error_strerror(&error);
    zip_source_free(source);
    zip_error_fini(&error);
    fail(ErrorCode::InvalidFile, "{}: not a .npz file: {}", name_, message);
  }
  zip_error_fini(&error);
  const zip_int64_t count = zip_get_num_entries(archive_->zip.get(), 0);
  if (count < 0 || static_cast<size_t>(count) > kMaxEntries) {
    fail(ErrorCode::LimitExceeded, "{}: {} entries, at most {}", name_, count, kMaxEntries);
  }
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* entry = zip_get_name(archive_->zip.get(), static_cast<zip_uint64_t>(i), 0);
    std::string_view array = entry != nullptr ? entry : "";
    if (!array.ends_with(kSuffix)) {
      fail(ErrorCode::InvalidFile, "{}: entry {} is \"{}\", no .npy file", name_, i, array);
    }
    array.remove_suffix(kSuffix.size());
    names_.emplace_back(array);
  }
}

NpzFile::NpzFile(NpzFile&&) noexcept = default;
NpzFile& NpzFile::operator=(NpzFile&&) noexcept = default;
NpzFile::~NpzFile() = default;

NpzFile NpzFile::parse(ByteSpan bytes, const std::string& name, const NpyLimits& limits) {
  return NpzFile(bytes, name, limits);
}

NpzFile NpzFile::open(const std::filesystem::path& path, const NpyLimits& limits) {
  auto file = MappedFile::open(path);
  NpzFile result(file->bytes(), path.filename().string(), limits);
  result.file_ = std::move(file);
  return result;
}

bool NpzFile::contains(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::vector<std::byte> NpzFile::read_bytes(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    fail(ErrorCode::NotFound, "{}: no array {} among its {}", name_, name, names_.size());
  }
  const auto index = static_cast<zip_uint64_t>(found - names_.begin());
  const std::string where = fmt::format("{}: {}", name_, name);
  zip_t* zip = archive_->zip.get();

  zip_stat_t info;
  zip_stat_init(&info);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(zip, index, 0, &info) != 0 || (info.valid & kNeeded) != kNeeded) {
    fail(ErrorCode::InvalidFile, "{}: {}", where, zip_strerror(zip));
  }
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    fail(ErrorCode::Unsupported, "{}: zip method {}, stored and deflate are read", where,
         info.comp_method);
  }
  const uint64_t limit = limits_.max_bytes + (uint64_t{2} << 20);  // plus the header
  if (info.size > limit) {
    fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", where, info.size, limit);
  }
  if (info.size / kMaxRatio > info.comp_size) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes from {} compressed ones", where, info.size,
         info.comp_size);
  }

  const std::unique_ptr<zip_file_t, Closer> entry(zip_fopen_index(zip, index, 0));
  if (!entry) fail(ErrorCode::InvalidFile, "{}: {}", where, zip_strerror(zip));
  // Grows with the bytes that arrive, so that a wrong size costs no memory.
  std::vector<std::byte> bytes;
  while (true) {
    const size_t used = bytes.size();
    const size_t room = std::min<uint64_t>(kChunk, info.size - used) + 1;  // one more byte detects
                                                                           // the end
    bytes.resize(used + room);
    const zip_int64_t count = zip_fread(entry.get(), bytes.data() + used, room);
    if (count < 0) {
      fail(ErrorCode::InvalidFile, "{}: {}", where,
           zip_message(zip_error_code_zip(zip_file_get_error(entry.get()))));
    }
    bytes.resize(used + static_cast<size_t>(count));
    if (bytes.size() > info.size) {
      fail(ErrorCode::InvalidFile, "{}: more than the {} bytes that the archive states", where,
           info.size);
    }
    if (count == 0) break;
  }
  if (bytes.size() != info.size) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes, the archive states {}", where, bytes.size(),
         info.size);
  }
  return bytes;
}

NpyArray NpzFile::read(std::string_view name) const {
  return parse_npy(read_bytes(name), fmt::format("{}: {}", name_, name), limits_);
}

void write_npz_files(const std::filesystem::path& path,
                     const std::vector<std::pair<std::string, std::string>>& files,
                     bool compressed) {
  if (files.empty()) {  // libzip would write nothing; this is an end record alone
    return write_file(path, std::string("PK\x05\x06", 4) + std::string(18, '\0'));
  }
  // In memory: for a temporary file, libzip would initialize OpenSSL to get a random name, which
  // takes longer than the rest.
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* archive = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (archive == nullptr) fail(ErrorCode::Internal, "{}", zip_error_strerror(&error));
  const std::unique_ptr<zip_source_t, Closer> keep(archive);
  Zip zip(zip_open_from_source(archive, ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!zip) fail(ErrorCode::Internal, "{}: {}", path.string(), zip_error_strerror(&error));
  zip_source_keep(archive);                    // one reference for the archive, one for us
  for (const auto& [name, content] : files) {  // libzip reads the contents when it closes the
                                               // archive
    zip_source_t* source = zip_source_buffer(zip.get(), content.data(), content.size(), 0);
    const std::string entry = name + std::string(kSuffix);
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(zip.get(), entry.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      const std::string message = zip_strerror(zip.get());
      zip_source_free(source);
      fail(ErrorCode::InvalidArgument, "{}: {}: {}", path.string(), name, message);
    }
    zip_set_file_compression(zip.get(), static_cast<zip_uint64_t>(index),
                             compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    // A fixed date, so that the same arrays give the same file.
    zip_file_set_dostime(zip.get(), static_cast<zip_uint64_t>(index), 0, 0x21, 0);
  }
  if (zip_close(zip.get()) != 0) {
    fail(ErrorCode::Io, "{}: {}", path.string(), zip_strerror(zip.get()));
  }
  static_cast<void>(zip.release());  // closed
  copy_to_file(archive, path);
}

void write_npz(const std::filesystem::path& path,
               const std::vector<std::pair<std::string, NpyArray>>& arrays) {
  std::vector<std::pair<std::string, std::string>> files;
  files.reserve(arrays.size());
  for (const auto& [name, array] : arrays) files.emplace_back(name, format_npy(array));
  write_npz_files(path, files);
}

}  // namespace pippin
