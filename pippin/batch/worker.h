// Computes the answers of a job, together with other processes that do the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pippin/batch/claims.h"
#include "pippin/batch/job.h"

namespace pippin::batch {

struct WorkerOptions {
  size_t in_flight = 1;    // groups of requests at once
  size_t group = 1;        // most requests of a group
  double first_share = 0;  // where the search for work begins: a fraction of the shards
  ClaimTimes times;
  // Called about ten times a second with the numbers of answers of all processes, as far as they
  // are known, and of requests.
  std::function<void(uint64_t done, uint64_t total)> on_progress;
};

// The work of this process.
struct WorkerResult {
  uint64_t answered = 0, failed = 0;
  std::string first_failure;  // a message that names the request; empty: none
};

// Returns the answers to a group of requests, in any thread; may throw, which ends the work.
using Answering = std::function<std::vector<Answer>(std::span<const Request* const> requests)>;

// Returns when all shards are complete, by this process or by others. If it fails or is cancelled,
// it keeps all answers, and releases its claims. Throws Io, Cancelled, and the errors of `answer`.
WorkerResult work(const Job& job, const std::string& owner, const Answering& answer,
                  const WorkerOptions& options = {});

}  // namespace pippin::batch
