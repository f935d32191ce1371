// An intrusive reference-counting pointer: half the size and cost of a shared_ptr, and it can tell
// whether an object has only one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace pippin::mx {

// The base of objects that Ref counts. The last Ref calls T::destroy(T*).
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  // Adds a reference.
  void keep() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // Drops a reference; returns true for the last owner.
  bool release() const noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  // Whether there is one reference.
  bool has_one_owner() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  ~Counted() = default;

 private:
  mutable std::atomic<uint32_t> count_{1};
};

// A pointer that owns one reference to an object derived from Counted; may be null.
template <typename T>
class Ref {
 public:
  Ref() = default;
  // Adopts the initial reference of a new object.
  explicit Ref(T* object) noexcept : object_(object) {}
  // Adds an owner to an object that has one.
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
    if (object_ != nullptr && object_->release()) T::destroy(object_);
  }

  // Drops the reference.
  void reset() noexcept { Ref().swap(*this); }
  // Exchanges two pointers.
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
  // Hands the reference over to the caller.
  T* release() noexcept { return std::exchange(object_, nullptr); }

  // The object, or null.
  T* get() const noexcept { return object_; }
  // The object; must not be null.
  T& operator*() const noexcept { return *object_; }
  // The object's members; must not be null.
  T* operator->() const noexcept { return object_; }
  // Whether there is an object.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace pippin::mx
