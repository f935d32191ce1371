// NumPy's .npz: a zip archive of .npy arrays, stored or deflated.
//
// Arrays are read on demand. An entry's size is untrusted: it is limited, and checked against the
// maximum for its compressed bytes, before memory is allocated.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/io/npy.h"

namespace pippin {

class NpzFile {
 public:
  static NpzFile open(const std::filesystem::path& path, const NpyLimits& limits = {});
  // Parses the archive in `bytes`, which must outlive the result.
  static NpzFile parse(ByteSpan bytes, const std::string& name, const NpyLimits& limits = {});

  NpzFile(NpzFile&&) noexcept;
  NpzFile& operator=(NpzFile&&) noexcept;
  ~NpzFile();

  const std::vector<std::string>& names() const { return names_; }  // without ".npy"
  bool contains(std::string_view name) const;
  // Throws NotFound if there is no such array.
  NpyArray read(std::string_view name) const;
  // Returns the array as the bytes of a .npy file, of any type.
  std::vector<std::byte> read_bytes(std::string_view name) const;

 private:
  struct Archive;
  NpzFile(ByteSpan bytes, std::string name, const NpyLimits& limits);

  std::string name_;
  NpyLimits limits_;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<Archive> archive_;
  std::vector<std::string> names_;
};

// Writes the files in this order, stored or deflated; the contents must be those of .npy files
// (format_npy).
void write_npz_files(const std::filesystem::path& path,
                     const std::vector<std::pair<std::string, std::string>>& files,
                     bool compressed = false);
void write_npz(const std::filesystem::path& path,
               const std::vector<std::pair<std::string, NpyArray>>& arrays);

}  // namespace pippin
