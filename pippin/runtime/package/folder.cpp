#include "pippin/runtime/package/folder.h"

#include <array>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/mil/package/archive.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;

// In order of preference.
constexpr std::array<std::string_view, 4> kEndings = {".mlpackage", ".mlmodelc", ".mlmodelc.zip",
                                                      ".mlpackage.zip"};

bool is_zipped(const fs::path& path) {
  return path.extension() == ".zip";
}

}  // namespace

PackageFolder::PackageFolder(fs::path path) : path_(std::move(path)) {
  const auto add = [&](const fs::path& file) {
    const std::string name = file.filename().string();
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending) || name.size() == ending.size()) continue;
      std::error_code unknown;
      if (is_zipped(file) ? !fs::is_regular_file(file, unknown) : !fs::is_directory(file, unknown))
        return;
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
  if (mil::is_archive(path_)) {
    packages_.emplace(path_.stem().string(), path_);
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
    fail(ErrorCode::NotFound, "{}: no package '{}'", path_.string(), stem);
  }
  if (!mil::is_archive(found->second)) return found->second;
  auto& unpacked = unpacked_[stem];
  if (!unpacked) unpacked = std::make_unique<mil::UnpackedArchive>(found->second);
  return unpacked->package();
}

}  // namespace pippin::runtime
