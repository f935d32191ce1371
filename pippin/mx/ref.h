// A pointer that shares its object by a count inside it: half the size and the cost of a
// shared_ptr, and the count can be asked for what has one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace pippin::mx {

// What Ref counts. T::destroy(T*) is called when the last Ref goes.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void keep() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // True for the last owner.
  bool let_go() const noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool has_one_owner() const noexcept { return count_.load(std::memory_order_acquire) == 1; }
  uint32_t owners() const noexcept { return count_.load(std::memory_order_acquire); }

 protected:
  ~Counted() = default;

 private:
  mutable std::atomic<uint32_t> count_{1};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  // Takes over the one count of a new object.
  explicit Ref(T* object) noexcept : object_(object) {}
  // Another owner of an object that has some.
  static Ref share(T* object) noexcept {
    if (object != nullptr) object->keep();
    return Ref(object);
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->keep();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->let_go()) T::destroy(object_);
  }

  void reset() noexcept { Ref().swap(*this); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
  // Gives the count to the caller.
  T* release() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace pippin::mx
