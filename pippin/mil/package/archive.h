// Packages in archives: X.mlpackage.zip, X.mlmodelc.zip, X.mlmodel.zip, X.mlmodel.gz.
//
// Archives are recognized by their content or by .zip and .gz, so a file that is named explicitly
// may have any name; when a folder is searched, the full extension is required.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pippin/base/files/temporary_folder.h"

namespace pippin::mil {

// Whether the file is a zip archive or a gzip file, by content or by name; false for folders.
bool is_archive(const std::filesystem::path& path);
// Whether the name is that of an archived package.
bool is_archived_package_name(const std::filesystem::path& path);

// The files of an archive, in a temporary folder that is removed on destruction. Mapped files stay
// readable afterwards.
class UnpackedArchive {
 public:
  // Throws the errors of unzip() and gunzip().
  explicit UnpackedArchive(const std::filesystem::path& archive);

  // The packages in the archive, including those in nested folders, sorted by name.
  const std::vector<std::filesystem::path>& packages() const { return packages_; }
  // The only package. Throws InvalidFile if the archive has none or several.
  const std::filesystem::path& package() const;

 private:
  std::string name_;  // of the archive
  TemporaryFolder folder_{"unpacked"};
  std::vector<std::filesystem::path> packages_;
};

}  // namespace pippin::mil
