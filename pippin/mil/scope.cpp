#include "pippin/mil/scope.h"

#include "pippin/base/error.h"

namespace pippin::mil {

void Scope::close_block() {
  for (size_t i = starts_.back(); i < visible_.size(); ++i) {
    by_name_.erase(visible_[i]);
    ended_.insert(visible_[i]);
  }
  visible_.resize(starts_.back());
  starts_.pop_back();
}

void Scope::define(Var* var) {
  if (var->name.empty()) fail(ErrorCode::InvalidFile, "a value has no name");
  if (!by_name_.emplace(var->name, var).second) {
    fail(ErrorCode::InvalidFile, "the name '{}' is defined twice", var->name);
  }
  visible_.push_back(var->name);
}

Var* Scope::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

Var* Scope::at(std::string_view name) const {
  Var* var = find(name);
  if (var != nullptr) return var;
  fail(ErrorCode::InvalidFile, "'{}' is used {}", name,
       ended_.count(name) != 0 ? "outside the block that defines it" : "but not defined before");
}

}  // namespace pippin::mil
