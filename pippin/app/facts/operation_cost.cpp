#include "pippin/app/facts/operation_cost.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/ops/product.h"

namespace pippin::app {
namespace {

using mil::Operation;
using mil::Trait;
using mil::Var;

// Approximate number of additions and multiplications that a CPU with vector units does while it
// reads one byte from memory.
constexpr double kArithmeticPerByte = 16;

using Sizes = std::vector<double>;

double product_of(const Sizes& sizes) {
  double result = 1;
  for (const double size : sizes) result *= size;
  return result;
}

double at(const Sizes& sizes, int64_t axis) {
  return axis >= 0 && axis < static_cast<int64_t>(sizes.size()) ? sizes[static_cast<size_t>(axis)]
                                                                : 1;
}

double over(const Sizes& sizes, const mil::Product::Axes& axes) {
  double result = 1;
  for (const int64_t axis : axes) result *= at(sizes, axis);
  return result;
}

// The feature's default size of an axis; for images, of the tensor in the program.
std::optional<int64_t> default_size(const mil::Feature& feature, size_t axis, size_t rank) {
  if (feature.kind == mil::Feature::Kind::Image) {
    if (axis + 1 == rank) return feature.image.size.width;
    if (axis + 2 == rank) return feature.image.size.height;
    return std::nullopt;
  }
  if (feature.shape.size() != rank) return std::nullopt;
  return feature.shape[axis];
}

class FunctionCosts {
 public:
  FunctionCosts(const mil::Function& function, const mil::FunctionDescription& description)
      : function_(function) {
    std::map<std::string, mil::Shape> shapes;
    for (const auto& input : function.inputs) {
      shapes[input->name] = mil::to_shape(default_shape(*input, description));
    }
    try {
      inference_ = mil::infer(function, shapes);
    } catch (const Error& error) {
      // Only a run can determine them: use the declared types.
      log_debug("sizes of operations from their declared types: {}", error.what());
    }
  }

  std::vector<OperationCost> costs() {
    std::vector<OperationCost> result;
    mil::for_each_operation(function_.block(), [&](const Operation& operation) {
      result.push_back(cost_of(operation));
    });
    double total = 0;
    for (const OperationCost& cost : result) total += weight_of(cost);
    for (OperationCost& cost : result) {
      if (total > 0) cost.share = weight_of(cost) / total;
    }
    return result;
  }

 private:
  static double weight_of(const OperationCost& cost) {
    return cost.bytes + cost.arithmetic / kArithmeticPerByte;
  }

  static std::vector<int64_t> default_shape(const Var& input,
                                            const mil::FunctionDescription& description) {
    const mil::ValueType& type = input.type.is_state() ? input.type.parameters.at(0) : input.type;
    std::vector<int64_t> shape;
    const auto feature =
        std::find_if(description.inputs.begin(), description.inputs.end(),
                     [&](const mil::Feature& one) { return one.name == input.name; });
    const bool described = feature != description.inputs.end();
    if (!type.ranked && described) return feature->shape;
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      int64_t size = type.dims[axis];
      if (size < 0 && described) {
        size = default_size(*feature, axis, type.dims.size()).value_or(size);
      }
      shape.push_back(std::max<int64_t>(size, 1));
    }
    return shape;
  }

  static double number(const mil::Dim& dim) {
    const auto size_of = [](const mil::Dim::Atom& symbol) {
      const int64_t least = std::max<int64_t>(symbol.lower, 1);
      return symbol.upper < INT32_MAX ? std::max(symbol.upper, least) : least;
    };
    return static_cast<double>(std::max<int64_t>(dim.evaluate(size_of), 0));
  }

  Sizes sizes_of(const mil::ValueType& type) const {
    if (type.is_state()) return sizes_of(type.parameters.at(0));
    Sizes sizes;
    for (const int64_t dim : type.dims) sizes.push_back(static_cast<double>(dim < 0 ? 1 : dim));
    return sizes;
  }

  Sizes sizes_of(const Var& var) const {
    const auto found = inference_.values.find(&var);
    if (found == inference_.values.end()) return sizes_of(var.type);
    Sizes sizes;
    for (const mil::Dim& dim : found->second.shape) sizes.push_back(number(dim));
    return sizes;
  }

  Sizes sizes_of(const mil::Binding& binding) const {
    if (Var* const* var = std::get_if<Var*>(&binding)) return sizes_of(**var);
    return sizes_of(std::get<mil::Value>(binding).type);
  }

  Sizes sizes_of(const Operation& operation, std::string_view parameter) const {
    const mil::Argument* argument = operation.find_input(parameter);
    if (argument == nullptr || argument->empty()) return {};
    return sizes_of(argument->front());
  }

  double bytes_of(const Var& var) const {
    const Operation* producer = var.producer;
    if (producer != nullptr && mil::has_trait(*producer, Trait::Constant)) return stored(*producer);
    return product_of(sizes_of(var)) * mil::bit_width(data_type(var.type)) / 8;
  }

  double bytes_of(const mil::Binding& binding) const {
    if (Var* const* var = std::get_if<Var*>(&binding)) return bytes_of(**var);
    return bytes_of(std::get<mil::Value>(binding).type);
  }

  double bytes_of(const mil::ValueType& type) const {
    return product_of(sizes_of(type)) * mil::bit_width(data_type(type)) / 8;
  }

  static mil::DataType data_type(const mil::ValueType& type) {
    return type.is_state() ? data_type(type.parameters.at(0)) : type.data_type;
  }

  // The bytes of a constant, or of the data that a compressed one is computed from.
  double stored(const Operation& constant) const {
    if (const mil::Value* value = constant.constant_value()) return bytes_of(value->type);
    double bytes = 0;
    for (const auto& [name, argument] : constant.inputs()) {
      for (const mil::Binding& binding : argument) bytes += bytes_of(binding);
    }
    for (const auto& [name, value] : constant.attributes()) {
      if (value.type.is_tensor()) bytes += bytes_of(value.type);
    }
    return bytes;
  }

  OperationCost cost_of(const Operation& operation) const {
    OperationCost cost;
    cost.operation = &operation;
    cost.constant = mil::has_trait(operation, Trait::Constant);
    const bool moves_nothing = mil::has_trait(operation, Trait::View) || uses_state(operation);
    if (cost.constant || moves_nothing || !operation.blocks().empty()) return cost;
    if (const mil::Argument* update = in_place_update(operation)) {
      cost.bytes = 2 * bytes_of(update->front());
      cost.arithmetic = product_of(sizes_of(update->front()));
      return cost;
    }
    double written = 0;
    for (const auto& output : operation.outputs()) written += bytes_of(*output);
    cost.bytes = written + bytes_read(operation, written);
    cost.arithmetic = arithmetic_of(operation);
    return cost;
  }

  static bool uses_state(const Operation& operation) {
    const auto is_state = [](const mil::Binding& binding) {
      Var* const* var = std::get_if<Var*>(&binding);
      return var != nullptr && (*var)->type.is_state();
    };
    return std::any_of(operation.inputs().begin(), operation.inputs().end(), [&](const auto& one) {
      return std::any_of(one.second.begin(), one.second.end(), is_state);
    });
  }

  // The update written into a state that was read for it: the rest of the state is unchanged.
  static const mil::Argument* in_place_update(const Operation& operation) {
    const mil::Argument* update = operation.find_input("update");
    const Var* x = operation.input_var("x");
    if (update == nullptr || update->empty() || x == nullptr || x->producer == nullptr) {
      return nullptr;
    }
    return uses_state(*x->producer) ? update : nullptr;
  }

  double bytes_read(const Operation& operation, double written) const {
    const bool parts = mil::has_trait(operation, Trait::ReadsParts);
    std::set<const Var*> counted;
    double bytes = 0;
    for (const auto& [name, argument] : operation.inputs()) {
      for (const mil::Binding& binding : argument) {
        Var* const* var = std::get_if<Var*>(&binding);
        if (var != nullptr && !counted.insert(*var).second) continue;
        const double whole = bytes_of(binding);
        bytes += parts && name == "x" ? std::min(whole, written) : whole;
      }
    }
    return bytes;
  }

  double arithmetic_of(const Operation& operation) const {
    double elements = 0;
    for (const auto& output : operation.outputs()) elements += product_of(sizes_of(*output));
    if (mil::is_product(operation)) {
      if (const auto product = mil::product_of(operation)) {
        return arithmetic_of(*product, elements);
      }
    }
    if (operation.find_input("query") != nullptr) return attention(operation);
    if (operation.find_input("weight_hh") != nullptr) return recurrent(operation);
    // Reads each element of the larger side once.
    const double read = product_of(sizes_of(operation, "x"));
    return mil::has_trait(operation, Trait::ReadsParts) ? elements : std::max(elements, read);
  }

  // A multiplication and an addition for each element of the result times each summed one. For
  // convolutions that change the number of positions, the smaller number counts.
  double arithmetic_of(const mil::Product& product, double elements) const {
    const auto& [x, weight] = product.operands;
    if (weight.binding == nullptr || x.binding == nullptr) return elements;
    const Sizes sizes = sizes_of(*weight.binding);
    const double all = product_of(sizes);
    const double batch = over(sizes, weight.batch);
    const double for_result = all / std::max(1.0, batch * over(sizes, weight.own));
    const double for_x = all / std::max(1.0, batch * over(sizes, weight.summed));
    return 2 * std::min(elements * for_result, product_of(sizes_of(*x.binding)) * for_x);
  }

  // The scores, and the values in proportion.
  double attention(const Operation& operation) const {
    const Sizes query = sizes_of(operation, "query"), key = sizes_of(operation, "key");
    const Sizes value = sizes_of(operation, "value");
    const double depth = std::max(1.0, query.empty() ? 1 : query.back());
    const double keys = at(key, static_cast<int64_t>(key.size()) - 2);
    const double rows = product_of(query) / depth;
    return 2 * rows * keys * (depth + (value.empty() ? 1 : value.back()));
  }

  // Reads every weight once for each step of each sequence of x [steps, batch, columns].
  double recurrent(const Operation& operation) const {
    const Sizes x = sizes_of(operation, "x");
    double weights = 0;
    for (const auto& [name, argument] : operation.inputs()) {
      if (name.starts_with("weight")) weights += product_of(sizes_of(operation, name));
    }
    return 2 * weights * at(x, 0) * at(x, 1);
  }

  const mil::Function& function_;
  mil::Inference inference_;
};

}  // namespace

std::vector<OperationCost> operation_costs(const mil::Model& model, std::string_view function) {
  if (model.is_pipeline()) {
    fail(ErrorCode::Unsupported, "costs of a pipeline's operations: ask its stages for theirs");
  }
  if (model.is_tabular()) return {};
  const mil::FunctionDescription& description = model.description(function);
  return FunctionCosts(model.program.function(function), description).costs();
}

}  // namespace pippin::app
