#include "pippin/mx/core/node.h"

#include <utility>

#include "pippin/mx/core/primitive.h"

namespace pippin::mx {

void Inputs::reserve(size_t count) {
  if (count > kFew) many_ = std::make_unique<Ref<Node>[]>(count);
}

void Inputs::clear() noexcept {
  for (size_t i = 0; i < size_; ++i) all()[i].reset();
  size_ = 0;
  many_.reset();
}

Node::Node(Dtype type, Shape sizes)
    : dtype(type), size(num_elements(sizes)), shape(std::move(sizes)) {}

void Node::destroy(Node* node) noexcept {
  // Nodes waiting for destruction are chained through `data`, which needs no memory.
  thread_local bool is_ending = false;
  thread_local Node* next = nullptr;
  node->data = reinterpret_cast<std::byte*>(next);
  next = node;
  if (is_ending) return;
  is_ending = true;
  while (next != nullptr) {
    Node* gone = std::exchange(next, nullptr);
    // Nodes that only `gone` owned are added at the front of the chain.
    Node* rest = reinterpret_cast<Node*>(gone->data);
    next = rest;
    delete gone;
  }
  is_ending = false;
}

void Node::allocate() {
  buffer = Buffer::allocate(static_cast<size_t>(bytes()));
  data = buffer->data();
  strides = row_major_strides(shape);
  row_major = true;
}

bool Node::may_take(const Node& input) const noexcept {
  return input.has_one_owner() && input.buffer && input.buffer->has_one_owner() &&
         input.buffer->is_writable() && input.row_major && input.bytes() == bytes();
}

void Node::view(const Node& input, Strides new_strides, int64_t offset) noexcept {
  buffer = input.buffer;
  data = input.data + offset * static_cast<int64_t>(size_of(input.dtype));
  strides = std::move(new_strides);
  set_row_major();
}

void Node::allocate_or_take(size_t input) {
  Node& from = *inputs[input];
  if (may_take(from) && size_of(from.dtype) == size_of(dtype)) {
    // The input keeps its view of the memory until this node is computed.
    buffer = from.buffer;
    data = from.data;
    strides = row_major_strides(shape);
    row_major = true;
  } else {
    allocate();
  }
}

}  // namespace pippin::mx
