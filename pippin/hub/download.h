// Downloads files in parallel pieces.
//
// A few threads take pieces of files, in order. The piece that continues a file on disk is written
// directly and added to the checksum; later pieces wait in a fixed number of buffers. So memory is
// bounded for any file size, files are verified without a second read, and the file on disk is
// always a prefix (partial_file.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pippin/hub/answers.h"
#include "pippin/hub/connection.h"
#include "pippin/hub/destination.h"
#include "pippin/hub/settings.h"

namespace pippin::hub {

struct DownloadOptions {
  std::string repo, commit;  // for URLs and messages
  int connections = 6;
  // Called with the bytes done and the total; calls never overlap.
  std::function<void(uint64_t done, uint64_t total)> progress;
  Notice notice;
};

struct DownloadResult {
  uint64_t received = 0;  // bytes of content, including repeated ones
};

// Makes destination.has() true for all files. Throws the first failure after all threads have
// ended; the content on disk is kept for a later download. `reached`: see Connection.
DownloadResult download(const std::vector<RepoFile>& files, const Destination& destination,
                        const Settings& settings, const DownloadOptions& options,
                        std::atomic<bool>& reached);

// Throws Io if the file system of `folder` has less than `bytes` free.
void check_disk_space(const std::filesystem::path& folder, uint64_t bytes);

inline constexpr uint64_t kPieceBytes = uint64_t{6} << 20;

}  // namespace pippin::hub
