// The values of 4-bit codes in types that use lookup tables. Included by files that are compiled
// for one instruction set.
#pragma once

#include <cstdint>

namespace pippin::kernels {
namespace {

[[maybe_unused]] constexpr int8_t kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};
[[maybe_unused]] constexpr int8_t kDoubledE2m1[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                      0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace
}  // namespace pippin::kernels
