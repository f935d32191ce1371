#include "pippin/mil/package/archive.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/io/gzip.h"
#include "pippin/io/unzip.h"
#include "pippin/mil/package/package.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

// The maximum number of folders around a package.
constexpr int kMaxArchiveDepth = 4;
constexpr std::array<std::string_view, 5> kEndings = {".mlpackage.zip", ".mlmodelc.zip",
                                                      ".mlmodel.zip", ".mlmodel.gz", ".mil.gz"};

void collect_packages(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  if (is_package(folder)) {
    found.push_back(folder);
    return;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) {
      if (is_package(entry.path())) found.push_back(entry.path());
    } else if (depth < kMaxArchiveDepth) {
      collect_packages(entry.path(), depth + 1, found);
    }
  }
}

// The name without its last extension: that of a gzip file's content.
fs::path name_within(const fs::path& archive) {
  const fs::path stem = archive.stem();
  const bool is_named = stem.extension() == ".mlmodel" || stem.extension() == ".mil";
  return is_named ? stem : fs::path(stem.string() + ".mlmodel");
}

bool is_tar(ByteSpan file) {
  constexpr size_t kMagic = 257;
  return file.size() > kMagic + 5 && as_text(file.subspan(kMagic, 5)) == "ustar";
}

}  // namespace

bool is_archive(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return false;
  if (path.extension() == ".zip" || path.extension() == ".gz") return true;
  try {
    const auto file = MappedFile::open(path, StandIns::Allow);
    return is_zip(file->bytes()) || is_gzip(file->bytes());
  } catch (const Error&) {
    return false;  // the reader reports the error
  }
}

bool is_archived_package_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  });
}

UnpackedArchive::UnpackedArchive(const fs::path& archive) : name_(archive.filename().string()) {
  const auto file = MappedFile::open(archive);
  if (is_gzip(file->bytes()) || archive.extension() == ".gz") {
    const fs::path content = folder_.path() / name_within(archive);
    gunzip(file->bytes(), name_, content);
    if (is_tar(MappedFile::open(content)->bytes())) {
      fail(ErrorCode::Unsupported, "{}: a tar archive in gzip; unpack it first (tar xzf)", name_);
    }
  } else {
    fs::path content = folder_ / "content";
    fs::create_directory(content);
    unzip(file->bytes(), name_, content);
    // A package that is not in its own folder is moved into one named after the archive.
    if (is_package(content)) fs::rename(content, folder_.path() / archive.stem());
  }
  collect_packages(folder_.path(), 0, packages_);
  std::sort(packages_.begin(), packages_.end());
}

const fs::path& UnpackedArchive::package() const {
  if (packages_.empty()) {
    fail(ErrorCode::InvalidFile,
         "{}: an archive without a package in it (.mlpackage, .mlmodelc or .mlmodel)", name_);
  }
  if (packages_.size() > 1) {
    fail(ErrorCode::InvalidFile, "{}: holds several packages, '{}' and '{}'", name_,
         packages_[0].filename().string(), packages_[1].filename().string());
  }
  return packages_.front();
}

}  // namespace pippin::mil
