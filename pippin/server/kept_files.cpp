#include "pippin/server/kept_files.h"

#include <system_error>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

fs::path private_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) fail(ErrorCode::Io, "{}: cannot be made: {}", folder.string(), error.message());
  return folder;
}

FileLock lock_folder(const fs::path& folder) {
  auto lock = FileLock::try_lock(folder / "lock");
  if (!lock) {
    fail(ErrorCode::InvalidArgument, "{}: another server keeps its files there", folder.string());
  }
  return std::move(*lock);
}

}  // namespace

KeptFiles::KeptFiles(const FilesOptions& chosen)
    : options(chosen),
      lock(lock_folder(options.folder)),
      files(private_folder(options.folder / "files"), options.max_total),
      batches(private_folder(options.folder / "batches")) {}

}  // namespace pippin::server
