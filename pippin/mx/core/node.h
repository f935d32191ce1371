// The value behind an array: its numbers, or the primitive and the inputs that compute them.
//
// A node's type and shape never change. The evaluator (eval.h) makes a recorded node available: it
// allocates the storage, releases the inputs and then marks the node; from then on it is read-only.
// Destruction is not recursive, however long the graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/mx/core/buffer.h"
#include "pippin/mx/core/dtype.h"
#include "pippin/mx/core/ref.h"
#include "pippin/mx/core/shape.h"

namespace pippin::mx {

class Primitive;
struct Node;

// The inputs of a node: up to three are stored without an allocation.
class PIPPIN_API Inputs {
 public:
  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs() { clear(); }

  // Makes room for `count` nodes; only for an empty list.
  void reserve(size_t count);
  // Appends a node; beyond three, only after reserve().
  void push_back(Ref<Node> node) noexcept { all()[size_++] = std::move(node); }
  // Releases all nodes.
  void clear() noexcept;

  // The number of nodes.
  size_t size() const noexcept { return size_; }
  // The node at an index.
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

// The value behind an array.
struct PIPPIN_API Node final : Counted {
  // A node without value or primitive. Throws InvalidArgument for a negative size, LimitExceeded
  // beyond 2^48 elements.
  Node(Dtype type, Shape sizes);

  // Destroys it, and everything that only it needed, one after another.
  static void destroy(Node* node) noexcept;

  Dtype dtype;                            // the element type; never changes
  std::atomic<bool> is_available{false};  // whether the numbers are computed
  bool row_major = false;                 // once available
  uint32_t mark = 0;                      // for the evaluator and other walkers that hold its lock
  int64_t size;                           // the number of elements
  Shape shape;                            // the sizes of the axes; never change

  // Available nodes: element i of axis a is strides[a] * i elements after `data`.
  Ref<Buffer> buffer;
  std::byte* data = nullptr;  // the element [0, 0, ...]
  Strides strides;            // in elements
  // The results of a primitive that has several. Such a node has no storage itself.
  std::unique_ptr<std::vector<Ref<Node>>> parts;

  // Recorded nodes. An input of a function that is being traced has neither these nor a value.
  Ref<const Primitive> primitive;
  Inputs inputs;  // the nodes that the primitive reads

  // For the primitive that computes the node:
  int64_t bytes() const noexcept { return size * static_cast<int64_t>(size_of(dtype)); }
  // Allocates new row-major storage.
  void allocate();
  // Views an input's memory with other strides; `offset` is in the input's elements.
  void view(const Node& input, Strides new_strides, int64_t offset = 0) noexcept;
  // allocate(), or take() an input that may be overwritten while it is read.
  void allocate_or_take(size_t input);
  // Whether an input's memory may become this node's: it is row-major, of the same size, writable,
  // and owned by this node alone.
  bool may_take(const Node& input) const noexcept;
  // Sets `row_major` from shape and strides.
  void set_row_major() noexcept { row_major = is_row_major(shape, strides); }
};

}  // namespace pippin::mx
