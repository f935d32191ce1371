// The minimum cost of a token: the bytes of weights and caches that must be read, and the
// multiplications.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/engine/cache_type.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::app {

struct ModelCost {
  // Stored size, including scales and palettes. Excludes tables from which a token takes only some
  // rows (embeddings, positions); experts count in proportion to their use.
  uint64_t weight_bytes = 0;
  uint64_t stored_bytes = 0;  // of all weights, including the tables
  // Stored elements: for sparse weights those that are not zero, for vector palettes the vectors.
  int64_t multiplied = 0;             // in matrices that a token is multiplied with
  int64_t multiplied_for_logits = 0;  // of those, in the head
  int64_t products = 0;    // numbers that these multiplications result in, without the logits
  int64_t parameters = 0;  // in all weights, including the tables
  // For each cache: its bytes and the number of tokens that they are for; 0: all are read for every
  // token. State that each pass replaces counts twice, as read and written.
  struct Cache {
    uint64_t bytes = 0;
    int64_t slots = 0;
  };
  std::vector<Cache> caches;
  // Weights of experts, of which a token reads a fraction; weight_bytes includes one token's.
  struct Experts {
    uint64_t bytes = 0;
    double share = 1;
  };
  std::vector<Experts> experts;

  // The average cost of a token over a case: caches grow by one token each.
  runtime::TokenCost of(const runtime::BenchmarkCase& measured) const;
};

// The cost of one model's packages together. Weights shared by several functions count once.
ModelCost model_cost(const std::vector<const mil::Model*>& models,
                     engine::CacheType cache_type = engine::CacheType::F16);

// The cost of a model from open_runnable() for the same choice. Packages that it does not keep are
// read again.
ModelCost model_cost(const runtime::RunnableModel& runnable, const ModelChoice& choice);

}  // namespace pippin::app
