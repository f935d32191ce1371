#include "pippin/chat/loop.h"

#include <algorithm>
#include <utility>

#include "pippin/chat/operators.h"

namespace pippin::chat {

// loop.cycle and loop.changed.
class LoopMethod final : public Object {
 public:
  enum class Kind { Cycle, Changed };
  LoopMethod(std::shared_ptr<LoopObject> loop, Kind kind) : loop_(std::move(loop)), kind_(kind) {}
  int depth() const override { return loop_->depth() + 1; }
  std::string type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override {
    const auto& values = arguments.positional;
    if (kind_ == Kind::Cycle) {
      if (values.empty()) template_error("no items for cycling given");
      return values[loop_->index_ % values.size()];
    }
    if (loop_->finished_) template_error("the loop has ended");
    const auto& last = loop_->last_changed_;
    const bool same =
        last && last->size() == values.size() &&
        std::equal(values.begin(), values.end(), last->begin(),
                   [&](const Value& a, const Value& b) { return equal(runtime, a, b); });
    if (!same) loop_->last_changed_ = values;
    return !same;
  }

 private:
  std::shared_ptr<LoopObject> loop_;
  Kind kind_;
};

std::optional<Value> LoopObject::attribute(Runtime& /*runtime*/, std::string_view name) {
  const auto index = static_cast<int64_t>(index_);
  const auto count = static_cast<int64_t>(items_.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return count - index;
  if (name == "revindex0") return count - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == count;
  if (name == "length") return count;
  if (name == "depth") return level_ + 1;
  if (name == "depth0") return level_;
  if (name == "previtem") {
    return index_ > 0 ? items_[index_ - 1] : Value::undefined("no previous item");
  }
  if (name == "nextitem") {
    return index_ + 1 < items_.size() ? items_[index_ + 1] : Value::undefined("no next item");
  }
  if (name == "cycle" || name == "changed") {
    const auto kind = name == "cycle" ? LoopMethod::Kind::Cycle : LoopMethod::Kind::Changed;
    return Value(std::static_pointer_cast<Object>(std::make_shared<LoopMethod>(
        std::static_pointer_cast<LoopObject>(shared_from_this()), kind)));
  }
  return std::nullopt;
}

Value LoopObject::call(Runtime& /*runtime*/, const Arguments& arguments) {
  if (!recursion_) template_error("the loop must have the 'recursive' marker to be called");
  const auto given = bind("loop", arguments, {"iterable"}, 1);
  return recursion_(*given[0]);
}

std::optional<Value> Namespace::attribute(Runtime& /*runtime*/, std::string_view name) {
  const Value* found = values_.find(Value(name));
  if (found == nullptr) return std::nullopt;
  return *found;
}

void Namespace::set(const std::string& name, Value value) {
  values_.set(Value(name), std::move(value));
}

}  // namespace pippin::chat
