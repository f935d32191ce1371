#include "pippin/mil/check/infer.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "pippin/mil/ops/rules.h"
#include "pippin/mil/ops/written.h"

namespace pippin::mil {
namespace {

using InfoOf = std::function<const ValueInfo&(const Var*)>;
using InferBlock = std::function<Infos(const Block&, Infos)>;

// The value as a tensor if every element is a known number and there are only a few.
std::optional<Tensor> known_tensor(const ValueInfo& info) {
  if (info.kind != ValueType::Kind::Tensor) return std::nullopt;
  const auto shape = constant_shape(info.shape);
  if (!shape || num_elements(*shape) > kMaxElements) return std::nullopt;
  if (info.elements) {
    Tensor tensor(info.type, *shape);
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      const auto number = (*info.elements)[i].try_constant();
      if (!number) return std::nullopt;
      tensor.values[i] = static_cast<double>(*number);
    }
    return tensor;
  }
  const bool absent = info.constant == nullptr ||
                      (info.constant->blob.has_value() && info.constant->source == nullptr);
  if (absent) return std::nullopt;
  return to_tensor(*info.constant);
}

class Context final : public InferContext {
 public:
  Context(const Operation& operation, Opset opset, const InfoOf& info_of, const InferBlock& block,
          std::vector<Constraint>& constraints)
      : InferContext(operation, opset),
        info_of_(info_of),
        infer_block_(block),
        constraints_(constraints) {}

  const ValueInfo& input(std::string_view parameter) const override {
    const std::vector<const ValueInfo*> infos = inputs(parameter);
    if (infos.size() != 1) reject("{} takes one value, not {}", parameter, infos.size());
    return *infos[0];
  }

  std::vector<const ValueInfo*> inputs(std::string_view parameter) const override {
    const BoundArgument bound = find_argument(operation(), parameter);
    if (!bound) reject("{} is missing", parameter);
    if (bound.attribute != nullptr) return {&literal(*bound.attribute)};
    std::vector<const ValueInfo*> infos;
    for (const Binding& binding : *bound.argument) {
      if (const Value* value = std::get_if<Value>(&binding)) {
        infos.push_back(&literal(*value));
      } else {
        infos.push_back(&info_of_(std::get<Var*>(binding)));
      }
    }
    return infos;
  }

  void require_equal(const Dim& a, const Dim& b, std::string_view what) override {
    const auto known = known_equal(a, b);
    if (known == false) reject("{}: {} and {}", what, a.to_string(), b.to_string());
    if (!known) add_constraint(Constraint::Kind::Equal, a, b, what);
  }
  void require_at_least(const Dim& a, const Dim& b, std::string_view what) override {
    const auto less = known_less(a, b);
    if (less == true) reject("{}: {} is less than {}", what, a.to_string(), b.to_string());
    if (!less) add_constraint(Constraint::Kind::AtLeast, a, b, what);
  }
  Dim data_dependent(std::string_view name, const Dim& upper) override {
    const auto& results = operation().outputs();
    return Dim::symbol(
        fmt::format("{}.{}", results.empty() ? operation().type() : results[0]->name, name), 0,
        upper.upper());
  }

  std::vector<ValueInfo> infer_block(size_t index, std::vector<ValueInfo> infos) override {
    if (index >= operation().blocks().size()) reject("block {} is missing", index);
    // A rule that infers a block again replaces the constraints of the first attempt.
    const auto first = block_starts_.emplace(index, constraints_.size());
    if (!first.second) {
      constraints_.erase(constraints_.begin() + static_cast<ptrdiff_t>(first.first->second),
                         constraints_.end());
    }
    return infer_block_(*operation().blocks()[index], std::move(infos));
  }

 protected:
  std::optional<std::vector<double>> known_numbers(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    const ValueInfo& info = input(parameter);
    if (info.elements) {
      std::vector<double> numbers;
      for (const Dim& element : *info.elements) {
        if (!element.is_constant()) return std::nullopt;
        numbers.push_back(static_cast<double>(element.constant()));
      }
      return numbers;
    }
    if (info.constant == nullptr) return std::nullopt;
    if (!info.constant->type.is_tensor() || info.type == DataType::String) {
      reject("{} must be numbers", parameter);
    }
    return info.constant->to_doubles();
  }
  std::optional<std::string> known_string(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    const Value* value = input(parameter).constant;
    if (value == nullptr) return std::nullopt;
    return value->to_string_value();
  }

 private:
  const ValueInfo& literal(const Value& value) const {
    const auto it = literals_.find(&value);
    if (it != literals_.end()) return it->second;
    return literals_.emplace(&value, value_info(value)).first->second;
  }
  void add_constraint(Constraint::Kind kind, const Dim& a, const Dim& b, std::string_view what) {
    constraints_.push_back({kind, a, b, fmt::format("{}: {}", where(), what)});
  }

  const InfoOf& info_of_;
  const InferBlock& infer_block_;
  std::vector<Constraint>& constraints_;
  mutable std::map<const Value*, ValueInfo> literals_;
  std::map<size_t, size_t> block_starts_;
};

// Runs a value rule on the values known to inference: plain numbers or, for the parameter that the
// op only moves, positions in a list of expressions.
class ElementsContext final : public EvalContext {
 public:
  explicit ElementsContext(const InferContext& known)
      : EvalContext(known.operation(), known.opset()) {}

  // Returns false if a needed value is not known.
  bool load(const InferContext& known, const OpDef& def, bool move) {
    for (const Parameter& parameter : def.parameters) {
      if (!known.has(parameter.name)) continue;
      if (parameter.kind == Parameter::Kind::State) return false;
      for (const ValueInfo* info : known.inputs(parameter.name)) {
        auto tensor = move && parameter.name == def.moves ? places(*info) : known_tensor(*info);
        if (!tensor) return false;
        tensors_[std::string(parameter.name)].push_back(std::move(*tensor));
      }
    }
    return true;
  }
  const Dim& expression(double place) const { return expressions_.at(static_cast<size_t>(place)); }

  const Tensor& input(std::string_view parameter) const override {
    const auto it = tensors_.find(parameter);
    if (it == tensors_.end() || it->second.size() != 1) reject("{} takes one value", parameter);
    return it->second[0];
  }
  std::vector<const Tensor*> inputs(std::string_view parameter) const override {
    const auto it = tensors_.find(parameter);
    if (it == tensors_.end()) reject("{} is missing", parameter);
    std::vector<const Tensor*> result;
    for (const Tensor& tensor : it->second) result.push_back(&tensor);
    return result;
  }
  Tensor& state(std::string_view parameter) override { reject("{} is a state", parameter); }
  std::vector<Tensor> run_block(size_t index, std::vector<Tensor>) override {
    reject("block {} does not run here", index);
  }

 protected:
  std::optional<std::vector<double>> known_numbers(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    return input(parameter).values;
  }
  std::optional<std::string> known_string(std::string_view parameter) const override {
    if (!has(parameter)) return std::nullopt;
    return input(parameter).strings.at(0);
  }

 private:
  std::optional<Tensor> places(const ValueInfo& info) {
    const auto shape = constant_shape(info.shape);
    if (!shape || !info.elements) return std::nullopt;
    Tensor tensor(DataType::Float64, *shape);
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = static_cast<double>(expressions_.size());
      expressions_.push_back((*info.elements)[i]);
    }
    return tensor;
  }

  std::map<std::string, std::vector<Tensor>, std::less<>> tensors_;
  std::vector<Dim> expressions_;
};

// Fills in elements that the shape rule left open, if the value rule can compute them. Elements
// that it rejects stay open: the operation may be in a branch that is never taken; if it is taken,
// the run rejects it.
void find_elements(const Context& context, const OpDef& def, Infos& outputs) {
  const bool wanted = std::any_of(outputs.begin(), outputs.end(), [](const ValueInfo& info) {
    if (info.elements || info.constant != nullptr || !may_have_elements(info)) return false;
    const auto shape = constant_shape(info.shape);
    return shape && num_elements(*shape) <= kMaxElements;
  });
  if (!wanted || !def.pure || !context.operation().blocks().empty()) return;
  const bool move = !def.moves.empty();
  ElementsContext known(context);
  Tensors tensors;
  try {
    if (!known.load(context, def, move)) return;
    tensors = def.evaluate(known);
  } catch (const Error&) {
    return;
  }
  for (size_t i = 0; i < outputs.size() && i < tensors.size(); ++i) {
    if (outputs[i].elements || !may_have_elements(outputs[i])) continue;
    std::vector<Dim> elements;
    for (const double value : tensors[i].values) {
      elements.push_back(move ? known.expression(value)
                              : Dim(static_cast<int64_t>(round_to_type(value, outputs[i].type))));
    }
    outputs[i].elements = std::move(elements);
  }
}

void check_dictionary(Context& context, const Var& var, const ValueInfo& info) {
  const ValueType &key = var.type.parameters.at(0), &value = var.type.parameters.at(1);
  if (key.data_type != info.key_type || value.data_type != info.type) {
    context.reject("'{}' is declared {}, the op gives {} by {}", var.name, to_string(var.type),
                   to_string(info.type), to_string(info.key_type));
  }
}

// Adopts whatever the declared type knows in addition; rejects contradictions.
void check_declared(Context& context, const Var& var, ValueInfo& info) {
  if (var.type.kind != info.kind) {
    context.reject("'{}' is declared {}, which the op does not give", var.name,
                   to_string(var.type));
  }
  if (info.kind == ValueType::Kind::Dictionary) return check_dictionary(context, var, info);
  // The declared length of a list is its initial length.
  const ValueType& type = info.kind == ValueType::Kind::List ? var.type.parameters.at(0) : var.type;
  if (!type.is_tensor()) {
    refuse(context, "'{}' of type {}", var.name, to_string(var.type));
  }
  if (type.data_type != info.type) {
    context.reject("'{}' is declared {}, the op gives {}", var.name, to_string(type),
                   to_string(info.type));
  }
  const bool variadic =
      std::find(type.dims.begin(), type.dims.end(), kVariadicDim) != type.dims.end();
  if (!type.ranked || variadic) return;
  if (type.dims.size() != info.shape.size()) {
    context.reject("'{}' is declared {}, the op gives {}", var.name, to_string(type),
                   to_string(info.shape));
  }
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i] < 0 || info.shape[i] == Dim(type.dims[i])) continue;
    context.require_equal(info.shape[i], Dim(type.dims[i]),
                          fmt::format("'{}' is declared {}", var.name, to_string(type)));
    info.shape[i] = Dim(type.dims[i]);
  }
}

void check_outputs(Context& context, Infos& outputs) {
  const auto& declared = context.operation().outputs();
  if (outputs.size() != declared.size()) {
    context.reject("{} outputs are declared, the op has {}", declared.size(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) check_declared(context, *declared[i], outputs[i]);
}

// Checks that every parameter a rule needs is present, and that lists and strings occur only where
// the rule expects them.
void check_parameters(const Context& context, const OpDef& def) {
  for (const Parameter& parameter : def.parameters) {
    if (!context.has(parameter.name)) {
      if (!parameter.optional) context.reject("{} is missing", parameter.name);
      continue;
    }
    for (const ValueInfo* info : context.inputs(parameter.name)) {
      if (accepts(parameter, info->kind, info->type)) continue;
      context.reject("{} does not accept {}{}", parameter.name,
                     info->kind == ValueType::Kind::Tensor  ? ""
                     : info->kind == ValueType::Kind::List  ? "list of "
                     : info->kind == ValueType::Kind::State ? "state of "
                                                            : "dictionary of ",
                     to_string(info->type));
    }
  }
}

Infos infer_with(const Operation& operation, Opset opset, const InfoOf& info_of,
                 const InferBlock& infer_block, std::vector<Constraint>& constraints,
                 Purpose purpose) {
  Context context(operation, opset, info_of, infer_block, constraints);
  const OpDef* def = find_op(operation.type(), opset);
  if (def == nullptr) {
    fail(ErrorCode::Unsupported, "{}: the op is not supported in opset {}", context.where(),
         to_string(opset));
  }
  check_parameters(context, *def);
  Infos outputs = naming_limits(context, [&] { return def->infer(context); });
  if (purpose == Purpose::Write) check_written(context, outputs);
  if (!operation.outputs().empty() || outputs.empty()) {
    check_outputs(context, outputs);
  }
  find_elements(context, *def, outputs);
  return outputs;
}

class FunctionInference {
 public:
  FunctionInference(const Function& function, Inference& result)
      : opset_(function.opset_version()), result_(result) {}

  Infos block(const Block& block, Infos inputs) {
    if (inputs.size() != block.inputs().size()) {
      fail(ErrorCode::InvalidFile, "a nested block takes {} inputs, not {}", block.inputs().size(),
           inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      result_.values[block.inputs()[i].get()] = std::move(inputs[i]);
    }
    for (const auto& operation : block.operations()) infer_one(*operation);
    Infos outputs;
    for (const Var* var : block.outputs()) outputs.push_back(info_of(var));
    return outputs;
  }

 private:
  const ValueInfo& info_of(const Var* var) const {
    const auto it = result_.values.find(var);
    if (it == result_.values.end()) {
      fail(ErrorCode::InvalidFile, "'{}' is used before its definition", var->name);
    }
    return it->second;
  }
  void infer_one(const Operation& operation) {
    // Bodies of loops are inferred more than once, and bodies of nested loops even more often.
    if (++inferred_ > kMaxInferred) {
      fail(ErrorCode::LimitExceeded, "{}: loops nest too deep to infer the shapes in them",
           operation.type());
    }
    Infos infos = infer_with(
        operation, opset_, info_of_,
        [this](const Block& nested, Infos inputs) { return block(nested, std::move(inputs)); },
        result_.constraints, Purpose::Run);
    for (size_t i = 0; i < infos.size(); ++i) {
      result_.values[operation.output(i)] = std::move(infos[i]);
    }
  }

  static constexpr int64_t kMaxInferred = 2'000'000;

  Opset opset_;
  Inference& result_;
  int64_t inferred_ = 0;
  const InfoOf info_of_ = [this](const Var* var) -> const ValueInfo& { return info_of(var); };
};

ValueInfo input_info(const Var& var, const std::map<std::string, Shape>& input_shapes) {
  const ValueType& type = var.type.is_state() ? var.type.parameters.at(0) : var.type;
  if (!type.is_tensor()) {
    fail(ErrorCode::Unsupported, "input '{}' is {}; inputs can be tensors and states", var.name,
         to_string(var.type));
  }
  ValueInfo info;
  info.kind = var.type.kind;
  info.type = type.data_type;
  const auto given = input_shapes.find(var.name);
  if (given == input_shapes.end()) {
    if (!type.is_static()) {
      fail(ErrorCode::InvalidArgument, "input '{}' is {}: its shape must be given", var.name,
           to_string(type));
    }
    info.shape = to_shape(type.dims);
    return info;
  }
  info.shape = given->second;
  // Core ML describes rank-0 inputs to callers as [1].
  if (type.ranked && type.dims.empty() && info.shape == Shape{Dim(1)}) info.shape.clear();
  bool fits = !type.ranked || type.dims.size() == info.shape.size();
  for (size_t i = 0; fits && i < type.dims.size(); ++i) {
    fits = type.dims[i] < 0 || info.shape[i] == Dim(type.dims[i]);
  }
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "input '{}' is {}, not of shape {}", var.name, to_string(type),
         to_string(info.shape));
  }
  return info;
}

}  // namespace

Inference infer(const Function& function, const std::map<std::string, Shape>& input_shapes,
                const std::map<std::string, std::vector<Dim>>& input_elements) {
  Inference result;
  for (const auto& var : function.inputs) {
    ValueInfo& info = result.values[var.get()] = input_info(*var, input_shapes);
    const auto elements = input_elements.find(var->name);
    if (elements != input_elements.end()) info.elements = elements->second;
  }
  FunctionInference(function, result).block(function.block(), {});
  return result;
}

std::vector<ValueInfo> infer_operation(const Operation& operation, Opset opset,
                                       const std::function<const ValueInfo&(const Var*)>& info_of,
                                       std::vector<Constraint>& constraints, Purpose purpose) {
  return infer_with(
      operation, opset, info_of,
      [&](const Block&, Infos) -> Infos {
        fail(ErrorCode::Unsupported, "{}: nested blocks need the whole function", operation.type());
      },
      constraints, purpose);
}

}  // namespace pippin::mil
