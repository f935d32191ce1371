#include "pippin/api/targets.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/elements.h"
#include "pippin/api/feature.h"
#include "pippin/base/error.h"

namespace pippin::api {
namespace {

using Kind = FeatureInfo::Kind;

const FeatureInfo& feature_at(const std::vector<FeatureInfo>& features, const std::string& name) {
  for (const FeatureInfo& feature : features) {
    if (feature.name == name) return feature;
  }
  fail(ErrorCode::InvalidArgument, "no output '{}'; the model's outputs: {}", name,
       list_features(features));
}

}  // namespace

void check_shape(const FeatureInfo& feature, std::span<const int64_t> shape, const Tensor& target) {
  if (std::equal(shape.begin(), shape.end(), target.shape().begin(), target.shape().end())) return;
  fail(ErrorCode::InvalidArgument, "output '{}' has the shape {}, the tensor for it {}",
       feature.name, std::vector(shape.begin(), shape.end()), target.shape());
}

void check_targets(const std::vector<FeatureInfo>& features, Values& targets) {
  std::vector<const Tensor*> tensors;
  std::vector<std::string> names;
  for (const auto& [name, value] : targets) {
    const FeatureInfo& feature = feature_at(features, name);
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr || feature.kind == Kind::Dictionary || feature.kind == Kind::Sequence) {
      fail(ErrorCode::InvalidArgument, "output '{}' ({}) cannot be written into {}", name,
           to_string(feature), tensor == nullptr ? "a value that is not a tensor" : "a tensor");
    }
    if (tensor->type() != feature.type || !shape_fits(feature, tensor->shape())) {
      fail(ErrorCode::InvalidArgument, "output '{}' is written into {} {}; expected {}", name,
           to_string(tensor->type()), tensor->shape(), to_string(feature));
    }
    tensors.push_back(tensor);
    names.push_back(name);
  }
  elements::check_targets(tensors, names);
}

void store(const std::vector<FeatureInfo>& features, Values& results, Values& targets) {
  for (const auto& [name, target] : targets) {
    check_shape(feature_at(features, name), tensor_at(results, name).shape(),
                std::get<Tensor>(target));
  }
  for (auto& [name, value] : targets) {
    auto& target = std::get<Tensor>(value);
    auto& result = std::get<Tensor>(results.find(name)->second);
    if (target.is_wrapped()) {
      target.copy_from(result.bytes());
    } else {
      target = std::move(result);
    }
  }
}

}  // namespace pippin::api
