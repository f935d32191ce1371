// Replaces constants by constexpr operations.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/compress/job.h"
#include "pippin/mil/program.h"

namespace pippin::compress {

// The replacement of a `const`.
struct Replacement {
  std::shared_ptr<Job> job;
  Encoding encoding;
  size_t channel_axis;  // for the axis parameter before CoreML8
  mil::Opset opset;     // determines the form
  std::string name;     // the constant's name
};

// The parts that an encoding stores. (Before CoreML8 a symmetric one stores its offsets too.)
std::vector<Part> parts_of(const Encoding& encoding);

// Inserts constexpr operations in the places of the constants. References to a constant then refer
// to the result of its last operation, which has the constant's name and type.
void rewrite(mil::Block& block,
             const std::unordered_map<const mil::Operation*, Replacement>& replacements);

// Redirects references to a Var of the map to its new one, also in nested blocks.
void redirect(mil::Block& block, const std::unordered_map<const mil::Var*, mil::Var*>& vars);

}  // namespace pippin::compress
