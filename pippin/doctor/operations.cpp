// Operations that the Neural Engine lacks, or that are slow on it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr Rule kUnsupported = {
    .id = "unsupported-operation",
    .severity = Severity::Warning,
    .what = "Operations that the Neural Engine does not have",
    .why = "They run on the CPU or the GPU, and the function is cut in pieces around them",
    .source =
        "ane-guide, Capability surface; apple/coremltools#1780, #337; roboflow/rf-detr#1495; "
        "hollance/neural-engine, unsupported layers",
    .remedy =
        "Rewrite them with products, elementwise operations and masks, or move them to the "
        "beginning or end of the function",
    .keeps_off = true};

constexpr Rule kPadAxes = {
    .id = "pad-axes",
    .severity = Severity::Error,
    .what = "Padding by reflection or replication outside the last two axes",
    .why = "Core ML refuses it on every device: such modes pad the last two axes alone",
    .source = "webmachinelearning/webnn#739",
    .remedy =
        "Transpose so that the padded axes are the last two, or pad the others with slices and "
        "concat",
    .keeps_off = true};

constexpr Rule kSlow = {
    .id = "slow-operation",
    .severity = Severity::Note,
    .what = "Operations that are slow on the Neural Engine, or that only newer ones have",
    .why = "They run there as tables or in several passes",
    .source = "ane-guide, Capability surface; sbryngelson/ANEForge#8",
    .remedy =
        "Compute tables (sin, cos) beforehand and pass them as constants or inputs; keep "
        "windows of poolings small"};

struct Known {
  std::string_view type, reason;
};

constexpr std::array kWithout = {
    Known{"lstm", "recurrent cells run on the CPU"},
    Known{"gru", "recurrent cells run on the CPU"},
    Known{"rnn", "recurrent cells run on the CPU"},
    Known{"reduce_prod", "the engine has no product of an axis"},
    Known{"scatter", "the engine has no scatter"},
    Known{"scatter_along_axis", "the engine has no scatter"},
    Known{"scatter_nd", "the engine has no scatter"},
    Known{"topk", "sorted on the CPU"},
    Known{"argsort", "sorted on the CPU"},
    Known{"non_zero", "its result has no fixed size"},
    Known{"non_maximum_suppression", "runs on the CPU"},
    Known{"cumsum", "sums one after the other run on the CPU"},
    Known{"one_hot", "made on the CPU"},
    Known{"while_loop", "control flow runs on the CPU"},
    Known{"cond", "control flow runs on the CPU"},
    Known{"list_read", "lists live on the CPU"},
    Known{"list_write", "lists live on the CPU"},
    Known{"list_gather", "lists live on the CPU"},
    Known{"list_scatter", "lists live on the CPU"},
    Known{"make_list", "lists live on the CPU"},
    Known{"classify", "makes a dictionary"},
    Known{"random_normal", "random numbers are drawn on the CPU"},
    Known{"random_uniform", "random numbers are drawn on the CPU"},
    Known{"random_bernoulli", "random numbers are drawn on the CPU"},
    Known{"random_categorical", "random numbers are drawn on the CPU"},
    Known{"crop_resize", "boxes are cut on the CPU or GPU"},
    Known{"resample", "samples by coordinates need an A14 or later"},
};

constexpr std::array kTables = {
    Known{"sin", "needs an A15 or M2, or later"},
    Known{"cos", "needs an A15 or M2, or later"},
    Known{"tan", "a quotient of sin and cos"},
    Known{"asin", "computed on the CPU"},
    Known{"acos", "computed on the CPU"},
    Known{"atan", "in several passes"},
    Known{"sinh", "in several passes"},
    Known{"cosh", "in several passes"},
    Known{"einsum", "a transposition and a product where its equation is not one of attention's"},
};

// Per-head attention as in Apple's guide: products of 4 axes over channels.
bool is_attention(const mil::Operation& operation) {
  const mil::Value* equation = operation.constant_input("equation");
  if (equation == nullptr || equation->strings.empty()) return false;
  constexpr std::array<std::string_view, 4> kEquations = {"bkhc,bchq->bkhq", "bchk,bkhq->bchq",
                                                          "bchq,bkhc->bkhq", "bkhq,bchk->bchq"};
  std::string text = equation->strings.front();
  std::erase(text, ' ');
  return std::find(kEquations.begin(), kEquations.end(), text) != kEquations.end();
}

template <size_t N>
const Known* known(const std::array<Known, N>& table, std::string_view type) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Known& one) { return one.type == type; });
  return found == table.end() ? nullptr : found;
}

int64_t largest_of(const mil::Operation& operation, std::string_view parameter) {
  const mil::Value* value = operation.constant_input(parameter);
  if (value == nullptr || !value->type.is_tensor()) return 0;
  const std::vector<int64_t> numbers = value->to_ints();
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

// The mode of a padding that does not use a constant; empty for others.
std::string mode_of_padding(const mil::Operation& operation) {
  if (operation.type() != "pad") return {};
  const mil::Value* mode = operation.constant_input("mode");
  const bool constant =
      mode == nullptr || mode->strings.empty() || mode->strings.front() == "constant";
  return constant ? std::string() : mode->strings.front();
}

// `pad` has two numbers for each of the last axes: whether it pads axes before the last two.
bool pads_other_axes(const mil::Operation& operation) {
  constexpr size_t kLastTwo = 4;
  const mil::Value* pad = operation.constant_input("pad");
  if (pad == nullptr || !pad->type.is_tensor()) return false;
  const std::vector<int64_t> numbers = pad->to_ints();
  if (numbers.size() <= kLastTwo) return false;
  return std::any_of(numbers.begin(), numbers.end() - kLastTwo,
                     [](int64_t number) { return number != 0; });
}

// Reasons that depend on an operation's parameters rather than on its name.
std::string reason_by_parameters(const FunctionView& function, const mil::Operation& operation) {
  const std::string& type = operation.type();
  const bool convolution = type == "conv" || type == "conv_transpose";
  if (convolution && function.extents(operation).size() == 5) return "convolutions in 3-D";
  const std::string mode = mode_of_padding(operation);
  return mode.empty() ? mode : fmt::format("padding by \"{}\"", mode);
}

std::string slow_by_parameters(const mil::Operation& operation) {
  constexpr int64_t kLargePool = 13;
  const std::string& type = operation.type();
  const bool pools = type == "max_pool" || type == "avg_pool" || type == "l2_pool";
  if (!pools) return {};
  const int64_t kernel = largest_of(operation, "kernel_sizes");
  return kernel > kLargePool ? fmt::format("a window of {}", kernel) : std::string();
}

void check_operations(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Operation* operation : function.running()) {
      if (!mode_of_padding(*operation).empty() && pads_other_axes(*operation)) {
        findings.add(kPadAxes, function, *operation, reason_by_parameters(function, *operation));
      } else if (const Known* entry = known(kWithout, operation->type())) {
        findings.add(kUnsupported, function, *operation, std::string(entry->reason));
      } else if (std::string why = reason_by_parameters(function, *operation); !why.empty()) {
        findings.add(kUnsupported, function, *operation, std::move(why));
      } else if (const Known* slow = known(kTables, operation->type());
                 slow != nullptr && !is_attention(*operation)) {
        findings.add(kSlow, function, *operation, std::string(slow->reason));
      } else if (std::string pool = slow_by_parameters(*operation); !pool.empty()) {
        findings.add(kSlow, function, *operation, std::move(pool));
      }
    }
  }
}

}  // namespace

const Group& operation_rules() {
  static const Group group = {{&kPadAxes, &kUnsupported, &kSlow}, check_operations};
  return group;
}

}  // namespace pippin::doctor
