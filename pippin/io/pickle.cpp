#include "pippin/io/pickle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "pippin/base/error.h"

namespace pippin {
namespace {

using Id = uint32_t;

struct Value {
  enum class Kind : uint8_t {
    None,
    Number,    // integers and bools
    Float,     // the value is not needed
    Text,      // strings and bytes
    Sequence,  // tuples and lists
    Dict,      // alternating keys and values
    Name,      // "module name"
    Storage,   // items: class, key
    Tensor,    // items: storage, offset, shape, strides
  };
  Kind kind = Kind::None;
  int64_t number = 0;
  std::string_view text;  // a view of the pickle; for a name, one of those below
  std::vector<Id> items;
};
using Kind = Value::Kind;

struct StorageClass {
  std::string_view name;
  Dtype dtype;
};
constexpr std::array kStorages = {
    StorageClass{"torch FloatStorage", Dtype::F32},
    StorageClass{"torch HalfStorage", Dtype::F16},
    StorageClass{"torch BFloat16Storage", Dtype::BF16},
    StorageClass{"torch DoubleStorage", Dtype::F64},
    StorageClass{"torch LongStorage", Dtype::I64},
    StorageClass{"torch IntStorage", Dtype::I32},
    StorageClass{"torch ShortStorage", Dtype::I16},
    StorageClass{"torch CharStorage", Dtype::I8},
    StorageClass{"torch ByteStorage", Dtype::U8},
    StorageClass{"torch BoolStorage", Dtype::Bool},
};
constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";
constexpr std::string_view kOrderedDict = "collections OrderedDict";

const StorageClass* find_storage(std::string_view name) {
  const auto* const found = std::find_if(kStorages.begin(), kStorages.end(),
                                         [&](const auto& one) { return one.name == name; });
  return found == kStorages.end() ? nullptr : found;
}

// Returns the known name "module name"; empty if it is not known.
std::string_view find_name(std::string_view module, std::string_view item) {
  const auto is_it = [&](std::string_view name) {
    return name.size() == module.size() + 1 + item.size() && name.starts_with(module) &&
           name[module.size()] == ' ' && name.ends_with(item);
  };
  for (const std::string_view name : {kTensor, kParameter, kOrderedDict}) {
    if (is_it(name)) return name;
  }
  for (const StorageClass& storage : kStorages) {
    if (is_it(storage.name)) return storage.name;
  }
  return {};
}

// The subset of pickle's stack machine (documented in Python's pickletools) that tensors need.
class Machine {
 public:
  Machine(ByteSpan bytes, const std::string& name, const PickleLimits& limits)
      : reader_(bytes, name), bytes_(bytes), name_(name), limits_(limits) {}

  std::vector<PickledTensor> run() {
    while (true) {
      at_ = reader_.position();
      const auto code = reader_.read<uint8_t>();
      if (code == '.') break;
      step(code);
    }
    return tensors(pop());
  }

 private:
  [[noreturn]] void broken(std::string_view what) const {
    fail(ErrorCode::InvalidFile, "{}: pickle, byte {}: {}", name_, at_, what);
  }

  Id add(Value value) {
    if (values_.size() >= limits_.max_values) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} values in a pickle", name_,
           limits_.max_values);
    }
    values_.push_back(std::move(value));
    return static_cast<Id>(values_.size() - 1);
  }
  void push(Value value) { push_id(add(std::move(value))); }
  void push_id(Id id) {
    // GET and DUP push without making a value.
    if (stack_.size() >= limits_.max_values) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} values on a pickle's stack", name_,
           limits_.max_values);
    }
    stack_.push_back(id);
  }
  Id pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) broken("the stack is empty");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  Id top() {
    const Id id = pop();
    stack_.push_back(id);
    return id;
  }
  // Returns the values pushed since the last mark.
  std::vector<Id> pop_mark() {
    if (marks_.empty()) broken("no mark on the stack");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  Value& value(Id id, Kind kind, std::string_view expected) {
    if (values_[id].kind != kind) broken(fmt::format("expected {}", expected));
    return values_[id];
  }
  std::vector<Id> first_items(Id id, size_t most, std::string_view expected) {
    const std::vector<Id>& items = value(id, Kind::Sequence, expected).items;
    return {items.begin(),
            items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), most))};
  }
  int64_t number(Id id) { return value(id, Kind::Number, "an integer").number; }

  void push_number(int64_t number) { push({.kind = Kind::Number, .number = number}); }
  void push_text(size_t size) { push({.kind = Kind::Text, .text = as_text(reader_.take(size))}); }
  void push_sequence(std::vector<Id> items) {
    push({.kind = Kind::Sequence, .items = std::move(items)});
  }
  void push_tuple(size_t size) {
    std::vector<Id> items(size);
    for (size_t i = size; i-- > 0;) items[i] = pop();
    push_sequence(std::move(items));
  }

  std::string_view line() {
    const size_t begin = reader_.position();
    const std::string_view rest = as_text(bytes_.subspan(begin));
    const size_t end = rest.find('\n');
    if (end == rest.npos) broken("a line without end");
    reader_.take(end + 1);
    return rest.substr(0, end);
  }

  void push_name(std::string_view module, std::string_view item) {
    const std::string_view name = find_name(module, item);
    if (name.empty()) {
      fail(ErrorCode::Unsupported,
           "{}: the pickle names '{}.{}', which is not part of a dictionary of tensors: refused",
           name_, module.substr(0, 60), item.substr(0, 60));
    }
    push({.kind = Kind::Name, .text = name});
  }

  // Integers are little-endian two's complement, of any length.
  void push_long(size_t size) {
    if (size > 8) broken(fmt::format("an integer of {} bytes", size));
    uint64_t bits = 0;
    const ByteSpan source = reader_.take(size);
    for (size_t i = 0; i < size; ++i) bits |= static_cast<uint64_t>(source[i]) << (8 * i);
    const bool negative = size > 0 && (source[size - 1] & std::byte{0x80}) != std::byte{0};
    if (negative && size < 8) bits |= ~uint64_t{0} << (8 * size);
    push_number(static_cast<int64_t>(bits));
  }

  void store(uint32_t key) { memo_.insert_or_assign(key, top()); }
  void load(uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) broken(fmt::format("no value was remembered as {}", key));
    push_id(found->second);
  }

  void append(const std::vector<Id>& items) {
    Value& list = value(top(), Kind::Sequence, "a list");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<Id>& items) {
    if (items.size() % 2 != 0) broken("a key without a value");
    Value& dict = value(top(), Kind::Dict, "a dictionary");
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }

  // ('storage', class, key, location, elements), with a sixth item before PyTorch 1.6
  void persistent_id() {
    const std::vector<Id> items = first_items(pop(), 6, "a storage");
    // The sixth item, in files older than PyTorch 0.4, marks a view of another storage.
    if (items.size() == 6 && values_[items[5]].kind != Kind::None) {
      fail(ErrorCode::Unsupported, "{}: pickle, byte {}: a storage that is a part of another",
           name_, at_);
    }
    if (items.size() < 3 || value(items[0], Kind::Text, "'storage'").text != "storage") {
      broken("a persistent id that is not a storage");
    }
    if (find_storage(value(items[1], Kind::Name, "a storage's class").text) == nullptr) {
      broken("a storage of no known class");
    }
    value(items[2], Kind::Text, "a storage's key");
    push({.kind = Kind::Storage, .items = {items[1], items[2]}});
  }

  void reduce() {
    const Id arguments_id = pop();
    const std::string_view name = value(pop(), Kind::Name, "something to call").text;
    const std::vector<Id> arguments = first_items(arguments_id, 4, "arguments");
    if (name == kOrderedDict) {
      if (!arguments.empty()) broken("an OrderedDict with arguments");
      push({.kind = Kind::Dict});
    } else if (name == kParameter) {
      if (arguments.empty()) broken("a parameter without a tensor");
      value(arguments[0], Kind::Tensor, "a tensor");
      push_id(arguments[0]);
    } else if (name == kTensor) {
      if (arguments.size() < 4) broken("a tensor of fewer than 4 arguments");
      value(arguments[0], Kind::Storage, "a storage");
      number(arguments[1]);
      for (const size_t i : {2, 3}) {
        const Value& sizes = value(arguments[i], Kind::Sequence, "a shape");
        if (sizes.items.size() > limits_.max_rank) {
          fail(ErrorCode::LimitExceeded, "{}: a tensor of rank {}, at most {}", name_,
               sizes.items.size(), limits_.max_rank);
        }
        for (const Id size : sizes.items) number(size);
      }
      push({.kind = Kind::Tensor,
            .items = {arguments[0], arguments[1], arguments[2], arguments[3]}});
    } else {
      broken("a storage's class is called");
    }
  }

  void step(uint8_t code);

  // Any number of tensors may share a tuple of sizes. Sizes that are written out take two bytes
  // each.
  std::vector<int64_t> numbers(Id sequence) {
    const std::vector<Id>& items = values_[sequence].items;
    num_sizes_ += items.size();
    if (num_sizes_ > bytes_.size()) {
      fail(ErrorCode::LimitExceeded, "{}: more sizes of tensors than its pickle has bytes, {}",
           name_, bytes_.size());
    }
    std::vector<int64_t> result;
    result.reserve(items.size());
    for (const Id item : items) result.push_back(number(item));
    return result;
  }

  std::vector<PickledTensor> tensors(Id root) {
    std::vector<PickledTensor> result;
    std::unordered_set<std::string_view> names;
    const std::vector<Id>& items = value(root, Kind::Dict, "a dictionary of tensors").items;
    for (size_t i = 0; i < items.size(); i += 2) {
      const Value& tensor = values_[items[i + 1]];
      if (values_[items[i]].kind != Kind::Text || tensor.kind != Kind::Tensor) continue;
      const std::vector<Id>& parts = tensor.items;
      const Value& storage = values_[parts[0]];
      PickledTensor& entry = result.emplace_back();
      entry.name = values_[items[i]].text;
      if (!names.insert(entry.name).second) {
        fail(ErrorCode::InvalidFile, "{}: two entries are called {}", name_,
             entry.name.substr(0, 100));
      }
      entry.dtype = find_storage(values_[storage.items[0]].text)->dtype;
      entry.storage = values_[storage.items[1]].text;
      entry.offset = number(parts[1]);
      entry.shape = numbers(parts[2]);
      entry.strides = numbers(parts[3]);
    }
    return result;
  }

  ByteReader reader_;
  ByteSpan bytes_;
  const std::string& name_;
  PickleLimits limits_;
  size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;  // stack sizes at the marks
  std::unordered_map<uint32_t, Id> memo_;
  size_t num_sizes_ = 0;  // total of all tensors
};

void Machine::step(uint8_t code) {
  switch (code) {
    case 0x80:  // PROTO
      if (const auto version = reader_.read<uint8_t>(); version < 2 || version > 5) {
        fail(ErrorCode::Unsupported, "{}: pickle protocol {}, 2 to 5 are read", name_, version);
      }
      return;
    case 0x95:  // FRAME
      reader_.take(8);
      return;
    case '(':  // MARK
      if (marks_.size() >= limits_.max_values) broken("too many marks");
      marks_.push_back(stack_.size());
      return;
    case '}':  // EMPTY_DICT
      return push({.kind = Kind::Dict});
    case ']':  // EMPTY_LIST
    case ')':  // EMPTY_TUPLE
      return push_sequence({});
    case 't':  // TUPLE
    case 'l':  // LIST
      return push_sequence(pop_mark());
    case 0x85:  // TUPLE1 to TUPLE3
    case 0x86:
    case 0x87:
      return push_tuple(code - size_t{0x84});
    case 'd': {  // DICT
      std::vector<Id> items = pop_mark();
      push({.kind = Kind::Dict});
      return set_items(items);
    }
    case 'q':  // BINPUT
      return store(reader_.read<uint8_t>());
    case 'r':  // LONG_BINPUT
      return store(reader_.read<uint32_t>());
    case 0x94:  // MEMOIZE
      return store(static_cast<uint32_t>(memo_.size()));
    case 'h':  // BINGET
      return load(reader_.read<uint8_t>());
    case 'j':  // LONG_BINGET
      return load(reader_.read<uint32_t>());
    case 'J':  // BININT
      return push_number(reader_.read<int32_t>());
    case 'K':  // BININT1
      return push_number(reader_.read<uint8_t>());
    case 'M':  // BININT2
      return push_number(reader_.read<uint16_t>());
    case 0x8a:  // LONG1
      return push_long(reader_.read<uint8_t>());
    case 'G':  // BINFLOAT
      reader_.take(8);
      return push({.kind = Kind::Float});
    case 'N':  // NONE
      return push({});
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push_number(code == 0x88 ? 1 : 0);
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return push_text(reader_.read<uint32_t>());
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
      return push_text(reader_.read<uint8_t>());
    case 0x8d:  // BINUNICODE8
      return push_text(reader_.read<uint64_t>());
    case 'c': {  // GLOBAL
      const std::string_view module = line();
      return push_name(module, line());
    }
    case 0x93: {  // STACK_GLOBAL
      const std::string_view item = value(pop(), Kind::Text, "a name").text;
      return push_name(value(pop(), Kind::Text, "a module").text, item);
    }
    case 'R':  // REDUCE
      return reduce();
    case 'b':  // BUILD: attributes (an OrderedDict's _metadata), which are ignored
      pop();
      top();
      return;
    case 's': {  // SETITEM
      const Id item = pop(), key = pop();
      return set_items({key, item});
    }
    case 'u':  // SETITEMS
      return set_items(pop_mark());
    case 'a':  // APPEND
      return append({pop()});
    case 'e':  // APPENDS
      return append(pop_mark());
    case 'Q':  // BINPERSID
      return persistent_id();
    case '0':  // POP
      pop();
      return;
    case '1':  // POP_MARK
      pop_mark();
      return;
    case '2':  // DUP
      return push_id(top());
    default:
      fail(ErrorCode::Unsupported,
           "{}: pickle, byte {}: instruction {:#04x}, which no dictionary of tensors needs", name_,
           at_, code);
  }
}

}  // namespace

std::vector<PickledTensor> read_tensor_pickle(ByteSpan bytes, const std::string& name,
                                              const PickleLimits& limits) {
  return Machine(bytes, name, limits).run();
}

}  // namespace pippin
