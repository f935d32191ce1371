// The planned calls of a function, cached by the types and shapes of its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "pippin/api/planned_call.h"

namespace pippin::api {

// For one thread at a time. In a child of fork() it starts empty.
class ReadyCalls {
 public:
  // Creates a call for checked values; null: impossible.
  using Make = std::function<std::unique_ptr<PlannedCall>()>;

  ReadyCalls();
  ~ReadyCalls();
  // The call for such inputs, or null. Evicts the least recently used; after a few failures, does
  // not call `make` again.
  PlannedCall* find(const std::vector<FeatureInfo>& features, const Values& inputs,
                    const Make& make);

 private:
  struct Form;
  struct Ready;
  struct Kept;

  std::unique_ptr<Kept> kept_;
  uint32_t process_ = 0;  // the owner's fork count
};

}  // namespace pippin::api
