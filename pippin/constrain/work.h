// Counts and limits the work for a constraint, in steps of some tens of nanoseconds.
//
// Schemas, grammars and expressions are untrusted, and short ones can require unbounded work:
// products of alternatives, automata, states. Each loop whose length depends on them counts here,
// so that the limit holds for all of them, and a cancelled call ends soon.
#pragma once

#include <cstdint>
#include <limits>

namespace pippin::constrain {

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Throws LimitExceeded beyond the current limit, and Cancelled (base/threads/cancel.h). Callers
  // do not store unfinished results, so that the call can be repeated.
  void count(uint64_t steps = 1) {
    done_ += steps;
    if (done_ >= next_look_) look();
  }
  uint64_t done() const { return done_; }

  // While it exists, `what` may take `steps` steps. The smaller of nested limits applies.
  class Limit {
   public:
    Limit(Work& work, uint64_t steps, const char* what);
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    ~Limit();

   private:
    Work& work_;
    const uint64_t outer_end_, outer_steps_;
    const char* const outer_what_;
  };

 private:
  void look();

  uint64_t done_ = 0, next_look_ = 0;
  uint64_t end_ = std::numeric_limits<uint64_t>::max(), steps_ = 0;
  const char* what_ = "";
};

}  // namespace pippin::constrain
