// Constant values of a program: attributes, parameters, weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/mil/type.h"

namespace pippin::mil {

// The bytes of a large tensor: a mapped weight file, a checkpoint, or a conversion of one. Reads
// nothing until asked. Thread-safe.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // Size of the packed little-endian elements.
  virtual uint64_t size() const = 0;
  // All bytes if they are in memory unchanged (mapped); otherwise an empty span.
  virtual ByteSpan view() const { return {}; }
  // Fills `out`, starting at byte `offset`.
  virtual void read(uint64_t offset, MutableByteSpan out) const = 0;
  // Hints that the pages read so far will not be needed again soon.
  virtual void release() const noexcept {}
};

// A blob in a package's weight file, as the program names it.
struct BlobReference {
  std::string path;     // "@model_path/weights/weight.bin"
  uint64_t offset = 0;  // of the blob's metadata record
  bool operator==(const BlobReference&) const = default;
};

struct Value {
  ValueType type;
  // A tensor's elements are in one of these: packed little-endian bytes (bool: one byte each; 1- to
  // 6-bit elements: first element in the least significant bits), strings, or a source.
  std::vector<std::byte> bytes = {};
  std::vector<std::string> strings = {};
  std::shared_ptr<const TensorSource> source = nullptr;
  // Set for tensors stored in a package's weight file; `source` may still be null (text without
  // weights).
  std::optional<BlobReference> blob = std::nullopt;
  // Tuple, list: the elements. Dictionary: key, value, key, value, ...
  std::vector<Value> elements = {};
  // Documentation from the file; not part of the value.
  std::string doc_string = {};

  // Out of line, as in Dim (dim.h).
  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  static Value of_int32(int32_t value);
  static Value of_int32s(std::span<const int32_t> values);  // rank 1
  static Value of_bool(bool value);
  static Value of_bools(const std::vector<bool>& values);  // rank 1
  static Value of_string(std::string value);
  static Value of_float(DataType type,
                        double value);  // Float16 or Float32 or BFloat16 or Float64, rank 0
  static Value of_floats(DataType type, std::span<const double> values, std::vector<int64_t> dims);
  static Value of_source(ValueType type, std::shared_ptr<const TensorSource> source);

  // The packed bytes of a tensor, from `bytes` or read from `source`. Throws NotFound if a
  // blob's file is absent.
  std::vector<std::byte> read_bytes() const;
  // The elements as doubles (any numeric type or bool), for parameters and the reference.
  std::vector<double> to_doubles() const;
  // The elements as integers; throws InvalidFile if the type is not integer or bool.
  std::vector<int64_t> to_ints() const;
  // The only element of a string tensor; throws InvalidFile otherwise.
  const std::string& to_string_value() const;
};

using Attributes = std::map<std::string, Value, std::less<>>;

// The attributes of a tensor type (MIL.proto, TensorType.attributes): no known writer has them.
struct TypeAttributes {
  Attributes values;
};

// Equal type and elements; sources are compared by their bytes.
bool equal(const Value& a, const Value& b);

}  // namespace pippin::mil
