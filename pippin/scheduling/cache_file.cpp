#include "pippin/scheduling/cache_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/platform/file_cache.h"
#include "pippin/io/load_cache_files.h"

namespace pippin::scheduling {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "PIPPINPC";
constexpr uint32_t kVersion = 1;
constexpr size_t kIdentityBytes = 64;
constexpr uint64_t kLargestHeader = uint64_t{1} << 30;
constexpr size_t kPiece = size_t{1} << 20;

// A checksum of content that comes in pieces.
class Checksum {
 public:
  void add(ByteSpan bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size()))) {
      sums_.push_back(load_cache::checksum_piece(bytes.first(std::min(kPiece, bytes.size()))));
    }
  }
  uint64_t finish() const { return load_cache::checksum_piece(std::as_bytes(std::span(sums_))); }

 private:
  std::vector<uint64_t> sums_;
};

template <typename T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_bytes(std::vector<std::byte>& out, ByteSpan bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

[[noreturn]] void fail_io(const std::string& name, const char* what) {
  fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}: {}", name, what,
       std::strerror(errno));
}

void read_at(int fd, uint64_t offset, MutableByteSpan target, const std::string& name) {
  while (!target.empty()) {
    const ssize_t count = ::pread(fd, target.data(), target.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io(name, "cannot be read");
    if (count == 0) {
      fail(ErrorCode::InvalidFile, "{}: ends at offset {}, {} bytes early", name, offset,
           target.size());
    }
    target = target.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

void write_all(int fd, ByteSpan bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), 8 * kPiece));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_io(name, "cannot be written");
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

// Throws Io if the file system is short of space.
void write_to(int fd, const CacheFileHeader& header, ByteSpan content, const std::string& name) {
  write_all(fd, to_bytes(header), name);
  write_all(fd, content, name);
  if (::fsync(fd) != 0) fail_io(name, "cannot be written");
}

uint64_t size_of(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail_io(name, "cannot be read");
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

uint64_t checksum_of(ByteSpan content) {
  Checksum sum;
  sum.add(content);
  return sum.finish();
}

std::vector<std::byte> to_bytes(const CacheFileHeader& header) {
  std::vector<std::byte> out;
  put_bytes(out, as_byte_span(kMagic));
  put(out, kVersion);
  put(out, uint32_t{header.is_rest});
  put(out, uint64_t{0});  // both sizes, written at the end
  put(out, uint64_t{0});
  put_bytes(out, as_byte_span(header.identity));
  put(out, header.first);
  put(out, static_cast<uint64_t>(header.tokens.size()));
  put_bytes(out, std::as_bytes(std::span(header.tokens)));
  put(out, uint64_t{header.marks});
  put(out, static_cast<uint64_t>(header.parts.size()));
  for (const auto& part : header.parts) {
    put(out, part.first);
    put(out, part.filled);
  }
  put(out, header.content_bytes);
  put(out, header.checksum);
  const uint64_t size = out.size() + sizeof(uint64_t), whole = size + header.content_bytes;
  std::memcpy(out.data() + 16, &size, sizeof(size));
  std::memcpy(out.data() + 24, &whole, sizeof(whole));
  put(out, load_cache::checksum_piece(out));
  return out;
}

std::optional<uint64_t> header_size(ByteSpan bytes, uint64_t file_bytes) {
  if (bytes.size() < kFixedHeader || as_text(bytes.first(kMagic.size())) != kMagic) {
    return std::nullopt;
  }
  ByteReader reader(bytes, "");
  reader.seek(16);
  const auto size = reader.read<uint64_t>();
  const bool fits = size > kFixedHeader && size <= file_bytes && size <= kLargestHeader;
  return fits ? std::optional(size) : std::nullopt;
}

CacheFileHeader parse_header(ByteSpan bytes, uint64_t file_bytes, const std::string& name) {
  const auto size = header_size(bytes, file_bytes);
  if (!size || *size > bytes.size()) {
    fail(ErrorCode::InvalidFile, "{}: not a prompt cache file, or truncated", name);
  }
  ByteReader reader(bytes.first(*size), name);
  reader.seek(kMagic.size());
  if (const auto version = reader.read<uint32_t>(); version != kVersion) {
    fail(ErrorCode::Unsupported,
         "{}: of format {} of the prompt cache, this version of Pippin reads format {}", name,
         version, kVersion);
  }
  const ByteSpan before = bytes.first(*size - sizeof(uint64_t));
  if (ByteReader(bytes.subspan(before.size(), sizeof(uint64_t)), name).read<uint64_t>() !=
      load_cache::checksum_piece(before)) {
    fail(ErrorCode::InvalidFile, "{}: is damaged: the checksum of its header does not match", name);
  }
  CacheFileHeader header;
  header.is_rest = reader.read<uint32_t>() != 0;
  reader.seek(24);
  const auto whole = reader.read<uint64_t>();
  header.identity = as_text(reader.take(kIdentityBytes));
  header.first = reader.read<int64_t>();
  const auto counted = [&](uint64_t each) {
    const auto bytes_needed = checked_mul(reader.read<uint64_t>(), each);
    if (!bytes_needed) fail(ErrorCode::InvalidFile, "{}: has an impossible size", name);
    return reader.take(*bytes_needed);
  };
  const ByteSpan tokens = counted(sizeof(int32_t));
  header.tokens.resize(tokens.size() / sizeof(int32_t));
  if (!tokens.empty()) std::memcpy(header.tokens.data(), tokens.data(), tokens.size());
  header.marks = static_cast<uint32_t>(reader.read<uint64_t>());
  const ByteSpan parts = counted(2 * sizeof(uint64_t));
  for (ByteReader part(parts, name); part.remaining() > 0;) {
    const auto first = part.read<uint64_t>();
    header.parts.push_back({first, part.read<uint64_t>()});
  }
  header.content_bytes = reader.read<uint64_t>();
  header.checksum = reader.read<uint64_t>();
  const bool fits = reader.remaining() == sizeof(uint64_t) && header.first >= 0 &&
                    header.first <= std::ssize(header.tokens) && !header.tokens.empty() &&
                    header.content_bytes <= file_bytes;
  if (!fits) fail(ErrorCode::InvalidFile, "{}: its header makes no sense", name);
  if (whole != file_bytes || whole != *size + header.content_bytes) {
    fail(ErrorCode::InvalidFile, "{}: has {} bytes of the {} that were written", name, file_bytes,
         *size + header.content_bytes);
  }
  return header;
}

CacheFileHeader read_header(const fs::path& path) {
  return OpenCacheFile(path).header();
}

void write_cache_file(const fs::path& path, const CacheFileHeader& header, ByteSpan content) {
  const fs::path partial = load_cache::partial_path(path);
  constexpr mode_t kOwner = 0600;
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwner);
  if (fd < 0) {
    fail(ErrorCode::Io, "{}: cannot be written: {}", path.string(), std::strerror(errno));
  }
  try {
    write_to(fd, header, content, path.string());
    ::close(fd);
  } catch (...) {
    ::close(fd);
    ::unlink(partial.c_str());
    throw;
  }
  std::error_code error;
  fs::rename(partial, path, error);
  if (error) {
    ::unlink(partial.c_str());
    fail(ErrorCode::Io, "{}: cannot be put in place: {}", path.string(), error.message());
  }
}

void ask_for(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  want_soon(fd);
  ::close(fd);
}

OpenCacheFile::OpenCacheFile(const fs::path& path)
    : name_(path.string()), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {
  if (fd_ < 0) fail_io(name_, "cannot be opened");
  try {
    const uint64_t size = size_of(fd_, name_);
    std::vector<std::byte> bytes(std::min<uint64_t>(size, kFixedHeader));
    read_at(fd_, 0, bytes, name_);
    if (const auto whole = header_size(bytes, size)) {
      bytes.resize(*whole);
      read_at(fd_, 0, bytes, name_);
    }
    header_ = parse_header(bytes, size, name_);
    content_at_ = bytes.size();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

OpenCacheFile::~OpenCacheFile() {
  ::close(fd_);
}

std::shared_ptr<const runtime::RowMemory> OpenCacheFile::read() const {
  want_soon(fd_);
  auto memory = std::make_shared<runtime::RowMemory>(header_.content_bytes);
  Checksum sum;
  uint64_t at = content_at_;
  for (MutableByteSpan left = memory->bytes(); !left.empty();) {
    const size_t count = std::min(left.size(), kPiece);  // checked while it is cached
    read_at(fd_, at, left.first(count), name_);
    sum.add(left.first(count));
    left = left.subspan(count);
    at += count;
  }
  if (sum.finish() != header_.checksum) {
    fail(ErrorCode::InvalidFile, "{}: is damaged: its checksum does not match", name_);
  }
  return memory;
}

}  // namespace pippin::scheduling
