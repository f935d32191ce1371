#include "pippin/doctor/overflow.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "pippin/doctor/magnitudes.h"
#include "pippin/doctor/norms.h"
#include "pippin/doctor/reductions.h"
#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

constexpr Rule kMeasured = {
    .id = "fp16-overflow",
    .severity = Severity::Warning,
    .what = "Results were measured that are beyond fp16",
    .why =
        "The Neural Engine and the GPU compute such operations in fp16, whose largest number is "
        "65504: larger ones become infinite, and NaN after that",
    .source = "apple/coremltools#1671, #2110, #1380; huggingface/swift-transformers#95",
    .remedy =
        "Scale the weights or the input down before the first place and up again after the last, "
        "or convert these operations with compute_precision=FLOAT32"};

constexpr Rule kSum = {
    .id = "sum-overflow",
    .severity = Severity::Warning,
    .what = "A sum in fp16 may be too large for it",
    .why =
        "Sums are added up in fp16, whose largest number is 65504; the number of terms alone may "
        "come to that",
    .source = "google-ai-edge/LiteRT#9249; IEEE 754, binary16",
    .remedy =
        "Take the mean (reduce_mean), divide before the sum, or sum in fp32; --calibrate measures "
        "instead of estimating"};

constexpr Rule kExponentials = {
    .id = "exp-sum",
    .severity = Severity::Note,
    .what = "Exponentials are added up in fp16 without their largest taken off first",
    .why =
        "exp of 11.1 is beyond fp16, and a sum of many is sooner: the Neural Engine's softplus and "
        "reduce_log_sum_exp drop to 0 there, sums become infinite",
    .source = "apple/coremltools#2687, #2690, #2729",
    .remedy =
        "Write max(x) + log(sum(exp(x - max(x)))), and softplus as max(x, 0) + log(1 + "
        "exp(-abs(x)))"};

bool is_sum(const std::string& type) {
  return type == "reduce_sum" || type == "reduce_sum_square" || type == "cumsum";
}

// Squares, and sums of them, that the rules for norms cover.
std::set<const Operation*> operations_of_norms(const FunctionView& function) {
  std::set<const Operation*> operations;
  for (const SquaringNorm& norm : squaring_norms(function)) {
    operations.insert(norm.squares);
    for (const Operation* user : function.users(norm.squares->output())) {
      if (is_sum(user->type())) operations.insert(user);
    }
  }
  return operations;
}

// The number of exponentials that an operation adds without a shift, and their x.
struct Exponentials {
  const Var* x = nullptr;
  double count = 0;
};

Exponentials exponentials_of(const FunctionView& function, const Operation& operation) {
  const Var* x = operation.input_var("x");
  if (operation.type() == "softplus") return {x, 1};
  if (x == nullptr) return {};
  if (operation.type() == "reduce_log_sum_exp") return {x, terms_of(function, operation)};
  if (!is_sum(operation.type()) || x->producer == nullptr || x->producer->type() != "exp") {
    return {};
  }
  return {x->producer->input_var("x"), terms_of(function, operation)};
}

// Whether x is x - max(x), or computed from one.
bool is_shifted(const Var& x) {
  return x.producer != nullptr && x.producer->type() == "sub" &&
         depends_on_largest(x.producer->input_var("y"));
}

void check_exponentials(const Subject& subject, const FunctionView& function,
                        const Operation& operation, Findings& findings) {
  const Exponentials sum = exponentials_of(function, operation);
  if (sum.x == nullptr || is_shifted(*sum.x)) return;
  const double limit = std::log(kLargestHalf / std::max(sum.count, 1.0));
  const auto peak = measured_peak(subject, function, *sum.x);
  if (peak && *peak < limit) return;
  findings.add(kExponentials, function, operation, fmt::format("finite up to x = {:.3g}", limit));
}

class Overflows {
 public:
  Overflows(const Subject& subject, const FunctionView& function)
      : subject_(subject), function_(function), of_norms_(operations_of_norms(function)) {}

  void check(const Operation& operation, Findings& findings) {
    if (!function_.is_half(operation)) return;
    check_exponentials(subject_, function_, operation, findings);
    if (const auto peak = measured_peak(subject_, function_, *operation.output())) {
      if (*peak > kLargestHalf) {
        findings.add(kMeasured, function_, operation,
                     fmt::format("measured up to {:.4g}, fp16 ends at {}", *peak, kLargestHalf));
      }
      return;
    }
    const Var* x = operation.input_var("x");
    if (!is_sum(operation.type()) || of_norms_.contains(&operation) || x == nullptr) return;
    // Probabilities add up to 1.
    if (x->producer != nullptr && x->producer->type() == "softmax") return;
    if (!estimated_) estimated_.emplace(function_, subject_.model.program);
    // If the terms themselves are estimated to be too large, they come from products that grow
    // without bound only in the estimate (decays of a recurrence).
    if (estimated_->rms(*x) > kLargestHalf) return;
    const double sum = estimated_->rms(*operation.output());
    if (sum * kEstimateMargin < kLargestHalf) return;
    findings.add(
        kSum, function_, operation,
        fmt::format("{} terms, estimated to come to {:.3g}", terms_of(function_, operation), sum));
  }

 private:
  const Subject& subject_;
  const FunctionView& function_;
  std::set<const Operation*> of_norms_;
  std::optional<Magnitudes> estimated_;
};

void check_overflow(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    Overflows overflows(subject, function);
    for (const Operation* operation : function.running()) overflows.check(*operation, findings);
  }
}

}  // namespace

std::vector<const Var*> half_results(const FunctionView& function) {
  const auto& own = function.function().block().operations();
  std::set<const Operation*> top;
  for (const auto& operation : own) top.insert(operation.get());
  std::vector<const Var*> results;
  for (const Operation* operation : function.running()) {
    if (!top.contains(operation) || !function.is_half(*operation)) continue;
    const mil::OpDef* op = mil::find_op(operation->type());
    const bool moves = op != nullptr && !op->moves.empty() && operation->type() != "cast";
    if (!moves) results.push_back(operation->output());
  }
  return results;
}

const Group& overflow_rules() {
  static const Group group = {{&kMeasured, &kSum, &kExponentials}, check_overflow};
  return group;
}

}  // namespace pippin::doctor
