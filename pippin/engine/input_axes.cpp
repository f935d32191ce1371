#include "pippin/engine/input_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::engine {
namespace {

using mil::Dim;

std::string to_string(const mil::SizeRange& range) {
  return range.upper < 0 ? fmt::format("{} or more", range.lower)
                         : fmt::format("{} to {}", range.lower, range.upper);
}

void narrow(const std::string& name, std::vector<mil::SizeRange>& ranges,
            const std::vector<mil::SizeRange>& chosen) {
  if (chosen.size() != ranges.size()) {
    fail(ErrorCode::InvalidArgument, "input '{}' has {} axes, {} were given", name, ranges.size(),
         chosen.size());
  }
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const bool below = chosen[axis].lower < ranges[axis].lower;
    const bool above = ranges[axis].upper >= 0 &&
                       (chosen[axis].upper < 0 || chosen[axis].upper > ranges[axis].upper);
    if (below || above) {
      fail(ErrorCode::InvalidArgument, "input '{}': axis {} takes {}, not {}", name, axis,
           to_string(ranges[axis]), to_string(chosen[axis]));
    }
    ranges[axis] = chosen[axis];
  }
}

}  // namespace

std::vector<mil::SizeRange> declared_ranges(const mil::Feature& feature) {
  if (!feature.ranges.empty()) return feature.ranges;
  std::vector<mil::SizeRange> ranges;
  for (size_t axis = 0; axis < feature.shape.size(); ++axis) {
    mil::SizeRange range{feature.shape[axis], feature.shape[axis]};
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size()) continue;
      range.lower = std::min(range.lower, shape[axis]);
      range.upper = std::max(range.upper, shape[axis]);
    }
    ranges.push_back(range);
  }
  return ranges;
}

mil::Shape InputAxes::add(const std::string& name, const mil::Var& var,
                          std::vector<mil::SizeRange> declared, const PlanOptions& options) {
  std::vector<mil::SizeRange> ranges = std::move(declared);
  const auto chosen = options.input_ranges.find(name);
  if (chosen != options.input_ranges.end()) narrow(name, ranges, chosen->second);
  mil::Shape shape;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    if (ranges[axis].upper < 0) {
      fail(ErrorCode::InvalidArgument, "input '{}': axis {} has no upper bound; give one", name,
           axis);
    }
    shape.push_back(
        Dim::symbol(fmt::format("{}[{}]", name, axis), ranges[axis].lower, ranges[axis].upper));
    axes_.push_back({names_.size(), axis, shape.back(), ranges[axis]});
  }
  names_.push_back(name);
  ranks_.push_back(ranges.size());
  if (var.type.ranked && var.type.dims.empty() && shape.size() == 1) shape.clear();
  return shape;
}

void InputAxes::add(const std::string& name, const std::vector<int64_t>& shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    axes_.push_back({names_.size(), axis, Dim(shape[axis]), {shape[axis], shape[axis]}});
  }
  names_.push_back(name);
  ranks_.push_back(shape.size());
}

void InputAxes::set_symbols(const std::vector<std::vector<int64_t>>& shapes,
                            std::map<uint64_t, int64_t>& symbols) const {
  if (shapes.size() != names_.size()) {
    fail(ErrorCode::InvalidArgument, "{} input shapes were given, the function has {} inputs",
         shapes.size(), names_.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != ranks_[i]) {
      fail(ErrorCode::InvalidArgument, "input '{}' has rank {}, not {}", names_[i], ranks_[i],
           shapes[i].size());
    }
  }
  for (const InputAxis& axis : axes_) {
    const int64_t value = shapes[axis.input][axis.axis];
    if (value < axis.range.lower || value > axis.range.upper) {
      fail(ErrorCode::InvalidArgument, "input '{}': axis {} takes {} to {}, not {}",
           names_[axis.input], axis.axis, axis.range.lower, axis.range.upper, value);
    }
    if (axis.dim.is_constant()) continue;
    symbols[axis.dim.symbols().front()->id] = value;
  }
}

int64_t evaluate(const Dim& dim, const std::map<uint64_t, int64_t>& symbols) {
  return dim.evaluate([&](const Dim::Atom& symbol) {
    const auto found = symbols.find(symbol.id);
    return found == symbols.end() ? int64_t{0} : found->second;
  });
}

void check_constraints(std::span<const mil::Constraint> constraints,
                       const std::map<uint64_t, int64_t>& symbols) {
  for (const mil::Constraint& constraint : constraints) {
    const int64_t a = evaluate(constraint.a, symbols), b = evaluate(constraint.b, symbols);
    const bool holds = constraint.kind == mil::Constraint::Kind::Equal ? a == b : a >= b;
    if (!holds) {
      fail(ErrorCode::InvalidArgument, "{}: {} is {}, {} is {}", constraint.what,
           constraint.a.to_string(), a, constraint.b.to_string(), b);
    }
  }
}

}  // namespace pippin::engine
