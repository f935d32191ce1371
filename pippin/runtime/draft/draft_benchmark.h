// Measures the gain from drafts on this machine: greedy texts after random ids, with and without
// drafts in turn.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/model.h"

namespace pippin::runtime {

struct DraftBenchmark {
  int64_t prompt = 512, tokens = 128;
  int repetitions = 5;  // each with its own prompt
  uint64_t seed = 1;
};

struct DraftMeasurement {
  int64_t tokens = 0, drafted = 0, accepted = 0;  // over all texts
  double ratio = 0;                               // median ratio of the times
  double plain_tokens_per_second = 0, drafted_tokens_per_second = 0;

  double tokens_per_pass() const {
    return static_cast<double>(tokens) / static_cast<double>(tokens - accepted);
  }
};

// Throws the errors of generate(), InvalidArgument for no tokens, and Unsupported for a model that
// cannot verify drafts.
DraftMeasurement measure_drafts(Model& model, const std::shared_ptr<Drafts>& drafts,
                                const DraftBenchmark& benchmark);

}  // namespace pippin::runtime
