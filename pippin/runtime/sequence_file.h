// A sequence in a file: its tokens and the data computed from them.
//
//   magic, format version, size of the file
//   digest of the model, its context, marks of its family, tokens
//   runs of rows among the tokens (row_runs.h): begin, count, grid, digest; only in format 2,
//     which sequences with rows have
//   arrays: name, groups, rows, which rows of each group follow, their bytes; others are zeros
//   checksum of all before it
//
// Numbers are little-endian. Nothing of a file is used before all of it was checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/engine/state.h"
#include "pippin/runtime/row_runs.h"

namespace pippin::runtime {

// The layout of a cache: [groups, rows, bytes of a row], where the same rows are filled in every
// group.
struct CacheArray {
  std::string name;
  uint64_t bytes = 0;
  uint64_t groups = 1, rows = 1;
  uint64_t first = 0, filled = 1;  // rows
  // Row i belongs to token i, and its content does not change with later tokens.
  bool by_token = false;

  uint64_t row_bytes() const { return bytes / (groups * rows); }
  // Rows of it; those that are filled.
  engine::StateRows rows_of(uint64_t begin, uint64_t count) const {
    return {groups, rows, row_bytes(), begin, count};
  }
  engine::StateRows filled_rows() const { return rows_of(first, filled); }
};

// An array with one row for each of `length` tokens, of which the first `filled` are filled. If the
// shape does not show which axis is the tokens', the whole array is one row.
CacheArray cache_array(std::string name, uint64_t bytes, const std::vector<int64_t>& shape,
                       int64_t length, int64_t filled);

struct SavedSequence {
  std::string digest;
  int64_t context = 0;
  uint32_t marks = 0;
  std::vector<int32_t> tokens;
  std::vector<RowRun> runs;  // without their rows
};

// Copies rows of the array with that index, group after group.
using ReadRows = std::function<void(size_t index, const engine::StateRows& rows, std::byte* to)>;
using WriteRows =
    std::function<void(size_t index, const engine::StateRows& rows, const std::byte* from)>;

// The content of a file.
std::vector<std::byte> to_bytes(const SavedSequence& sequence,
                                const std::vector<CacheArray>& arrays, const ReadRows& read);

class SequenceFile {
 public:
  // Throws NotFound, Io; InvalidFile for a file that is damaged, truncated or of another kind;
  // Unsupported for another version of the format.
  explicit SequenceFile(const std::filesystem::path& path);
  // Uses the content of a file of that name; `bytes` must outlive it.
  SequenceFile(ByteSpan bytes, std::string name);

  const SavedSequence& sequence() const { return sequence_; }
  // Throws InvalidFile if the arrays differ from those of the file.
  void check(const std::vector<CacheArray>& arrays) const;
  // Fills arrays after check().
  void read(const WriteRows& write) const;

 private:
  struct Stored {
    CacheArray form;  // without its bytes
    uint64_t row_bytes = 0;
    ByteSpan content;
  };
  void parse(ByteSpan bytes);

  std::string path_;
  std::shared_ptr<const MappedFile> file_;  // null: the caller owns the bytes
  SavedSequence sequence_;
  std::vector<Stored> arrays_;
};

}  // namespace pippin::runtime
