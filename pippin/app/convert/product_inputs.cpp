#include "pippin/app/convert/product_inputs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "pippin/mil/ops/product.h"

namespace pippin::app {
namespace {

using compress::InputMoments;
using mil::Operation;
using mil::Var;

// The importance of a table's rows for themselves, relative to the mean of the head's inputs.
constexpr double kOwnImportance = 0.1;

// For products with a matrix as their weight.
std::optional<ProductInput> input_of_product(const Operation& operation,
                                             const mil::Product& product) {
  const auto& [given, weight] = product.operands;
  const Var* x = given.var();
  if (x == nullptr || mil::constant_of(x) != nullptr) return std::nullopt;
  if (!weight.batch.empty() || weight.own.size() != 1 || weight.summed.size() != 1 ||
      given.summed.size() != 1) {
    return std::nullopt;
  }
  const std::vector<int64_t>& dims = weight.var()->type.dims;
  for (const int64_t axis : weight.others) {
    if (dims[static_cast<size_t>(axis)] != 1) return std::nullopt;
  }
  const mil::Value* groups = operation.constant_input("groups");
  if (groups != nullptr && groups->to_ints() != std::vector<int64_t>{1}) return std::nullopt;
  const int64_t size = dims[static_cast<size_t>(weight.summed.front())];
  if (given.summed.front() == given.rank() - 1) return ProductInput{x, false, size, "", false};
  const bool channels_first = given.summed.front() == 1 && given.batch.empty() &&
                              !given.own.empty() && given.own.front() == 0;
  return channels_first ? std::optional(ProductInput{x, true, size, "", false}) : std::nullopt;
}

}  // namespace

ProductInputs::ProductInputs(const mil::Model& model) {
  std::set<const Var*> tables;
  std::map<const Var*, std::string> names;
  const mil::Block& block = model.program.function(model.default_function).block();
  for (const auto& operation : block.operations()) {
    if (operation->type() == "gather") tables.insert(operation->input_var("x"));
  }
  for (const auto& operation : block.operations()) {
    const auto product = mil::product_of(*operation);
    const Var* weight = product ? product->operands[1].var() : nullptr;
    if (weight == nullptr || mil::constant_of(weight) == nullptr) continue;
    if (weight->type.dims.size() < 2) continue;
    const bool is_table = tables.count(weight) != 0;
    if (is_table && product->operands[1].summed != std::vector<int64_t>{1}) continue;
    auto source = input_of_product(*operation, *product);
    if (!source) continue;
    source->is_table = is_table;
    source->name = names.emplace(source->var, weight->name).first->second;
    if (by_weight.emplace(weight->name, *source).second) order.push_back(weight->name);
  }
}

const ProductInput* ProductInputs::find(const std::string& weight) const {
  const auto found = by_weight.find(weight);
  return found == by_weight.end() ? nullptr : &found->second;
}

void add_output(const ProductInput& input, const engine::Execution& execution, size_t output,
                ThreadPool& pool, compress::InputMoments& moments) {
  const std::span<const float> values = execution.float_output(output);
  const int64_t size = input.size;
  const auto count = static_cast<int64_t>(values.size()) / size;
  if (!input.channels_first) return add_inputs(moments, values.data(), count, pool);
  const std::vector<int64_t> shape = execution.output_shape(output);
  const int64_t batch = shape.at(0), places = count / std::max<int64_t>(batch, 1);
  std::vector<float> turned(values.size());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < size; ++c) {
      for (int64_t p = 0; p < places; ++p) {
        turned[static_cast<size_t>((b * places + p) * size + c)] =
            values[static_cast<size_t>((b * size + c) * places + p)];
      }
    }
  }
  add_inputs(moments, turned.data(), count, pool);
}

std::shared_ptr<const InputMoments> weighted_moments(const ProductInput& input,
                                                     std::shared_ptr<const InputMoments> moments) {
  if (!input.is_table) return moments;
  auto result = std::make_shared<InputMoments>(*moments);
  double trace = 0;
  const auto place = [&](int64_t i) { return static_cast<size_t>(i * (input.size + 1)); };
  for (int64_t i = 0; i < input.size; ++i) trace += double{result->products[place(i)]};
  const double own = kOwnImportance * trace / static_cast<double>(input.size);
  for (int64_t i = 0; i < input.size; ++i) {
    result->products[place(i)] += static_cast<float>(own);
  }
  return result;
}

}  // namespace pippin::app
