// The destination of downloaded files: the cache or a user's folder, both in huggingface_hub's
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
    std::filesystem::path complete;    // verified content
    std::filesystem::path incomplete;  // downloaded prefix
    std::filesystem::path lock;        // held while either is written
  };
  virtual Paths paths(const RepoFile& file) const = 0;

  // Returns whether the file is already in place. Needs no lock.
  virtual bool has(const RepoFile& file) const = 0;
  // Returns whether paths().complete exists, written by any process. Called under the lock.
  virtual bool is_complete(const RepoFile& file) const = 0;
  // Called under the lock once paths().complete exists.
  virtual void finish(const RepoFile& file) const = 0;

  // The folder of the result, for users and programs.
  virtual std::filesystem::path folder() const = 0;
};

std::unique_ptr<Destination> cache_destination(const RepoCache& cache, std::string commit);

// --local-dir: the files themselves, with huggingface_hub's metadata in
// .cache/huggingface/download.
std::unique_ptr<Destination> folder_destination(std::filesystem::path folder, std::string commit);

}  // namespace pippin::hub
