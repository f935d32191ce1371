#include "pippin/doctor/reductions.h"

#include <algorithm>

#include "pippin/mil/ops/product.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

// All axes if the operation names none.
std::vector<int64_t> summed_axes(const Operation& reduction, int64_t rank) {
  const bool cumulates = reduction.type() == "cumsum";
  const mil::Value* named = reduction.constant_input(cumulates ? "axis" : "axes");
  std::vector<int64_t> axes;
  if (named != nullptr) {
    axes = named->to_ints();
  } else if (cumulates) {
    axes = {0};
  } else {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

}  // namespace

double terms_of(const FunctionView& function, const Operation& reduction) {
  const Var* x = reduction.input_var("x");
  if (x == nullptr) return 1;
  const std::vector<Extent> sizes = function.extents(*x);
  double terms = 1;
  for (const int64_t axis : summed_axes(reduction, std::ssize(sizes))) {
    if (axis < 0 || axis >= std::ssize(sizes)) continue;
    const Extent& size = sizes[static_cast<size_t>(axis)];
    const int64_t count = size.upper < kNoLimit ? size.upper : size.lower;
    terms *= static_cast<double>(std::max<int64_t>(count, 1));
  }
  return terms;
}

bool depends_on_largest(const Var* var) {
  constexpr size_t kMostSeen = 64;
  std::vector<const Var*> seen;
  const auto look_at = [&](const Var* one) {
    const bool is_new = std::find(seen.begin(), seen.end(), one) == seen.end();
    if (one != nullptr && is_new && seen.size() < kMostSeen) seen.push_back(one);
  };
  look_at(var);
  for (size_t i = 0; i < seen.size(); ++i) {
    const Operation* operation = seen[i]->producer;
    if (operation == nullptr) continue;
    if (operation->type() == "reduce_max" || operation->type() == "reduce_min") return true;
    // Products mix in other rows' values.
    if (mil::is_product(*operation)) continue;
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (const auto* input = std::get_if<Var*>(&binding)) look_at(*input);
      }
    }
  }
  return false;
}

std::optional<double> measured_peak(const Subject& subject, const FunctionView& function,
                                    const Var& x) {
  if (subject.measured == nullptr) return std::nullopt;
  const auto found = subject.measured->find({function.name(), x.name});
  return found == subject.measured->end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pippin::doctor
