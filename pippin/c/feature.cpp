#include <iterator>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {

using Kind = FeatureInfo::Kind;
static_assert(static_cast<int>(Kind::MultiArray) == PIPPIN_KIND_MULTI_ARRAY);
static_assert(static_cast<int>(Kind::Image) == PIPPIN_KIND_IMAGE);
static_assert(static_cast<int>(Kind::Int64) == PIPPIN_KIND_INT64);
static_assert(static_cast<int>(Kind::Double) == PIPPIN_KIND_DOUBLE);
static_assert(static_cast<int>(Kind::String) == PIPPIN_KIND_STRING);
static_assert(static_cast<int>(Kind::Dictionary) == PIPPIN_KIND_DICTIONARY);
static_assert(static_cast<int>(Kind::Sequence) == PIPPIN_KIND_SEQUENCE);
static_assert(static_cast<int>(Kind::State) == PIPPIN_KIND_STATE);

std::vector<pippin_feature> feature_handles(const std::vector<FeatureInfo>& features) {
  std::vector<pippin_feature> handles;
  handles.reserve(features.size());
  for (const FeatureInfo& info : features) handles.push_back({info, to_string(info)});
  return handles;
}

}  // namespace pippin::c

const char* pippin_feature_name(const pippin_feature* feature) {
  return feature == nullptr ? nullptr : feature->info.name.c_str();
}

const char* pippin_feature_description(const pippin_feature* feature) {
  return feature == nullptr ? nullptr : feature->info.description.c_str();
}

const char* pippin_feature_text(const pippin_feature* feature) {
  return feature == nullptr ? nullptr : feature->text.c_str();
}

int32_t pippin_feature_kind(const pippin_feature* feature) {
  return feature == nullptr ? -1 : static_cast<int32_t>(feature->info.kind);
}

pippin_type pippin_feature_type(const pippin_feature* feature) {
  return feature == nullptr ? -1 : static_cast<pippin_type>(feature->info.type);
}

int32_t pippin_feature_rank(const pippin_feature* feature) {
  return feature == nullptr ? 0 : static_cast<int32_t>(feature->info.shape.size());
}

const int64_t* pippin_feature_shape(const pippin_feature* feature) {
  return feature == nullptr ? nullptr : feature->info.shape.data();
}

int32_t pippin_feature_range(const pippin_feature* feature, int32_t axis, int64_t* lower,
                             int64_t* upper) {
  if (feature == nullptr || axis < 0 || axis >= std::ssize(feature->info.ranges)) return 0;
  const pippin::SizeRange& range = feature->info.ranges[static_cast<size_t>(axis)];
  if (lower != nullptr) *lower = range.lower;
  if (upper != nullptr) *upper = range.upper;
  return 1;
}

int64_t pippin_feature_shape_count(const pippin_feature* feature) {
  return feature == nullptr ? 0 : std::ssize(feature->info.enumerated_shapes);
}

const int64_t* pippin_feature_enumerated_shape(const pippin_feature* feature, int64_t index,
                                               int32_t* rank) {
  if (index < 0 || index >= pippin_feature_shape_count(feature)) return nullptr;
  const std::vector<int64_t>& shape = feature->info.enumerated_shapes[static_cast<size_t>(index)];
  if (rank != nullptr) *rank = static_cast<int32_t>(shape.size());
  return shape.data();
}

int32_t pippin_feature_is_optional(const pippin_feature* feature) {
  return feature != nullptr && feature->info.optional ? 1 : 0;
}

double pippin_feature_default_value(const pippin_feature* feature) {
  return feature == nullptr ? 0 : feature->info.default_value;
}
