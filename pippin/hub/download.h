// Downloads files in parallel pieces.
//
// A few threads take pieces of files, in order. The piece that continues a file on
// disk goes straight to disk and into the checksum; those after it wait in memory, a fixed number
// of them. So memory is bounded whatever the sizes, files need no second reading to be verified,
// and what is on disk is always a prefix (partial_file.h).
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
  // Bytes that are there and bytes that there will be; from one thread at a time, never two at
  // once.
  std::function<void(uint64_t done, uint64_t total)> progress;
  Notice notice;
};

struct DownloadResult {
  uint64_t received = 0;  // bytes of contents, those that came twice twice
};

// Makes destination.has() true for all files. Throws the first failure after all threads have
// ended; what is on disk by then will not be asked for again. `reached`: see Connection.
DownloadResult download(const std::vector<RepoFile>& files, const Destination& destination,
                        const Settings& settings, const DownloadOptions& options,
                        std::atomic<bool>& reached);

// Throws Io where the file system of `folder` has less than `bytes` free.
void check_disk_space(const std::filesystem::path& folder, uint64_t bytes);

inline constexpr uint64_t kPieceBytes = uint64_t{6} << 20;

}  // namespace pippin::hub
