#include "pippin/hub/push/local_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/platform/file_times.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/glob.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/io/digest.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashBytes = size_t{1} << 20;

[[noreturn]] void fail_reading(const fs::path& path) {
  const int number = errno;
  fail(number == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "{}: {}", path.string(),
       std::strerror(number));
}

struct stat stat_of(const fs::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) fail_reading(path);
  return facts;
}

bool is_package_name(const std::string& name) {
  return name.ends_with(".mlpackage") || name.ends_with(".mlmodelc");
}

// Whether a file or folder of this name is never pushed.
bool is_left_out(const fs::path& folder, const std::string& name) {
  if (name == ".git" || name == ".DS_Store") return true;
  if (name == "huggingface" && folder.filename() == ".cache") return true;
  return name.starts_with(".") && name.find(".partial.") != std::string::npos;
}

class Lister {
 public:
  explicit Lister(const ListOptions& options) : options_(options) {}

  void add_folder(const fs::path& folder, const std::string& prefix) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
      if (error) break;
      check_cancel();
      const std::string name = entry->path().filename().string();
      if (is_left_out(folder, name)) continue;
      const std::string path = prefix + name;
      if (S_ISDIR(stat_of(entry->path()).st_mode)) {
        if (entry->is_symlink()) {
          fail(ErrorCode::InvalidArgument, "{}: a link to a folder; push the folder itself",
               entry->path().string());
        }
        add_folder(entry->path(), path + "/");
      } else {
        add_file(entry->path(), path);
      }
    }
    if (error) fail(ErrorCode::Io, "{}: {}", folder.string(), error.message());
  }

  void add_file(const fs::path& file, const std::string& path) {
    if (!options_.include.empty() && !any_glob_matches(options_.include, path)) return;
    if (any_glob_matches(options_.exclude, path)) return;
    const struct stat facts = stat_of(file);
    if (!S_ISREG(facts.st_mode)) {
      fail(ErrorCode::InvalidArgument, "{}: neither a file nor a folder", file.string());
    }
    if (!is_safe_path(path)) {
      fail(ErrorCode::InvalidArgument, "{}: the Hub does not take files of this name",
           file.string());
    }
    if (files_.size() >= kMaxFiles) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} files", file.parent_path().string(),
           kMaxFiles);
    }
    files_.push_back({path, file, static_cast<uint64_t>(facts.st_size), modified_ns(facts)});
  }

  std::vector<LocalFile> take() {
    std::sort(files_.begin(), files_.end(),
              [](const LocalFile& a, const LocalFile& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  const ListOptions& options_;
  std::vector<LocalFile> files_;
};

std::string hash_of(const LocalFile& file, Digest digest, const HashProgress& progress) {
  const LocalReader reader(file);
  std::vector<std::byte> buffer(std::min<uint64_t>(kHashBytes, file.size));
  for (uint64_t position = 0; position < file.size;) {
    check_cancel();
    const uint64_t count = std::min<uint64_t>(buffer.size(), file.size - position);
    const MutableByteSpan part(buffer.data(), count);
    reader.read(position, part);
    digest.update(part);
    position += count;
    if (progress) progress(count);
  }
  check_unchanged(file);
  return digest.finish();
}

}  // namespace

std::vector<LocalFile> list_local_files(const fs::path& source, const ListOptions& options) {
  fs::path place = fs::absolute(source).lexically_normal();
  if (place.filename().empty()) place = place.parent_path();
  const bool is_folder = S_ISDIR(stat_of(place).st_mode);
  const std::string name = place.filename().string();
  std::string target = options.path_in_repo;
  if (target == ".") target.clear();
  while (target.ends_with('/')) target.pop_back();
  if (!target.empty() && !is_safe_path(target)) {
    fail(ErrorCode::InvalidArgument, "--path-in-repo: \"{}\" is not a path inside a repository",
         options.path_in_repo);
  }
  if (target.empty() && (!is_folder || is_package_name(name))) target = name;
  Lister lister(options);
  if (is_folder) {
    lister.add_folder(place, target.empty() ? "" : target + "/");
  } else {
    lister.add_file(place, target);
  }
  std::vector<LocalFile> files = lister.take();
  if (files.empty()) {
    const bool chosen = !options.include.empty() || !options.exclude.empty();
    fail(ErrorCode::NotFound, "{}: no files{}", source.string(),
         chosen ? " that --include and --exclude leave" : "");
  }
  return files;
}

LocalReader::LocalReader(const LocalFile& file)
    : file_(file), fd_(::open(file.file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) fail_reading(file.file);
}

LocalReader::~LocalReader() {
  ::close(fd_);
}

void LocalReader::read(uint64_t position, MutableByteSpan buffer) const {
  while (!buffer.empty()) {
    const ssize_t count = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_reading(file_.file);
    if (count == 0) {
      fail(ErrorCode::Io, "{}: it became shorter while it was pushed; nothing was committed",
           file_.file.string());
    }
    position += static_cast<uint64_t>(count);
    buffer = buffer.subspan(static_cast<size_t>(count));
  }
}

void check_unchanged(const LocalFile& file) {
  const struct stat facts = stat_of(file.file);
  if (static_cast<uint64_t>(facts.st_size) != file.size || modified_ns(facts) != file.modified) {
    fail(ErrorCode::Io, "{}: it changed while it was pushed; nothing was committed",
         file.file.string());
  }
}

std::string sha256_of(const LocalFile& file, const HashProgress& progress) {
  return hash_of(file, Digest::sha256(), progress);
}

std::string git_hash_of(const LocalFile& file, const HashProgress& progress) {
  return hash_of(file, Digest::git_blob(file.size), progress);
}

std::string beginning_of(const LocalFile& file, size_t most) {
  std::string text(std::min<uint64_t>(most, file.size), '\0');
  LocalReader(file).read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

}  // namespace pippin::hub
