// Builds the blocks of a function, and infers every value's type as it is added.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pippin/mil/ops/op.h"
#include "pippin/mil/program.h"

namespace pippin::mil::networks {

class Graph {
 public:
  using Arguments = std::vector<std::pair<std::string_view, Argument>>;
  using Parameters = std::vector<std::pair<std::string_view, Value>>;

  // Adds to the function's block; `reserved` names are used only on request.
  Graph(Function& function, Opset opset, std::set<std::string> reserved);

  Var* add_input(const std::string& name, ValueType type, ValueInfo info);
  bool has_input(std::string_view name) const;

  // Adds an operation. Its results get unused names, or `name` if there is one result and the name
  // is not empty. Throws as shape inference.
  Var* add(std::string_view op, Arguments arguments, const std::string& name = {});
  std::vector<Var*> add_many(std::string_view op, Arguments arguments);
  // The same with given names; empty ones are replaced.
  std::vector<Var*> add_named(std::string_view op, Arguments arguments,
                              const std::vector<std::string>& names);
  Var* add_constant(Value value);
  // A constant computed from others. Its parameters are attributes before CoreML8.
  Var* add_constexpr(std::string_view op, Parameters parameters);

  Opset opset() const { return opset_; }
  // The newest opset that an operation would need for a better form; opset() if there is none.
  Opset wanted() const { return wanted_; }
  void want(Opset opset) { wanted_ = std::max(wanted_, opset); }

  const ValueInfo& info(const Var* var) const { return infos_.at(var); }
  const Shape& shape(const Var* var) const { return info(var).shape; }
  int64_t rank(const Var* var) const { return std::ssize(shape(var)); }
  DataType type(const Var* var) const { return info(var).type; }

  std::string free_name(std::string_view stem);

  // ---- Nested blocks ----

  // Starts a block, to which operations are added until end_block, and adds `inputs` to it.
  Block* begin_block();
  Var* add_block_input(std::string_view stem, ValueInfo info);
  std::unique_ptr<Block> end_block(std::vector<Var*> outputs);
  // Continues a block that has ended.
  void reopen_block(std::unique_ptr<Block> block);
  // Appends an operation with blocks, whose results have these facts.
  std::vector<Var*> add_with_blocks(std::string_view op, Arguments arguments,
                                    std::vector<std::unique_ptr<Block>> blocks,
                                    std::vector<ValueInfo> results);

  // ---- Conversions, done once per block ----

  Var* cast(Var* var, DataType type);

 private:
  Operation& append(std::string_view op, Arguments& arguments);
  std::vector<Var*> add_outputs(Operation& operation, const std::vector<std::string>& names);
  void define(Var* var, ValueInfo info) { infos_.insert_or_assign(var, std::move(info)); }

  Function& function_;
  const Opset opset_;
  Opset wanted_;
  std::vector<Block*> open_;                        // the innermost block last
  std::vector<std::unique_ptr<Block>> unfinished_;  // the nested ones among them
  std::vector<std::map<std::pair<const Var*, DataType>, Var*>> casts_;  // by open block
  std::unordered_map<const Var*, ValueInfo> infos_;
  std::set<std::string> names_;
  std::map<std::string, int, std::less<>> next_;  // the next number by stem
};

ValueType declared_type(const ValueInfo& info);

// ---- Arguments ----

inline Value number(float value) {
  return Value::of_float(DataType::Float32, static_cast<double>(value));
}
// Throws InvalidFile outside of 32 bits.
Value integer(int64_t value);
inline Value flag(bool value) {
  return Value::of_bool(value);
}
inline Value text(std::string value) {
  return Value::of_string(std::move(value));
}
// A list; throws InvalidFile for numbers outside of 32 bits.
Value integers(const std::vector<int64_t>& values);

// 0 <= axis < rank; throws InvalidFile outside -rank to rank - 1.
int64_t axis_of(int64_t axis, int64_t rank);

}  // namespace pippin::mil::networks
