// Values between the plans of a run: in the storage that plans compute with, or, for strings, lists
// and values that only the reference has used, as tensors of the reference; converted on request.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/engine/host_tensor.h"
#include "pippin/engine/nodes/view.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {

class RunValue {
 public:
  RunValue() = default;
  explicit RunValue(mil::Tensor tensor);
  // Elements in run_storage(type): fp32, int32 or bools as bytes.
  RunValue(mil::DataType type, std::vector<int64_t> shape, std::vector<std::byte> bytes);

  // Neither a list nor a dictionary: those have the type and shape of their elements.
  bool is_plain() const {
    return tensor_ == nullptr || tensor_->kind == mil::ValueType::Kind::Tensor;
  }
  mil::DataType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // As the reference stores them.
  const mil::Tensor& tensor() const;
  // As plans store them. Throws Unsupported for strings.
  const std::vector<std::byte>& bytes() const;
  // The elements of an integer or bool value that has at most `limit` of them; nothing for others.
  std::optional<std::vector<int64_t>> integers(int64_t limit) const;

 private:
  mil::DataType type_ = mil::DataType::Float32;
  std::vector<int64_t> shape_;
  mutable std::shared_ptr<const mil::Tensor> tensor_;
  mutable std::shared_ptr<const std::vector<std::byte>> bytes_;
};

}  // namespace pippin::engine
