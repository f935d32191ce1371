// The planned calls of a function, kept by the types and shapes of its inputs for the next time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "pippin/api/planned_call.h"

namespace pippin::api {

// One thread at a time. In a child of fork() it starts anew.
class ReadyCalls {
 public:
  // What a new call is made by, for checked values; null: there can be none.
  using Make = std::function<std::unique_ptr<PlannedCall>()>;

  ReadyCalls();
  ~ReadyCalls();
  // The call for such inputs, null where there is none. The longest unused goes; after a few
  // refusals `make` is no more asked for.
  PlannedCall* find(const std::vector<FeatureInfo>& features, const Values& inputs,
                    const Make& make);

 private:
  struct Form;
  struct Ready;
  struct Kept;

  std::unique_ptr<Kept> kept_;
  uint32_t process_ = 0;  // whose they are, by its fork count
};

}  // namespace pippin::api
