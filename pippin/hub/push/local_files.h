// The files that a push sends: their names in the repository, and their content on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pippin/base/byte_span.h"

namespace pippin::hub {

struct LocalFile {
  std::string path;            // in the repository; is_safe_path()
  std::filesystem::path file;  // on this machine
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds since 1970
};

struct ListOptions {
  // Where the files go in the repository. Empty: packages and single files keep their name, the
  // files of other folders are at the top.
  std::string path_in_repo;
  std::vector<std::string> include, exclude;  // globs over the names in the repository
};

// Lists a file, or all files of a folder, sorted. Leaves out .git, .cache/huggingface, .DS_Store
// and Pippin's unfinished outputs. Throws NotFound, InvalidArgument for names that the Hub does not
// take and for links to folders, LimitExceeded.
std::vector<LocalFile> list_local_files(const std::filesystem::path& source,
                                        const ListOptions& options);

// Reads by position; thread-safe.
class LocalReader {
 public:
  explicit LocalReader(const LocalFile& file);
  LocalReader(const LocalReader&) = delete;
  LocalReader& operator=(const LocalReader&) = delete;
  ~LocalReader();
  // Fills the buffer. Throws Io if the file is shorter.
  void read(uint64_t position, MutableByteSpan buffer) const;

 private:
  const LocalFile& file_;
  int fd_;
};

// Throws Io if the file's size or time is no longer that of the listing.
void check_unchanged(const LocalFile& file);

// Returns the SHA-256 of the content; the git hash of the blob. `progress` gets the number of bytes
// of each step, and may be null. Throws Io, Cancelled.
using HashProgress = std::function<void(uint64_t bytes)>;
std::string sha256_of(const LocalFile& file, const HashProgress& progress = {});
std::string git_hash_of(const LocalFile& file, const HashProgress& progress = {});

// Returns the first bytes, at most `most`.
std::string beginning_of(const LocalFile& file, size_t most);

}  // namespace pippin::hub
