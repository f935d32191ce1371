// Packages that come in archives: X.mlpackage.zip, X.mlmodelc.zip, X.mlmodel.zip, X.mlmodel.gz.
//
// Archives are told by their content or by .zip and .gz, so that any name will do where a file is
// named; where a folder is searched the whole endings count.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/base/temporary_folder.h"

namespace pippin::mil {

// Whether the file is, or is called, a zip archive or a gzip file; false for folders.
bool is_archive(const std::filesystem::path& path);
// Whether the name is that of a package in an archive.
bool is_archived_package_name(const std::filesystem::path& path);

// The files of an archive, in a temporary folder that goes when this does. Files that are mapped
// stay readable after that.
class UnpackedArchive {
 public:
  // Throws what unzip() and gunzip() throw.
  explicit UnpackedArchive(const std::filesystem::path& archive);

  // The packages in it, the folders within its folders too, by name.
  const std::vector<std::filesystem::path>& packages() const { return packages_; }
  // The only one. Throws InvalidFile for archives of none or several.
  const std::filesystem::path& package() const;

 private:
  std::string name_;  // of the archive
  TemporaryFolder folder_{"unpacked"};
  std::vector<std::filesystem::path> packages_;
};

}  // namespace pippin::mil
