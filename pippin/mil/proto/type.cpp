// Converts types between protobuf and structs.
#include <algorithm>
#include <limits>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/limits.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {
namespace {

int64_t read_dimension(const proto::Dimension& message) {
  switch (message.dimension_case()) {
    case proto::Dimension::kConstant:
      if (message.constant().size() > std::numeric_limits<int64_t>::max()) {
        fail(ErrorCode::InvalidFile, "a dimension of {}", message.constant().size());
      }
      return static_cast<int64_t>(message.constant().size());
    case proto::Dimension::kUnknown:
      return message.unknown().variadic() ? kVariadicDim : kUnknownDim;
    case proto::Dimension::DIMENSION_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "a dimension without a size");
}

void write_dimension(int64_t dim, proto::Dimension& message) {
  if (dim >= 0) {
    message.mutable_constant()->set_size(static_cast<uint64_t>(dim));
  } else {
    message.mutable_unknown()->set_variadic(dim == kVariadicDim);
  }
}

bool has_variadic(const ValueType& type) {
  return std::find(type.dims.begin(), type.dims.end(), kVariadicDim) != type.dims.end();
}

ValueType read_tensor_type(const proto::TensorType& message) {
  ValueType result;
  const auto data_type = data_type_from_number(message.data_type());
  if (!data_type) fail(ErrorCode::InvalidFile, "no data type {}", message.data_type());
  result.data_type = *data_type;
  if (message.dimensions_size() > kMaxRank) {
    fail(ErrorCode::LimitExceeded, "a tensor of rank {}", message.dimensions_size());
  }
  for (const auto& dim : message.dimensions()) result.dims.push_back(read_dimension(dim));
  if (message.rank() == -1 && result.dims.empty()) {
    result.ranked = false;
  } else if (message.rank() != message.dimensions_size() &&
             !(message.rank() == -1 && has_variadic(result))) {
    fail(ErrorCode::InvalidFile, "a tensor type of rank {} with {} dimensions", message.rank(),
         message.dimensions_size());
  }
  if (message.attributes_size() > 0) {
    auto attributes = std::make_shared<TypeAttributes>();
    for (const auto& entry : message.attributes()) {
      std::string key = read_text(entry.key(), "a type's attribute");
      if (!attributes->values.emplace(key, read_value(entry.value())).second) {
        fail(ErrorCode::InvalidFile, "the type's attribute '{}' is given twice", key);
      }
    }
    result.attributes = std::move(attributes);
  }
  return result;
}

void write_tensor_type(const ValueType& type, const BlobOf& blob_of, proto::TensorType& message) {
  message.set_data_type(static_cast<int32_t>(type.data_type));
  message.set_rank(type.ranked && !has_variadic(type) ? static_cast<int64_t>(type.dims.size())
                                                      : -1);
  for (const int64_t dim : type.dims) write_dimension(dim, *message.add_dimensions());
  if (type.attributes == nullptr) return;
  for (const auto& [name, value] : type.attributes->values) {
    auto* entry = message.add_attributes();
    entry->set_key(name);
    write_value(value, blob_of, *entry->mutable_value());
  }
}

}  // namespace

std::string read_text(const std::string& bytes, std::string_view what) {
  if (!is_valid_utf8(bytes)) fail(ErrorCode::InvalidFile, "{} is not UTF-8", what);
  return bytes;
}

ValueType read_type(const proto::ValueType& message) {
  ValueType result;
  switch (message.type_case()) {
    case proto::ValueType::kTensor:
      return read_tensor_type(message.tensor());
    case proto::ValueType::kList:
      result.kind = ValueType::Kind::List;
      result.parameters.push_back(read_type(message.list().type()));
      result.list_length =
          message.list().has_length() ? read_dimension(message.list().length()) : kUnknownDim;
      return result;
    case proto::ValueType::kTuple:
      result.kind = ValueType::Kind::Tuple;
      for (const auto& type : message.tuple().types()) result.parameters.push_back(read_type(type));
      return result;
    case proto::ValueType::kDictionary:
      result.kind = ValueType::Kind::Dictionary;
      result.parameters.push_back(read_type(message.dictionary().key_type()));
      result.parameters.push_back(read_type(message.dictionary().value_type()));
      return result;
    case proto::ValueType::kState:
      result = ValueType::state(read_type(message.state().wrapped()));
      if (!result.parameters[0].is_tensor()) fail(ErrorCode::InvalidFile, "a state of no tensor");
      return result;
    case proto::ValueType::TYPE_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "a value without a type");
}

void write_type(const ValueType& type, const BlobOf& blob_of, proto::ValueType& message) {
  switch (type.kind) {
    case ValueType::Kind::Tensor:
      return write_tensor_type(type, blob_of, *message.mutable_tensor());
    case ValueType::Kind::List:
      write_type(type.parameters.at(0), blob_of, *message.mutable_list()->mutable_type());
      return write_dimension(type.list_length, *message.mutable_list()->mutable_length());
    case ValueType::Kind::Tuple:
      message.mutable_tuple();
      for (const ValueType& parameter : type.parameters) {
        write_type(parameter, blob_of, *message.mutable_tuple()->add_types());
      }
      return;
    case ValueType::Kind::Dictionary:
      write_type(type.parameters.at(0), blob_of, *message.mutable_dictionary()->mutable_key_type());
      return write_type(type.parameters.at(1), blob_of,
                        *message.mutable_dictionary()->mutable_value_type());
    case ValueType::Kind::State:
      return write_type(type.parameters.at(0), blob_of,
                        *message.mutable_state()->mutable_wrapped());
  }
}

}  // namespace pippin::mil
