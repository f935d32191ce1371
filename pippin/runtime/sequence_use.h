// What a call of a sequence holds while it lasts.
#pragma once

#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

// A call: no other one of this sequence, and nobody else's use of the model.
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
