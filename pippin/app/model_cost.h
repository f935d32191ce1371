// What a token costs at least: the bytes of weights and cache that have to be read, and the
// multiplications.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/app/open_model.h"
#include "pippin/mil/model.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::app {

struct ModelCost {
  // As they are stored, scales and palettes included. Tables that a token takes only some rows of
  // (embeddings, positions) do not count, those of experts as far as a token chooses them.
  uint64_t weight_bytes = 0;
  // Elements as they are stored: of sparse weights those that are not zero, of vector palettes the
  // vectors.
  int64_t multiplied = 0;             // of the matrices that a token is multiplied with
  int64_t multiplied_for_logits = 0;  // part of it: the head
  int64_t parameters = 0;             // of all weights, the tables too
  // Of each cache: its bytes and how many tokens they are for; 0: all are read for every token.
  // What each pass replaces counts twice, read and written.
  struct Cache {
    uint64_t bytes = 0;
    int64_t slots = 0;
  };
  std::vector<Cache> caches;
  // Weights of experts, of which a token reads a share; weight_bytes has that of one token.
  struct Experts {
    uint64_t bytes = 0;
    double share = 1;
  };
  std::vector<Experts> experts;

  // Of a token in the mean over a case: caches grow by one token each.
  runtime::TokenCost of(const runtime::BenchmarkCase& measured) const;
};

// Of the packages of one model together. What several functions share counts once.
ModelCost model_cost(const std::vector<const mil::Model*>& models);

// Of what open_runnable() gave for the same choice. Packages that it does not keep are read again.
ModelCost model_cost(const runtime::RunnableModel& runnable, const ModelChoice& choice);

}  // namespace pippin::app
