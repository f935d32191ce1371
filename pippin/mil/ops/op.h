// The op table: one entry holds everything that the project knows about an op.
//
// An entry (in mil/ops/<family>.cpp) gives the op's name, the opset it appeared in, its parameters
// with their defaults, the shape rule, the value rule and its documentation. It drives the
// verifier's checks, constant folding, the reference interpreter (the value rule is the oracle of
// the engine) and the printed documentation. Semantics follow Core ML's MIL ops; rules call opset()
// where opsets differ.
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

// The facts that shape inference knows about a value.
struct ValueInfo {
  ValueType::Kind kind = ValueType::Kind::Tensor;
  // Of the tensor; of a list's elements; of the values of a dictionary (rank 1).
  DataType type = DataType::Float32;
  Shape shape;
  // The elements in row-major order if they are known without running: small integer and bool
  // tensors (shape arithmetic); bools are 0 and 1.
  std::optional<std::vector<Dim>> elements;
  // Set for the results of `const`.
  const Value* constant = nullptr;
  std::optional<Dim> length = {};        // of a list that cannot grow
  DataType key_type = DataType::String;  // of a dictionary
};

// A relation between dimensions that a run must satisfy; checked when the symbols have values.
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
  DefaultValue default_value = {};  // of optional parameters; monostate: no default
  // Accepted element types: any letters of f(loat) i(nteger, all widths) b(ool) s(tring); with l,
  // lists as well.
  std::string_view types = "fib";
};

// The binding of a parameter; both null if it is absent. The constexpr ops of opsets before CoreML8
// keep their parameters in attributes.
struct BoundArgument {
  const Argument* argument = nullptr;
  const Value* attribute = nullptr;
  explicit operator bool() const { return argument != nullptr || attribute != nullptr; }
};
BoundArgument find_argument(const Operation& operation, std::string_view parameter);

// The part of an operation that both rules see: parameters by name, defaults applied.
class OpContext {
 public:
  OpContext(const Operation& operation, Opset opset) : operation_(operation), opset_(opset) {}
  virtual ~OpContext() = default;

  const Operation& operation() const { return operation_; }
  Opset opset() const { return opset_; }
  bool has(std::string_view parameter) const {
    return static_cast<bool>(find_argument(operation_, parameter));
  }

  // Parameters whose value must be known now; the table's default if absent. Throw InvalidFile,
  // naming the operation, if a parameter is absent and has no default, has the wrong type, or is
  // not known.
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
  // The bound value; throws InvalidFile if the parameter is absent.
  virtual const ValueInfo& input(std::string_view parameter) const = 0;
  virtual std::vector<const ValueInfo*> inputs(std::string_view parameter) const = 0;
  // Known elements, symbolic ones included: a run-time `shape`, `begin`, `end`.
  std::optional<std::vector<Dim>> known(std::string_view parameter) const {
    return input(parameter).elements;
  }
  // Records that a run must satisfy the relation; throws InvalidFile if it can never hold.
  virtual void require_equal(const Dim& a, const Dim& b, std::string_view what) = 0;
  virtual void require_at_least(const Dim& a, const Dim& b, std::string_view what) = 0;
  // A size that is known only after running the op.
  virtual Dim data_dependent(std::string_view name, const Dim& upper) = 0;
  // Infers a nested block with the given inputs and returns its outputs.
  virtual std::vector<ValueInfo> infer_block(size_t index, std::vector<ValueInfo> inputs) = 0;
};

class EvalContext : public OpContext {
 public:
  using OpContext::OpContext;
  virtual const Tensor& input(std::string_view parameter) const = 0;
  virtual std::vector<const Tensor*> inputs(std::string_view parameter) const = 0;
  virtual Tensor& state(std::string_view parameter) = 0;
  virtual std::vector<Tensor> run_block(size_t index, std::vector<Tensor> inputs) = 0;
  // Call before each iteration of a loop. Throws LimitExceeded if the run has exceeded its limit.
  virtual void count_loop_turn() {}
};

// The outputs' infos, in order.
using InferRule = std::vector<ValueInfo> (*)(InferContext&);
// The outputs' values, in order; the caller rounds them to their declared types.
using EvalRule = std::vector<Tensor> (*)(EvalContext&);

// Properties of an op that hold for every use of it.
enum class Trait : uint8_t {
  // Takes only constants: its result is known when the program is loaded.
  Constant,
  // A constant computed from a compressed form.
  Compressed,
  // The result has every element of `moves` exactly once, in any order.
  Permutes,
  // The elements of `moves` in their order; only the shape may differ. Implies Permutes.
  View,
  // Every element stays in place and keeps its value; only the type may differ.
  Converts,
  // Each element of the result depends only on the inputs' elements at its position; inputs
  // broadcast.
  Elementwise,
  // Reads only part of x's elements, possibly none.
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
  // The parameter whose elements the op only copies and moves ("x" of transpose): if they are known
  // as expressions and everything else is known, so are the outputs' elements. Empty for other ops.
  std::string_view moves = {};
  // Reads and changes nothing but its inputs, and always has the same result: may be evaluated
  // early, or not at all.
  bool pure = true;
  Traits traits = {};
  // Set for ops that multiply two operands, such as x and a weight.
  ProductRule product = nullptr;
};

// Null if the table has no such op. If an op's entries differ by opset, returns the newest one that
// `opset` allows.
const OpDef* find_op(std::string_view name, Opset opset);
// The newest entry; traits and products are the same in all entries of an op.
const OpDef* find_op(std::string_view name);

// False for ops that the table does not have.
bool has_trait(const Operation& operation, Trait trait);
inline bool is_constant(const Operation& operation) {
  return has_trait(operation, Trait::Constant);
}
// Whether the operation multiplies two operands, one of which may be a weight.
bool is_product(const Operation& operation);
// Whether the operation casts floats to floats, or copies.
bool is_float_cast(const Operation& operation);
// Whether the result has the elements of x, each once, in another order, shape or type.
inline bool keeps_elements(const Operation& operation) {
  return has_trait(operation, Trait::Permutes) || has_trait(operation, Trait::Converts);
}

// Whether the parameter accepts a value of this kind and element type.
bool accepts(const Parameter& parameter, ValueType::Kind kind, DataType type);
// All entries, sorted by name; ops/table.cpp lists the families' files.
std::span<const OpDef> op_table();

}  // namespace pippin::mil
