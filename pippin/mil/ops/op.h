// The op table: everything that the project knows of an op stands in one entry.
//
// An entry (in mil/ops/<family>.cpp) gives the op's name, the opset it appeared in, its parameters
// with their defaults, the shape rule, the value rule and its documentation. From it come the
// verifier's checks, constant folding, the reference interpreter (the value rule is the oracle of
// the engine) and the printed docs. Semantics follow Core ML's MIL ops; differences between opsets
// are taken inside the rules from opset().
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "pippin/base/error.h"
#include "pippin/mil/dim.h"
#include "pippin/mil/program.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil {

// What shape inference knows of one value.
struct ValueInfo {
  ValueType::Kind kind = ValueType::Kind::Tensor;
  // Of the tensor; of a list's elements; of the values of a dictionary (rank 1).
  DataType type = DataType::Float32;
  Shape shape;
  // The elements in row-major order where they are known without running: small integer and bool
  // tensors (shape arithmetic); bools are 0 and 1.
  std::optional<std::vector<Dim>> elements;
  // Set for the results of `const`.
  const Value* constant = nullptr;
  std::optional<Dim> length = {};        // of a list that cannot grow
  DataType key_type = DataType::String;  // of a dictionary
};

// A relation between dimensions that a run must satisfy; checked when the symbols get their values.
struct Constraint {
  enum class Kind : uint8_t { Equal, AtLeast } kind;  // a == b, a >= b
  Dim a, b;
  std::string what;  // "add 'h_3': x and y must broadcast"
};

using DefaultValue = std::variant<std::monostate, bool, int64_t, double, std::string_view>;

struct Parameter {
  enum class Kind : uint8_t {
    Tensor,    // any value
    Constant,  // must be known when the program is loaded
    Tuple,     // several values
    State,
  };
  std::string_view name;
  Kind kind = Kind::Tensor;
  bool optional = false;
  DefaultValue default_value = {};  // of optional ones; monostate: absent means absent
  // Accepted element types: any letters of f(loat) i(nteger, all widths) b(ool) s(tring); with l,
  // lists as well.
  std::string_view types = "fib";
};

// What a parameter is bound to; both null where it is absent. The constexpr ops of opsets before
// CoreML8 keep their parameters in attributes.
struct BoundArgument {
  const Argument* argument = nullptr;
  const Value* attribute = nullptr;
  explicit operator bool() const { return argument != nullptr || attribute != nullptr; }
};
BoundArgument find_argument(const Operation& operation, std::string_view parameter);

// What both rules see of their operation: parameters by name, defaults applied.
class OpContext {
 public:
  OpContext(const Operation& operation, Opset opset) : operation_(operation), opset_(opset) {}
  virtual ~OpContext() = default;

  const Operation& operation() const { return operation_; }
  Opset opset() const { return opset_; }
  bool has(std::string_view parameter) const {
    return static_cast<bool>(find_argument(operation_, parameter));
  }

  // Parameters whose value must be known now; the table's default where absent. Throw InvalidFile
  // naming the operation where absent without a default, of a wrong type, or not known.
  int64_t int_param(std::string_view parameter) const;
  double float_param(std::string_view parameter) const;
  bool bool_param(std::string_view parameter) const;
  std::string string_param(std::string_view parameter) const;
  std::vector<int64_t> ints_param(std::string_view parameter) const;
  std::vector<bool> bools_param(std::string_view parameter) const;

  // "add 'h_3_cast_fp16'": the start of every message.
  std::string where() const;
  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::InvalidFile, "{}: {}", where(),
         fmt::format(fmt::runtime(fmt::string_view(format)), args...));
  }

 protected:
  // The parameter's elements as numbers if it is present and known.
  virtual std::optional<std::vector<double>> known_numbers(std::string_view parameter) const = 0;
  virtual std::optional<std::string> known_string(std::string_view parameter) const = 0;

 private:
  const DefaultValue& default_of(std::string_view parameter) const;
  std::vector<double> numbers(std::string_view parameter) const;
  double number(std::string_view parameter) const;

  const Operation& operation_;
  Opset opset_;
};

class InferContext : public OpContext {
 public:
  using OpContext::OpContext;
  // The bound value; throws InvalidFile where the parameter is absent.
  virtual const ValueInfo& input(std::string_view parameter) const = 0;
  virtual std::vector<const ValueInfo*> inputs(std::string_view parameter) const = 0;
  // Known elements, symbolic ones included: a run-time `shape`, `begin`, `end`.
  std::optional<std::vector<Dim>> known(std::string_view parameter) const {
    return input(parameter).elements;
  }
  // Records that a run must satisfy the relation; throws InvalidFile where it can never hold.
  virtual void require_equal(const Dim& a, const Dim& b, std::string_view what) = 0;
  virtual void require_at_least(const Dim& a, const Dim& b, std::string_view what) = 0;
  // A size that only running the op tells.
  virtual Dim data_dependent(std::string_view name, const Dim& upper) = 0;
  // Infers a nested block with the given inputs; its outputs.
  virtual std::vector<ValueInfo> infer_block(size_t index, std::vector<ValueInfo> inputs) = 0;
};

class EvalContext : public OpContext {
 public:
  using OpContext::OpContext;
  virtual const Tensor& input(std::string_view parameter) const = 0;
  virtual std::vector<const Tensor*> inputs(std::string_view parameter) const = 0;
  virtual Tensor& state(std::string_view parameter) = 0;
  virtual std::vector<Tensor> run_block(size_t index, std::vector<Tensor> inputs) = 0;
  // To be called before each turn of a loop. Throws LimitExceeded where the run has made too many.
  virtual void count_loop_turn() {}
};

// The outputs' infos, in order.
using InferRule = std::vector<ValueInfo> (*)(InferContext&);
// The outputs' values, in order; the caller rounds them to their declared types.
using EvalRule = std::vector<Tensor> (*)(EvalContext&);

// What an op is to those who do not care which one it is: holds for every use of the op.
enum class Trait : uint8_t {
  // Takes nothing but constants: its result is known when the program is loaded.
  Constant,
  // A constant that is computed from a compressed form.
  Compressed,
  // Every element of `moves` once, in any order.
  Permutes,
  // The elements of `moves` in their order, in another shape at most. Permutes as well.
  View,
  // Every element at its place as it was, of another type at most.
  Converts,
  // Every element of the result from those at its place in the inputs, which broadcast.
  Elementwise,
  // Reads some of the elements of x only, if any.
  ReadsParts,
};

class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(std::initializer_list<Trait> traits) {
    for (const Trait trait : traits) add(trait);
  }
  constexpr void add(Trait trait) { bits_ |= 1U << static_cast<unsigned>(trait); }
  constexpr bool has(Trait trait) const {
    return (bits_ >> static_cast<unsigned>(trait) & 1U) != 0;
  }
  bool operator==(const Traits&) const = default;

 private:
  uint32_t bits_ = 0;
};

struct Product;
// The operation as a product of two operands (mil/ops/product.h).
using ProductRule = std::optional<Product> (*)(const Operation&);

struct OpDef {
  std::string_view name;
  Opset since = Opset::CoreML5;
  std::vector<Parameter> parameters;
  InferRule infer;
  EvalRule evaluate;
  std::string_view doc;
  int num_outputs = 1;  // -1: depends on the parameters
  // The parameter whose elements the op only copies and moves ("x" of a transpose): where they are
  // known as expressions and all else is known, so are the outputs' elements. Empty for others.
  std::string_view moves = {};
  // Neither reads nor changes anything but its inputs, always with the same result: may be
  // evaluated early, or not at all.
  bool pure = true;
  Traits traits = {};
  // Of the ops that multiply two operands, such as a weight.
  ProductRule product = nullptr;
};

// Null where the table has no such op. An op with different entries by opset: the newest that
// `opset` allows.
const OpDef* find_op(std::string_view name, Opset opset);
// The newest entry; traits and products are the same in all entries of an op.
const OpDef* find_op(std::string_view name);

// False for ops that the table has not.
bool has_trait(const Operation& operation, Trait trait);
inline bool is_constant(const Operation& operation) {
  return has_trait(operation, Trait::Constant);
}
// Multiplies two operands, of which one may be a weight.
bool is_product(const Operation& operation);
// Makes floats of floats, or copies.
bool is_float_cast(const Operation& operation);
// The result has the elements of x, each once, in another order, shape or type.
inline bool keeps_elements(const Operation& operation) {
  return has_trait(operation, Trait::Permutes) || has_trait(operation, Trait::Converts);
}

// Whether the parameter takes a value of this kind and element type.
bool accepts(const Parameter& parameter, ValueType::Kind kind, DataType type);
// All entries, sorted by name; the files of families are listed in ops/table.cpp.
std::span<const OpDef> op_table();

}  // namespace pippin::mil
