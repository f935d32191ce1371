// Names while a function is read or checked: which are visible, and which are taken.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil {

// The deepest nesting of blocks that is read: with constants and types of their own largest depth
// inside, such a program stays below the depth that protobuf readers accept (100).
inline constexpr int kMaxBlockDepth = 20;

// Levels of types and of constants in each other, together.
inline constexpr int kMaxValueDepth = 11;

// The values that a place in a function can name: those defined before it in its block and in the
// blocks around it. No name hides another; blocks side by side may use the same names (coremltools
// names the inputs of a loop's two blocks alike). Keeps views of the Vars' names.
class Scope {
 public:
  void open_block() { starts_.push_back(visible_.size()); }
  void close_block();

  // Throws InvalidFile where the name is empty or already visible.
  void define(Var* var);
  // Null where nothing of this name is visible.
  Var* find(std::string_view name) const;
  // Throws InvalidFile where nothing of this name is visible.
  Var* at(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, Var*> by_name_;
  std::unordered_set<std::string_view> ended_;  // names of blocks that are closed
  std::vector<std::string_view> visible_;
  std::vector<size_t> starts_;
};

}  // namespace pippin::mil
