#include "pippin/mil/networks/simplify_rules.h"

#include <algorithm>

#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {
namespace {

std::string text_or(const Operation& operation, std::string_view parameter, std::string absent) {
  const Value* value = operation.constant_input(parameter);
  return value == nullptr ? std::move(absent) : value->to_string_value();
}

Argument of(const Operation& operation, std::string_view parameter) {
  return *operation.find_input(parameter);
}

// -x, as a multiplication or an activation.
bool negates(const Operation& operation) {
  if (operation.type() == "linear_activation") {
    return constant_number(operation, "alpha") == -1.0 && constant_number(operation, "beta") == 0.0;
  }
  return operation.type() == "mul" && constant_number(operation, "y") == -1.0;
}

const Operation* own_negation(const Operation& operation, const Rewriting& rewriting) {
  for (const std::string_view type : {"linear_activation", "mul"}) {
    const Operation* found = own_producer(operation, "x", type, rewriting);
    if (found != nullptr && negates(*found)) return found;
  }
  return nullptr;
}

// The amounts before and after rows and columns; nothing if other axes or other numbers than zeros
// are padded.
std::optional<std::vector<double>> zero_border(const Operation& pad) {
  auto amounts = constant_numbers(pad, "pad");
  if (!amounts || text_or(pad, "mode", "constant") != "constant" ||
      constant_number(pad, "constant_val").value_or(0) != 0 || amounts->size() < 4) {
    return std::nullopt;
  }
  const auto others = amounts->end() - 4;
  if (std::any_of(amounts->begin(), others, [](double amount) { return amount != 0; })) {
    return std::nullopt;
  }
  amounts->erase(amounts->begin(), others);
  return amounts;
}

// Whether every window of a maximum contains an element of its input, none of which is below 0:
// then zeros around it change nothing.
bool ignores_zeros(const Operation& pool, const Operation& pad,
                   const std::vector<double>& amounts) {
  const Var* x = pad.input_var("x");
  const bool positive = x != nullptr && x->producer != nullptr &&
                        (x->producer->type() == "relu" || x->producer->type() == "relu6");
  const auto kernel = constant_numbers(pool, "kernel_sizes");
  if (!positive || !kernel || kernel->size() != 2) return false;
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] >= (*kernel)[i / 2]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<double>> constant_numbers(const Operation& operation,
                                                    std::string_view parameter, int64_t most) {
  const Value* value = operation.constant_input(parameter);
  if (value == nullptr || value->type.kind != ValueType::Kind::Tensor ||
      value->type.data_type == DataType::String || value->type.num_elements() > most) {
    return std::nullopt;
  }
  return value->to_doubles();
}

std::optional<double> constant_number(const Operation& operation, std::string_view parameter) {
  const auto numbers = constant_numbers(operation, parameter, 1);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

const Operation* own_producer(const Operation& operation, std::string_view parameter,
                              std::string_view type, const Rewriting& rewriting) {
  const Var* var = operation.input_var(parameter);
  if (var == nullptr || var->producer == nullptr || var->producer->type() != type ||
      !rewriting.read_once(var)) {
    return nullptr;
  }
  return var->producer;
}

std::unique_ptr<Operation> copied(const Operation& operation) {
  auto copy = std::make_unique<Operation>(operation.type());
  copy->inputs() = operation.inputs();
  copy->attributes() = operation.attributes();
  return copy;
}

std::unique_ptr<Operation> fold_padding(const Operation& last, const Rewriting& rewriting) {
  if (last.type() != "conv" && last.type() != "max_pool") return nullptr;
  const Operation* pad = own_producer(last, "x", "pad", rewriting);
  const std::string type = text_or(last, "pad_type", "valid");
  if (pad == nullptr || (type != "valid" && type != "custom")) return nullptr;
  auto amounts = zero_border(*pad);
  if (!amounts || last.output()->type.dims.size() != 4) return nullptr;
  auto own = std::vector<double>(4, 0);
  if (type == "custom") own = constant_numbers(last, "pad").value_or(own);
  if (own.size() != 4) return nullptr;
  for (size_t i = 0; i < own.size(); ++i) (*amounts)[i] += own[i];
  if (last.type() == "max_pool" && !ignores_zeros(last, *pad, *amounts)) return nullptr;
  auto result = copied(last);
  result->inputs()["x"] = of(*pad, "x");
  result->inputs()["pad_type"] = {text("custom")};
  result->inputs()["pad"] = {integers({amounts->begin(), amounts->end()})};
  return result;
}

// relu(-max(-x, -6)) and such.
std::unique_ptr<Operation> fold_clamp(const Operation& last, const Rewriting& rewriting) {
  if (!negates(last)) return nullptr;
  const Operation* threshold = own_producer(last, "x", "threshold", rewriting);
  const Operation* inner = threshold == nullptr ? nullptr : own_negation(*threshold, rewriting);
  const auto least = threshold == nullptr ? std::nullopt : constant_number(*threshold, "alpha");
  if (inner == nullptr || !least || *least > 0) return nullptr;
  const Operation* relu = own_producer(*inner, "x", "relu", rewriting);
  const auto most = static_cast<float>(-*least);
  if (relu == nullptr) {
    auto result = std::make_unique<Operation>("minimum");
    result->inputs()["x"] = of(*inner, "x");
    result->inputs()["y"] = {number(most)};
    return result;
  }
  auto result = std::make_unique<Operation>(most == 6 ? "relu6" : "clip");
  result->inputs()["x"] = of(*relu, "x");
  if (most != 6) {
    result->inputs()["alpha"] = {number(0)};
    result->inputs()["beta"] = {number(most)};
  }
  return result;
}

}  // namespace pippin::mil::networks
