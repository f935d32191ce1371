#include "pippin/mil/type.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"

namespace pippin::mil {

ValueType::ValueType() = default;
ValueType::ValueType(const ValueType& other) = default;
ValueType::ValueType(ValueType&& other) noexcept = default;
ValueType& ValueType::operator=(const ValueType& other) = default;
ValueType& ValueType::operator=(ValueType&& other) noexcept = default;
ValueType::~ValueType() = default;

ValueType ValueType::tensor(DataType type, std::vector<int64_t> dims) {
  ValueType result;
  result.data_type = type;
  result.dims = std::move(dims);
  return result;
}

ValueType ValueType::scalar(DataType type) {
  return tensor(type, {});
}

ValueType ValueType::state(ValueType wrapped) {
  ValueType result;
  result.kind = Kind::State;
  result.parameters.push_back(std::move(wrapped));
  return result;
}

bool ValueType::is_static() const {
  return is_tensor() && ranked &&
         std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

int64_t ValueType::num_elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    const auto product = checked_mul<int64_t>(count, dim);
    if (!product || dim < 0) {
      fail(ErrorCode::LimitExceeded, "{} has no number of elements", to_string(*this));
    }
    count = *product;
  }
  return count;
}

bool ValueType::operator==(const ValueType& other) const {
  return kind == other.kind && data_type == other.data_type && ranked == other.ranked &&
         dims == other.dims && parameters == other.parameters && list_length == other.list_length;
}

std::string spell_dim(int64_t dim) {
  if (dim >= 0) return std::to_string(dim);
  return dim == kVariadicDim ? "..." : "?";
}

std::string to_string(const ValueType& type) {
  std::vector<std::string> parts;
  switch (type.kind) {
    case ValueType::Kind::Tensor:
      if (!type.ranked) return fmt::format("tensor<{}, *>", to_string(type.data_type));
      for (const int64_t dim : type.dims) {
        parts.push_back(spell_dim(dim));
      }
      return fmt::format("tensor<{}, [{}]>", to_string(type.data_type), fmt::join(parts, ", "));
    case ValueType::Kind::State:
      return fmt::format("state<{}>", to_string(type.parameters.at(0)));
    case ValueType::Kind::List:
      return fmt::format("list<{}, {}>", to_string(type.parameters.at(0)),
                         spell_dim(type.list_length));
    case ValueType::Kind::Tuple:
    case ValueType::Kind::Dictionary:
      for (const ValueType& parameter : type.parameters) parts.push_back(to_string(parameter));
      return fmt::format("{}<{}>", type.kind == ValueType::Kind::Tuple ? "tuple" : "dict",
                         fmt::join(parts, ", "));
  }
  return {};
}

}  // namespace pippin::mil
