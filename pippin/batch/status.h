// The state of a job, read from its folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pippin/batch/claims.h"
#include "pippin/batch/job.h"

namespace pippin::batch {

struct JobStatus {
  uint64_t answered = 0, failed = 0;  // requests; failed ones have an answer, too
  size_t complete_shards = 0;
  std::vector<ClaimState> claims;  // of processes that work, or died
};

JobStatus status_of(const Job& job);

}  // namespace pippin::batch
