#include "pippin/base/files/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace pippin {
namespace {

// Files are written in aligned pieces of this size. A system with large folios then caches them in
// huge pages, which are read a fifth faster when mapped.
constexpr size_t kPieceBytes = size_t{1} << 21;

void write_all(int fd, ByteSpan bytes, uint64_t offset, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      fail(ErrorCode::Io, "{}: writing {} bytes at offset {} failed: {}", path.string(),
           bytes.size(), offset, count < 0 ? std::strerror(errno) : "nothing was written");
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

}  // namespace

FileWriter::FileWriter(const std::filesystem::path& path, Mode mode)
    : path_(path),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | (mode == Mode::New ? O_TRUNC : 0) | O_CLOEXEC,
                 0644)) {
  if (fd_ < 0) fail(ErrorCode::Io, "{}: {}", path.string(), std::strerror(errno));
  if (mode == Mode::New) return;
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  if (end < 0) {
    const int error = errno;
    ::close(fd_);
    fail(ErrorCode::Io, "{}: {}", path.string(), std::strerror(error));
  }
  position_ = static_cast<uint64_t>(end);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void FileWriter::flush() {
  write_all(fd_, buffer_, position_ - buffer_.size(), path_);
  buffer_.clear();
}

void FileWriter::write(ByteSpan bytes) {
  while (!bytes.empty()) {
    const size_t room = kPieceBytes - position_ % kPieceBytes;
    size_t count = std::min(room, bytes.size());
    if (room == kPieceBytes && bytes.size() >= kPieceBytes) {
      count = bytes.size() / kPieceBytes * kPieceBytes;
      write_all(fd_, bytes.first(count), position_, path_);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
    }
    position_ += count;
    bytes = bytes.subspan(count);
    if (position_ % kPieceBytes == 0) flush();
  }
}

void FileWriter::pad_to(uint64_t alignment) {
  static constexpr std::byte kZeros[4096] = {};
  uint64_t missing = (alignment - position_ % alignment) % alignment;
  while (missing > 0) {
    const size_t count = std::min<uint64_t>(missing, sizeof(kZeros));
    write(ByteSpan(kZeros, count));
    missing -= count;
  }
}

void FileWriter::write_at(uint64_t offset, ByteSpan bytes) {
  flush();
  write_all(fd_, bytes, offset, path_);
}

void FileWriter::close() {
  flush();
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) {
    fail(ErrorCode::Io, "{}: closing failed: {}", path_.string(), std::strerror(errno));
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  PendingOutput output(path);
  FileWriter writer(output.path());
  writer.write(content);
  writer.close();
  output.commit();
}

}  // namespace pippin
