#include "pippin/runtime/package/folder.h"

#include <array>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/temporary_folder.h"
#include "pippin/io/unzip.h"
#include "pippin/mil/package/package.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;

// The first form that is there counts.
constexpr std::array<std::string_view, 4> kEndings = {".mlpackage", ".mlmodelc", ".mlmodelc.zip",
                                                      ".mlpackage.zip"};

}  // namespace

// A temporary folder with what archives held.
class PackageFolder::Unpacked {
 public:
  fs::path unpack(const fs::path& archive, const std::string& stem) {
    if (const auto known = packages_.find(stem); known != packages_.end()) return known->second;
    const fs::path folder = folder_ / std::to_string(packages_.size());
    fs::create_directory(folder);
    unzip(archive, folder);
    return packages_.emplace(stem, find_package(folder, archive)).first->second;
  }

 private:
  // The archive has the package as its one folder, or the package's contents.
  static fs::path find_package(const fs::path& folder, const fs::path& archive) {
    if (mil::is_package(folder)) return folder;
    fs::path found;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!mil::is_package(entry.path())) continue;
      if (!found.empty()) {
        fail(ErrorCode::InvalidFile, "{}: holds several packages, '{}' and '{}'",
             archive.filename().string(), found.filename().string(),
             entry.path().filename().string());
      }
      found = entry.path();
    }
    if (found.empty()) {
      fail(ErrorCode::InvalidFile, "{}: holds no package", archive.filename().string());
    }
    return found;
  }

  TemporaryFolder folder_{"unpacked"};
  std::map<std::string, fs::path> packages_;
};

PackageFolder::PackageFolder(fs::path path) : path_(std::move(path)) {
  const auto add = [&](const fs::path& file) {
    const std::string name = file.filename().string();
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending) || name.size() == ending.size()) continue;
      const bool zipped = ending.ends_with(".zip");
      std::error_code unknown;
      if (zipped ? !fs::is_regular_file(file, unknown) : !fs::is_directory(file, unknown)) return;
      const std::string stem = name.substr(0, name.size() - ending.size());
      const auto rank = [](const fs::path& other) {
        size_t i = 0;
        while (i < kEndings.size() && !other.string().ends_with(kEndings[i])) ++i;
        return i;
      };
      const auto [known, fresh] = packages_.emplace(stem, file);
      if (!fresh && rank(file) < rank(known->second)) known->second = file;
      return;
    }
  };
  if (is_zipped_package(path_) && fs::is_regular_file(path_)) {
    add(path_);
    return;
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) add(entry.path());
  if (error) fail(ErrorCode::Io, "{}: {}", path_.string(), error.message());
}

PackageFolder::PackageFolder(PackageFolder&&) noexcept = default;
PackageFolder& PackageFolder::operator=(PackageFolder&&) noexcept = default;
PackageFolder::~PackageFolder() = default;

std::vector<std::string> PackageFolder::stems() const {
  std::vector<std::string> result;
  for (const auto& [stem, file] : packages_) result.push_back(stem);
  return result;
}

std::string PackageFolder::file_name(const std::string& stem) const {
  const auto found = packages_.find(stem);
  return found == packages_.end() ? stem : found->second.filename().string();
}

fs::path PackageFolder::package(const std::string& stem) {
  const auto found = packages_.find(stem);
  if (found == packages_.end()) {
    fail(ErrorCode::NotFound, "{}: there is no package '{}'", path_.string(), stem);
  }
  if (!is_zipped_package(found->second)) return found->second;
  if (!unpacked_) unpacked_ = std::make_unique<Unpacked>();
  return unpacked_->unpack(found->second, stem);
}

bool is_zipped_package(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".mlmodelc.zip") || name.ends_with(".mlpackage.zip");
}

}  // namespace pippin::runtime
