// Small numbers that keep a norm, a root or a logarithm away from zero, but are zero in fp16.
#include <algorithm>
#include <array>
#include <optional>

#include "pippin/doctor/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

constexpr Rule kEpsilon = {
    .id = "epsilon-zero",
    .severity = Severity::Note,
    .what = "An epsilon is 0 in fp16",
    .why =
        "fp16's smallest number is 6e-8: smaller epsilons become 0, and a row without variance, "
        "a norm of 0 or a logarithm of 0 makes NaN or infinity",
    .source = "IEEE 754, binary16; coremltools, underflow check of the fp16 pass",
    .remedy =
        "Use an epsilon of 1e-6 or more, or keep the norm in fp32; where its input is never 0, "
        "nothing has to be done"};

constexpr int kStepsToDivisor = 8;  // number of operations to follow

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& types, const Operation& operation) {
  return std::find(types.begin(), types.end(), operation.type()) != types.end();
}

bool normalizes(const Operation& operation) {
  return is_one_of<4>({"layer_norm", "instance_norm", "batch_norm", "l2_norm"}, operation);
}

// The operation's epsilon is added to its input.
bool guards_input(const Operation& operation) {
  return is_one_of<3>({"rsqrt", "log", "inverse"}, operation);
}

// Operations whose results are zero only if their inputs are.
bool keeps_zeros(const Operation& operation) {
  return is_one_of<12>({"reshape", "transpose", "expand_dims", "squeeze", "cast", "identity",
                        "tile", "sqrt", "abs", "square", "slice_by_index", "slice_by_size"},
                       operation);
}

// The additional operand of an operation if it is a constant number; otherwise nullopt.
std::optional<double> number_operand(const Operation& operation, std::string_view parameter) {
  const mil::Value* value = operation.constant_input(parameter);
  if (value == nullptr || !value->type.is_tensor() || value->type.num_elements() != 1) return {};
  return value->to_doubles().front();
}

// The bound with which add, maximum or clip keeps its result above zero.
std::optional<double> lower_bound(const Operation& operation) {
  if (operation.type() == "clip") return number_operand(operation, "alpha");
  if (!is_one_of<2>({"add", "maximum"}, operation)) return {};
  const auto x = number_operand(operation, "x");
  return x ? x : number_operand(operation, "y");
}

const Operation* producer_of_input(const Operation& operation) {
  const Var* x = operation.input_var("x");
  return x == nullptr ? nullptr : x->producer;
}

// Whether something keeps the operation's input away from zero.
bool input_is_bounded(const Operation& operation) {
  const Operation* before = producer_of_input(operation);
  for (int step = 0; before != nullptr && step < kStepsToDivisor; ++step) {
    if (const auto bound = lower_bound(*before)) return *bound > 0;
    // A sum of exponentials is 0 only if all of them are.
    if (before->type() == "exp" || before->type() == "softplus") return true;
    const bool reduces = before->type().starts_with("reduce_");
    if (!keeps_zeros(*before) && !reduces) return false;
    before = producer_of_input(*before);
  }
  return false;
}

// Whether the value is a divisor, or is under a root or in a logarithm, within a few steps.
bool is_divisor(const FunctionView& function, const Var* var, int steps) {
  const auto& users = function.users(var);
  return std::any_of(users.begin(), users.end(), [&](const Operation* user) {
    if (user->outputs().empty()) return false;
    if (user->type() == "real_div") return user->input_var("y") == var;
    if (user->type() == "pow") {
      return user->input_var("x") == var && number_operand(*user, "y").value_or(0) < 0;
    }
    return steps > 0 && keeps_zeros(*user) && is_divisor(function, user->output(), steps - 1);
  });
}

// As stated in the program, otherwise the operation's default; nullopt if it is computed.
std::optional<double> epsilon_of(const Operation& operation) {
  if (operation.find_input("epsilon") != nullptr) return number_operand(operation, "epsilon");
  const mil::OpDef* op = mil::find_op(operation.type());
  if (op == nullptr) return {};
  for (const mil::Parameter& parameter : op->parameters) {
    const auto* number = std::get_if<double>(&parameter.default_value);
    if (parameter.name == "epsilon" && number != nullptr) {
      return mil::round_to_type(*number, mil::DataType::Float16);
    }
  }
  return {};
}

void check_epsilons(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const Operation* operation : function.running()) {
      if (!function.is_half(*operation)) continue;
      const bool guards = guards_input(*operation);
      if (guards || normalizes(*operation)) {
        if (epsilon_of(*operation) != 0.0 || (guards && input_is_bounded(*operation))) continue;
        findings.add(kEpsilon, function, *operation, "its epsilon is 0");
      } else if (lower_bound(*operation) == 0.0 &&
                 is_divisor(function, operation->output(), kStepsToDivisor)) {
        findings.add(kEpsilon, function, *operation, "0 keeps a divisor off 0");
      }
    }
  }
}

}  // namespace

const Group& epsilon_rules() {
  static const Group group = {{&kEpsilon}, check_epsilons};
  return group;
}

}  // namespace pippin::doctor
