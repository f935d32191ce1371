// Predictions of a function, by calls that are prepared when inputs of new types or shapes come and
// kept for the next ones (api/call.h).
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/base/fork.h"

namespace pippin::python {

// Any thread may use it; predictions take turns, as those of their model do. It works in a child of
// fork() too. What Function::predict() throws, it throws.
class PreparedCalls {
 public:
  explicit PreparedCalls(Function function);
  PreparedCalls(const PreparedCalls&) = delete;
  PreparedCalls& operator=(const PreparedCalls&) = delete;
  ~PreparedCalls();

  const Function& function() const { return function_; }
  // Without a state: with zeros. `inputs` are the same afterwards, and nothing of them is kept.
  Values predict(Values& inputs, State* state);
  void predict(Values& inputs, State* state, Values& outputs);

 private:
  struct Form;
  struct Ready;
  struct Cache;
  class Turn;

  Call* find(const Values& inputs);
  template <typename Body>
  void with_state(State* given, Body&& body);

  const Function function_;
  TurnLock lock_;         // of the cache, and of its calls
  uint32_t process_ = 0;  // whose cache it is, by its fork count
  std::unique_ptr<Cache> cache_;
};

}  // namespace pippin::python
