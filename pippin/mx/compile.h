// Functions recorded once and run again: compile(f) calls f with placeholders, keeps what it
// recorded, and for arguments of the same types and shapes does without calling f.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pippin/mx/array.h"

namespace pippin::mx {

using Function = std::function<std::vector<array>(const std::vector<array>&)>;

// `shapeless` promises that other shapes give the same operations; it is taken as a hint: what was
// recorded for one shape is recorded again for another, once.
PIPPIN_API Function compile(Function function, bool shapeless = false);
// Off: compiled functions call what they were made of.
PIPPIN_API void enable_compile(bool on = true);
PIPPIN_API bool is_compile_enabled();

// What compile() is made of, for those that find the arguments in other ways.
class PIPPIN_API Trace {
 public:
  // An array without a value, for a function that is being recorded.
  static array placeholder(Dtype dtype, const Shape& shape);
  // What `outputs` are of `inputs`, which are placeholders. What depends on none of them is
  // computed now.
  Trace(const std::vector<array>& inputs, const std::vector<array>& outputs);
  // The outputs for other inputs, of the same types and shapes: InvalidArgument for others.
  std::vector<array> operator()(const std::vector<array>& inputs) const;

 private:
  struct Graph;
  std::shared_ptr<const Graph> graph_;
};

}  // namespace pippin::mx
