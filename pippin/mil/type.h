// The types of MIL values (MIL.proto, ValueType).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/mil/data_type.h"

namespace pippin::mil {

// A dimension in a program's type: its size, or one of these.
inline constexpr int64_t kUnknownDim = -1;
inline constexpr int64_t kVariadicDim = -2;  // any number of unknown dimensions

struct TypeAttributes;  // value.h

struct ValueType {
  enum class Kind : uint8_t { Tensor, List, Tuple, Dictionary, State };

  Kind kind = Kind::Tensor;
  // Tensor:
  DataType data_type = DataType::Float32;
  bool ranked = true;              // false: any rank, dims is empty
  std::vector<int64_t> dims = {};  // row-major; rank 0 is a scalar
  // List: {element}; Tuple: the elements; Dictionary: {key, value}; State: {wrapped tensor}.
  std::vector<ValueType> parameters = {};
  int64_t list_length = kUnknownDim;  // List
  // Tensor: attributes that a file adds to the type, or null. Written back; not part of the type.
  std::shared_ptr<const TypeAttributes> attributes = nullptr;

  // Out of line, as in Dim (dim.h).
  ValueType();
  ValueType(const ValueType& other);
  ValueType(ValueType&& other) noexcept;
  ValueType& operator=(const ValueType& other);
  ValueType& operator=(ValueType&& other) noexcept;
  ~ValueType();

  static ValueType tensor(DataType type, std::vector<int64_t> dims);
  static ValueType scalar(DataType type);
  static ValueType state(ValueType wrapped);

  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_state() const { return kind == Kind::State; }
  // A tensor whose every dimension is a number.
  bool is_static() const;
  // Product of dims. Requires is_static(); throws LimitExceeded on overflow.
  int64_t num_elements() const;

  // Ignores attributes.
  bool operator==(const ValueType& other) const;
};

// As in MIL's text: "tensor<fp16, [1, ?, 64]>", "state<tensor<fp16, [2]>>", "dict<...>", "list<...,
// 4>".
std::string to_string(const ValueType& type);
// "4", "?" or "...".
std::string spell_dim(int64_t dim);

}  // namespace pippin::mil
