// Records operations as a MIL function, for export.
//
// Each primitive records itself (Primitive::record), given the recorder's values for its inputs.
// MIL has fewer types than arrays: bfloat16 and float64 become fp32, all integers int32; complex64
// is rejected.
//
// A function with flexible sizes is recorded for some of them (traces.h). A primitive gets the
// numbers that it writes from dim(), which expresses the differences in terms of the sizes.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/mx/core/node.h"
#include "pippin/mx/record/recorded_constants.h"
#include "pippin/mx/record/sizes.h"
#include "pippin/mx/record/traces.h"

namespace pippin::mx {

mil::DataType mil_type(Dtype dtype);

class Recorder {
 public:
  using Value = pippin::array::Array;
  using Param = pippin::array::Param;

  Recorder(const Traces& traces, Sizes& sizes, RecordedConstants& constants)
      : traces_(traces), sizes_(sizes), constants_(constants) {}

  // The value of input i; an available one becomes a constant here.
  const Value& input(const Node& out, size_t i);
  // Sets the value of `out`, with the node's shape.
  void define(const Node& out, Value value);
  // Sets the value of `out` to `value`, reshaped to the node's shape. One size may not be
  // expressible: it is inferred from the others.
  void define_reshaped(const Node& out, const Value& value);
  // Sets the value of `out` to the result of the operation `op` on all inputs, named x, or x and y.
  void define_unary(const Node& out, std::string_view op);
  void define_binary(const Node& out, std::string_view op);

  // Records a node: an available one as a constant, others by their primitive.
  void record(Node& node);
  bool knows(const Node& node) const { return values_.contains(&node); }
  const Value& value(const Node& node) const { return values_.at(&node); }

  // A number that `get` reads from a node, its inputs' shapes or its primitive. Throws Unsupported
  // if it cannot be expressed in terms of the sizes that callers choose.
  using Get = std::function<int64_t(const Node& out)>;
  mil::Dim dim(const Node& out, const Get& get);
  // The same for a node whose primitive is a P: get(primitive, node).
  template <typename P, typename GetOfPrimitive>
  mil::Dim dim_of(const Node& out, const P& /*primitive*/, GetOfPrimitive get) {
    return dim(out, [&](const Node& node) -> int64_t {
      return get(static_cast<const P&>(*node.primitive), node);
    });
  }
  // The same if it must be a constant.
  int64_t number(const Node& out, const Get& get);
  // The shape of a node.
  mil::Shape shape(const Node& node);
  // Whether it is available, with the same numbers in each recording.
  bool is_constant(const Node& node) const;
  // Whether a condition holds for a node in each recording.
  bool always(const Node& out, const std::function<bool(const Node& out)>& holds) const;

  // Input i as indices of an axis; negative ones, which count from the end, are converted.
  Value indices(const Node& out, size_t i, const mil::Dim& size);
  // Input i as the start of a slice on some axes, extended to all axes and clamped to fit.
  Value starts(const Node& out, size_t i, const std::vector<int>& axes, const mil::Shape& whole,
               const mil::Shape& part);

  Value constant(const Node& node) { return constants_.add(node); }
  RecordedConstants& constants() { return constants_; }

  // Repeated along axes of size 1, with axes added in front.
  Value broadcast(const Value& value, const mil::Shape& shape);
  Value reshaped(const Value& value, const mil::Shape& shape);

  static Value number(const Value& like, double value);
  // Sizes as an int32 vector, and one size as a scalar.
  static Param dims(std::string_view name, const mil::Shape& values);
  static Value vector(const mil::Shape& values);
  static Value scalar(const mil::Dim& dim);
  static Value one(std::string_view op, std::vector<Param> params);
  // The integers from 0 on, int32.
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
// Throws Unsupported for integers of 8 and 16 bits: MIL computes with 32 bits, where they would not
// wrap.
void refuse_narrow_integers(std::string_view name, Dtype dtype);
// Throws Unsupported: "export: NAME WHAT cannot be written as MIL".
[[noreturn]] void refuse_record(std::string_view name, std::string_view what);

}  // namespace pippin::mx
