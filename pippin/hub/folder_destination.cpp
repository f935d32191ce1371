// huggingface_hub's metadata next to the files in a user's folder:
//
//   <folder>/.cache/huggingface/download/<path>.metadata   commit, etag, time (a line each)
//   <folder>/.cache/huggingface/download/<path>.lock
//   <folder>/.cache/huggingface/download/<path>.<etag>.incomplete
#include <chrono>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/hub/destination.h"
#include "pippin/hub/partial_file.h"
#include "pippin/hub/repo_spec.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

struct Note {
  std::string etag;
  double time = 0;
};

std::optional<Note> read_note(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  std::istringstream lines(read_file(path, 4096));
  std::string commit;
  Note note;
  if (!(lines >> commit >> note.etag >> note.time)) return std::nullopt;
  return note;
}

double modified(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<double>(status.st_mtime);
}

class FolderDestination : public Destination {
 public:
  FolderDestination(fs::path folder, std::string commit)
      : folder_(std::move(folder)), commit_(std::move(commit)) {
    const fs::path notes = folder_ / ".cache" / "huggingface";
    std::error_code error;
    fs::create_directories(notes, error);
    if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", notes.string(), error.message());
    if (!fs::exists(notes / ".gitignore", error)) write_file(notes / ".gitignore", "*");
  }

  Paths paths(const RepoFile& file) const override {
    return {folder_ / file.path, note(file, "." + file.etag() + std::string(kIncomplete)),
            note(file, ".lock")};
  }
  // True if the size is right, and metadata not older than the file names the content.
  bool has(const RepoFile& file) const override {
    const fs::path path = folder_ / file.path;
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) != file.size) return false;
    const auto found = read_note(note(file, ".metadata"));
    return found && found->etag == file.etag() && modified(path) - 1 <= found->time;
  }
  // The metadata may be lost, or the file touched; its content decides.
  bool is_complete(const RepoFile& file) const override {
    return has(file) || has_content(folder_ / file.path, file);
  }

  void finish(const RepoFile& file) const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    replace_file(note(file, ".metadata"), note(file, ".metadata" + std::string(kIncomplete)),
                 fmt::format("{}\n{}\n{:.6f}\n", commit_, file.etag(),
                             std::chrono::duration<double>(now).count()));
  }
  fs::path folder() const override { return folder_; }

 private:
  fs::path note(const RepoFile& file, const std::string& ending) const {
    if (!is_safe_path(file.path) || file.path.starts_with(".cache/huggingface/")) {
      fail(ErrorCode::InvalidFile, "\"{}\" is not a file name", file.path);
    }
    return folder_ / ".cache" / "huggingface" / "download" / (file.path + ending);
  }

  fs::path folder_;
  std::string commit_;
};

}  // namespace

std::unique_ptr<Destination> folder_destination(fs::path folder, std::string commit) {
  return std::make_unique<FolderDestination>(std::move(folder), std::move(commit));
}

}  // namespace pippin::hub
