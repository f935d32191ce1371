// Einstein summation: parsing of subscripts, and the order of contractions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// One label per axis. An ellipsis becomes labels used nowhere else, counted from the end.
struct Subscripts {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> sizes;  // size of each label, after broadcasting axes of size 1
};
// Throws InvalidArgument, naming `op`.
Subscripts parse_subscripts(const char* op, const std::string& text,
                            const std::vector<array>& operands);

// One contraction: removes the operands at these positions and appends the result.
struct EinsumStep {
  std::vector<int> positions;
  std::string output;  // labels of the result
};
struct EinsumPath {
  std::vector<EinsumStep> steps;
  uint64_t naive_cost, cost, largest;  // multiplications; elements
};
// Greedy, as in NumPy: contracts the pair that frees the most memory first.
EinsumPath find_path(const Subscripts& subscripts);

}  // namespace pippin::mx
