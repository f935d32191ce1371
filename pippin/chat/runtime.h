// Services for running templates: the budget, and calls back into the interpreter.
#pragma once

#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/chat/value.h"

namespace pippin::chat {

// Limits for a template, which comes with a model and is untrusted.
struct Limits {
  int64_t steps = 5'000'000;           // expressions, statements, items
  int64_t bytes = int64_t{256} << 20;  // of all strings and lists made
  int64_t output_bytes = int64_t{64} << 20;
  int depth = 800;  // nesting of expressions, statements and macros
};

class Runtime {
 public:
  Runtime(const Limits& limits, std::tm now) : now_(now), limits_(limits) {}
  virtual ~Runtime() = default;

  virtual Value filter(std::string_view name, const Value& input, const Arguments& arguments) = 0;
  virtual bool test(std::string_view name, const Value& input, const Arguments& arguments) = 0;
  virtual Value call(const Value& callee, const Arguments& arguments) = 0;

  void step(int64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) fail(ErrorCode::LimitExceeded, "too many steps");
  }
  // Call before allocation, so that a rejected size is never allocated.
  void charge(int64_t bytes) {
    bytes_ += bytes;
    if (bytes < 0 || bytes_ > limits_.bytes)
      fail(ErrorCode::LimitExceeded, "too much text is made");
    step(bytes / 256);
  }
  // Call before an operation that scans a value, to charge large values.
  void look(const Value& value) {
    if (value.is_string()) step(static_cast<int64_t>(value.string().size() / 256));
    if (value.is_list()) step(static_cast<int64_t>(value.list().items.size() / 16));
    if (value.is_dict()) step(static_cast<int64_t>(value.dict().size() / 16));
  }
  // The same for a call with arguments.
  void look(const Arguments& arguments) {
    for (const auto& value : arguments.positional) look(value);
    for (const auto& [name, value] : arguments.named) look(value);
  }
  // Returns `text` as a value, and charges it.
  Value string(std::string text) {
    charge(static_cast<int64_t>(text.size()));
    return Value(std::move(text));
  }
  Value list(std::vector<Value> items, ListKind kind = ListKind::List) {
    charge(static_cast<int64_t>(items.size() * sizeof(Value)));
    return Value(std::move(items), kind);
  }
  const std::tm& now() const { return now_; }
  const Limits& limits() const { return limits_; }

 private:
  std::tm now_;
  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
};

// An error of the template or of its input; the interpreter adds the line.
template <typename... Args>
[[noreturn]] void template_error(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorCode::InvalidArgument, format, fmt::make_format_args(args...));
}

// Binds arguments to parameters, as Python does. An entry is empty if the call omits the argument.
// A call that does not fit, or omits one of the first `required` parameters, is a template_error.
std::vector<std::optional<Value>> bind(std::string_view function, const Arguments& arguments,
                                       std::initializer_list<std::string_view> parameters,
                                       size_t required = 0);

}  // namespace pippin::chat
