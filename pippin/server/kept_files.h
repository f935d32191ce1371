// The folder of files and batches of a server, which keeps them over a restart:
//
//   DIR/lock        held by the server that uses the folder
//   DIR/files       file_store.h
//   DIR/batches     batch_store.h
#pragma once

#include <cstdint>
#include <filesystem>

#include "pippin/base/files/file_lock.h"
#include "pippin/server/batch_store.h"
#include "pippin/server/file_store.h"

namespace pippin::server {

struct FilesOptions {
  std::filesystem::path folder;             // empty: there are neither files nor batches
  uint64_t max_file = uint64_t{200} << 20;  // bytes of an upload
  uint64_t max_total = uint64_t{16} << 30;  // bytes of all files, beyond which none are uploaded
  uint64_t max_requests = 50'000;           // of a batch
};

struct KeptFiles {
  // Creates the folder; only its owner has access to the files. Throws Io; InvalidArgument if
  // another process uses it.
  explicit KeptFiles(const FilesOptions& chosen);

  const FilesOptions options;
  const FileLock lock;
  FileStore files;
  BatchStore batches;
};

}  // namespace pippin::server
