// Functions recorded once and run again: compile(f) calls f with placeholders, keeps what it
// recorded, and for arguments of the same types and shapes does without calling f.
#pragma once

#include <functional>
#include <vector>

#include "pippin/mx/array.h"

namespace pippin::mx {

using Function = std::function<std::vector<array>(const std::vector<array>&)>;

// `shapeless`: what was recorded for one shape is taken for others of the same rank.
PIPPIN_API Function compile(Function function, bool shapeless = false);
PIPPIN_API void enable_compile(bool on = true);

// What compile() is made of, for those that find the arguments in other ways.
class PIPPIN_API Trace {
 public:
  // An array without a value, for a function that is being recorded.
  static array placeholder(Dtype dtype, const Shape& shape);
  Trace(std::vector<array> inputs, std::vector<array> outputs);
  // The outputs for other inputs. Those of other shapes throw InvalidArgument unless `shapeless`.
  std::vector<array> operator()(const std::vector<array>& inputs) const;

 private:
  struct Graph;
  std::shared_ptr<const Graph> graph_;
};

}  // namespace pippin::mx
