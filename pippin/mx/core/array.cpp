#include "pippin/mx/core/array.h"

#include <cstring>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"

namespace pippin::mx {
namespace {

Ref<Node> new_node(Dtype dtype, Shape shape) {
  return Ref<Node>(new Node(dtype, std::move(shape)));
}

}  // namespace

array::array(const void* values, Dtype from, Shape shape, Dtype dtype)
    : node_(new_node(dtype, std::move(shape))) {
  node_->allocate();
  convert(static_cast<const std::byte*>(values), from, 1, node_->data, dtype, 1, node_->size);
  node_->is_available.store(true, std::memory_order_release);
}

array array::borrow(void* data, Dtype dtype, Shape shape, Strides strides,
                    std::function<void()> release, bool is_writable) {
  Ref<Node> node = new_node(dtype, std::move(shape));
  node->buffer =
      Buffer::borrow(data, static_cast<size_t>(node->bytes()), std::move(release), is_writable);
  node->data = static_cast<std::byte*>(data);
  node->strides = std::move(strides);
  node->set_row_major();
  node->is_available.store(true, std::memory_order_release);
  return array(std::move(node));
}

int64_t array::shape(int axis) const {
  return node_->shape[static_cast<size_t>(normal_axis("shape", axis, ndim()))];
}

void array::eval() const {
  if (is_available()) return;
  Node* node = node_.get();
  eval_nodes({&node, 1});
}

const Strides& array::strides() const {
  eval();
  return node_->strides;
}

const std::byte* array::bytes() const {
  eval();
  return node_->data;
}

bool array::is_row_major() const {
  eval();
  return node_->row_major;
}

void array::read(void* to, Dtype type) const {
  eval();
  copy_to(*node_, static_cast<std::byte*>(to), type);
}

const void* array::checked(size_t count, const void* values, const Shape& shape) {
  if (num_elements(shape) != static_cast<int64_t>(count)) {
    fail(ErrorCode::InvalidArgument, "[array] {} values do not make an array of shape {}.", count,
         to_string(shape));
  }
  return values;
}

void array::check_type(Dtype wanted) const {
  if (dtype() == wanted) return;
  fail(ErrorCode::InvalidArgument, "[array] An array of {} was asked for its {} values.",
       to_string(dtype()), to_string(wanted));
}

void array::read_item(void* to, Dtype type) const {
  if (size() != 1) {
    fail(ErrorCode::InvalidArgument, "[item] An array of shape {} has {} elements, not one.",
         to_string(shape()), size());
  }
  read(to, type);
}

void eval(std::span<const array> arrays) {
  std::vector<Node*> nodes;
  for (const array& each : arrays) {
    if (!each.is_available()) nodes.push_back(each.node().get());
  }
  if (!nodes.empty()) eval_nodes(nodes);
}

}  // namespace pippin::mx
