// Prints programs as text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/text/lexer.h"
#include "pippin/mil/text/names.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

std::string spell_float(DataType type, uint64_t bits) {
  const double value = bits_to_double(type, bits);
  if (std::isnan(value)) {
    const bool plain = bits == float_to_bits(type, std::numeric_limits<double>::quiet_NaN());
    return plain ? "nan" : fmt::format("nan(0x{:x})", bits);
  }
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "inf";
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), std::fabs(value), std::chars_format::hex);
  return sign + "0x" + std::string(digits, end.ptr);
}

bool has_attributes(const ValueType& type) {
  return type.attributes != nullptr ||
         std::any_of(type.parameters.begin(), type.parameters.end(), has_attributes);
}

// Whether reading the content of `value` as `declared` gives back the value's type.
bool follows(const Value& value, const ValueType& declared) {
  if (has_attributes(value.type) || has_attributes(declared)) return false;
  if (value.type == declared) return true;
  // Unknown dimensions take the elements' numbers; with no elements, [], they become 0.
  if (!declared.is_tensor() || !value.type.is_tensor() || !declared.ranked || value.blob ||
      value.source != nullptr || value.type.data_type != declared.data_type ||
      value.type.dims.size() != declared.dims.size()) {
    return false;
  }
  const auto& dims = value.type.dims;
  const bool empty = dims.size() > 1 && std::find(dims.begin(), dims.end(), 0) != dims.end();
  return std::equal(dims.begin(), dims.end(), declared.dims.begin(), [&](int64_t dim, int64_t d) {
    return dim == d || (d == kUnknownDim && (!empty || dim == 0)) || (d == kVariadicDim && !empty);
  });
}

class Printer {
 public:
  Printer(const PrintOptions& options, bool scalars) : options_(options), scalars_(scalars) {}

  std::string print(const Program& program) {
    out_ = fmt::format("program({}", scalars_ ? "1.3" : "1.0");
    if (!program.doc_string.empty()) out_ += ", " + quote(program.doc_string);
    out_ += ")\n";
    if (!program.attributes.empty()) {
      print_attributes(program.attributes);
      out_ += '\n';
    }
    out_ += "{\n";
    for (const auto& [name, function] : program.functions) print_function(name, *function);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void indent(int levels) { out_.append(static_cast<size_t>(levels) * 4, ' '); }

  // Calls print_one(item) for each item, separated by commas.
  template <typename Items, typename PrintOne>
  void print_list(const Items& items, std::string_view open, std::string_view close,
                  PrintOne&& print_one) {
    out_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ", ";
      first = false;
      print_one(item);
    }
    out_ += close;
  }

  void print_type(const ValueType& type) {
    switch (type.kind) {
      case ValueType::Kind::Tensor:
        if (type.attributes != nullptr) {
          const std::string plain = to_string(type);
          out_.append(plain, 0, plain.size() - 1);
          out_ += ", ";
          print_attributes(type.attributes->values);
          out_ += '>';
        } else if (scalars_ && type.ranked && type.dims.empty()) {
          out_ += to_string(type.data_type);
        } else {
          out_ += to_string(type);
        }
        return;
      case ValueType::Kind::List:
        out_ += "list<";
        print_type(type.parameters.at(0));
        out_ += ", " + spell_dim(type.list_length) + '>';
        return;
      case ValueType::Kind::Tuple:
        return print_list(type.parameters, "tuple<", ">", [&](const auto& t) { print_type(t); });
      case ValueType::Kind::Dictionary:
        return print_list(type.parameters, "dict<", ">", [&](const auto& t) { print_type(t); });
      case ValueType::Kind::State:
        return print_list(type.parameters, "state<", ">", [&](const auto& t) { print_type(t); });
    }
  }

  void print_element(const Value& value, ByteSpan bytes, size_t index) {
    const DataType type = value.type.data_type;
    if (type == DataType::String) {
      out_ += quote(value.strings.at(index));
      return;
    }
    const uint64_t bits = element_bits(type, bytes, index);
    if (type == DataType::Bool) {
      out_ += bits != 0 ? "true" : "false";
    } else if (is_float(type)) {
      out_ += spell_float(type, bits);
    } else if (type == DataType::UInt64) {
      out_ += std::to_string(bits);
    } else {
      out_ += std::to_string(bits_to_int(type, bits));
    }
  }

  // Prints the elements from `index` on that axes from `axis` on span, in nested brackets.
  void print_elements(const Value& value, ByteSpan bytes, size_t axis, size_t& index) {
    if (axis == value.type.dims.size()) return print_element(value, bytes, index++);
    out_ += '[';
    for (int64_t i = 0; i < value.type.dims[axis]; ++i) {
      if (i > 0) out_ += ", ";
      print_elements(value, bytes, axis + 1, index);
    }
    out_ += ']';
  }

  void print_tensor(const Value& value) {
    const auto blob = options_.blob_of ? options_.blob_of(value) : value.blob;
    if (blob && !(options_.values && value.source != nullptr)) {
      out_ += "BLOBFILE(path = ";
      print_value(Value::of_string(blob->path));
      out_ += fmt::format(", offset = {}({}))", scalars_ ? "uint64" : "tensor<uint64, []>",
                          blob->offset);
      return;
    }
    if (value.source != nullptr && !options_.values && !options_.blob_of) {
      out_ += "...";
      return;
    }
    const int64_t count = value.type.num_elements();
    if (count == 0) {
      out_ += "[]";
      return;
    }
    std::vector<std::byte> bytes;
    if (value.type.data_type != DataType::String) bytes = value.read_bytes();
    if (value.type.data_type == DataType::String &&
        value.strings.size() != static_cast<size_t>(count)) {
      fail(ErrorCode::InvalidFile, "a {} with {} strings", to_string(value.type),
           value.strings.size());
    }
    size_t index = 0;
    print_elements(value, bytes, 0, index);
  }

  // The content of the parentheses after the type.
  void print_content(const Value& value) {
    switch (value.type.kind) {
      case ValueType::Kind::Tensor:
        return print_tensor(value);
      case ValueType::Kind::Tuple: {
        size_t index = 0;
        return print_list(value.elements, "(", ")", [&](const Value& element) {
          print_inner(element, value.type.parameters.at(index++));
        });
      }
      case ValueType::Kind::List:
        return print_list(value.elements, "[", "]", [&](const Value& element) {
          print_inner(element, value.type.parameters.at(0));
        });
      case ValueType::Kind::Dictionary:
        out_ += '{';
        for (size_t i = 0; i + 1 < value.elements.size(); i += 2) {
          out_ += i > 0 ? ", {" : "{";
          print_inner(value.elements[i], value.type.parameters.at(0));
          out_ += ", ";
          print_inner(value.elements[i + 1], value.type.parameters.at(1));
          out_ += '}';
        }
        out_ += '}';
        return;
      case ValueType::Kind::State:
        fail(ErrorCode::InvalidFile, "a constant of type {}", to_string(value.type));
    }
  }

  // An element of a tuple, list or dictionary whose type declares it as `declared`. Prints its own
  // type if reading the content alone would give another value.
  void print_inner(const Value& value, const ValueType& declared) {
    if (value.doc_string.empty() && follows(value, declared)) return print_content(value);
    print_value(value);
  }

  void print_value(const Value& value) {
    print_type(value.type);
    out_ += '(';
    print_content(value);
    if (!value.doc_string.empty()) out_ += ", doc = " + quote(value.doc_string);
    out_ += ')';
  }

  void print_attributes(const Attributes& attributes) {
    print_list(attributes, "[", "]", [&](const auto& attribute) {
      out_ += spell_name(attribute.first) + " = ";
      print_value(attribute.second);
    });
  }

  void print_var(const Var& var) {
    print_type(var.type);
    out_ += ' ' + spell_name(var.name);
  }

  void print_vars(const std::vector<std::unique_ptr<Var>>& vars) {
    print_list(vars, "(", ")", [&](const auto& var) { print_var(*var); });
  }

  void print_binding(const Binding& binding) {
    if (const Value* value = std::get_if<Value>(&binding)) return print_value(*value);
    out_ += spell_name(std::get<Var*>(binding)->name);
  }

  void print_operation(const Operation& operation, int level) {
    indent(level);
    print_list(operation.outputs(), "", "", [&](const auto& var) { print_var(*var); });
    if (!operation.outputs().empty()) out_ += " = ";
    out_ += spell_name(operation.type());
    print_list(operation.inputs(), "(", ")", [&](const auto& input) {
      out_ += spell_name(input.first) + " = ";
      const auto print_one = [&](const Binding& binding) { print_binding(binding); };
      if (input.second.size() == 1) {
        print_one(input.second.front());
      } else {
        print_list(input.second, "(", ")", print_one);
      }
    });
    if (!operation.attributes().empty()) print_attributes(operation.attributes());
    for (const auto& block : operation.blocks()) {
      out_ += '\n';
      indent(level + 1);
      print_vars(block->inputs());
      out_ += ' ';
      print_block(*block, level + 2);
    }
    out_ += ";\n";
  }

  void print_block(const Block& block, int level) {
    out_ += "{\n";
    for (const auto& operation : block.operations()) print_operation(*operation, level);
    indent(level - 1);
    print_list(block.outputs(), "} -> (", ")",
               [&](const Var* var) { out_ += spell_name(var->name); });
    if (!block.attributes().empty()) print_attributes(block.attributes());
  }

  void print_function(const std::string& name, const Function& function) {
    indent(1);
    out_ += fmt::format("func {}<{}>", spell_name(name), spell_opset(function.opset));
    print_vars(function.inputs);
    if (!function.attributes.empty()) {
      out_ += ' ';
      print_attributes(function.attributes);
    }
    // The block that runs is first, without its opset; the others follow with theirs.
    const auto running = function.specializations.find(function.opset);
    if (running != function.specializations.end()) {
      out_ += ' ';
      print_block(*running->second, 3);
    }
    for (const auto& [opset, block] : function.specializations) {
      if (opset == function.opset) continue;
      out_ += fmt::format(" <{}> ", spell_opset(opset));
      print_block(*block, 3);
    }
    out_ += ";\n";
  }

  const PrintOptions& options_;
  const bool scalars_;  // the spelling of iOS 18: fp16(0x1p+0) for tensor<fp16, []>(0x1p+0)
  std::string out_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  bool scalars = false;
  for (const auto& [name, function] : program.functions) {
    const auto opset = parse_opset(function->opset);
    scalars = scalars || !opset || *opset >= Opset::CoreML8;
  }
  return Printer(options, scalars).print(program);
}

}  // namespace pippin::mil
