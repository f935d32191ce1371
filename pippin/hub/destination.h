// Where downloaded files end up: the cache, or a folder of the user's. Both in huggingface_hub's
// layout.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "pippin/hub/answers.h"
#include "pippin/hub/cache.h"

namespace pippin::hub {

class Destination {
 public:
  virtual ~Destination() = default;

  struct Paths {
    std::filesystem::path complete;    // the verified bytes
    std::filesystem::path incomplete;  // their beginning, so far
    std::filesystem::path lock;        // held while either is written
  };
  virtual Paths paths(const RepoFile& file) const = 0;

  // Whether there is nothing to do for the file. Needs no lock.
  virtual bool has(const RepoFile& file) const = 0;
  // Whether paths().complete is there already, from any process. Called under the lock.
  virtual bool is_complete(const RepoFile& file) const = 0;
  // After paths().complete came to be, or was there. Called under the lock.
  virtual void finish(const RepoFile& file) const = 0;

  // What people and programs call the result.
  virtual std::filesystem::path folder() const = 0;
};

std::unique_ptr<Destination> cache_destination(const RepoCache& cache, std::string commit);

// --local-dir: the files themselves, with huggingface_hub's notes in .cache/huggingface/download.
std::unique_ptr<Destination> folder_destination(std::filesystem::path folder, std::string commit);

}  // namespace pippin::hub
