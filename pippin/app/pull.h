// `pippin pull`: a repository of the Hub, with what its packages need besides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/app/hub_model.h"
#include "pippin/hub/pull.h"

namespace pippin::app {

// Each member is the option of the command line of that name.
struct PullRequest {
  std::string repo;  // org/name, org/name@revision or org/name/package; as copied from a browser
  std::string revision, local_dir, cache_dir, token;
  std::vector<std::string> files, include, exclude;
  int max_workers = 6;
};

struct PullReport {
  hub::RepoSpec spec;
  hub::PullResult pulled;
  std::optional<PulledTokenizer> tokenizer;  // of the model that the packages were made from
  double seconds = 0;
};

// What is to be pulled from that server. Throws InvalidArgument for what is no repository or
// revision.
hub::RepoSpec repository_of(const PullRequest& request, const std::string& endpoint);

// Throws as repository_of() and hub::pull().
PullReport pull(const PullRequest& request, const PullObserver& pulls = {});

// Removes the files of MODEL, org/name, from the cache. Returns the bytes that are free now.
// Throws as hub::remove_cached(); NotFound where it is not a repository.
uint64_t remove_pulled(const std::string& model);

// An object.
std::string to_json(const PullReport& report);

}  // namespace pippin::app
