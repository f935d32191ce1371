// The part of the parser for types and constants.
#pragma once

#include <vector>

#include "pippin/mil/text/lexer.h"
#include "pippin/mil/value.h"

namespace pippin::mil {

class LiteralParser {
 public:
  explicit LiteralParser(Lexer& lexer) : lexer_(lexer) {}

  // tensor<fp16, [1, ?]>, fp16, state<...>, list<..., 4>, tuple<...>, dict<..., ...>
  ValueType parse_type(int depth = 0);
  // The same if the first token was consumed before it was known to start a type.
  ValueType parse_type_after(const Token& first, int depth = 0);
  // A type and its content in parentheses.
  Value parse_value(int depth = 0);
  // The content of a value whose type is already taken.
  Value parse_value_of(ValueType type, int depth = 0);
  // [name = value, ...]
  void parse_attributes(Attributes& attributes, int depth = 0);

 private:
  ValueType parse_tensor_type(int depth);
  int64_t parse_dim();
  int64_t parse_integer(std::string_view what, int64_t lowest);

  Value parse_inner(const ValueType& declared, int depth);
  void count_inherited(const ValueType& type, size_t position);
  Value parse_content(ValueType type, int depth);
  Value parse_tensor(ValueType type);
  void parse_blob(Value& value);
  void parse_elements(Value& value, size_t axis, std::vector<int64_t>& shape);
  void parse_element(Value& value);
  uint64_t parse_integer_bits(DataType type);
  uint64_t parse_float_bits(DataType type);
  void settle_shape(ValueType& type, const std::vector<int64_t>& shape, size_t position);

  Lexer& lexer_;
  std::vector<uint64_t> bits_;  // of the tensor that is being parsed
  size_t inherited_types_ = 0;  // types that elements inherit from their containers
};

}  // namespace pippin::mil
