// Functions recorded once and run again: compile(f) calls f with placeholders and keeps the
// recording; for arguments of the same types and shapes it does not call f again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// A function from arrays to arrays.
using Function = std::function<std::vector<array>(const std::vector<array>&)>;

// Returns a function that calls `function` with placeholders once for each combination of argument
// types and shapes, and repeats the recorded operations from then on. What the function does
// besides operations on arrays happens only while it is recorded. `shapeless` promises that the
// operations do not depend on shapes; it is only a hint.
PIPPIN_API Function compile(Function function, bool shapeless = false);
// Turns compilation on or off for the process: while it is off, compiled functions call the
// original ones.
PIPPIN_API void enable_compile(bool on = true);
// Returns whether compiled functions use their recordings.
PIPPIN_API bool is_compile_enabled();

// The mechanism of compile(), for code that finds the arguments in another way.
class PIPPIN_API Trace {
 public:
  // Returns an array without a value, for recording a function.
  static array placeholder(Dtype dtype, const Shape& shape);
  // Records `outputs` as a function of `inputs`, which are placeholders. Computes everything that
  // depends on none of them. Throws InvalidArgument if a placeholder of another function is used.
  Trace(const std::vector<array>& inputs, const std::vector<array>& outputs);
  // Returns the outputs for other inputs of the same types and shapes. Throws InvalidArgument for
  // others.
  std::vector<array> operator()(const std::vector<array>& inputs) const;

 private:
  struct Graph;
  std::shared_ptr<const Graph> graph_;
};

}  // namespace pippin::mx
