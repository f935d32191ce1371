#include "pippin/engine/weights/cached_array.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/derived_source.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

// Increased when an operation's result changes its bits for the same inputs.
constexpr int64_t kFormsVersion = 1;
// Smaller arrays are computed faster than found.
constexpr uint64_t kWorthCaching = uint64_t{1} << 16;

using Values = std::vector<const mil::Value*>;

// Adds the data that decide an operation's results to a key: with the operands' bytes, or with
// their places in files.
class KeyWriter : private mil::Recipe {
 public:
  enum class Operands { Bytes, Origins };
  KeyWriter(CacheKey& key, Operands operands) : key_(key), operands_(operands) {}

  // Returns false if something is not known.
  bool add(const mil::Operation& operation) {
    key_.add(operation.type()).add(static_cast<int64_t>(operation.outputs().size()));
    for (const auto& output : operation.outputs()) add(output->type);
    for (const auto& [name, value] : operation.attributes()) {
      if (name == "name") continue;  // two weights may have the same content
      key_.add(name);
      if (!add(value)) return false;
    }
    for (const auto& [name, argument] : operation.inputs()) {
      key_.add(name).add(static_cast<int64_t>(argument.size()));
      for (const mil::Binding& binding : argument) {
        if (!add(binding)) return false;
      }
    }
    return true;
  }

  const Values& mapped() const { return mapped_; }

 private:
  bool add(const mil::Binding& binding) {
    if (const auto* literal = std::get_if<mil::Value>(&binding)) return add(*literal);
    const mil::Var* var = std::get<mil::Var*>(binding);
    if (const mil::Value* value = mil::constant_of(var)) return add(*value);
    const mil::Operation* producer = var->producer;
    if (producer == nullptr || !mil::has_trait(*producer, mil::Trait::Compressed)) return false;
    for (size_t i = 0; i < producer->outputs().size(); ++i) {
      if (producer->output(i) == var) key_.add(static_cast<int64_t>(i));
    }
    return add(*producer);
  }

  void add(const mil::ValueType& type) { key_.add(mil::to_string(type)); }

  bool add(const mil::Value& value) {
    add(value.type);
    key_.add(static_cast<int64_t>(value.strings.size()));
    for (const std::string& text : value.strings) key_.add(text);
    key_.add(static_cast<int64_t>(value.elements.size()));
    for (const mil::Value& element : value.elements) {
      if (!add(element)) return false;
    }
    if (value.source == nullptr) {
      key_.add(ByteSpan(value.bytes));
      return !value.blob.has_value();
    }
    if (operands_ == Operands::Bytes) mapped_.push_back(&value);
    return mil::describe_source(*value.source, *this) && all_known_;
  }

  Recipe& step(std::string_view name) override {
    key_.add(name);
    return *this;
  }
  Recipe& number(int64_t value) override {
    key_.add(value);
    return *this;
  }
  Recipe& bytes(ByteSpan bytes) override {
    if (operands_ == Operands::Bytes) {
      key_.add(bytes);
      return *this;
    }
    const auto origin = origin_of(bytes);
    if (!origin || !origin->settled) {
      all_known_ = false;
      return *this;
    }
    for (const uint64_t part : {origin->device, origin->inode, origin->size, origin->offset,
                                static_cast<uint64_t>(origin->modified_ns),
                                static_cast<uint64_t>(origin->changed_ns), bytes.size()}) {
      key_.add(static_cast<int64_t>(part));
    }
    return *this;
  }

  CacheKey& key_;
  Operands operands_;
  Values mapped_;
  bool all_known_ = true;
};

struct Key {
  std::string text;
  Values mapped;  // values that were read for it
};

std::optional<Key> key_of(const ArrayRequest& request, KeyWriter::Operands operands) {
  const mil::Operation* operation = request.var->producer;
  if (operation == nullptr) return std::nullopt;
  CacheKey key;
  key.add(operands == KeyWriter::Operands::Bytes ? "array" : "alias").add(kFormsVersion);
  key.add(static_cast<int64_t>(request.opset)).add(request.variant);
  key.add(static_cast<int64_t>(request.size));
  for (size_t i = 0; i < operation->outputs().size(); ++i) {
    if (operation->output(i) == request.var) key.add(static_cast<int64_t>(i));
  }
  KeyWriter writer(key, operands);
  if (!writer.add(*operation)) return std::nullopt;
  return Key{key.finish(), writer.mapped()};
}

SharedBytes hold(LoadCache::Array array) {
  const std::byte* data = array.bytes.data();
  return {std::move(array.file), data};
}

SharedBytes hold(std::vector<std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::byte* data = owner->data();
  return {std::move(owner), data};
}

SharedBytes find_or_make(const ArrayRequest& request,
                         const std::function<std::vector<std::byte>()>& make) {
  LoadCache* const cache = request.cache;
  const auto applies = [&] { return request.applies == nullptr || request.applies(); };
  if (cache == nullptr || request.size < kWorthCaching) {
    return !request.only_stored && applies() ? hold(make()) : nullptr;
  }
  const auto alias = key_of(request, KeyWriter::Operands::Origins);
  if (alias) {
    if (const auto key = cache->find_alias(alias->text)) {
      if (auto found = cache->find(*key, request.size)) return hold(std::move(*found));
    }
  }
  if (!applies() || (request.only_stored && !cache->has_place(request.size))) return nullptr;
  const auto key = key_of(request, KeyWriter::Operands::Bytes);
  if (!key) return request.only_stored ? nullptr : hold(make());
  auto array = cache->find(key->text, request.size);
  std::vector<std::byte> made;
  if (!array) {
    made = make();
    if (made.empty()) return nullptr;
    array = cache->store(key->text, made,
                         fmt::format("{} {}", request.var->producer->type(), request.var->name));
  }
  if (!array) return request.only_stored ? nullptr : hold(std::move(made));
  if (alias) cache->store_alias(alias->text, key->text);
  // The array replaces its operands.
  for (const mil::Value* value : key->mapped) value->source->release();
  return hold(std::move(*array));
}

// The arrays that plans hold. They do not outlive their program, so an address that is still held
// is still that value. One thread at a time makes arrays; making one may need another.
class Arrays {
 public:
  using Known = std::map<std::pair<const mil::Var*, std::string>, std::weak_ptr<const std::byte>>;

  Arrays() {
    static ForkGuarded<Known> all;
    if (mine != nullptr) return;
    access_.emplace(all);
    mine = &**access_;
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  ~Arrays() {
    if (access_) mine = nullptr;
  }
  Known& known() const { return *mine; }

 private:
  std::optional<ForkGuarded<Known>::Access> access_;  // of the outer call of a thread
  static thread_local Known* mine;
};
thread_local Arrays::Known* Arrays::mine = nullptr;

}  // namespace

SharedBytes shared_array(const ArrayRequest& request,
                         const std::function<std::vector<std::byte>()>& make) {
  const Arrays arrays;
  Arrays::Known& known = arrays.known();
  const std::pair key(request.var, std::string(request.variant));
  if (const auto held = known.find(key); held != known.end()) {
    if (SharedBytes bytes = held->second.lock()) return bytes;
  }
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  SharedBytes made = find_or_make(request, make);
  if (made != nullptr) known[key] = made;
  return made;
}

std::vector<std::byte> read_on_all_threads(const mil::Value& value) {
  constexpr uint64_t kWorthSharing = uint64_t{1} << 20;  // bytes: a millisecond or more
  const auto* source = dynamic_cast<const mil::DerivedSource*>(value.source.get());
  if (source == nullptr || source->size() < kWorthSharing ||
      source->size() != mil::packed_size(value.type.data_type, value.type.num_elements())) {
    return value.read_bytes();
  }
  constexpr int64_t kWholeElements = 64;  // bytes
  std::vector<std::byte> result(source->size());
  ThreadPool pool;
  pool.run([&](int part, int parts) {
    const Range share = split_range(std::ssize(result), part, parts, kWholeElements);
    if (share.begin >= share.end) return;
    const auto begin = static_cast<size_t>(share.begin), end = static_cast<size_t>(share.end);
    source->read(begin, MutableByteSpan(result).subspan(begin, end - begin));
  });
  return result;
}

}  // namespace pippin::engine
