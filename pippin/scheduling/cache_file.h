// A file of the prompt cache: the rows of a range of tokens, or the rest after all tokens.
//
//   magic, format, kind (rows or rest), size of the header, size of the file
//   identity of the model that computed it (64 hexadecimal digits)
//   index of the first token with rows, all tokens from the beginning of the text
//   for a rest: its marks, the filled rows of each cache
//   size of the content, its checksum
//   checksum of the header
//   the content
//
// Numbers are little-endian. The header describes the content and has its own checksum; the
// content is checked before it is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/runtime/sequence_rows.h"

namespace pippin::scheduling {

// A file that exists or will be written. Another thread changes its state.
struct CacheFile {
  enum class State : uint8_t { Pending, Written, Gone };
  CacheFile(std::string file_name, int64_t first_row, int64_t end_row, State now)
      : name(std::move(file_name)), first(first_row), end(end_row), state(now) {}

  const std::string name;    // within its folder
  const int64_t first, end;  // the tokens of its rows
  std::atomic<State> state;
  bool is_asked_for = false;  // from the disk; used by the reading thread only
};

struct CacheFileHeader {
  std::string identity;
  std::vector<int32_t> tokens;
  bool is_rest = false;
  int64_t first = 0;  // rows are of tokens [first, tokens.size())
  uint32_t marks = 0;
  std::vector<runtime::SequenceRest::Part> parts;
  uint64_t content_bytes = 0, checksum = 0;
};

// The checksum of a content, computed at the speed of memory.
uint64_t checksum_of(ByteSpan content);

std::vector<std::byte> to_bytes(const CacheFileHeader& header);
// Parses the header at the beginning of a file of that name and size. Throws InvalidFile;
// Unsupported for another version of the format.
CacheFileHeader parse_header(ByteSpan bytes, uint64_t file_bytes, const std::string& name);
// The number of bytes of the header; empty for another kind of file. Needs kFixedHeader bytes.
constexpr size_t kFixedHeader = 32;
std::optional<uint64_t> header_size(ByteSpan bytes, uint64_t file_bytes);

// --- files ---

// Throws NotFound, Io and the errors of parse_header().
CacheFileHeader read_header(const std::filesystem::path& path);
// Asks the system to read the file ahead; best effort.
void ask_for(const std::filesystem::path& path);
// Writes a temporary file that only the user can read, syncs it to the disk and renames it. Throws
// Io.
void write_cache_file(const std::filesystem::path& path, const CacheFileHeader& header,
                      ByteSpan content);

// A file whose header has been checked.
class OpenCacheFile {
 public:
  // Throws the errors of read_header().
  explicit OpenCacheFile(const std::filesystem::path& path);
  OpenCacheFile(const OpenCacheFile&) = delete;
  OpenCacheFile& operator=(const OpenCacheFile&) = delete;
  ~OpenCacheFile();

  const CacheFileHeader& header() const { return header_; }
  // Throws Io; InvalidFile if the content does not match its checksum; LimitExceeded.
  std::shared_ptr<const runtime::RowMemory> read() const;

 private:
  std::string name_;
  int fd_;
  uint64_t content_at_ = 0;
  CacheFileHeader header_;
};

}  // namespace pippin::scheduling
