// The locks that a call of a sequence holds.
#pragma once

#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

// A call: excludes other calls of the sequence and other uses of the model.
class Sequence::Use {
 public:
  explicit Use(const Sequence& sequence) : sequence_(sequence) {
    sequence_.enter();
    try {
      sequence_.model_->lock_.lock_unless_cancelled();
    } catch (...) {
      sequence_.leave();
      throw;
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    sequence_.model_->lock_.unlock();
    sequence_.leave();
  }

 private:
  const Sequence& sequence_;
};

}  // namespace pippin::runtime
