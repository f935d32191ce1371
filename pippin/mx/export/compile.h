// Functions recorded once and run again: compile(f) calls f with placeholders and keeps the
// recording; for arguments of the same types and shapes it does not call f again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

using Function = std::function<std::vector<array>(const std::vector<array>&)>;

// `shapeless` promises that the operations do not depend on shapes. It is only a hint: a function
// recorded for one shape is recorded again, once, for another.
PIPPIN_API Function compile(Function function, bool shapeless = false);
// Off: compiled functions call the original ones.
PIPPIN_API void enable_compile(bool on = true);
PIPPIN_API bool is_compile_enabled();

// The mechanism of compile(), for code that finds the arguments in another way.
class PIPPIN_API Trace {
 public:
  // An array without a value, for recording a function.
  static array placeholder(Dtype dtype, const Shape& shape);
  // Records `outputs` as a function of `inputs`, which are placeholders. Computes what depends on
  // none of them.
  Trace(const std::vector<array>& inputs, const std::vector<array>& outputs);
  // Returns the outputs for other inputs of the same types and shapes. Throws InvalidArgument for
  // others.
  std::vector<array> operator()(const std::vector<array>& inputs) const;

 private:
  struct Graph;
  std::shared_ptr<const Graph> graph_;
};

}  // namespace pippin::mx
