#include "pippin/batch/status.h"

#include <exception>
#include <string_view>
#include <utility>

#include "pippin/base/files/file.h"
#include "pippin/base/numbers/number.h"
#include "pippin/batch/merge.h"
#include "pippin/batch/shard.h"

namespace pippin::batch {
namespace {

void count_answers(const Job& job, JobStatus& status) {
  const auto count = [&](std::string_view line) {
    ++status.answered;
    if (!is_success(line)) ++status.failed;
  };
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    if (std::filesystem::exists(job.part(shard))) {
      ++status.complete_shards;
      each_answer_of(job, shard, count);
    } else {
      for (const std::string& line : partial_answers(job, shard)) count(line);
    }
  }
}

}  // namespace

JobStatus status_of(const Job& job) {
  constexpr size_t kMostBytes = 100;
  JobStatus status;
  if (std::filesystem::exists(job.merged())) {
    status.answered = job.requests;
    status.complete_shards = job.shards.size();
    parse_number(read_file(job.merged(), kMostBytes, StandIns::Allow), status.failed);
    return status;
  }
  try {
    count_answers(job, status);
  } catch (const std::exception&) {
    // Another process has just moved the answers out of the folder.
    if (!std::filesystem::exists(job.merged())) throw;
    return status_of(job);
  }
  for (ClaimState& claim : Claims(job.claims()).list()) {
    // A process may die between the end of a shard and that of its claim.
    if (!std::filesystem::exists(job.part(claim.number))) status.claims.push_back(std::move(claim));
  }
  return status;
}

}  // namespace pippin::batch
