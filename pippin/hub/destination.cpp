#include "pippin/hub/destination.h"

namespace pippin::hub {
namespace {

namespace fs = std::filesystem;

class CacheDestination : public Destination {
 public:
  CacheDestination(RepoCache cache, std::string commit)
      : cache_(std::move(cache)), commit_(std::move(commit)) {}

  Paths paths(const RepoFile& file) const override {
    return {cache_.blob(file.etag()), cache_.incomplete(file.etag()), cache_.lock(file.etag())};
  }
  bool has(const RepoFile& file) const override { return cache_.has(commit_, file); }
  // A blob gets its name, its hash, only after its content was verified.
  bool is_complete(const RepoFile& file) const override {
    std::error_code error;
    const fs::path blob = cache_.blob(file.etag());
    return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == file.size && !error;
  }
  void finish(const RepoFile& file) const override { cache_.link(commit_, file); }
  fs::path folder() const override { return cache_.snapshot(commit_); }

 private:
  RepoCache cache_;
  std::string commit_;
};

}  // namespace

std::unique_ptr<Destination> cache_destination(const RepoCache& cache, std::string commit) {
  return std::make_unique<CacheDestination>(cache, std::move(commit));
}

}  // namespace pippin::hub
