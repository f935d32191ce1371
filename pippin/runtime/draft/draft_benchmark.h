// What drafts win on this machine: greedy texts behind random ids, with drafts and without, in
// turns.
#pragma once

#include <cstdint>
#include <memory>

#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/model.h"

namespace pippin::runtime {

struct DraftBenchmark {
  int64_t prompt = 512, tokens = 128;
  int repetitions = 5;  // each with a prompt of its own
  uint64_t seed = 1;
};

struct DraftMeasurement {
  int64_t tokens = 0, drafted = 0, accepted = 0;  // of all texts
  double ratio = 0;                               // of the times, the median
  double plain_tokens_per_second = 0, drafted_tokens_per_second = 0;

  double tokens_per_pass() const {
    return static_cast<double>(tokens) / static_cast<double>(tokens - accepted);
  }
};

// Throws as generate(), InvalidArgument for no tokens; Unsupported for a model that can have no
// drafts.
DraftMeasurement measure_drafts(Model& model, const std::shared_ptr<Drafts>& drafts,
                                const DraftBenchmark& benchmark);

}  // namespace pippin::runtime
