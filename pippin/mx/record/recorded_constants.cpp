#include "pippin/mx/record/recorded_constants.h"

#include <algorithm>
#include <string_view>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

constexpr int64_t kFewElements = 256;

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

// A node's numbers, row-major, kept until the package is written.
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

class BytesSource final : public mil::TensorSource {
 public:
  explicit BytesSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  ByteSpan view() const override { return bytes_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    std::copy_n(bytes_.data() + offset, out.size(), out.data());
  }

 private:
  std::vector<std::byte> bytes_;
};

std::string_view text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_fits_int32(const Node& node) {
  if (!is_integer(node.dtype) || size_of(node.dtype) < 4 || node.dtype == int32) return;
  std::vector<int64_t> wide(static_cast<size_t>(node.size));
  copy_to(node, reinterpret_cast<std::byte*>(wide.data()), int64);
  for (const int64_t value : wide) {
    if (value == static_cast<int32_t>(value)) continue;
    fail(ErrorCode::Unsupported, "export: a constant of {} holds {}, which int32 does not",
         to_string(node.dtype), value);
  }
}

}  // namespace

pippin::array::Array RecordedConstants::add(const Node& node) {
  check_fits_int32(node);
  const mil::DataType type = mil_type(node.dtype);
  Ref<Node> stored(new Node(stored_as(type), node.shape));
  if (stored->dtype == node.dtype && node.row_major && node.buffer) {
    stored->view(node, node.strides);
  } else {
    stored->allocate();
    copy_to(node, stored->data, stored->dtype);
  }
  if (node.size <= kFewElements) {
    mil::Value value;
    value.type = mil::ValueType::tensor(type, to_vector(node.shape));
    value.bytes.assign(stored->data, stored->data + stored->bytes());
    return pippin::array::constant(std::move(value));
  }
  return weight(type, to_vector(node.shape), std::make_shared<NodeSource>(std::move(stored)));
}

pippin::array::Array RecordedConstants::add(mil::DataType type, std::vector<int64_t> shape,
                                            std::vector<std::byte> bytes) {
  return weight(type, std::move(shape), std::make_shared<BytesSource>(std::move(bytes)));
}

pippin::array::Array RecordedConstants::weight(mil::DataType type, std::vector<int64_t> shape,
                                               std::shared_ptr<const mil::TensorSource> source) {
  const size_t hash = std::hash<std::string_view>()(text_of(source->view()));
  const auto [begin, end] = weights_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const Weight& other = known->second;
    if (other.type == type && other.shape == shape &&
        text_of(other.source->view()) == text_of(source->view())) {
      return pippin::array::weight("weight", type, std::move(shape), other.source);
    }
  }
  weights_.emplace(hash, Weight{type, shape, source});
  return pippin::array::weight("weight", type, std::move(shape), std::move(source));
}

}  // namespace pippin::mx
