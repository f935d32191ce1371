// Recorded operations as a MIL function: what export writes.
//
// Each primitive records itself (Primitive::record) with the values that the recorder has for its
// inputs. MIL computes in fewer types than arrays: bfloat16 and float64 become fp32, all integers
// int32; complex64 is refused.
//
// A function that takes several sizes is recorded for some of them (traces.h). What a primitive
// writes as a number it then takes from dim(), which makes an expression of what differs.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/mx/node.h"
#include "pippin/mx/recorded_constants.h"
#include "pippin/mx/sizes.h"
#include "pippin/mx/traces.h"

namespace pippin::mx {

mil::DataType mil_type(Dtype dtype);

class Recorder {
 public:
  using Value = pippin::array::Array;
  using Param = pippin::array::Param;

  Recorder(const Traces& traces, Sizes& sizes, RecordedConstants& constants)
      : traces_(traces), sizes_(sizes), constants_(constants) {}

  // The value of input i; one that is available becomes a constant here.
  const Value& input(const Node& out, size_t i);
  // What `out` is. Gets the shape that the node has.
  void define(const Node& out, Value value);
  // The operation of this name over all inputs, called x, or x and y.
  // The same elements in the node's shape. A size that is no expression by itself is what the
  // others leave.
  void define_reshaped(const Node& out, const Value& value);
  void define_unary(const Node& out, std::string_view op);
  void define_binary(const Node& out, std::string_view op);

  // Records a node that is available as a constant, and others by their primitive.
  void record(Node& node);
  bool knows(const Node& node) const { return values_.contains(&node); }
  const Value& value(const Node& node) const { return values_.at(&node); }

  // A number that `get` reads off a node: of itself, of its inputs' shapes, of its primitive.
  // Throws Unsupported where it is no expression of the sizes that callers choose.
  using Get = std::function<int64_t(const Node& out)>;
  mil::Dim dim(const Node& out, const Get& get);
  // The same, of which the primitive is a P: get(primitive, node).
  template <typename P, typename GetOfPrimitive>
  mil::Dim dim_of(const Node& out, const P& /*primitive*/, GetOfPrimitive get) {
    return dim(out, [&](const Node& node) -> int64_t {
      return get(static_cast<const P&>(*node.primitive), node);
    });
  }
  // The same where it has to be one number.
  int64_t number(const Node& out, const Get& get);
  // The shape of a node.
  mil::Shape shape(const Node& node);
  // Whether it is there, with the same numbers in each recording.
  bool is_constant(const Node& node) const;
  // Whether something holds of a node in each recording.
  bool always(const Node& out, const std::function<bool(const Node& out)>& holds) const;

  // Input i as indices of an axis: negative ones, which count from the end, become others.
  Value indices(const Node& out, size_t i, const mil::Dim& size);
  // Input i as where a slice begins on some axes, for all axes: moved so that it fits.
  Value starts(const Node& out, size_t i, const std::vector<int>& axes, const mil::Shape& whole,
               const mil::Shape& part);

  Value constant(const Node& node) { return constants_.add(node); }
  RecordedConstants& constants() { return constants_; }

  // Repeated along axes of size 1, with axes in front where there are none.
  Value broadcast(const Value& value, const mil::Shape& shape);
  Value reshaped(const Value& value, const mil::Shape& shape);

  static Value number(const Value& like, double value);
  // Sizes as an int32 vector, and one as a scalar.
  static Param dims(std::string_view name, const mil::Shape& values);
  static Value vector(const mil::Shape& values);
  static Value scalar(const mil::Dim& dim);
  static Value one(std::string_view op, std::vector<Param> params);
  // Whole numbers from 0 on, int32.
  static Value count(const mil::Dim& size);

 private:
  std::optional<mil::Dim> find(const Node& out, const Get& get);
  Value chosen_number(const Node& node);

  const Traces& traces_;
  Sizes& sizes_;
  RecordedConstants& constants_;
  std::unordered_map<const Node*, Value> values_;
};

std::vector<int64_t> to_vector(const Shape& shape);
// Throws Unsupported for integers of 8 and 16 bits: MIL computes with 32, and they would not wrap.
void refuse_narrow_integers(std::string_view name, Dtype dtype);
// Throws Unsupported: "export: NAME WHAT cannot be written as MIL".
[[noreturn]] void refuse_record(std::string_view name, std::string_view what);

}  // namespace pippin::mx
