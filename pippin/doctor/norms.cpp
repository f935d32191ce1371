#include "pippin/doctor/norms.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "pippin/doctor/magnitudes.h"
#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

constexpr double kLargestHalf = 65504;
// An estimate or one text does not see the largest value: what comes this near counts.
constexpr double kMargin = 4;

constexpr Rule kOverflow = {
    .id = "norm-overflow",
    .severity = Severity::Warning,
    .what = "A norm squares values in fp16 that may be too large for it",
    .why =
        "Squares of 256 and more are infinite in fp16, the norm becomes 0 and the text noise; "
        "fp32 around the squares is taken out again for the Neural Engine",
    .source = "ANEMLL; apple/coremltools#2585, #2822; pytorch/executorch#19523",
    .remedy =
        "Write RMS norms as layer_norm over [x, -x] (pippin convert --norms safe), or divide "
        "by the largest value first; --calibrate TEXT measures instead of estimating"};

constexpr Rule kSquares = {
    .id = "norm-squares",
    .severity = Severity::Note,
    .what = "Norms square their input in fp16; its values are estimated to be small enough",
    .why =
        "Squares of 256 and more are infinite in fp16, and single features of trained models "
        "are larger than an estimate from weights tells",
    .source = "ANEMLL; apple/coremltools#2585",
    .remedy = "Measure with --calibrate TEXT, or convert with --norms safe"};

const Var* squared_by(const FunctionView& function, const Operation& operation) {
  const Var* x = operation.input_var("x");
  if (x == nullptr || function.is_constant(x)) return nullptr;
  const std::string& type = operation.type();
  if (type == "square" || type == "reduce_sum_square") return x;
  if (type == "mul") return operation.input_var("y") == x ? x : nullptr;
  if (type != "pow") return nullptr;
  const mil::Value* power = operation.constant_input("y");
  const bool two =
      power != nullptr && power->type.num_elements() == 1 && power->to_doubles().front() == 2;
  return two ? x : nullptr;
}

// The operation by which squares become a statistic of a row, or null.
const Operation* reduces(const FunctionView& function, const Operation& squares) {
  if (squares.type() == "reduce_sum_square") return &squares;
  for (const Operation* user : function.users(squares.output())) {
    if (user->type() == "reduce_mean" || user->type() == "reduce_sum") return user;
  }
  return nullptr;
}

// Elements that one sum takes.
double terms_of(const FunctionView& function, const Operation& reduction) {
  const Var* x = reduction.input_var("x");
  const mil::Value* axes = reduction.constant_input("axes");
  if (x == nullptr) return 1;
  const std::vector<Extent> sizes = function.extents(*x);
  double terms = 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    bool summed = axes == nullptr;
    for (const int64_t one : axes == nullptr ? std::vector<int64_t>() : axes->to_ints()) {
      summed = summed || one == static_cast<int64_t>(axis) ||
               one + static_cast<int64_t>(sizes.size()) == static_cast<int64_t>(axis);
    }
    if (summed) terms *= static_cast<double>(std::max<int64_t>(sizes[axis].lower, 1));
  }
  return terms;
}

// Whether the largest element of something is among what `var` is computed from, a few steps back.
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
    // Not beyond other rows' values.
    if (mil::is_product(*operation)) continue;
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (const auto* input = std::get_if<Var*>(&binding)) look_at(*input);
      }
    }
  }
  return false;
}

// x = y / largest of y, or y times its inverse.
bool is_scaled_by_its_largest(const Var* x) {
  const Operation* operation = x->producer;
  if (operation == nullptr) return false;
  if (operation->type() == "real_div") return depends_on_largest(operation->input_var("y"));
  if (operation->type() != "mul") return false;
  return depends_on_largest(operation->input_var("x")) ||
         depends_on_largest(operation->input_var("y"));
}

std::optional<double> measured(const Subject& subject, const FunctionView& function, const Var& x) {
  if (subject.measured == nullptr) return std::nullopt;
  const auto found = subject.measured->find({function.name(), x.name});
  return found == subject.measured->end() ? std::nullopt : std::optional(found->second);
}

void check_norms(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    const std::vector<SquaringNorm> norms = squaring_norms(function);
    if (norms.empty()) continue;
    std::optional<Magnitudes> estimated;
    for (const SquaringNorm& norm : norms) {
      if (const auto peak = measured(subject, function, *norm.x)) {
        if (*peak * kMargin < norm.limit) continue;
        findings.add(
            kOverflow, function, *norm.squares,
            fmt::format("|x| measured up to {:.3g}, the limit is {:.3g}", *peak, norm.limit));
        continue;
      }
      if (!estimated) estimated.emplace(function, subject.model.program);
      const double peak = estimated->peak(*norm.x);
      findings.add(
          peak * kMargin < norm.limit ? kSquares : kOverflow, function, *norm.squares,
          fmt::format("|x| estimated up to {:.3g}, the limit is {:.3g}", peak, norm.limit));
    }
  }
}

}  // namespace

std::vector<SquaringNorm> squaring_norms(const FunctionView& function) {
  std::vector<SquaringNorm> norms;
  for (const Operation* operation : function.running()) {
    if (operation->outputs().empty() || !operation->output()->type.is_tensor()) continue;
    if (function.type_of(*operation->output()) != mil::DataType::Float16) continue;
    const Var* x = squared_by(function, *operation);
    const Operation* reduction = x == nullptr ? nullptr : reduces(function, *operation);
    if (reduction == nullptr || is_scaled_by_its_largest(x)) continue;
    const double terms = reduction->type() == "reduce_mean" ? 1 : terms_of(function, *reduction);
    norms.push_back({operation, x, std::sqrt(kLargestHalf / terms)});
  }
  return norms;
}

const Group& norm_rules() {
  static const Group group = {{&kOverflow, &kSquares}, check_norms};
  return group;
}

}  // namespace pippin::doctor
