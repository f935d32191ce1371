// Tabular models: passes their interface and the content of their kind to pippin/tabular.
#include <google/protobuf/io/coded_stream.h>

#include "pippin/base/error.h"
#include "pippin/mil/proto/proto.h"
#include "pippin/tabular/stage.h"

namespace pippin::mil {
namespace {

tabular::Field field_of(const Feature& feature) {
  tabular::Field field;
  field.name = feature.name;
  field.optional = feature.optional;
  field.string_keys = feature.string_keys;
  switch (feature.kind) {
    case Feature::Kind::MultiArray:
      field.type = tabular::Field::Type::Array;
      if (feature.ranges.empty() && feature.enumerated_shapes.empty()) field.shape = feature.shape;
      break;
    case Feature::Kind::Int64:
      field.type = tabular::Field::Type::Int64;
      break;
    case Feature::Kind::Double:
      field.type = tabular::Field::Type::Double;
      break;
    case Feature::Kind::String:
      field.type = tabular::Field::Type::String;
      break;
    case Feature::Kind::Dictionary:
      field.type = tabular::Field::Type::Dictionary;
      break;
    case Feature::Kind::Image:
    case Feature::Kind::State:
    case Feature::Kind::Sequence:
      field.type = tabular::Field::Type::Other;
      break;
  }
  return field;
}

std::vector<tabular::Field> fields_of(const std::vector<Feature>& features) {
  std::vector<tabular::Field> fields;
  fields.reserve(features.size());
  for (const Feature& feature : features) fields.push_back(field_of(feature));
  return fields;
}

struct KindField {
  int64_t number = 0;
  ByteSpan content;
};

// The field of the model's kind in a message that protobuf has accepted.
KindField find_kind(ByteSpan message) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                                               static_cast<int>(message.size()));
  KindField found;
  while (const uint32_t tag = input.ReadTag()) {
    constexpr uint32_t kVarint = 0, kBytes = 2;
    uint64_t size = 0;
    if ((tag & 7) != kVarint && (tag & 7) != kBytes) break;
    input.ReadVarint64(&size);
    if ((tag & 7) == kVarint) continue;
    const auto position = static_cast<size_t>(input.CurrentPosition());
    if (size > message.size() - position) break;
    if (tabular::is_tabular_kind(tag >> 3)) {
      if (found.number != 0) fail(ErrorCode::InvalidFile, "the model's kind is given twice");
      found = {tag >> 3, message.subspan(position, static_cast<size_t>(size))};
    }
    input.Skip(static_cast<int>(size));
  }
  if (found.number == 0) {
    fail(ErrorCode::InvalidFile, "not a Core ML model (no model in it)");
  }
  return found;
}

}  // namespace

bool is_tabular_kind(int64_t field) {
  return tabular::is_tabular_kind(field);
}

void read_tabular(std::string bytes, Model& model) {
  const KindField kind = find_kind(as_byte_span(bytes));
  const FunctionDescription& description = model.functions.front();
  tabular::Interface interface;
  interface.inputs = fields_of(description.inputs);
  interface.outputs = fields_of(description.outputs);
  interface.predicted_feature = description.predicted_feature_name;
  interface.predicted_probabilities = description.predicted_probabilities_name;
  model.kind = static_cast<ModelKind>(kind.number);
  model.tabular = tabular::read_stage(kind.number, kind.content, interface);
  model.translated_from = std::move(bytes);
}

}  // namespace pippin::mil
