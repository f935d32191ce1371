// Functions of two numbers that elementwise operations, reductions and scans share. Integers wrap
// around.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace pippin::mx {

// The type to compute integers in.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};

// NaN if either is NaN; b if both are equal.
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

struct LogicalAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != 0 && b != 0);
  }
};

struct LogicalOr {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != 0 || b != 0);
  }
};

struct LogAddExp {
  template <std::floating_point T>
  T operator()(T a, T b) const {
    if (a != a || b != b) return a + b;
    const T high = a > b ? a : b, low = a > b ? b : a;
    if (low == -std::numeric_limits<T>::infinity() || high == std::numeric_limits<T>::infinity()) {
      return high;
    }
    return high + std::log1p(std::exp(low - high));
  }
};

}  // namespace pippin::mx
