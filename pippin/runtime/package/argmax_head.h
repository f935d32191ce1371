// Models that choose their most likely token themselves: of each part of the vocabulary the index
// of the best token and, if there are several parts, its logit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {

class ArgmaxHead {
 public:
  ArgmaxHead() = default;
  // Of the sizes of the vocabulary's parts. Throws InvalidFile for too large a vocabulary.
  explicit ArgmaxHead(const std::vector<int64_t>& sizes);

  int64_t vocab_size() const { return offsets_.back(); }
  // Whether a run gives a token after each of its tokens, which only one part can.
  bool gives_every_row(const StepRunner& runner, int64_t query) const;
  // The token chosen after that one of the run; `row` of logits gets its logit, 0 where the model
  // does not give it, and -inf elsewhere. Throws InvalidFile for an index beyond its part.
  int32_t take(const StepRunner& runner, int64_t token, std::span<float> row,
               size_t lane = 0) const;

 private:
  std::vector<int64_t> offsets_ = {0};  // of the parts, with the end
};

}  // namespace pippin::runtime
