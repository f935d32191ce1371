#include "pippin/mx/recorder.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/copy.h"
#include "pippin/mx/primitive.h"

namespace pippin::mx {
namespace {

Dtype stored_as(mil::DataType type) {
  switch (type) {
    case mil::DataType::Bool:
      return bool_;
    case mil::DataType::Float16:
      return float16;
    case mil::DataType::Int32:
      return int32;
    default:
      return float32;
  }
}

// A node's numbers, kept by it until the package is written.
class NodeSource final : public mil::TensorSource {
 public:
  explicit NodeSource(Ref<Node> node) : node_(std::move(node)) {}
  uint64_t size() const override { return static_cast<uint64_t>(node_->bytes()); }
  ByteSpan view() const override { return {node_->data, static_cast<size_t>(node_->bytes())}; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    std::copy_n(node_->data + offset, out.size(), out.data());
  }

 private:
  Ref<Node> node_;
};

}  // namespace

mil::DataType mil_type(Dtype dtype) {
  if (dtype == complex64) refuse_record("complex64", "");
  if (dtype == bool_) return mil::DataType::Bool;
  if (dtype == float16) return mil::DataType::Float16;
  return is_floating(dtype) ? mil::DataType::Float32 : mil::DataType::Int32;
}

std::vector<int64_t> to_vector(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

void refuse_record(std::string_view name, std::string_view what) {
  fail(ErrorCode::Unsupported, "export: {} {}cannot be written as MIL", name, what);
}

const Recorder::Value& Recorder::input(const Node& out, size_t i) {
  record(*out.inputs[i]);
  return values_.at(out.inputs[i].get());
}

void Recorder::define(const Node& out, Value value) {
  const mil::DataType type = mil_type(out.dtype);
  if (value.type() != type) value = pippin::array::cast(value, type);
  values_.emplace(&out, reshaped(value, out.shape));
}

void Recorder::define_unary(const Node& out, std::string_view op) {
  define(out, one(op, {{"x", input(out, 0)}}));
}

void Recorder::define_binary(const Node& out, std::string_view op) {
  define(out, one(op, {{"x", input(out, 0)}, {"y", input(out, 1)}}));
}

void Recorder::record(Node& node) {
  if (knows(node)) return;
  if (node.is_available.load(std::memory_order_acquire)) {
    values_.emplace(&node, constant(node));
    return;
  }
  if (!node.primitive) {
    fail(ErrorCode::InvalidArgument,
         "export: the outputs need a placeholder of shape {} that is no input",
         to_string(node.shape));
  }
  node.primitive->record(*this, node);
}

Recorder::Value Recorder::constant(const Node& node) {
  const mil::DataType type = mil_type(node.dtype);
  Ref<Node> stored(new Node(stored_as(type), node.shape));
  stored->allocate();
  copy_to(node, stored->data, stored->dtype);
  if (is_integer(node.dtype) && size_of(node.dtype) >= 4 && node.dtype != int32) {
    std::vector<int64_t> wide(static_cast<size_t>(node.size));
    copy_to(node, reinterpret_cast<std::byte*>(wide.data()), int64);
    for (const int64_t value : wide) {
      if (value == static_cast<int32_t>(value)) continue;
      fail(ErrorCode::Unsupported, "export: a constant of {} holds {}, which int32 does not",
           to_string(node.dtype), value);
    }
  }
  if (node.size <= 256) {
    mil::Value value;
    value.type = mil::ValueType::tensor(type, to_vector(node.shape));
    value.bytes.assign(stored->data, stored->data + stored->bytes());
    return pippin::array::constant(std::move(value));
  }
  return pippin::array::weight("weight", type, to_vector(node.shape),
                               std::make_shared<NodeSource>(std::move(stored)));
}

Recorder::Value Recorder::number(const Value& like, double value) {
  return pippin::array::constant(like.type(), value);
}

Recorder::Value Recorder::reshaped(const Value& value, const Shape& shape) {
  const mil::Shape wanted = mil::to_shape(to_vector(shape));
  if (value.shape() == wanted) return value;
  if (shape.empty()) {
    std::vector<int64_t> axes(static_cast<size_t>(value.rank()));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    return pippin::array::squeeze(value, axes);
  }
  return pippin::array::reshape(value, wanted);
}

Recorder::Value Recorder::broadcast(const Value& value, const Shape& shape) {
  const auto numbers = mil::constant_shape(value.shape());
  if (!numbers) refuse_record("broadcast_to", "of sizes that are not known ");
  if (*numbers == to_vector(shape)) return value;
  Shape single(shape.size(), 1);
  std::copy(numbers->begin(), numbers->end(), single.end() - numbers->size());
  std::vector<int64_t> repetitions;
  for (size_t i = 0; i < shape.size(); ++i) repetitions.push_back(single[i] == 1 ? shape[i] : 1);
  const Value same_rank = reshaped(value, single);
  const bool is_same =
      std::all_of(repetitions.begin(), repetitions.end(), [](int64_t times) { return times == 1; });
  return is_same ? same_rank : pippin::array::tile(same_rank, repetitions);
}

Recorder::Value Recorder::one(std::string_view op, std::vector<Param> params) {
  return pippin::array::record_one(op, std::move(params));
}

}  // namespace pippin::mx
