// Questions for outputs, asked along with a run.
//
// The last rank answers a question when it has carried out the commands before it. If several runs
// are in flight, a question that is asked when the output is read waits for all of them. So rank 0
// asks when it starts a run, for the parts of outputs that it read after a run before: steps of
// decoding read the same parts each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/pipeline/answers.h"

namespace pippin::pipeline {

class Pipeline;

// Bytes [begin, begin + size) of an output that has `whole` bytes.
struct OutputPart {
  size_t index = 0, begin = 0, size = 0, whole = 0;
  bool operator==(const OutputPart&) const = default;
};

// Of one execution. Used by one thread at a time.
class ReadAhead {
 public:
  explicit ReadAhead(Pipeline& pipeline) : pipeline_(pipeline) {}

  // A run of the lane begins, with a state and outputs of these sizes. Returns the parts to ask
  // for. Parts of the run before that were not read are not asked for again.
  std::vector<OutputPart> start(size_t lane, uint64_t state,
                                const std::function<size_t(size_t)>& size_of);
  // The answer to a question for one of them.
  void asked(size_t lane, uint64_t state, const OutputPart& part, std::shared_ptr<Answer> answer);
  // Waits for the bytes if they were asked for. Otherwise returns nothing: the caller asks. Throws
  // the Error of a run with that state, also of one whose outputs were not read.
  std::optional<Message> take(size_t lane, uint64_t state, const OutputPart& part);

 private:
  struct Question {
    OutputPart part;
    uint64_t state = 0;
    std::shared_ptr<Answer> answer;
  };
  struct Questions {
    std::vector<Question> open, unread;  // of the last run; of those before
  };

  Pipeline& pipeline_;
  std::vector<OutputPart> parts_;   // that are read after runs
  std::vector<Questions> by_lane_;  // of lanes that had a run
};

}  // namespace pippin::pipeline
