// Arrays as text.
#pragma once

#include <string>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// "array([1, 2, 3], dtype=int32)", long axes shortened. The numbers have to be there already.
std::string to_text(const mx::array& a);

// Digits behind the point, or -1: six that count.
int print_precision() noexcept;
void set_print_precision(int digits) noexcept;

}  // namespace pippin::python::core
