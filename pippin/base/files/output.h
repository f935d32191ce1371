// Outputs are written next to their final place and renamed when complete: a failure, a
// cancellation or a full disk leaves the old content, and nothing half-written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/pending_output.h"

namespace pippin {

// Buffered sequential writer; every error names the path. Not atomic by itself: see PendingOutput.
class FileWriter {
 public:
  enum class Mode : uint8_t {
    New,     // discards existing content
    Append,  // continues after existing content
  };
  explicit FileWriter(const std::filesystem::path& path, Mode mode = Mode::New);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  void write(ByteSpan bytes);
  void write(std::string_view text) { write(as_byte_span(text)); }
  // Writes zero bytes up to the next multiple of `alignment`.
  void pad_to(uint64_t alignment);
  // Overwrites written bytes (such as a header whose numbers are known only at the end).
  void write_at(uint64_t offset, ByteSpan bytes);
  uint64_t position() const { return position_; }
  // Makes all bytes written so far visible in the file.
  void flush();
  // Flushes and closes; throws if the disk is full. The destructor closes, too, but ignores errors.
  void close();

 private:
  std::filesystem::path path_;
  int fd_;
  uint64_t position_ = 0;
  std::vector<std::byte> buffer_;
};

// Writes a small file atomically.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace pippin
