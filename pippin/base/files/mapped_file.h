// A file mapped read-only. Pages are read on first access, so opening is cheap at any size.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "pippin/base/bytes.h"

namespace pippin {

// Whether to accept Git LFS pointers and HTML pages. Most files are a model's, and a model's file
// is never one of these (stand_in.h); texts that users write may be.
enum class StandIns : bool { Refuse, Allow };

class MappedFile {
 public:
  // Throws NotFound, Io or, for stand-ins, InvalidFile, with the path. An empty file maps to an
  // empty span.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                StandIns stand_ins = StandIns::Refuse);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  ByteSpan bytes() const { return {data_, size_}; }

  // Tells the system that `range` (part of bytes()) will not be needed soon, so that a pass over a
  // file of any size keeps a small resident set.
  void release(ByteSpan range) const noexcept;

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace pippin
