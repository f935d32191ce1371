// The requests of a job with their answers, as far as there are any.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "pippin/batch/job.h"

namespace pippin::batch {

// Calls for each request of a shard in order, with its line of answers without the line break;
// empty: none yet. No process may work on the shard. Throws InvalidFile if the input has changed.
void each_outcome(const Job& job, size_t shard,
                  const std::function<void(const Request& request, std::string_view line)>& use);

}  // namespace pippin::batch
