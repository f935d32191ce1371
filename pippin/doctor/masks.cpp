// Masks added to scores before a softmax, and the operations after it.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/doctor/mask_constants.h"
#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

constexpr double kLargestHalf16 = 65504;
constexpr int kMostSteps = 12;
constexpr int64_t kMostElements = int64_t{1} << 22;

constexpr Rule kMask = {
    .id = "softmax-mask",
    .severity = Severity::Warning,
    .what = "A softmax's mask makes NaN in fp16",
    .why =
        "Infinity times 0 is NaN, a number beyond 65504 is infinite in fp16, and a row that is "
        "masked as a whole has no largest element",
    .source = "cactus-compute/cactus#734; IEEE 754",
    .remedy =
        "Mask with a finite number that fp16 has, such as -40000 (--fix writes it into "
        "constants)",
    .fixable = true};

constexpr Rule kInfinite = {
    .id = "infinite-mask",
    .severity = Severity::Note,
    .what = "A softmax's mask has -infinity",
    .why = "A row in which nothing is seen (padding) becomes NaN, which later products spread",
    .source = "cactus-compute/cactus#734",
    .remedy = "Where rows may be masked as a whole, mask with -40000"};

constexpr Rule kLogSoftmax = {
    .id = "log-softmax",
    .severity = Severity::Warning,
    .what = "log of a softmax in fp16",
    .why = "Probabilities below 6e-8 are 0 in fp16, and their logarithm is -infinity",
    .source = "apple/coremltools#2728",
    .remedy = "Write x - m - log(sum(exp(x - m))) with m = max(x)"};

// Operations through which a mask reaches the scores.
bool carries(const std::string& type) {
  constexpr std::array kCarriers = {"add",    "sub",       "select",         "mul",
                                    "cast",   "reshape",   "squeeze",        "expand_dims",
                                    "concat", "transpose", "slice_by_index", "slice_by_size",
                                    "tile",   "where",     "maximum",        "minimum"};
  return std::find(kCarriers.begin(), kCarriers.end(), type) != kCarriers.end();
}

class MaskWalk {
 public:
  explicit MaskWalk(std::vector<MaskConstant>& found) : found_(found) {}

  void visit(const Var* var, int steps = kMostSteps) {
    if (var == nullptr || steps == 0 || !seen_.insert(var).second) return;
    const Operation* operation = var->producer;
    if (operation == nullptr || !carries(operation->type())) return;
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) inspect(*operation, name, binding, steps);
    }
  }

 private:
  void inspect(const Operation& operation, const std::string& name, const mil::Binding& binding,
               int steps) {
    if (name == "cond") return;
    const auto* var = std::get_if<Var*>(&binding);
    const mil::Value* value =
        var == nullptr ? &std::get<mil::Value>(binding) : mil::constant_of(*var);
    if (value == nullptr) return visit(*var, steps - 1);
    const mil::ValueType& type = value->type;
    if (!type.is_tensor() || !mil::is_float(type.data_type) || !type.is_static()) return;
    if (type.num_elements() > kMostElements) return;
    if (value->source == nullptr && value->blob) return;  // text without its weights
    found_.push_back({&operation, value});
  }

  std::vector<MaskConstant>& found_;
  std::set<const Var*> seen_;
};

// Whether a row of the last axis has no finite element.
bool has_masked_row(const mil::ValueType& type, const std::vector<double>& values) {
  if (type.dims.empty() || type.dims.back() < 2) return false;
  const auto row = static_cast<size_t>(type.dims.back());
  for (size_t start = 0; start + row <= values.size(); start += row) {
    const bool all = std::all_of(values.begin() + static_cast<std::ptrdiff_t>(start),
                                 values.begin() + static_cast<std::ptrdiff_t>(start + row),
                                 [](double x) { return std::isinf(x) && x < 0; });
    if (all) return true;
  }
  return false;
}

void measure(MaskConstant& mask, const std::vector<double>& values) {
  for (const double value : values) {
    if (std::isinf(value)) mask.infinite = true;
    if (std::isfinite(value) && std::abs(value) > kLargestHalf16) mask.beyond = value;
  }
  mask.masked_row = mask.infinite && has_masked_row(mask.value->type, values);
}

// Reads elements once, however many layers use them.
void measure(std::vector<MaskConstant>& masks) {
  std::map<const mil::Value*, const MaskConstant*> measured;
  for (MaskConstant& mask : masks) {
    const auto [known, is_new] = measured.emplace(mask.value, &mask);
    if (!is_new) {
      mask.infinite = known->second->infinite;
      mask.masked_row = known->second->masked_row;
      mask.beyond = known->second->beyond;
      continue;
    }
    try {
      measure(mask, mask.value->to_doubles());
    } catch (const Error& error) {
      log_debug("a mask cannot be read: {}", error.what());  // its file is absent
    }
  }
}

std::string fault_of(const MaskConstant& mask) {
  if (mask.infinite && mask.operation->type() == "mul") return "infinity times what may be 0";
  if (mask.masked_row) return "a row of -infinity alone";
  return mask.beyond == 0 ? std::string() : fmt::format("{:g} is infinite in fp16", mask.beyond);
}

void check_masks(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const MaskConstant& mask : mask_constants(function)) {
      if (std::string fault = fault_of(mask); !fault.empty()) {
        findings.add(kMask, function, *mask.operation, std::move(fault));
      } else if (mask.infinite) {
        findings.add(kInfinite, function, *mask.operation);
      }
    }
    for (const Operation* operation : function.running()) {
      const Var* x = operation->type() == "log" ? operation->input_var("x") : nullptr;
      if (x == nullptr || x->producer == nullptr || x->producer->type() != "softmax") continue;
      if (function.type_of(*x) == mil::DataType::Float16) {
        findings.add(kLogSoftmax, function, *operation);
      }
    }
  }
}

}  // namespace

std::vector<MaskConstant> mask_constants(const FunctionView& function) {
  std::vector<MaskConstant> found;
  MaskWalk walk(found);
  for (const Operation* operation : function.running()) {
    if (operation->type() == "softmax") walk.visit(operation->input_var("x"));
    if (operation->type() == "scaled_dot_product_attention") {
      walk.visit(operation->input_var("attn_mask"));
    }
  }
  measure(found);
  return found;
}

bool is_bad_mask(const MaskConstant& mask) {
  return !fault_of(mask).empty();
}

const Group& mask_rules() {
  static const Group group = {{&kMask, &kInfinite, &kLogSoftmax}, check_masks};
  return group;
}

}  // namespace pippin::doctor
