// A constraint in a sampling chain: what is not allowed is no candidate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/constrain/constraint.h"
#include "pippin/runtime/sampling/processor.h"

namespace pippin::runtime {

// End tokens may come where the text may end; where nothing else could come the text ends by
// itself (LogitsProcessor::must_end). Throws, from process(), LimitExceeded as the constraint does,
// and Unsupported where the vocabulary has no token for what would have to come.
class ConstrainedSampling final : public LogitsProcessor {
 public:
  ConstrainedSampling(std::shared_ptr<constrain::Constraint> constraint,
                      std::vector<int32_t> end_ids);

  void process(const SamplingContext& context, Candidates& candidates) override;
  void accept(int32_t id, Candidates& candidates) override;
  bool must_end() const override;
  std::unique_ptr<LogitsProcessor> clone() const override;

 private:
  constrain::ConstrainedText text_;
  std::vector<int32_t> end_ids_;
};

}  // namespace pippin::runtime
