// What several commands need to declare their options and to print.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace CLI {
class Validator;
}

namespace pippin::cli {

// Accepts integers of a range. (CLI11's own checks print the largest double, or their range in the
// help.)
CLI::Validator between(int64_t smallest, int64_t largest = std::numeric_limits<int64_t>::max());

// All of it to stdout, at once. Throws Io.
void print_out(const std::string& text);

}  // namespace pippin::cli
