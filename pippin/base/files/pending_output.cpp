#include "pippin/base/files/pending_output.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/machine.h"
#include "pippin/base/files/output.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "XXXXXX";  // mkdtemp()'s pattern

// The lock is removed last, so that the next process can resume an interrupted removal.
void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {"output", "old", "lock"}) fs::remove_all(folder / name, ignored);
  fs::remove(folder, ignored);
}

void remove_abandoned(const fs::path& folder, const fs::path& target) {
  const auto lock = FileLock::try_existing(folder / "lock");
  std::error_code ignored;
  if (!lock) {
    // Only the folder is left. If another process is just creating it, it will create it again.
    if (!fs::exists(folder / "lock", ignored)) fs::remove(folder, ignored);
    return;
  }
  constexpr size_t kMostBytes = 1024;
  try {
    if (!is_of_this_machine(read_file(folder / "lock", kMostBytes))) return;
  } catch (const Error&) {
    return;  // not one of ours
  }
  // The process was killed between the two renames: restore the old output.
  const fs::path old = folder / "old";
  if (fs::exists(old, ignored) && !fs::exists(target, ignored)) fs::rename(old, target, ignored);
  remove_folder(folder);
}

bool is_partial_of(std::string_view name, const std::string& prefix) {
  return name.size() == prefix.size() + kRandom.size() && name.starts_with(prefix) &&
         name.find('.', prefix.size()) == std::string_view::npos;
}

void remove_all_abandoned(const fs::path& parent, const std::string& prefix,
                          const fs::path& target) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (is_partial_of(entry->path().filename().string(), prefix) &&
        entry->symlink_status(ignored).type() == fs::file_type::directory) {
      found.push_back(entry->path());
    }
  }
  for (const fs::path& folder : found) remove_abandoned(folder, target);
}

}  // namespace

PendingOutput::PendingOutput(fs::path target) : target_(std::move(target)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "dir/" means "dir"
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : ".";
  if (!fs::is_directory(parent)) fail(ErrorCode::NotFound, "{}: no such folder", parent.string());
  // A rename would put a file in place of a device such as /dev/null.
  std::error_code unseen;
  if (const auto status = fs::status(target_, unseen); fs::is_other(status)) {
    fail(ErrorCode::InvalidArgument, "{}: is neither a file nor a folder, so it is not replaced",
         target_.string());
  }
  const std::string prefix = "." + target_.filename().string() + ".partial.";
  remove_all_abandoned(parent, prefix, target_);

  while (!lock_) {  // normally once, unless another process is checking whether the folder is
                    // abandoned
    std::string folder = (parent / fmt::format("{}{}", prefix, kRandom)).string();
    if (::mkdtemp(folder.data()) == nullptr) {
      fail(ErrorCode::Io, "{}: cannot be written: {}", target_.string(), std::strerror(errno));
    }
    folder_ = folder;
    try {
      lock_ = FileLock::try_lock(folder_ / "lock");
    } catch (const Error&) {
      std::error_code ignored;
      if (fs::exists(folder_, ignored)) throw;
      continue;  // still empty, it was taken for abandoned
    }
    if (!lock_) remove_folder(folder_);
  }
  try {
    FileWriter writer(folder_ / "lock");
    writer.write(machine_lines());
    writer.close();
  } catch (...) {
    remove_folder(folder_);
    throw;
  }
  path_ = folder_ / "output";
}

PendingOutput::~PendingOutput() {
  if (!folder_.empty()) remove_folder(folder_);
}

void PendingOutput::commit() {
  const fs::path old = folder_ / "old";
  std::error_code error;
  // A folder cannot be renamed over one that has files, so the old one is moved aside first.
  // Another output may take the place in between, or move the same one aside; then retry.
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    fs::rename(path_, target_, error);
    if (!error) break;
    std::error_code moved;
    const bool taken = error == std::errc::directory_not_empty || error == std::errc::file_exists;
    if (!taken && !fs::is_directory(target_, moved)) break;
    fs::remove_all(old, moved);  // from the previous try: the place has a newer output
    fs::rename(target_, old, moved);
    if (moved && moved != std::errc::no_such_file_or_directory) break;
  }
  if (error) {
    std::error_code unseen, lost;
    if (fs::exists(old, unseen) && !fs::exists(target_, unseen)) fs::rename(old, target_, lost);
    if (lost) {  // the next output for this place retries
      folder_.clear();
      fail(ErrorCode::Io, "{}: cannot be put in place: {}; the old content is in {}",
           target_.string(), error.message(), old.string());
    }
    fail(ErrorCode::Io, "{}: cannot be put in place: {}", target_.string(), error.message());
  }
  remove_folder(folder_);
  folder_.clear();
}

}  // namespace pippin
