// Special objects in templates: the loop variable, and namespaces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pippin/chat/runtime.h"

namespace pippin::chat {

// The variable "loop" inside a for loop.
class LoopObject final : public Object {
 public:
  // Implements loop(items); empty if the loop is not recursive.
  using Recursion = std::function<Value(const Value& items)>;

  LoopObject(std::vector<Value> items, int level, Recursion recursion)
      : depth_(depth_around(items)),
        items_(std::move(items)),
        level_(level),
        recursion_(std::move(recursion)) {}
  int depth() const override { return depth_; }

  size_t size() const { return items_.size(); }
  void move_to(size_t index) { index_ = index; }
  void finish() {
    finished_ = true;
    last_changed_.reset();
  }
  const Value& current() const { return items_[index_]; }

  std::string type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override;

 private:
  friend class LoopMethod;
  int depth_;
  std::vector<Value> items_;
  size_t index_ = 0;
  int level_;  // recursion level
  Recursion recursion_;
  std::optional<std::vector<Value>> last_changed_;  // may refer to the loop itself, until the loop
                                                    // ends
  bool finished_ = false;
};

// namespace(): what templates can change.
class Namespace final : public Object {
 public:
  std::string type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  void set(const std::string& name, Value value);
  void clear() { values_ = {}; }

 private:
  Dict values_;
};

}  // namespace pippin::chat
