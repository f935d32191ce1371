#include "pippin/python/core/print.h"

#include <cmath>
#include <cstdio>

namespace pippin::python::core {

namespace {

constexpr int64_t kShown = 3;  // at each end of a long axis

int precision = -1;

std::string number(double value) {
  char text[64];
  if (precision < 0) {
    std::snprintf(text, sizeof(text), "%g", value);
  } else {
    std::snprintf(text, sizeof(text), "%.*f", precision, value);
  }
  return text;
}

template <typename T>
std::string written(const std::byte* at) {
  const T value = *reinterpret_cast<const T*>(at);
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, mx::complex64_t>) {
    const bool is_negative = std::signbit(value.imag) && !std::isnan(value.imag);
    return number(value.real) + (is_negative ? "-" : "+") +
           number(is_negative ? -value.imag : value.imag) + "j";
  } else if constexpr (std::is_floating_point_v<T>) {
    return number(value);
  } else {
    return number(to_float(value));
  }
}

std::string element(mx::Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case mx::bool_:
      return *reinterpret_cast<const uint8_t*>(at) != 0 ? "True" : "False";
    case mx::uint8:
      return written<uint8_t>(at);
    case mx::uint16:
      return written<uint16_t>(at);
    case mx::uint32:
      return written<uint32_t>(at);
    case mx::uint64:
      return written<uint64_t>(at);
    case mx::int8:
      return written<int8_t>(at);
    case mx::int16:
      return written<int16_t>(at);
    case mx::int32:
      return written<int32_t>(at);
    case mx::int64:
      return written<int64_t>(at);
    case mx::float16:
      return written<float16>(at);
    case mx::bfloat16:
      return written<bfloat16>(at);
    case mx::float32:
      return written<float>(at);
    case mx::float64:
      return written<double>(at);
    default:
      return written<mx::complex64_t>(at);
  }
}

void write(const mx::array& a, const std::byte* at, size_t axis, std::string& text) {
  const int64_t size = a.shape()[axis];
  const int64_t step = a.strides()[axis] * static_cast<int64_t>(a.itemsize());
  const bool is_last = axis + 1 == a.ndim();
  const std::string indent = is_last ? "" : std::string(7 + axis, ' ');
  text += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) text += (is_last ? ", " : ",\n") + indent;
    if (i == kShown && size > 2 * kShown) {
      text += "...";
      i = size - kShown - 1;
      continue;
    }
    if (is_last) {
      text += element(a.dtype(), at + i * step);
    } else {
      write(a, at + i * step, axis + 1, text);
    }
  }
  text += ']';
}

}  // namespace

std::string to_text(const mx::array& a) {
  std::string text = "array(";
  if (a.ndim() == 0) {
    text += element(a.dtype(), a.bytes());
  } else {
    write(a, a.bytes(), 0, text);
  }
  return text + ", dtype=" + std::string(mx::to_string(a.dtype())) + ")";
}

int print_precision() noexcept {
  return precision;
}

void set_print_precision(int digits) noexcept {
  precision = digits;
}

}  // namespace pippin::python::core
