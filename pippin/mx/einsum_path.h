// Einstein's sums: what subscripts say, and in which order operands meet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pippin/mx/array.h"

namespace pippin::mx {

// A label per axis. An ellipsis becomes labels that stand nowhere else, counted from the end.
struct Subscripts {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> sizes;  // of each label: what axes of size 1 broadcast to
};
// Throws InvalidArgument, naming `op`.
Subscripts parse_subscripts(const char* op, const std::string& text,
                            const std::vector<array>& operands);

// One contraction: the operands at these positions go, the result comes to the end.
struct EinsumStep {
  std::vector<int> positions;
  std::string output;  // its labels
};
struct EinsumPath {
  std::vector<EinsumStep> steps;
  uint64_t naive_cost, cost, largest;  // multiplications; elements
};
// Greedy, as NumPy's: the pair that frees the most memory first.
EinsumPath find_path(const Subscripts& subscripts);

}  // namespace pippin::mx
