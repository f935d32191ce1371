// The head of a model that chooses its most likely token itself: for each part of the vocabulary it
// returns the index of the best token and, if there are several parts, its logit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {

class ArgmaxHead {
 public:
  ArgmaxHead() = default;
  // Takes the sizes of the vocabulary's parts. Throws InvalidFile if the vocabulary is too large.
  explicit ArgmaxHead(const std::vector<int64_t>& sizes);

  int64_t vocab_size() const { return offsets_.back(); }
  // Whether a run returns a token after each of its tokens; only heads with one part can.
  bool gives_every_row(const StepRunner& runner, int64_t query) const;
  // Returns the token chosen after token `token` of the run. Sets its logit in `row` (0 if the
  // model does not return it) and -inf elsewhere. Throws InvalidFile for an index outside its part.
  int32_t take(const StepRunner& runner, int64_t token, std::span<float> row,
               size_t lane = 0) const;

 private:
  std::vector<int64_t> offsets_ = {0};  // of the parts, and the end
};

}  // namespace pippin::runtime
