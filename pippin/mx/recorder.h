// Recorded operations as a MIL function: what export writes.
//
// Each primitive records itself (Primitive::record) with the values that the recorder has for its
// inputs. MIL computes in fewer types than arrays: bfloat16 and float64 become fp32, all integers
// int32; complex64 is refused.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/mx/node.h"

namespace pippin::mx {

mil::DataType mil_type(Dtype dtype);

class Recorder {
 public:
  using Value = pippin::array::Array;
  using Param = pippin::array::Param;

  // The value of input i; one that is available becomes a constant here.
  const Value& input(const Node& out, size_t i);
  // What `out` is. Gets the shape that the node has.
  void define(const Node& out, Value value);
  // The operation of this name over all inputs, called x, or x and y.
  void define_unary(const Node& out, std::string_view op);
  void define_binary(const Node& out, std::string_view op);

  // Records a node that is available as a constant, and others by their primitive.
  void record(Node& node);
  bool knows(const Node& node) const { return values_.contains(&node); }
  const Value& value(const Node& node) const { return values_.at(&node); }

  // An available node's numbers.
  static Value constant(const Node& node);
  static Value number(const Value& like, double value);
  // Repeated along axes of size 1, with axes in front where there are none.
  static Value broadcast(const Value& value, const Shape& shape);
  static Value reshaped(const Value& value, const Shape& shape);
  static Value one(std::string_view op, std::vector<Param> params);

 private:
  std::unordered_map<const Node*, Value> values_;
};

std::vector<int64_t> to_vector(const Shape& shape);
// Throws Unsupported: "export: NAME WHAT cannot be written as MIL".
[[noreturn]] void refuse_record(std::string_view name, std::string_view what);

}  // namespace pippin::mx
