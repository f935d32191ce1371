// A file of the prompt cache: the rows of a stretch of tokens, or the rest behind all tokens.
//
//   magic, format, which of the two, size of the header, size of the file
//   identity of what computed it (64 hexadecimal digits)
//   from which token on there are rows, all tokens from the beginning of the text on
//   of a rest: its marks, which rows of each cache
//   size of the content, its checksum
//   checksum of the header
//   the content
//
// Numbers are little-endian. The header tells all but the content, and is checked by itself; the
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

namespace pippin::serve {

// A file that is there, or will be. Its state changes in another thread.
struct CacheFile {
  enum class State : uint8_t { Pending, Written, Gone };
  CacheFile(std::string file_name, int64_t first_row, int64_t end_row, State now)
      : name(std::move(file_name)), first(first_row), end(end_row), state(now) {}

  const std::string name;    // in its folder
  const int64_t first, end;  // the tokens that it has rows of
  std::atomic<State> state;
  bool is_asked_for = false;  // from the disk; for the thread that reads
};

struct CacheFileHeader {
  std::string identity;
  std::vector<int32_t> tokens;
  bool is_rest = false;
  int64_t first = 0;  // its rows are those of tokens [first, tokens.size())
  uint32_t marks = 0;
  std::vector<runtime::SequenceRest::Part> parts;
  uint64_t content_bytes = 0, checksum = 0;
};

// Of a content, at the speed of memory.
uint64_t checksum_of(ByteSpan content);

std::vector<std::byte> to_bytes(const CacheFileHeader& header);
// From the beginning of a file of that name and size. Throws InvalidFile; Unsupported for another
// version of the format.
CacheFileHeader parse_header(ByteSpan bytes, uint64_t file_bytes, const std::string& name);
// How many bytes the header has, or nothing for another kind of file. Needs kFixedHeader bytes.
constexpr size_t kFixedHeader = 32;
std::optional<uint64_t> header_size(ByteSpan bytes, uint64_t file_bytes);

// --- files ---

// Throws NotFound, Io, and as parse_header().
CacheFileHeader read_header(const std::filesystem::path& path);
// Has the system begin to read a file, as a wish.
void ask_for(const std::filesystem::path& path);
// Writes all at a place of its own, readable by the user only, and lets the disk have it before it
// goes to its place. Throws Io.
void write_cache_file(const std::filesystem::path& path, const CacheFileHeader& header,
                      ByteSpan content);

// A file whose header was checked.
class OpenCacheFile {
 public:
  // Throws as read_header().
  explicit OpenCacheFile(const std::filesystem::path& path);
  OpenCacheFile(const OpenCacheFile&) = delete;
  OpenCacheFile& operator=(const OpenCacheFile&) = delete;
  ~OpenCacheFile();

  const CacheFileHeader& header() const { return header_; }
  // Throws Io; InvalidFile where the content is not what was written; LimitExceeded.
  std::shared_ptr<const runtime::RowMemory> read() const;

 private:
  std::string name_;
  int fd_;
  uint64_t content_at_ = 0;
  CacheFileHeader header_;
};

}  // namespace pippin::serve
