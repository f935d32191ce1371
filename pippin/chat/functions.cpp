#include "pippin/chat/functions.h"

#include <memory>

#include "pippin/chat/loop.h"
#include "pippin/chat/operators.h"

namespace pippin::chat {
namespace {

using Function = Value (*)(Runtime& runtime, const Arguments& arguments);

class GlobalFunction final : public Object {
 public:
  explicit GlobalFunction(Function function) : function_(function) {}
  std::string type_name() const override { return "function"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override {
    return function_(runtime, arguments);
  }

 private:
  Function function_;
};

template <typename T, typename... Args>
Value object(Args&&... args) {
  return Value(std::static_pointer_cast<Object>(std::make_shared<T>(std::forward<Args>(args)...)));
}

Value range(Runtime& runtime, const Arguments& arguments) {
  constexpr int64_t kMost = 100'000;  // limit of Jinja's sandbox
  const auto given = bind("range", arguments, {"start", "stop", "step"}, 1);
  int64_t numbers[3] = {0, 0, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (!given[i]) continue;
    require_defined(*given[i]);
    if (!given[i]->is_integer()) {
      template_error("'{}' object cannot be interpreted as an integer", given[i]->type_name());
    }
    numbers[i] = given[i]->integer();
  }
  if (!given[1]) std::swap(numbers[0], numbers[1]);
  auto [start, stop, step] = numbers;
  if (step == 0) template_error("range() arg 3 must not be zero");
  std::vector<Value> items;
  while (step > 0 ? start < stop : start > stop) {
    if (static_cast<int64_t>(items.size()) >= kMost) {
      fail(ErrorCode::LimitExceeded, "range too big, at most {} items", kMost);
    }
    items.emplace_back(start);
    if (__builtin_add_overflow(start, step, &start)) break;
  }
  return runtime.list(std::move(items), ListKind::Range);
}

// Returns the entries of dict(x, a=1): first those of a dict or of pairs, then the named ones.
std::vector<std::pair<Value, Value>> entries(Runtime& runtime, const char* function,
                                             const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> result;
  if (arguments.positional.size() > 1) template_error("{} expected at most 1 argument", function);
  for (const auto& source : arguments.positional) {
    if (source.is_dict()) {
      result = source.dict().entries();
      continue;
    }
    for (const auto& pair : iterate(runtime, source)) {
      const auto parts = iterate(runtime, pair);
      if (parts.size() != 2) template_error("{}() needs pairs", function);
      result.emplace_back(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) result.emplace_back(Value(name), value);
  runtime.charge(static_cast<int64_t>(result.size() * 4 * sizeof(Value)));
  return result;
}

Value make_dict(Runtime& runtime, const Arguments& arguments) {
  Dict dict;
  for (const auto& [key, value] : entries(runtime, "dict", arguments)) dict.set(key, value);
  return Value(std::move(dict));
}

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  for (const auto& [key, value] : entries(runtime, "namespace", arguments)) {
    if (!key.is_string()) template_error("a namespace's names are strings");
    space->set(key.string(), value);
  }
  return Value(std::static_pointer_cast<Object>(space));
}

Value raise_exception(Runtime& /*runtime*/, const Arguments& arguments) {
  const auto given = bind("raise_exception", arguments, {"message"}, 1);
  template_error("{}", to_text(*given[0]));
}

// Like Python's datetime without a time zone: %z and %Z are empty, and %f has microseconds, which
// std::tm lacks.
std::string without_zone(std::string_view format) {
  std::string result;
  for (size_t i = 0; i < format.size(); ++i) {
    const char next = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : '\0';
    if (next == '\0') {
      result += format[i];
      continue;
    }
    ++i;
    if (next == 'z' || next == 'Z') continue;
    result += next == 'f' ? std::string("000000") : std::string{'%', next};
  }
  return result;
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  const auto given = bind("strftime_now", arguments, {"format"}, 1);
  if (!given[0]->is_string()) template_error("strftime_now() needs a format");
  const std::string format = without_zone(given[0]->string());
  if (format.empty()) return "";
  if (format.size() > 256) template_error("a date format of {} bytes", format.size());
  char buffer[4096];
  const size_t size = std::strftime(buffer, sizeof buffer, format.c_str(), &runtime.now());
  return std::string(buffer, size);
}

class Joiner final : public Object {
 public:
  explicit Joiner(std::string separator) : separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Runtime& /*runtime*/, const Arguments& /*arguments*/) override {
    return std::exchange(used_, true) ? separator_ : "";
  }

 private:
  std::string separator_;
  bool used_ = false;
};

Value joiner(Runtime& /*runtime*/, const Arguments& arguments) {
  const auto given = bind("joiner", arguments, {"sep"});
  return object<Joiner>(given[0] ? to_text(*given[0]) : ", ");
}

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items)
      : depth_(depth_around(items)), items_(std::move(items)) {}
  int depth() const override { return depth_; }
  std::string type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;

 private:
  friend class CyclerMethod;
  int depth_;
  std::vector<Value> items_;
  size_t at_ = 0;
};

class CyclerMethod final : public Object {
 public:
  CyclerMethod(std::shared_ptr<Cycler> cycler, bool reset)
      : cycler_(std::move(cycler)), reset_(reset) {}
  int depth() const override { return cycler_->depth() + 1; }
  std::string type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Runtime& /*runtime*/, const Arguments& /*arguments*/) override {
    if (reset_) {
      cycler_->at_ = 0;
      return {};
    }
    Value current = cycler_->items_[cycler_->at_];
    cycler_->at_ = (cycler_->at_ + 1) % cycler_->items_.size();
    return current;
  }

 private:
  std::shared_ptr<Cycler> cycler_;
  bool reset_;
};

std::optional<Value> Cycler::attribute(Runtime& /*runtime*/, std::string_view name) {
  if (name == "current") return items_[at_];
  if (name == "next" || name == "reset") {
    return object<CyclerMethod>(std::static_pointer_cast<Cycler>(shared_from_this()),
                                name == "reset");
  }
  return std::nullopt;
}

Value cycler(Runtime& /*runtime*/, const Arguments& arguments) {
  if (arguments.positional.empty()) template_error("at least one item has to be provided");
  return object<Cycler>(arguments.positional);
}

struct Entry {
  std::string_view name;
  Function function;
};

constexpr Entry kFunctions[] = {
    {"range", range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
    {"joiner", joiner},
    {"cycler", cycler},
};

}  // namespace

std::optional<Value> global_function(std::string_view name) {
  for (const auto& entry : kFunctions) {
    if (entry.name == name) return object<GlobalFunction>(entry.function);
  }
  return std::nullopt;
}

}  // namespace pippin::chat
