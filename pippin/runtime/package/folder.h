// The packages in a folder: X.mlpackage, X.mlmodelc, and either of them zipped.
//
// A stem is the name without these endings. If a stem exists in several forms, the package is
// preferred to the compiled model, and both to a zip archive. Archives are unpacked on demand into
// a temporary folder, which is removed with this object.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pippin::mil {
class UnpackedArchive;
}

namespace pippin::runtime {

class PackageFolder {
 public:
  // `path` may also be a single archive of a package. Throws NotFound, Io.
  explicit PackageFolder(std::filesystem::path path);
  PackageFolder(PackageFolder&&) noexcept;
  PackageFolder& operator=(PackageFolder&&) noexcept;
  ~PackageFolder();

  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> stems() const;  // sorted
  bool contains(const std::string& stem) const { return packages_.contains(stem); }
  // The file's name in the folder, for messages.
  std::string file_name(const std::string& stem) const;
  // The path for mil::read_package. Throws NotFound and the errors of mil::UnpackedArchive.
  std::filesystem::path package(const std::string& stem);

 private:
  std::filesystem::path path_;
  std::map<std::string, std::filesystem::path> packages_;  // by stem
  std::map<std::string, std::unique_ptr<mil::UnpackedArchive>> unpacked_;
};

}  // namespace pippin::runtime
