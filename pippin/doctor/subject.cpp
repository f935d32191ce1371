#include "pippin/doctor/subject.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/check/infer.h"

namespace pippin::doctor {
namespace {

using mil::Operation;
using mil::Var;

// A flexible axis of an input, as declared by the model.
Extent declared_extent(const mil::Feature& feature, size_t axis) {
  Extent extent{1, kNoLimit};
  if (axis < feature.ranges.size()) {
    const mil::SizeRange& range = feature.ranges[axis];
    extent = {std::max<int64_t>(range.lower, 0), range.upper < 0 ? kNoLimit : range.upper};
  } else if (!feature.enumerated_shapes.empty()) {
    extent = {kNoLimit, 0};
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size()) return {1, kNoLimit};
      extent.lower = std::min(extent.lower, shape[axis]);
      extent.upper = std::max(extent.upper, shape[axis]);
    }
  } else if (axis < feature.shape.size()) {
    extent = {feature.shape[axis], feature.shape[axis]};
  }
  return extent.upper < extent.lower ? Extent{1, kNoLimit} : extent;
}

// So that no product of two sizes overflows.
int64_t bounded(int64_t size) {
  return std::clamp<int64_t>(size, 0, kNoLimit);
}

const mil::ValueType& tensor_of(const mil::ValueType& type) {
  return type.is_state() ? type.parameters.at(0) : type;
}

std::map<std::string, mil::Shape> input_shapes(const mil::Function& function,
                                               const mil::FunctionDescription& description) {
  std::map<std::string, mil::Shape> shapes;
  for (const auto& input : function.inputs) {
    const auto feature =
        std::find_if(description.inputs.begin(), description.inputs.end(),
                     [&](const mil::Feature& one) { return one.name == input->name; });
    mil::Shape shape;
    const auto& dims = tensor_of(input->type).dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      Extent extent{dims[axis], dims[axis]};
      if (dims[axis] < 0) {
        extent = feature == description.inputs.end() ? Extent{1, kNoLimit}
                                                     : declared_extent(*feature, axis);
      }
      shape.push_back(extent.fixed() ? mil::Dim(extent.lower)
                                     : mil::Dim::symbol(fmt::format("{}_{}", input->name, axis),
                                                        extent.lower, extent.upper));
    }
    shapes[input->name] = shape;
  }
  return shapes;
}

}  // namespace

std::string to_string(const Extent& extent) {
  if (extent.fixed()) return std::to_string(extent.lower);
  if (extent.upper >= kNoLimit) return fmt::format("{}..", extent.lower);
  return fmt::format("{}..{}", extent.lower, extent.upper);
}

struct FunctionView::Sizes {
  mil::Inference inference;
};

FunctionView::FunctionView(std::string name, const mil::Function& function,
                           const mil::FunctionDescription& description)
    : name_(std::move(name)),
      function_(&function),
      description_(&description),
      sizes_(std::make_unique<Sizes>()) {
  try {
    sizes_->inference = mil::infer(function, input_shapes(function, description));
  } catch (const Error& error) {
    // Only a run can determine them: use the declared types.
    log_debug("function '{}': sizes from declared types: {}", name_, error.what());
  }
  sort_operations();
}

FunctionView::~FunctionView() = default;
FunctionView::FunctionView(FunctionView&&) noexcept = default;

void FunctionView::sort_operations() {
  mil::for_each_operation(function_->block(), [&](const Operation& operation) {
    operations_.push_back(&operation);
    bool constant = mil::has_trait(operation, mil::Trait::Constant);
    bool reads = false, all_constant = true;
    for (const auto& [parameter, argument] : operation.inputs()) {
      for (const mil::Binding& binding : argument) {
        const auto* var = std::get_if<Var*>(&binding);
        if (var == nullptr) continue;
        reads = true;
        all_constant = all_constant && is_constant(*var);
        auto& users = users_[*var];
        if (users.empty() || users.back() != &operation) users.push_back(&operation);
      }
    }
    const mil::OpDef* op = mil::find_op(operation.type());
    const bool pure = op != nullptr && op->pure && operation.blocks().empty();
    constant = constant || (reads && all_constant && pure);
    if (constant) {
      for (const auto& output : operation.outputs()) constants_[output.get()] = true;
    } else {
      running_.push_back(&operation);
    }
  });
}

std::vector<Extent> FunctionView::extents(const Var& var) const {
  const auto found = sizes_->inference.values.find(&var);
  std::vector<Extent> result;
  if (found != sizes_->inference.values.end()) {
    for (const mil::Dim& dim : found->second.shape) {
      result.push_back({bounded(dim.lower()), bounded(std::max(dim.lower(), dim.upper()))});
    }
    return result;
  }
  for (const int64_t dim : tensor_of(var.type).dims) {
    result.push_back(dim < 0 ? Extent{0, kNoLimit} : Extent{bounded(dim), bounded(dim)});
  }
  return result;
}

std::vector<Extent> FunctionView::extents(const Operation& operation) const {
  if (operation.outputs().empty()) return {};
  return extents(*operation.output());
}

mil::DataType FunctionView::type_of(const Var& var) const {
  return tensor_of(var.type).data_type;
}

bool FunctionView::is_half(const Operation& operation) const {
  return !operation.outputs().empty() && operation.output()->type.is_tensor() &&
         type_of(*operation.output()) == mil::DataType::Float16;
}

bool FunctionView::is_constant(const mil::Binding& binding) const {
  const auto* var = std::get_if<Var*>(&binding);
  return var == nullptr || is_constant(*var);
}

const std::vector<const Operation*>& FunctionView::users(const Var* var) const {
  static const std::vector<const Operation*> none;
  const auto found = users_.find(var);
  return found == users_.end() ? none : found->second;
}

Subject::Subject(const mil::Model& examined, std::optional<Target> wanted)
    : model(examined), target(wanted) {
  for (const mil::FunctionDescription& description : model.functions) {
    const auto found = model.program.functions.find(description.name);
    if (found == model.program.functions.end()) continue;
    functions.emplace_back(description.name, *found->second, description);
  }
}

void Findings::add(const Rule& rule, Place place) {
  const auto found = std::find_if(found_.begin(), found_.end(),
                                  [&](const Finding& one) { return one.rule == &rule; });
  Finding& finding = found != found_.end() ? *found : found_.emplace_back(Finding{&rule, {}, {}});
  finding.places.push_back(std::move(place));
}

void Findings::add(const Rule& rule, const FunctionView& function, const Operation& operation,
                   std::string detail) {
  const std::string name = operation.outputs().empty()
                               ? operation.type()
                               : fmt::format("{} '{}'", operation.type(), operation.output()->name);
  add(rule, {function.name(), name, std::move(detail), &operation});
}

std::vector<Finding> Findings::take(const std::string& package) {
  std::vector<Finding> sorted;
  for (const Rule* rule : all_rules()) {
    for (Finding& finding : found_) {
      if (finding.rule != rule) continue;
      finding.package = package;
      sorted.push_back(std::move(finding));
    }
  }
  found_.clear();
  return sorted;
}

}  // namespace pippin::doctor
