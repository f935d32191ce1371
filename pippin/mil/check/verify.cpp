#include "pippin/mil/check/verify.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/check/verify_op.h"
#include "pippin/mil/limits.h"
#include "pippin/mil/scope.h"

namespace pippin::mil {
namespace {

void check_text(const std::string& text, std::string_view what) {
  if (!is_valid_utf8(text)) fail(ErrorCode::InvalidFile, "{} is not UTF-8", what);
}

void check_value(const Value& value, int depth = 0);

// `depth` counts the enclosing types and constants.
void check_type(const ValueType& type, int depth = 0) {
  if (depth > kMaxValueDepth) {
    fail(ErrorCode::LimitExceeded, "types and constants nest deeper than {}", kMaxValueDepth);
  }
  const size_t count = type.parameters.size();
  bool good = true;
  switch (type.kind) {
    case ValueType::Kind::Tensor:
      good = good && count == 0 && std::ssize(type.dims) <= kMaxRank &&
             (type.ranked || type.dims.empty()) &&
             data_type_from_number(static_cast<int64_t>(type.data_type)).has_value() &&
             std::all_of(type.dims.begin(), type.dims.end(),
                         [](int64_t dim) { return dim >= kVariadicDim; });
      break;
    case ValueType::Kind::List:
      good = good && count == 1 && type.list_length >= kVariadicDim;
      break;
    case ValueType::Kind::Tuple:
      break;
    case ValueType::Kind::Dictionary:
      good = good && count == 2;
      break;
    case ValueType::Kind::State:
      good = good && depth == 0 && count == 1 && type.parameters[0].is_tensor();
      break;
  }
  if (!good) fail(ErrorCode::InvalidFile, "a malformed type");
  for (const ValueType& parameter : type.parameters) check_type(parameter, depth + 1);
  if (type.attributes == nullptr) return;
  if (!type.is_tensor()) fail(ErrorCode::InvalidFile, "a malformed type");
  for (const auto& [name, value] : type.attributes->values) {
    check_text(name, "an attribute's name");
    check_value(value, depth + 1);
  }
}

// Whether a value of type `actual` may be used where `declared` is written; unknown dimensions of
// the declaration accept any size.
bool fits(const ValueType& actual, const ValueType& declared) {
  if (actual.kind != declared.kind || actual.parameters.size() != declared.parameters.size()) {
    return false;
  }
  if (actual.is_tensor()) {
    if (actual.data_type != declared.data_type) return false;
    const bool open = !declared.ranked || std::find(declared.dims.begin(), declared.dims.end(),
                                                    kVariadicDim) != declared.dims.end();
    return open || std::equal(actual.dims.begin(), actual.dims.end(), declared.dims.begin(),
                              declared.dims.end(),
                              [](int64_t a, int64_t d) { return a == d || d == kUnknownDim; });
  }
  return std::equal(actual.parameters.begin(), actual.parameters.end(), declared.parameters.begin(),
                    fits);
}

void check_tensor(const Value& value) {
  if (!value.type.is_static()) {
    fail(ErrorCode::InvalidFile, "a constant of type {}", to_string(value.type));
  }
  const auto count = static_cast<uint64_t>(value.type.num_elements());
  if (value.type.data_type == DataType::String) {
    if (value.strings.size() != count || value.blob || value.source != nullptr) {
      fail(ErrorCode::InvalidFile, "a {} with {} strings", to_string(value.type),
           value.strings.size());
    }
    for (const std::string& text : value.strings) check_text(text, "a string");
    return;
  }
  if (value.blob) check_text(value.blob->path, "a weight file's path");
  const uint64_t expected = packed_size(value.type.data_type, static_cast<int64_t>(count));
  if (value.source == nullptr && value.blob) return;  // text without weights
  const uint64_t found = value.source != nullptr ? value.source->size() : value.bytes.size();
  if (found != expected) {
    fail(ErrorCode::InvalidFile, "a {} needs {} bytes, the constant has {}", to_string(value.type),
         expected, found);
  }
}

void check_value(const Value& value, int depth) {
  check_type(value.type, depth);
  check_text(value.doc_string, "a constant's description");
  const auto& parameters = value.type.parameters;
  if (value.type.is_tensor()) return check_tensor(value);
  const size_t count = value.elements.size();
  const bool known_length = value.type.kind == ValueType::Kind::List && value.type.list_length >= 0;
  if (value.type.is_state() ||
      (value.type.kind == ValueType::Kind::Tuple && count != parameters.size()) ||
      (value.type.kind == ValueType::Kind::Dictionary && count % 2 != 0) ||
      (known_length && count != static_cast<size_t>(value.type.list_length))) {
    fail(ErrorCode::InvalidFile, "a {} of {} elements", to_string(value.type), count);
  }
  for (size_t i = 0; i < count; ++i) {
    check_value(value.elements[i], depth + 1);
    if (!fits(value.elements[i].type, parameters[i % parameters.size()])) {
      fail(ErrorCode::InvalidFile, "a {} in a {}", to_string(value.elements[i].type),
           to_string(value.type));
    }
  }
}

void check_attributes(const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    check_text(name, "an attribute's name");
    const Value& checked = value;
    with_context(fmt::format("attribute '{}'", name), [&] { check_value(checked); });
  }
}

class FunctionVerifier {
 public:
  explicit FunctionVerifier(const Function& function) : function_(function) {}

  void verify() {
    check_text(function_.opset, "the opset");
    check_attributes(function_.attributes);
    for (const auto& input : function_.inputs) define(*input, nullptr, true);
    function_.block();  // throws if it is missing
    const Scope inputs = scope_;
    for (const auto& [opset, block] : function_.specializations) {
      check_text(opset, "an opset");
      scope_ = inputs;
      opset_ = parse_opset(opset);
      with_context(fmt::format("block for {}", opset), [&, &body = *block] {
        if (!body.inputs().empty()) fail(ErrorCode::InvalidFile, "has inputs of its own");
        verify_block(body, 0);
      });
    }
  }

 private:
  void define(Var& var, const Operation* producer, bool may_be_state) {
    check_text(var.name, "a name");
    with_context(fmt::format("'{}'", var.name), [&] {
      check_type(var.type);
      if (var.type.is_state() && !may_be_state) {
        fail(ErrorCode::InvalidFile, "only a function's inputs can be states");
      }
      if (var.producer != producer) {
        fail(ErrorCode::InvalidFile, "does not name the operation that defines it");
      }
    });
    scope_.define(&var);
  }

  void check_use(const Var* var) {
    if (var == nullptr) fail(ErrorCode::InvalidFile, "bound to nothing");
    if (scope_.at(var->name) != var) {
      fail(ErrorCode::InvalidFile, "'{}' is a value of another function", var->name);
    }
  }

  void verify_block(const Block& block, int depth) {
    if (depth > kMaxBlockDepth) {
      fail(ErrorCode::LimitExceeded, "blocks nest deeper than {}", kMaxBlockDepth);
    }
    scope_.open_block();
    for (const auto& input : block.inputs()) define(*input, nullptr, false);
    for (const auto& operation : block.operations()) {
      const auto& outputs = operation->outputs();
      const std::string name = outputs.empty() ? "" : " '" + outputs[0]->name + "'";
      with_context(operation->type() + name, [&] { verify_operation(*operation, depth); });
    }
    for (const Var* output : block.outputs()) {
      with_context("block output", [&] { check_use(output); });
    }
    check_attributes(block.attributes());
    scope_.close_block();
  }

  void verify_operation(const Operation& operation, int depth) {
    check_text(operation.type(), "an operation's type");
    if (operation.type().empty()) fail(ErrorCode::InvalidFile, "an operation without a type");
    for (const auto& [parameter, argument] : operation.inputs()) {
      check_text(parameter, "a parameter's name");
      with_context(fmt::format("parameter '{}'", parameter), [&, &bindings = argument] {
        for (const Binding& binding : bindings) {
          if (const Value* value = std::get_if<Value>(&binding)) {
            check_value(*value);
          } else {
            check_use(std::get<Var*>(binding));
          }
        }
      });
    }
    check_attributes(operation.attributes());
    for (const auto& block : operation.blocks()) verify_block(*block, depth + 1);
    for (const auto& output : operation.outputs()) define(*output, &operation, false);
    if (operation.type() == "const") {
      check_const(operation);
    } else if (opset_) {
      verify_against_table(operation, *opset_);
    }
  }

  static void check_const(const Operation& operation) {
    const Value* value = operation.constant_value();
    if (value == nullptr || operation.outputs().size() != 1 || !operation.inputs().empty() ||
        !operation.blocks().empty()) {
      fail(ErrorCode::InvalidFile, "not one output with the attribute 'val'");
    }
    if (!fits(value->type, operation.output()->type)) {
      fail(ErrorCode::InvalidFile, "a {} with a value of type {}",
           to_string(operation.output()->type), to_string(value->type));
    }
  }

  const Function& function_;
  std::optional<Opset> opset_;  // of the block; nullopt if the table does not know it
  Scope scope_;
};

}  // namespace

void verify(const Program& program) {
  if (program.version != 1) {
    fail(ErrorCode::Unsupported, "program version {}, 1 is known", program.version);
  }
  if (program.functions.empty()) fail(ErrorCode::InvalidFile, "a program without functions");
  check_text(program.doc_string, "the program's description");
  check_attributes(program.attributes);
  for (const auto& [name, function] : program.functions) {
    check_text(name, "a function's name");
    if (name.empty()) fail(ErrorCode::InvalidFile, "a function without a name");
    const Function& body = *function;
    with_context(fmt::format("function '{}'", name), [&] { FunctionVerifier(body).verify(); });
  }
}

}  // namespace pippin::mil
