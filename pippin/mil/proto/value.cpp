// Converts constants between protobuf and structs.
#include <limits>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {
namespace {

using proto::TensorValue;

// Keeps a message below protobuf's 2 GB.
constexpr int64_t kMaxInlineElements = int64_t{1} << 27;

// The message has one list per wire type; these return the number of elements of the list in use.
template <typename List>
size_t list_size(const List& list) {
  return static_cast<size_t>(list.values_size());
}

void check_count(const ValueType& type, size_t found) {
  const int64_t expected = type.num_elements();
  if (static_cast<uint64_t>(expected) != found) {
    fail(ErrorCode::InvalidFile, "a {} needs {} elements, the value has {}", to_string(type),
         expected, found);
  }
}

// If the file leaves a type's length open, takes the number of elements.
void settle_shape(ValueType& type, size_t count) {
  if (type.ranked && type.dims.size() == 1 && type.dims[0] < 0) {
    type.dims[0] = static_cast<int64_t>(count);
  }
  if (!type.is_static()) {
    fail(ErrorCode::InvalidFile, "a constant of type {}", to_string(type));
  }
}

template <typename List>
void read_integers(const List& list, Value& value) {
  settle_shape(value.type, list_size(list));
  check_count(value.type, list_size(list));
  const DataType type = value.type.data_type;
  value.bytes.resize(packed_size(type, static_cast<int64_t>(list_size(list))));
  for (int i = 0; i < list.values_size(); ++i) {
    const int64_t number = list.values(i);
    // 64-bit unsigned numbers above INT64_MAX, and 32-bit ones in a 32-bit list, are stored as
    // two's complement.
    const bool wraps =
        number < 0 && (type == DataType::UInt64 ||
                       (type == DataType::UInt32 && number >= std::numeric_limits<int32_t>::min()));
    if (!wraps && (number < min_integer(type) || number > max_integer(type))) {
      fail(ErrorCode::InvalidFile, "{} is not a number of type {}", number, to_string(type));
    }
    set_element_bits(type, value.bytes, static_cast<size_t>(i), static_cast<uint64_t>(number));
  }
}

template <typename List>
void read_floats(const List& list, Value& value) {
  settle_shape(value.type, list_size(list));
  check_count(value.type, list_size(list));
  const DataType type = value.type.data_type;
  if (type == DataType::Float32 && sizeof(list.values(0)) == sizeof(float)) {  // NaN bits too
    const auto bytes = std::as_bytes(std::span(list.values().data(), list_size(list)));
    value.bytes.assign(bytes.begin(), bytes.end());
    return;
  }
  value.bytes.resize(packed_size(type, static_cast<int64_t>(list_size(list))));
  for (int i = 0; i < list.values_size(); ++i) {
    set_element_bits(type, value.bytes, static_cast<size_t>(i),
                     float_to_bits(type, static_cast<double>(list.values(i))));
  }
}

void read_bools(const proto::Bools& list, Value& value) {
  settle_shape(value.type, list_size(list));
  check_count(value.type, list_size(list));
  for (const bool element : list.values()) value.bytes.push_back(static_cast<std::byte>(element));
}

void read_strings(const proto::Strings& list, Value& value) {
  settle_shape(value.type, list_size(list));
  check_count(value.type, list_size(list));
  for (const auto& element : list.values()) value.strings.push_back(read_text(element, "a string"));
}

void read_packed(const std::string& bytes, Value& value) {
  const DataType type = value.type.data_type;
  settle_shape(value.type, bytes.size() * 8 / static_cast<size_t>(bit_width(type)));
  const uint64_t expected = packed_size(type, value.type.num_elements());
  if (bytes.size() != expected) {
    fail(ErrorCode::InvalidFile, "a {} needs {} bytes, the value has {}", to_string(value.type),
         expected, bytes.size());
  }
  const ByteSpan span = as_byte_span(bytes);
  value.bytes.assign(span.begin(), span.end());
  // Bits after the last sub-byte element have no meaning.
  const auto used = value.type.num_elements() * bit_width(type) % 8;
  if (used != 0) value.bytes.back() &= static_cast<std::byte>((1 << used) - 1);
  if (type == DataType::Bool) {
    for (std::byte& element : value.bytes) element = static_cast<std::byte>(element != std::byte{});
  }
}

void read_tensor(const TensorValue& message, Value& value) {
  if (!value.type.is_tensor()) {
    fail(ErrorCode::InvalidFile, "tensor elements in a {}", to_string(value.type));
  }
  const DataType type = value.type.data_type;
  switch (message.value_case()) {
    case TensorValue::kFloats:
      if (is_float(type)) return read_floats(message.floats(), value);
      break;
    case TensorValue::kDoubles:
      if (is_float(type)) return read_floats(message.doubles(), value);
      break;
    case TensorValue::kInts:
      if (is_integer(type)) return read_integers(message.ints(), value);
      break;
    case TensorValue::kLongInts:
      if (is_integer(type)) return read_integers(message.long_ints(), value);
      break;
    case TensorValue::kBools:
      if (type == DataType::Bool) return read_bools(message.bools(), value);
      break;
    case TensorValue::kStrings:
      if (type == DataType::String) return read_strings(message.strings(), value);
      break;
    case TensorValue::kRaw:
      if (type != DataType::String) return read_packed(message.raw().values(), value);
      break;
    case TensorValue::VALUE_NOT_SET:  // some writers' form of an empty tensor
      settle_shape(value.type, 0);
      return check_count(value.type, 0);
  }
  fail(ErrorCode::InvalidFile, "a {} whose elements are of another kind", to_string(value.type));
}

void read_dictionary(const proto::DictionaryValue& message, Value& value) {
  for (const auto& pair : message.values()) {
    value.elements.push_back(read_value(pair.key()));
    value.elements.push_back(read_value(pair.value()));
  }
}

void read_elements(const proto::ValueList& message, Value& value) {
  for (const auto& element : message.values()) value.elements.push_back(read_value(element));
}

void read_immediate(const proto::ImmediateValue& message, Value& value) {
  using Kind = ValueType::Kind;
  switch (message.value_case()) {
    case proto::ImmediateValue::kTensor:
      return read_tensor(message.tensor(), value);
    case proto::ImmediateValue::kTuple:
      if (value.type.kind == Kind::Tuple) return read_elements(message.tuple(), value);
      break;
    case proto::ImmediateValue::kList:
      if (value.type.kind == Kind::List) return read_elements(message.list(), value);
      break;
    case proto::ImmediateValue::kDictionary:
      if (value.type.kind == Kind::Dictionary) return read_dictionary(message.dictionary(), value);
      break;
    case proto::ImmediateValue::VALUE_NOT_SET:
      if (value.type.is_tensor()) return read_tensor(TensorValue(), value);
      if (!value.type.is_state()) return;
      break;
  }
  fail(ErrorCode::InvalidFile, "a value that is not of its type {}", to_string(value.type));
}

// Writes to the list for the type.
void write_tensor(const Value& value, TensorValue& message) {
  const DataType type = value.type.data_type;
  if (value.type.num_elements() > kMaxInlineElements) {
    fail(ErrorCode::LimitExceeded, "a {} is too large to stand inside the program",
         to_string(value.type));
  }
  if (type == DataType::String) {
    auto* list = message.mutable_strings();
    for (const std::string& text : value.strings) list->add_values(text);
    return;
  }
  const std::vector<std::byte> bytes = value.read_bytes();
  const auto count = static_cast<size_t>(value.type.num_elements());
  const auto integer = [&](size_t i) { return bits_to_int(type, element_bits(type, bytes, i)); };
  switch (type) {
    case DataType::Float32: {
      auto* list = message.mutable_floats()->mutable_values();
      list->Resize(static_cast<int>(count), 0.0f);
      if (count > 0) std::memcpy(list->mutable_data(), bytes.data(), bytes.size());
      return;
    }
    case DataType::Float64: {
      auto* list = message.mutable_doubles()->mutable_values();
      list->Resize(static_cast<int>(count), 0.0);
      if (count > 0) std::memcpy(list->mutable_data(), bytes.data(), bytes.size());
      return;
    }
    case DataType::Bool: {
      auto* list = message.mutable_bools();
      for (size_t i = 0; i < count; ++i) list->add_values(bytes[i] != std::byte{});
      return;
    }
    case DataType::Int16:
    case DataType::UInt16:
    case DataType::Int32: {
      auto* list = message.mutable_ints();
      for (size_t i = 0; i < count; ++i) list->add_values(static_cast<int32_t>(integer(i)));
      return;
    }
    case DataType::Int64:
    case DataType::UInt64: {
      auto* list = message.mutable_long_ints();
      for (size_t i = 0; i < count; ++i) list->add_values(integer(i));
      return;
    }
    default:
      message.mutable_raw()->set_values(std::string(as_text(bytes)));
      return;
  }
}

}  // namespace

Value read_value(const proto::Value& message) {
  Value result;
  result.type = read_type(message.type());
  result.doc_string = read_text(message.doc_string(), "a constant's description");
  switch (message.value_case()) {
    case proto::Value::kImmediate:
      read_immediate(message.immediate(), result);
      return result;
    case proto::Value::kBlobFile:
      if (!result.type.is_static() || result.type.data_type == DataType::String) {
        fail(ErrorCode::InvalidFile, "a {} in a weight file", to_string(result.type));
      }
      result.blob = BlobReference{read_text(message.blob_file().file_name(), "a file name"),
                                  message.blob_file().offset()};
      return result;
    case proto::Value::VALUE_NOT_SET:
      break;
  }
  read_immediate(proto::ImmediateValue(), result);
  return result;
}

void write_value(const Value& value, const BlobOf& blob_of, proto::Value& message) {
  message.set_doc_string(value.doc_string);
  write_type(value.type, blob_of, *message.mutable_type());
  if (const auto blob = blob_of(value)) {
    message.mutable_blob_file()->set_file_name(blob->path);
    message.mutable_blob_file()->set_offset(blob->offset);
    return;
  }
  auto* immediate = message.mutable_immediate();
  switch (value.type.kind) {
    case ValueType::Kind::Tensor:
      return write_tensor(value, *immediate->mutable_tensor());
    case ValueType::Kind::Tuple:
    case ValueType::Kind::List: {
      auto* list = value.type.kind == ValueType::Kind::List ? immediate->mutable_list()
                                                            : immediate->mutable_tuple();
      for (const Value& element : value.elements) {
        write_value(element, blob_of, *list->add_values());
      }
      return;
    }
    case ValueType::Kind::Dictionary: {
      auto* dictionary = immediate->mutable_dictionary();
      for (size_t i = 0; i + 1 < value.elements.size(); i += 2) {
        auto* pair = dictionary->add_values();
        write_value(value.elements[i], blob_of, *pair->mutable_key());
        write_value(value.elements[i + 1], blob_of, *pair->mutable_value());
      }
      return;
    }
    case ValueType::Kind::State:
      fail(ErrorCode::InvalidArgument, "a state cannot be a constant");
  }
}

}  // namespace pippin::mil
