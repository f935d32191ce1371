#include "pippin/doctor/norms.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "pippin/doctor/magnitudes.h"
#include "pippin/doctor/overflow.h"
#include "pippin/doctor/reductions.h"
#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

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

// The operation that reduces squares to a statistic of a row, or null.
const Operation* reduces(const FunctionView& function, const Operation& squares) {
  if (squares.type() == "reduce_sum_square") return &squares;
  for (const Operation* user : function.users(squares.output())) {
    if (user->type() == "reduce_mean" || user->type() == "reduce_sum") return user;
  }
  return nullptr;
}

// Whether x = y / max(y), or y times the inverse.
bool is_scaled_by_its_largest(const Var* x) {
  const Operation* operation = x->producer;
  if (operation == nullptr) return false;
  if (operation->type() == "real_div") return depends_on_largest(operation->input_var("y"));
  if (operation->type() != "mul") return false;
  return depends_on_largest(operation->input_var("x")) ||
         depends_on_largest(operation->input_var("y"));
}

void check_norms(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    const std::vector<SquaringNorm> norms = squaring_norms(function);
    if (norms.empty()) continue;
    std::optional<Magnitudes> estimated;
    for (const SquaringNorm& norm : norms) {
      if (const auto peak = measured_peak(subject, function, *norm.x)) {
        if (*peak * kEstimateMargin < norm.limit) continue;
        findings.add(
            kOverflow, function, *norm.squares,
            fmt::format("|x| measured up to {:.3g}, the limit is {:.3g}", *peak, norm.limit));
        continue;
      }
      if (!estimated) estimated.emplace(function, subject.model.program);
      const double peak = estimated->peak(*norm.x);
      findings.add(
          peak * kEstimateMargin < norm.limit ? kSquares : kOverflow, function, *norm.squares,
          fmt::format("|x| estimated up to {:.3g}, the limit is {:.3g}", peak, norm.limit));
    }
  }
}

}  // namespace

std::vector<SquaringNorm> squaring_norms(const FunctionView& function) {
  std::vector<SquaringNorm> norms;
  for (const Operation* operation : function.running()) {
    if (!function.is_half(*operation)) continue;
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
