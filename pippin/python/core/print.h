// Arrays as text.
#pragma once

#include <string>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// "array([1, 2, 3], dtype=int32)", with long axes shortened. The array must be evaluated.
std::string to_text(const mx::array& a);

// Digits after the decimal point, or -1: six significant digits.
int print_precision() noexcept;
void set_print_precision(int digits) noexcept;

}  // namespace pippin::python::core
