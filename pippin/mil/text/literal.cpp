#include "pippin/mil/text/literal.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pippin/base/numbers/number.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/limits.h"
#include "pippin/mil/scope.h"

namespace pippin::mil {
namespace {

bool starts_type(std::string_view name) {
  return parse_data_type(name) || name == "tensor" || name == "list" || name == "tuple" ||
         name == "dict" || name == "state";
}

// The number of types that a type consists of, including itself.
size_t num_types(const ValueType& type) {
  size_t count = 1;
  for (const ValueType& parameter : type.parameters) count += num_types(parameter);
  return count;
}

}  // namespace

int64_t LiteralParser::parse_integer(std::string_view what, int64_t lowest) {
  int64_t value = 0;
  if (lexer_.peek().kind != Token::Kind::Number || !parse_number(lexer_.peek().text, value) ||
      value < lowest) {
    lexer_.fail_expected(what);
  }
  lexer_.next();
  return value;
}

int64_t LiteralParser::parse_dim() {
  if (lexer_.accept("?")) return kUnknownDim;
  if (lexer_.accept("...")) return kVariadicDim;
  return parse_integer("a dimension", 0);
}

ValueType LiteralParser::parse_tensor_type(int depth) {
  ValueType type;
  lexer_.expect("<");
  const auto data_type = parse_data_type(lexer_.peek().text);
  if (!data_type) lexer_.fail_expected("a data type");
  lexer_.next();
  type.data_type = *data_type;
  lexer_.expect(",");
  if (lexer_.accept("*")) {
    type.ranked = false;
  } else {
    lexer_.expect("[");
    while (!lexer_.accept("]")) {
      if (!type.dims.empty()) lexer_.expect(",");
      if (std::ssize(type.dims) == kMaxRank)
        lexer_.fail_expected("']': no tensor has a larger rank");
      type.dims.push_back(parse_dim());
    }
  }
  if (lexer_.accept(",")) {
    auto attributes = std::make_shared<TypeAttributes>();
    parse_attributes(attributes->values, depth + 1);
    if (!attributes->values.empty()) type.attributes = std::move(attributes);
  }
  lexer_.expect(">");
  return type;
}

ValueType LiteralParser::parse_type(int depth) {
  if (lexer_.peek().kind != Token::Kind::Name) lexer_.fail_expected("a type");
  return parse_type_after(lexer_.next(), depth);
}

ValueType LiteralParser::parse_type_after(const Token& first, int depth) {
  const size_t position = first.position;
  const std::string_view kind = first.text;
  if (depth > kMaxValueDepth) lexer_.fail_at(position, "types nest deeper than {}", kMaxValueDepth);
  if (const auto data_type = parse_data_type(kind)) return ValueType::scalar(*data_type);
  if (kind == "tensor") return parse_tensor_type(depth);
  ValueType type;
  if (kind == "list") {
    type.kind = ValueType::Kind::List;
  } else if (kind == "tuple") {
    type.kind = ValueType::Kind::Tuple;
  } else if (kind == "dict") {
    type.kind = ValueType::Kind::Dictionary;
  } else if (kind == "state") {
    type.kind = ValueType::Kind::State;
  } else if (kind.ends_with("_buffer")) {
    lexer_.refuse_at(position,
                     "the type '{}' is not supported: it describes memory, in programs that the "
                     "system makes for the Neural Engine or the CPU; Core ML's compiler writes "
                     "tensors",
                     kind);
  } else {
    lexer_.fail_at(position, "'{}' is not a type", kind);
  }
  lexer_.expect("<");
  while (!lexer_.at(">")) {
    if (!type.parameters.empty()) lexer_.expect(",");
    if (type.kind == ValueType::Kind::List && type.parameters.size() == 1) {
      type.list_length = parse_dim();
      break;
    }
    type.parameters.push_back(parse_type(depth + 1));
  }
  lexer_.expect(">");
  const size_t count = type.parameters.size();
  const size_t needed = type.kind == ValueType::Kind::Tuple        ? count
                        : type.kind == ValueType::Kind::Dictionary ? 2
                                                                   : 1;
  if (count != needed || (type.is_state() && !type.parameters[0].is_tensor())) {
    lexer_.fail_at(position, "a malformed {} type", kind);
  }
  return type;
}

Value LiteralParser::parse_value(int depth) {
  return parse_value_of(parse_type(depth), depth);
}

Value LiteralParser::parse_value_of(ValueType type, int depth) {
  lexer_.expect("(");
  Value value = parse_content(std::move(type), depth);
  if (lexer_.accept(",")) {
    const size_t position = lexer_.peek().position;
    if (lexer_.take_name("'doc'") != "doc") lexer_.fail_at(position, "expected 'doc'");
    lexer_.expect("=");
    value.doc_string = lexer_.take_string("a description");
  }
  lexer_.expect(")");
  return value;
}

void LiteralParser::parse_attributes(Attributes& attributes, int depth) {
  lexer_.expect("[");
  bool first = true;
  while (!lexer_.accept("]")) {
    if (!first) lexer_.expect(",");
    first = false;
    const size_t position = lexer_.peek().position;
    std::string key = lexer_.take_name("an attribute");
    lexer_.expect("=");
    if (!attributes.emplace(key, parse_value(depth)).second) {
      lexer_.fail_at(position, "the attribute '{}' is given twice", key);
    }
  }
}

// An element of a tuple, list or dictionary: content, or a value with its own type.
Value LiteralParser::parse_inner(const ValueType& declared, int depth) {
  const Token& token = lexer_.peek();
  if (token.kind == Token::Kind::Name && starts_type(token.text)) return parse_value(depth);
  count_inherited(declared, token.position);
  return parse_content(declared, depth);
}

// An element of two characters may have a type of any size that was written out once. Ten nested
// lists, the maximum, have fewer than three such types per character.
void LiteralParser::count_inherited(const ValueType& type, size_t position) {
  inherited_types_ += num_types(type);
  if (inherited_types_ > 4 * lexer_.size()) {
    lexer_.fail_at(position, "the elements of constants have more than {} types in all",
                   4 * lexer_.size());
  }
}

Value LiteralParser::parse_content(ValueType type, int depth) {
  const size_t position = lexer_.peek().position;
  if (depth > kMaxValueDepth)
    lexer_.fail_at(position, "constants nest deeper than {}", kMaxValueDepth);
  if (type.is_tensor()) return parse_tensor(std::move(type));
  Value value;
  value.type = std::move(type);
  if (value.type.kind == ValueType::Kind::Dictionary) {
    lexer_.expect("{");
    while (!lexer_.accept("}")) {
      if (!value.elements.empty()) lexer_.expect(",");
      lexer_.expect("{");
      value.elements.push_back(parse_inner(value.type.parameters[0], depth + 1));
      lexer_.expect(",");
      value.elements.push_back(parse_inner(value.type.parameters[1], depth + 1));
      lexer_.expect("}");
    }
    return value;
  }
  if (value.type.is_state()) lexer_.fail_at(position, "a state cannot be a constant");
  const bool tuple = value.type.kind == ValueType::Kind::Tuple;
  const bool brackets = !tuple && lexer_.at("[");
  lexer_.expect(brackets ? "[" : "(");
  const std::string_view close = brackets ? "]" : ")";
  while (!lexer_.accept(close)) {
    const size_t index = value.elements.size();
    if (index > 0) lexer_.expect(",");
    if (tuple && index == value.type.parameters.size()) lexer_.fail_expected("')'");
    value.elements.push_back(parse_inner(value.type.parameters[tuple ? index : 0], depth + 1));
  }
  if (tuple && value.elements.size() != value.type.parameters.size()) {
    lexer_.fail_at(position, "a tuple of {} elements has {}", value.type.parameters.size(),
                   value.elements.size());
  }
  return value;
}

void LiteralParser::parse_blob(Value& value) {
  const size_t position = lexer_.next().position;
  lexer_.expect("(");
  if (lexer_.take_name("'path'") != "path") lexer_.fail_at(position, "a BLOBFILE without a path");
  lexer_.expect("=");
  const Value path = parse_value();
  lexer_.expect(",");
  if (lexer_.take_name("'offset'") != "offset") {
    lexer_.fail_at(position, "a BLOBFILE without an offset");
  }
  lexer_.expect("=");
  const Value offset = parse_value();
  lexer_.expect(")");
  if (path.type != ValueType::scalar(DataType::String) ||
      offset.type != ValueType::scalar(DataType::UInt64) || !value.type.is_static() ||
      value.type.data_type == DataType::String) {
    lexer_.fail_at(position, "a BLOBFILE with values of other types");
  }
  value.blob = BlobReference{path.to_string_value(), static_cast<uint64_t>(offset.to_ints()[0])};
}

Value LiteralParser::parse_tensor(ValueType type) {
  Value value;
  value.type = std::move(type);
  const size_t position = lexer_.peek().position;
  if (lexer_.peek().kind == Token::Kind::Name && lexer_.peek().text == "BLOBFILE") {
    parse_blob(value);
    return value;
  }
  if (lexer_.at("...")) lexer_.fail_at(position, "the elements were left out of this text");
  bits_.clear();
  std::vector<int64_t> shape;
  parse_elements(value, 0, shape);
  settle_shape(value.type, shape, position);
  const DataType data_type = value.type.data_type;
  if (data_type == DataType::String) return value;
  value.bytes.resize(packed_size(data_type, static_cast<int64_t>(bits_.size())));
  for (size_t i = 0; i < bits_.size(); ++i) {
    set_element_bits(data_type, value.bytes, i, bits_[i]);
  }
  return value;
}

// Sets `shape` from the first list at each depth; later lists must have the same length.
void LiteralParser::parse_elements(Value& value, size_t axis, std::vector<int64_t>& shape) {
  const size_t position = lexer_.peek().position;
  if (!lexer_.accept("[")) {
    if (axis < shape.size()) lexer_.fail_at(position, "an element where others have a list");
    return parse_element(value);
  }
  if (static_cast<int64_t>(axis) == kMaxRank)
    lexer_.fail_at(position, "lists nest deeper than {}", kMaxRank);
  const bool first = axis == shape.size();
  const bool deepest_known = !first || bits_.empty();
  if (first && (!deepest_known || !value.strings.empty())) {
    lexer_.fail_at(position, "a list where others have an element");
  }
  if (first) shape.push_back(-1);
  int64_t count = 0;
  while (!lexer_.accept("]")) {
    if (count > 0) lexer_.expect(",");
    parse_elements(value, axis + 1, shape);
    ++count;
  }
  if (shape[axis] == -1) shape[axis] = count;
  if (shape[axis] != count) {
    lexer_.fail_at(position, "a list of {} where others have {}", count, shape[axis]);
  }
}

// Compares the shape of the text with the type's. A flat list fits every shape with that number of
// elements, and an unknown dimension takes its length.
void LiteralParser::settle_shape(ValueType& type, const std::vector<int64_t>& shape,
                                 size_t position) {
  const bool strings = type.data_type == DataType::String;
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;  // the number parsed
  if (type.ranked && type.dims.size() == shape.size()) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (type.dims[i] < 0) type.dims[i] = shape[i];
    }
  }
  if (count == 0) {  // [] is empty at any rank
    std::replace(type.dims.begin(), type.dims.end(), kUnknownDim, int64_t{0});
  }
  if (!type.is_static()) {
    lexer_.fail_at(position, "a constant of type {}", to_string(type));
  }
  const int64_t expected = type.num_elements();
  if (expected != count || (shape.size() > 1 && count > 0 && type.dims != shape) ||
      (shape.empty() && !type.dims.empty())) {
    lexer_.fail_at(position, "a {} needs {} elements, {} {} here{}", to_string(type), expected,
                   count, count == 1 ? "is" : "are", strings ? " (strings)" : "");
  }
}

void LiteralParser::parse_element(Value& value) {
  const DataType type = value.type.data_type;
  if (type == DataType::String) {
    value.strings.push_back(lexer_.take_string("a string"));
  } else if (type == DataType::Bool) {
    const bool yes = lexer_.peek().text == "true";
    if (!yes && lexer_.peek().text != "false") lexer_.fail_expected("true or false");
    lexer_.next();
    bits_.push_back(yes ? 1 : 0);
  } else {
    bits_.push_back(is_float(type) ? parse_float_bits(type) : parse_integer_bits(type));
  }
}

uint64_t LiteralParser::parse_integer_bits(DataType type) {
  const Token token = lexer_.peek();
  int64_t number = 0;
  uint64_t large = 0;
  if (token.kind == Token::Kind::Number) {
    if (parse_number(token.text, number) && number >= min_integer(type) &&
        number <= max_integer(type)) {
      lexer_.next();
      const int width = bit_width(type);
      const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      return static_cast<uint64_t>(number) & mask;
    }
    if (type == DataType::UInt64 && parse_number(token.text, large)) {
      lexer_.next();
      return large;
    }
  }
  lexer_.fail_expected(fmt::format("an {}", to_string(type)));
}

uint64_t LiteralParser::parse_float_bits(DataType type) {
  const Token token = lexer_.next();
  std::string_view text = token.text;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  double value = 0;
  bool good = false;
  if (text == "inf" || text == "infinity") {
    value = std::numeric_limits<double>::infinity();
    good = true;
  } else if (text == "nan") {
    if (lexer_.accept("(")) {  // the bits of a NaN other than the default one
      uint64_t bits = 0;
      const Token digits = lexer_.next();
      if (digits.text.substr(0, 2) != "0x" || !parse_number(digits.text.substr(2), bits, 16) ||
          (bit_width(type) < 64 && bits >> bit_width(type) != 0)) {
        lexer_.fail_at(digits.position, "expected the bits of a NaN");
      }
      lexer_.expect(")");
      return bits;
    }
    value = std::numeric_limits<double>::quiet_NaN();
    good = true;
  } else if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
    good = parse_number(text.substr(2), value, std::chars_format::hex);
  } else if (token.kind == Token::Kind::Number) {
    good = parse_number(text, value);
  }
  if (!good)
    lexer_.fail_at(token.position, "expected an {}, found '{}'", to_string(type),
                   token.text.substr(0, 40));
  return float_to_bits(type, negative ? -value : value);
}

}  // namespace pippin::mil
