// From constants to constexpr operations.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/compress/job.h"
#include "pippin/mil/program.h"

namespace pippin::compress {

// What a `const` becomes.
struct Replacement {
  std::shared_ptr<Job> job;
  Encoding encoding;
  size_t channel_axis;  // of the axis parameter before CoreML8
  mil::Opset opset;     // decides on the form
  std::string name;     // of the constant
};

// The parts that an encoding stores. (Before CoreML8 a symmetric one stores its offsets too.)
std::vector<Part> parts_of(const Encoding& encoding);

// Puts constexpr operations in the places of the constants. What refers to a constant refers to the
// result of its last operation then, which has the constant's name and type.
void rewrite(mil::Block& block,
             const std::unordered_map<const mil::Operation*, Replacement>& replacements);

// What refers to a Var of the map refers to its new one, in nested blocks too.
void redirect(mil::Block& block, const std::unordered_map<const mil::Var*, mil::Var*>& vars);

}  // namespace pippin::compress
