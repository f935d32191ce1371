// The answers of a complete job as one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "pippin/batch/job.h"

namespace pippin::batch {

// Calls for each answer of a complete shard, in the order of the requests, without its line break.
void each_answer_of(const Job& job, size_t shard,
                    const std::function<void(std::string_view line)>& use);

// Writes all answers in the order of the requests, complete or not at all: as lines, or the vectors
// of texts as a JSON list per line or, if the name ends in .npy, as an array [texts, width] of
// float32. The vector of a text that failed is null, or NaNs. Throws InvalidArgument if shards lack
// answers.
void merge(const Job& job, const std::filesystem::path& target);

// Merges the answers, of which `failed` are failures, into `target` and removes them from the
// folder, unless another process does. Returns when that is done.
void merge_and_remove(const Job& job, const std::filesystem::path& target, uint64_t failed);

}  // namespace pippin::batch
