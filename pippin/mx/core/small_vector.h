// A vector of numbers that does not allocate while it is short: every recorded operation has
// several shapes and strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace pippin::mx {

// A vector of trivial elements; up to N of them are stored in the object. The members are those of
// std::vector; as there, indices and iterators are not checked.
template <typename T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // As in std::vector:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  // `count` copies of a value.
  explicit SmallVector(size_t count, T value = T()) { resize(count, value); }
  // These elements.
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  // The elements from `first` up to `last`, converted to T.
  template <typename It, typename = typename std::iterator_traits<It>::iterator_category>
  SmallVector(It first, It last) {
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) data()[size_++] = static_cast<T>(*first);
  }
  // These elements, converted to T.
  template <typename U>
  // NOLINTNEXTLINE(google-explicit-constructor): a vector of numbers is a shape
  SmallVector(const std::vector<U>& values) : SmallVector(values.begin(), values.end()) {}

  SmallVector(const SmallVector& other) { assign(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      delete[] heap_;
      heap_ = nullptr;
      take(other);
    }
    return *this;
  }
  ~SmallVector() { delete[] heap_; }

  // As in std::vector:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ != nullptr ? heap_ : here_; }
  const T* data() const { return heap_ != nullptr ? heap_ : here_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }

  // As in std::vector:
  void clear() { size_ = 0; }
  void reserve(size_t count) {
    if (count <= capacity_) return;
    const size_t grown = std::max(count, size_t{2} * capacity_);
    T* memory = new T[grown];
    std::memcpy(memory, data(), size_ * sizeof(T));
    delete[] heap_;
    heap_ = memory;
    capacity_ = static_cast<uint32_t>(grown);
  }
  void resize(size_t count, T value = T()) {
    reserve(count);
    for (size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(count);
  }
  void push_back(T value) {
    reserve(size_ + size_t{1});
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  T* insert(const T* before, T value) {
    const auto at = before - data();
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  T* erase(const T* at) {
    T* place = begin() + (at - data());
    std::copy(place + 1, end(), place);
    --size_;
    return place;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  void assign(const SmallVector& other) {
    size_ = 0;
    reserve(other.size_);
    std::memcpy(data(), other.data(), other.size_ * sizeof(T));
    size_ = other.size_;
  }
  void take(SmallVector& other) noexcept {
    heap_ = std::exchange(other.heap_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    if (heap_ == nullptr) std::memcpy(here_, other.here_, size_ * sizeof(T));
  }

  T* heap_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T here_[N];
};

}  // namespace pippin::mx
