#include "pippin/chat/operators.h"

#include <algorithm>
#include <cmath>

#include "pippin/chat/format.h"
#include "pippin/chat/methods.h"
#include "pippin/chat/text.h"

namespace pippin::chat {
namespace {

[[noreturn]] void overflow() {
  template_error("a number is too large");
}

[[noreturn]] void unsupported(std::string_view op, const Value& left, const Value& right) {
  require_defined(left);
  require_defined(right);
  template_error("unsupported operand type(s) for {}: '{}' and '{}'", op, left.type_name(),
                 right.type_name());
}

BigInteger to_big(const Value& integer) {
  return integer.is_big() ? integer.big() : BigInteger(integer.integer());
}

Value big_integers(std::string_view op, const Value& a, const Value& b) {
  if (op == "/") {
    if (b.number() == 0) template_error("division by zero");
    return a.number() / b.number();
  }
  if (op == "**" && b.number() < 0) return std::pow(a.number(), b.number());
  return to_big(a).apply(op, to_big(b));
}

// Returns whether the result fits 64 bits.
bool small_integers(std::string_view op, int64_t a, int64_t b, int64_t& result) {
  if (op == "+") return !__builtin_add_overflow(a, b, &result);
  if (op == "-") return !__builtin_sub_overflow(a, b, &result);
  if (op == "*") return !__builtin_mul_overflow(a, b, &result);
  if ((op != "//" && op != "%") || b == 0 || b == -1) return false;
  const int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);  // rounds down, not toward zero
  result = op == "//" ? a / b - (adjust ? 1 : 0) : remainder + (adjust ? b : 0);
  return true;
}

Value floats(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return std::pow(a, b);
  if (b == 0) template_error("float division by zero");
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

bool is_sequence(const Value& value) {
  return value.is_list() &&
         (value.list().kind == ListKind::List || value.list().kind == ListKind::Tuple);
}

Value repeat(Runtime& runtime, const Value& sequence, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const auto size =
      static_cast<int64_t>(sequence.is_string() ? sequence.string().size()
                                                : sequence.list().items.size() * sizeof(Value));
  if (size == 0) return sequence;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(size, times, &bytes)) overflow();
  runtime.charge(bytes);
  if (sequence.is_string()) {
    std::string text;
    for (int64_t i = 0; i < times; ++i) text += sequence.string();
    return text_like(sequence, std::move(text));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i) {
    const auto& once = sequence.list().items;
    items.insert(items.end(), once.begin(), once.end());
  }
  return Value(std::move(items), sequence.list().kind);
}

// Converts a Python index, where negative ones count from the end; nothing if out of range.
std::optional<size_t> place(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<size_t>(index);
}

std::string element_name(const Value& object, const Value& key) {
  if (key.is_string()) {
    return fmt::format("'{}' has no attribute {}",
                       object.is_none() ? "None" : object.type_name() + " object", to_repr(key));
  }
  return fmt::format("{} has no element {}",
                     object.is_none() ? "None" : object.type_name() + " object", to_repr(key));
}

}  // namespace

void require_defined(const Value& value) {
  if (value.is_undefined()) template_error("{}", value.undefined_text());
}

Value binary(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    int64_t result = 0;
    if (left.is_integer() && right.is_integer() &&
        small_integers(op, left.integer(), right.integer(), result)) {
      return result;
    }
    if (!left.is(Type::Float) && !right.is(Type::Float)) return big_integers(op, left, right);
    return floats(op, left.number(), right.number());
  }
  if (op == "+" && left.is_string()) {
    require_defined(right);
    if (!right.is_string()) {
      template_error("can only concatenate str (not \"{}\") to str", right.type_name());
    }
    runtime.charge(static_cast<int64_t>(left.string().size() + right.string().size()));
    if (left.is_markup() || right.is_markup()) {
      std::string text = escaped(left) + escaped(right);
      runtime.charge(static_cast<int64_t>(text.size()));
      return Value::markup(std::move(text));
    }
    return left.string() + right.string();
  }
  if (op == "+" && is_sequence(left) && is_sequence(right) &&
      left.list().kind == right.list().kind) {
    std::vector<Value> items = left.list().items;
    items.insert(items.end(), right.list().items.begin(), right.list().items.end());
    return runtime.list(std::move(items), left.list().kind);
  }
  if (op == "*") {
    if ((left.is_string() || is_sequence(left)) && right.is_integer()) {
      return repeat(runtime, left, right.integer());
    }
    if ((right.is_string() || is_sequence(right)) && left.is_integer()) {
      return repeat(runtime, right, left.integer());
    }
  }
  if (op == "%" && left.is_string()) {
    require_defined(right);
    std::vector<Value> values = {right};
    if (right.is_list() && right.list().kind == ListKind::Tuple) values = right.list().items;
    if (left.is_markup()) {
      for (auto& value : values) {
        if (value.is_string()) value = Value::markup(escaped(value));
      }
    }
    std::string text = percent_format(runtime, left.string(), values);
    runtime.charge(static_cast<int64_t>(text.size()));
    return text_like(left, std::move(text));
  }
  unsupported(op, left, right);
}

Value negate(const Value& operand) {
  if (operand.is_integer() || operand.is_big()) return big_integers("-", 0, operand);
  if (operand.is(Type::Float)) return -operand.number();
  require_defined(operand);
  template_error("bad operand type for unary -: '{}'", operand.type_name());
}

bool equal(Runtime& runtime, const Value& left, const Value& right) {
  int64_t cost = 0;
  const bool result = equal(left, right, cost);
  runtime.step(cost / 16);
  return result;
}

int order(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) {
      return left.integer() < right.integer() ? -1 : left.integer() > right.integer();
    }
    if (!left.is(Type::Float) && !right.is(Type::Float)) return to_big(left).compare(to_big(right));
    return left.number() < right.number() ? -1 : left.number() > right.number();
  }
  if (left.is_string() && right.is_string()) {
    runtime.look(left.string().size() < right.string().size() ? left : right);
    return left.string().compare(right.string());
  }
  if (is_sequence(left) && is_sequence(right) && left.list().kind == right.list().kind) {
    runtime.look(left);
    const auto& a = left.list().items;
    const auto& b = right.list().items;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!equal(runtime, a[i], b[i])) return order(runtime, op, a[i], b[i]);
    }
    return a.size() < b.size() ? -1 : a.size() > b.size();
  }
  require_defined(left);
  require_defined(right);
  template_error("'{}' not supported between instances of '{}' and '{}'", op, left.type_name(),
                 right.type_name());
}

bool compare(Runtime& runtime, std::string_view op, const Value& left, const Value& right) {
  if (op == "==") return equal(runtime, left, right);
  if (op == "!=") return !equal(runtime, left, right);
  if (op == "in") return contains(runtime, right, left);
  if (op == "not in") return !contains(runtime, right, left);
  const int result = order(runtime, op, left, right);
  if (op == "<") return result < 0;
  if (op == "<=") return result <= 0;
  if (op == ">") return result > 0;
  return result >= 0;
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  runtime.look(container);
  runtime.look(item);
  switch (container.type()) {
    case Type::String:
      require_defined(item);
      if (!item.is_string()) {
        template_error("'in <string>' requires string as left operand, not {}", item.type_name());
      }
      return container.string().find(item.string()) != std::string::npos;
    case Type::Dict:
      return container.dict().find(item) != nullptr;
    case Type::Undefined:
      return false;
    case Type::List: {
      const auto& items = container.list().items;
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& other) { return equal(runtime, other, item); });
    }
    default:
      template_error("argument of type '{}' is not iterable", container.type_name());
  }
}

std::vector<std::string_view> charged_characters(Runtime& runtime, std::string_view text) {
  runtime.charge(text_length(text) * static_cast<int64_t>(sizeof(std::string_view)));
  return characters(text);
}

std::vector<Value> iterate(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  switch (value.type()) {
    case Type::Undefined:
      break;
    case Type::String:
      for (const auto one : charged_characters(runtime, value.string())) items.emplace_back(one);
      break;
    case Type::List:
      if (value.list().kind == ListKind::Generator) {
        items = std::exchange(value.mutable_list().items, {});
      } else {
        items = value.list().items;
      }
      break;
    case Type::Dict:
      for (const auto& [key, unused] : value.dict().entries()) items.push_back(key);
      break;
    default:
      template_error("'{}' object is not iterable", value.type_name());
  }
  runtime.charge(static_cast<int64_t>(items.size() * sizeof(Value)));
  return items;
}

std::optional<int64_t> length(const Value& value) {
  switch (value.type()) {
    case Type::Undefined:
      return 0;
    case Type::String:
      return text_length(value.string());
    case Type::List:
      if (value.list().kind == ListKind::Generator) return std::nullopt;
      return static_cast<int64_t>(value.list().items.size());
    case Type::Dict:
      return static_cast<int64_t>(value.dict().size());
    default:
      return std::nullopt;
  }
}

Value attribute(Runtime& runtime, const Value& object, const std::string& name) {
  require_defined(object);
  if (object.is(Type::Object)) {
    if (auto found = object.object()->attribute(runtime, name)) return *found;
  } else if (auto method = find_method(object, name)) {
    return *method;
  }
  if (object.is_dict()) {
    if (const Value* found = object.dict().find(name)) return *found;
  }
  return Value::undefined(element_name(object, name));
}

Value item(Runtime& runtime, const Value& object, const Value& key) {
  require_defined(object);
  if (object.is_dict()) {
    runtime.look(key);
    const bool hashable = !key.is_dict() && !key.is_undefined() && !key.is(Type::Object) &&
                          !(key.is_list() && key.list().kind != ListKind::Tuple);
    if (hashable) {
      if (const Value* found = object.dict().find(key)) return *found;
    }
  } else if (key.is_integer()) {
    if (object.is_string()) {
      runtime.look(object);
      const std::string& text = object.string();
      if (const auto at = place(key.integer(), static_cast<size_t>(text_length(text)))) {
        const size_t begin = byte_offset(text, *at);
        return text_like(object, text.substr(begin, byte_offset(text, *at + 1) - begin));
      }
    } else if (object.is_list() && object.list().kind != ListKind::Generator &&
               object.list().kind != ListKind::DictView) {
      const auto& items = object.list().items;
      if (const auto at = place(key.integer(), items.size())) return items[*at];
    }
  }
  if (key.is_string()) {
    if (object.is(Type::Object)) {
      if (auto found = object.object()->attribute(runtime, key.string())) return *found;
    } else if (auto method = find_method(object, key.string())) {
      return *method;
    }
  }
  return Value::undefined(element_name(object, key));
}

Value slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
            const Value& step) {
  require_defined(object);
  const bool on_list = object.is_list() && object.list().kind != ListKind::Generator &&
                       object.list().kind != ListKind::DictView;
  if (!object.is_string() && !on_list) {
    template_error("'{}' object is not subscriptable", object.type_name());
  }
  const auto given = [](const Value& value) -> std::optional<int64_t> {
    if (value.is_none()) return std::nullopt;
    require_defined(value);
    if (!value.is_integer()) {
      template_error("slice indices must be integers or None, not {}", value.type_name());
    }
    return value.integer();
  };
  const int64_t by = given(step).value_or(1);
  if (by == 0) template_error("slice step cannot be zero");
  runtime.look(object);
  const auto size = object.is_string() ? text_length(object.string())
                                       : static_cast<int64_t>(object.list().items.size());
  // Like slice.indices: bounds that the step can reach.
  const int64_t low = by > 0 ? 0 : -1;
  const int64_t high = by > 0 ? size : size - 1;
  const auto clamp = [&](std::optional<int64_t> index, int64_t fallback) {
    if (!index) return fallback;
    return std::clamp(*index < 0 ? *index + size : *index, low, high);
  };
  int64_t at = clamp(given(start), by > 0 ? low : high);
  const int64_t end = clamp(given(stop), by > 0 ? high : low);
  if (object.is_string() && by == 1) {
    const std::string& text = object.string();
    const size_t begin = byte_offset(text, static_cast<size_t>(at));
    const size_t past = byte_offset(text, static_cast<size_t>(std::max(at, end)));
    std::string cut = text.substr(begin, past - begin);
    runtime.charge(static_cast<int64_t>(cut.size()));
    return text_like(object, std::move(cut));
  }
  std::vector<std::string_view> text;
  if (object.is_string()) text = charged_characters(runtime, object.string());
  std::string out;
  std::vector<Value> items;
  while (by > 0 ? at < end : at > end) {
    const auto index = static_cast<size_t>(at);
    if (object.is_string()) {
      out += text[index];
    } else {
      items.push_back(object.list().items[index]);
    }
    if (__builtin_add_overflow(at, by, &at)) break;
  }
  if (object.is_string()) {
    runtime.charge(static_cast<int64_t>(out.size()));
    return text_like(object, std::move(out));
  }
  const bool tuple = object.list().kind == ListKind::Tuple;
  return runtime.list(std::move(items), tuple ? ListKind::Tuple : ListKind::List);
}

std::vector<std::optional<Value>> bind(std::string_view function, const Arguments& arguments,
                                       std::initializer_list<std::string_view> parameters,
                                       size_t required) {
  std::vector<std::optional<Value>> result(parameters.size());
  if (arguments.positional.size() > parameters.size()) {
    template_error("{}() takes at most {} arguments ({} given)", function, parameters.size(),
                   arguments.positional.size());
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), result.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) {
      template_error("{}() got an unexpected keyword argument '{}'", function, name);
    }
    auto& slot = result[static_cast<size_t>(found - parameters.begin())];
    if (slot) template_error("{}() got multiple values for argument '{}'", function, name);
    slot = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!result[i]) {
      template_error("{}() misses the argument '{}'", function, parameters.begin()[i]);
    }
  }
  return result;
}

}  // namespace pippin::chat
