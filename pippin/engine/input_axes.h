// The axes of a function's inputs in a plan: numbers if its shape class fixes them, else symbols
// with the bounds of the class, whose values are set by the bound shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pippin/engine/plan.h"
#include "pippin/mil/dim.h"
#include "pippin/mil/model.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {

struct InputAxis {
  size_t input;
  size_t axis;
  mil::Dim dim;
  mil::SizeRange range;
};

class InputAxes {
 public:
  // Adds the axes of the next input, in the order of the description. `declared` has one range per
  // axis. Returns the shape that the program sees: `var` may be a scalar that is described as one
  // element. Throws InvalidArgument for ranges outside the declared ones, and for axes without an
  // upper bound.
  mil::Shape add(const std::string& name, const mil::Var& var, std::vector<mil::SizeRange> declared,
                 const PlanOptions& options);
  // Adds an input that has one of these sizes only.
  void add(const std::string& name, const std::vector<int64_t>& shape);
  // The symbols' values, by id, for these shapes. Throws InvalidArgument if one is outside its
  // range.
  void set_symbols(const std::vector<std::vector<int64_t>>& shapes,
                   std::map<uint64_t, int64_t>& symbols) const;

  const std::vector<InputAxis>& all() const { return axes_; }

 private:
  std::vector<std::string> names_;  // of the inputs
  std::vector<size_t> ranks_;
  std::vector<InputAxis> axes_;
};

// The ranges that the model declares for a multi-array: one per axis.
std::vector<mil::SizeRange> declared_ranges(const mil::Feature& feature);

// Symbols without a value count as 0.
int64_t evaluate(const mil::Dim& dim, const std::map<uint64_t, int64_t>& symbols);
// Throws InvalidArgument if one does not hold.
void check_constraints(std::span<const mil::Constraint> constraints,
                       const std::map<uint64_t, int64_t>& symbols);

}  // namespace pippin::engine
