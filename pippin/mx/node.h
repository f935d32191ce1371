// The value behind an array: its numbers, or the primitive and the inputs that will give them.
//
// A node's type and shape never change. The evaluator (eval.h) turns a recorded node into an
// available one: it sets the storage, lets the inputs go, and then says so; from there on the node
// is read only. Nodes end without recursion, however long their graph is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/mx/buffer.h"
#include "pippin/mx/dtype.h"
#include "pippin/mx/ref.h"
#include "pippin/mx/shape.h"

namespace pippin::mx {

class Primitive;
struct Node;

// The inputs of a node: up to three without memory of their own.
class PIPPIN_API Inputs {
 public:
  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs() { clear(); }

  void reserve(size_t count);  // of an empty list
  void push_back(Ref<Node> node) noexcept { all()[size_++] = std::move(node); }
  void clear() noexcept;

  size_t size() const noexcept { return size_; }
  Ref<Node>& operator[](size_t index) noexcept { return all()[index]; }
  const Ref<Node>& operator[](size_t index) const noexcept {
    return many_ != nullptr ? many_[index] : few_[index];
  }

 private:
  Ref<Node>* all() noexcept { return many_ != nullptr ? many_.get() : few_; }

  static constexpr size_t kFew = 3;
  Ref<Node> few_[kFew];
  std::unique_ptr<Ref<Node>[]> many_;
  uint32_t size_ = 0;
};

struct PIPPIN_API Node final : Counted {
  Node(Dtype type, Shape sizes);

  // Ends it, and what only it needed, one after the other.
  static void destroy(Node* node) noexcept;

  Dtype dtype;
  std::atomic<bool> is_available{false};
  bool row_major = false;  // once available
  uint32_t mark = 0;       // of the evaluator and other walkers that hold its lock
  int64_t size;
  Shape shape;

  // Available: element i of axis a lies strides[a] * i elements behind `data`.
  Ref<Buffer> buffer;
  std::byte* data = nullptr;
  Strides strides;
  // Primitives with several results: each of them. Such a node has no storage of its own.
  std::unique_ptr<std::vector<Ref<Node>>> parts;

  // Recorded. An input of a function that is being traced has neither these nor a value.
  Ref<const Primitive> primitive;
  Inputs inputs;

  // For the primitive that computes it:
  int64_t bytes() const noexcept { return size * static_cast<int64_t>(size_of(dtype)); }
  // New storage, row-major.
  void allocate();
  // The same memory, seen otherwise; `offset` in elements of the input.
  void view(const Node& input, Strides new_strides, int64_t offset = 0) noexcept;
  // allocate(), or take() of an input that may be overwritten while it is read.
  void allocate_or_take(size_t input);
  // Whether an input's memory may become this node's: it is row-major, this node its only owner,
  // as large, and writable.
  bool may_take(const Node& input) const noexcept;
  void set_row_major() noexcept { row_major = is_row_major(shape, strides); }
};

}  // namespace pippin::mx
