// For the packages of a test's bundle: the weights of its checkpoint, and what its layers have in
// common.
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/io/safetensors.h"
#include "pippin/mil/data_type.h"

namespace pippin::testing_models {

inline constexpr const char* kTextPrefix = "model.language_model.";
inline constexpr const char* kVisionPrefix = "model.vision_tower.";
inline constexpr const char* kProjectorPrefix = "model.embed_vision.";
// Of the vision tower: numbers of a patch, patches of the longest side.
inline constexpr int64_t kTowerWidth = 8, kTowerHeads = 2, kTowerLayers = 2;
inline constexpr int64_t kPatchNumbers = 2 * 2 * 3, kPatchSide = 210;

inline array::Array product(const array::Array& x, const array::Array& weight) {
  return array::matmul(x, weight, false, true);
}

inline array::Array rms(const array::Array& x) {
  return x * array::rsqrt(array::reduce_mean(x * x, {-1}, true), 1e-6);
}

// x (1, heads, rows, features), of which both halves turn by the same angles.
inline array::Array turned(const array::Array& x, const array::Array& cos,
                           const array::Array& sin) {
  const int64_t half = x.dim(3).constant() / 2;
  const array::Array first = array::slice_axis(x, 3, 0, half);
  const array::Array second = array::slice_axis(x, 3, half, 2 * half);
  return x * cos + array::concat({second * -1.0, first}, 3) * sin;
}

// The tensors whose names begin with `prefix`, as constants of a type.
class BundleWeights {
 public:
  BundleWeights(const std::filesystem::path& checkpoint, std::string prefix, mil::DataType type)
      : file_(SafetensorsFile::open(checkpoint / "model.safetensors")),
        prefix_(std::move(prefix)),
        type_(type) {}

  array::Array get(const std::string& name) const {
    const TensorInfo* const found = file_->find(prefix_ + name);
    if (found == nullptr) throw std::out_of_range(prefix_ + name);
    const TensorInfo& tensor = *found;
    std::vector<double> values(static_cast<size_t>(tensor.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(float), sizeof(float));
      values[i] = value;
    }
    return array::constant(type_, tensor.shape, values, name);
  }
  array::Array normed(const array::Array& x, const std::string& name) const {
    return rms(x) * get(name + ".weight");
  }

 private:
  std::shared_ptr<const SafetensorsFile> file_;
  std::string prefix_;
  mil::DataType type_;
};

}  // namespace pippin::testing_models
