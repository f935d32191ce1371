#include "pippin/runtime/package/vocabulary.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "pippin/mil/ops/op.h"

namespace pippin::runtime {
namespace {

const mil::Function* find_function(const mil::Model& model, const std::string& name) {
  const auto found = model.program.functions.find(name);
  return found == model.program.functions.end() ? nullptr : found->second.get();
}

// Whether the results are still ids: the same ids in another type or shape, or with negative ids
// wrapped around.
bool keeps_ids(const mil::Operation& operation) {
  const mil::OpDef* op = mil::find_op(operation.type());
  return op != nullptr &&
         (op->traits.has(mil::Trait::View) || op->traits.has(mil::Trait::Converts) ||
          op->traits.has(mil::Trait::Elementwise));
}

// The axis of the table that the indices select from.
size_t axis_of(const mil::Operation& gather, int64_t rank) {
  const mil::Value* value = gather.constant_input("axis");
  const std::vector<int64_t> numbers = value == nullptr ? std::vector<int64_t>() : value->to_ints();
  const int64_t axis = numbers.empty() ? 0 : numbers.front();
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

// The most numbers per token of a declared output; 0: unknown.
int64_t declared_width(const mil::Model& model, const StepSchema& step, const std::string& name) {
  for (const mil::Feature& output : model.description(step.function).outputs) {
    if (output.name != name || output.shape.empty()) continue;
    return *std::max_element(output.shape.begin(), output.shape.end());
  }
  const mil::Function* function = find_function(model, step.function);
  if (function == nullptr) return 0;
  for (const mil::Var* output : function->block().outputs()) {
    if (output->name != name || output->type.dims.empty()) continue;
    const auto& dims = output->type.dims;
    return std::max<int64_t>(*std::max_element(dims.begin(), dims.end()), 0);
  }
  return 0;
}

}  // namespace

std::optional<int64_t> embedding_rows(const mil::Model& model, const StepSchema& step) {
  const mil::Function* function = find_function(model, step.function);
  if (function == nullptr || !step.takes_ids) return std::nullopt;
  std::set<const mil::Var*> ids;
  for (const auto& input : function->inputs) {
    if (input->name == step.tokens) ids.insert(input.get());
  }
  std::optional<int64_t> rows;
  mil::for_each_operation(function->block(), [&](const mil::Operation& operation) {
    const auto takes_ids = [&](std::string_view parameter) {
      return ids.count(operation.input_var(parameter)) > 0;
    };
    if (operation.type() == "gather" && takes_ids("indices")) {
      const mil::Var* table = operation.input_var("x");
      if (table == nullptr || table->type.dims.empty()) return;
      const auto& dims = table->type.dims;
      const size_t axis = axis_of(operation, std::ssize(dims));
      if (axis < dims.size() && dims[axis] > 0) rows = std::max(rows.value_or(0), dims[axis]);
      return;
    }
    if (!keeps_ids(operation)) return;
    for (const auto& [parameter, argument] : operation.inputs()) {
      for (const mil::Binding& binding : argument) {
        mil::Var* const* var = std::get_if<mil::Var*>(&binding);
        if (var == nullptr || ids.count(*var) == 0) continue;
        for (const auto& output : operation.outputs()) ids.insert(output.get());
      }
    }
  });
  return rows;
}

std::optional<std::string> not_logits(const mil::Model& model, const StepSchema& step) {
  constexpr std::string_view kWhatRuns =
      "it writes no text (`pippin embed` and `pippin rerank` run encoders, `pippin predict` any "
      "package)";
  const bool is_embedding =
      step.gives_logits() &&
      std::all_of(step.logits.begin(), step.logits.end(), [](const std::string& name) {
        return name.find("embed") != name.npos || name.find("pool") != name.npos;
      });
  if (is_embedding) {
    return fmt::format("it is an encoder, whose output is '{}'; {}", step.logits.front(),
                       kWhatRuns);
  }
  const auto rows = embedding_rows(model, step);
  if (!rows || !step.gives_logits()) return std::nullopt;
  int64_t width = 0;
  for (const std::string& part : step.logits) {
    const int64_t one = declared_width(model, step, part);
    if (one == 0) return std::nullopt;
    width += one;
  }
  if (width * 2 >= *rows) return std::nullopt;
  return fmt::format(
      "it is an encoder or a classifier: '{}' holds {} numbers, and the vocabulary has {} tokens; "
      "{}",
      step.logits.front(), width, *rows, kWhatRuns);
}

}  // namespace pippin::runtime
