// Uploads the contents of LFS objects, several parts at a time. An object that arrived is not yet
// part of any commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pippin/hub/connection.h"
#include "pippin/hub/push/notes.h"
#include "pippin/hub/push/push_api.h"

namespace pippin::hub {

struct UploadOptions {
  std::string repo, revision;
  int connections = 4;
  // Bytes at the server, including those from earlier pushes, of all bytes of the objects.
  std::function<void(uint64_t done, uint64_t total)> progress;
  Notice notice;
};

// Returns the number of bytes sent. Continues the parts that `notes` know; asks for new addresses
// when old ones have expired. Throws Network with the server's message, Io, Cancelled.
uint64_t upload_objects(const std::vector<LfsObject>& objects, const Settings& settings,
                        const UploadOptions& options, const PushNotes& notes,
                        std::atomic<bool>& reached);

}  // namespace pippin::hub
