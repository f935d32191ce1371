// Names during reading or checking of a function: visible ones and reserved ones.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil {

// The maximum nesting of blocks: with constants and types at their own maximum depth inside, a
// program stays below the depth that protobuf readers accept (100).
inline constexpr int kMaxBlockDepth = 20;

// The limit on nested types and constants, together.
inline constexpr int kMaxValueDepth = 11;

// The values visible at a position in a function: those defined earlier in its block and in the
// enclosing blocks. No name hides another; sibling blocks may use the same names (coremltools names
// the inputs of a loop's two blocks alike). Keeps views of the Vars' names.
class Scope {
 public:
  void open_block() { starts_.push_back(visible_.size()); }
  void close_block();

  // Throws InvalidFile if the name is empty or already visible.
  void define(Var* var);
  // Null if no visible value has this name.
  Var* find(std::string_view name) const;
  // Throws InvalidFile if no visible value has this name.
  Var* at(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, Var*> by_name_;
  std::unordered_set<std::string_view> ended_;  // names of blocks that are closed
  std::vector<std::string_view> visible_;
  std::vector<size_t> starts_;
};

}  // namespace pippin::mil
