#include <chrono>
#include <mutex>

#include "pippin/base/error.h"
#include "pippin/base/threads/fork.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/threefry.h"
#include "pippin/mx/ops/random.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx::random {
namespace {

class Bits final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "random_bits"; }
  void eval(Node& out) const override {
    Words key;
    copy_to(*out.inputs[0], reinterpret_cast<std::byte*>(key.data()), uint32);
    out.allocate();
    random_bytes(key, out.data, out.bytes());
  }
};

array key_array(Words words) {
  return array(std::span<const uint32_t>(words), {2});
}

uint64_t time_seed() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// The process's sequence of keys.
class Keys {
 public:
  void set(const array& key) {
    const std::lock_guard lock(mutex_);
    key_ = key;
  }
  array get() {
    const std::lock_guard lock(mutex_);
    return key_;
  }
  array next() {
    const std::lock_guard lock(mutex_);
    // An available key is split immediately: two words, and no graph that grows with every call.
    if (key_.is_available()) {
      Words words;
      key_.read(words.data(), uint32);
      uint32_t both[4];
      random_bytes(words, reinterpret_cast<std::byte*>(both), sizeof(both));
      key_ = key_array({both[0], both[1]});
      return key_array({both[2], both[3]});
    }
    const array both = random::split(key_, 2);
    key_ = take_row(both, 0);
    return take_row(both, 1);
  }

 private:
  static array take_row(const array& keys, int64_t row) {
    return reshape(slice(keys, {row, 0}, {row + 1, 2}), {2});
  }

  ForkMutex mutex_;
  array key_ = key(time_seed());
};

Keys& keys() {
  static auto* const instance = new Keys();  // outlives static arrays
  return *instance;
}

}  // namespace

array key(uint64_t seed) {
  return key_array({static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)});
}

void seed(uint64_t seed) {
  keys().set(key(seed));
}

array state() {
  return keys().get();
}

void set_state(const array& key) {
  if (key.dtype() != uint32 || !(key.shape() == Shape{2})) {
    fail(ErrorCode::InvalidArgument, "[random.state] A key is two uint32, not {} of shape {}.",
         to_string(key.dtype()), to_string(key.shape()));
  }
  keys().set(key);
}

array bits(const Shape& shape, int width, const std::optional<array>& given) {
  for (const int64_t size : shape) {
    if (size < 0) {
      fail(ErrorCode::InvalidArgument, "[bits] {} is not a size, in the shape {}.", size,
           to_string(shape));
    }
  }
  if (width != 1 && width != 2 && width != 4) {
    fail(ErrorCode::InvalidArgument, "[bits] The width is 1, 2 or 4 bytes, not {}.", width);
  }
  const array key = given ? *given : keys().next();
  if (key.dtype() != uint32 || !(key.shape() == Shape{2})) {
    fail(ErrorCode::InvalidArgument, "[bits] A key is two uint32, not {} of shape {}.",
         to_string(key.dtype()), to_string(key.shape()));
  }
  const Dtype dtype = width == 4 ? uint32 : width == 2 ? uint16 : uint8;
  return make(shared_primitive<Bits>(), dtype, shape, {&key});
}

array split(const array& key, int num) {
  return bits({num, 2}, 4, key);
}

}  // namespace pippin::mx::random
