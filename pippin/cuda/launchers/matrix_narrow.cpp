// Weights of 12 bits (engine/weights/e4m7_weight.h).
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/launchers/device_matrix.h"

namespace pippin::cuda {
namespace {

using kernels::E4M7Matrix;

// An array of `count` elements made of the matrix.
template <typename T, typename Element>
UploadedBytes upload_array(const E4M7Matrix& w, WeightStore& store, std::string_view what,
                           int64_t count, const Element& element) {
  return store.upload(w.codes, fmt::format("{} of 12 bits, {}x{}", what, w.n, w.k),
                      static_cast<uint64_t>(count) * sizeof(T), sizeof(T),
                      [&](std::byte* to, uint64_t begin, uint64_t end) {
                        for (uint64_t at = begin; at < end; at += sizeof(T), to += sizeof(T)) {
                          const T value = element(static_cast<int64_t>(at / sizeof(T)));
                          std::memcpy(to, &value, sizeof(T));
                        }
                      });
}

// Of the codes as fp16, whose exponents are 112 larger than those of the tiny fp32 numbers.
float scale_of_halves(float scale) {
  return std::ldexp(scale, -112);
}

UploadedBytes upload_codes(const E4M7Matrix& w, int64_t row_bytes, WeightStore& store) {
  const auto each = static_cast<uint64_t>(row_bytes);
  const int64_t high_nibbles = row_bytes / 48 * 32;
  return store.upload(
      w.codes, fmt::format("12 bits, {}x{}", w.n, w.k), static_cast<uint64_t>(w.n) * each, each,
      [&](std::byte* to, uint64_t begin, uint64_t end) {
        std::memset(to, 0, end - begin);
        for (uint64_t at = begin; at < end; at += each, to += each) {
          for (int64_t j = 0; j < w.k; ++j) {
            const uint32_t code = kernels::e4m7_code(w, static_cast<int64_t>(at / each), j);
            const int64_t pair = j % 4 == 1 ? 2 : j % 4 == 2 ? 1 : j % 4;
            to[j / 4 * 4 + pair] = static_cast<std::byte>(code & 255);
            const int64_t nibble = j % 8 / 2 + j % 2 * 4;
            to[high_nibbles + j / 8 * 4 + nibble / 2] |=
                static_cast<std::byte>(code >> 8 << (nibble % 2 * 4));
          }
        }
      });
}

// As E4M7Exception in cuda/kernels/dot_args.h.
UploadedBytes upload_exceptions(const E4M7Matrix& w, WeightStore& store) {
  const int64_t head = align_up<int64_t>(w.n + 1, 2);  // of uint32
  const int64_t words = head + 2 * int64_t{w.begins[w.n]};
  return upload_array<uint32_t>(w, store, "exceptions", words, [&](int64_t i) -> uint32_t {
    if (i <= w.n) return w.begins[i] + static_cast<uint32_t>(head / 2);
    if (i < head) return 0;
    const kernels::E4M7Exception& one = w.exceptions[(i - head) / 2];
    return (i - head) % 2 == 0 ? one.column : std::bit_cast<uint32_t>(one.value);
  });
}

}  // namespace

DeviceMatrix upload_narrow(const engine::E4M7Weight& weight, WeightStore& store) {
  const E4M7Matrix& w = weight.matrix;
  DeviceMatrix to;
  to.form = MatrixForm::E4M7;
  to.n = w.n;
  to.k = w.k;
  to.row_bytes = ceil_div<int64_t>(w.k, 32) * 48;
  to.rows = upload_codes(w, to.row_bytes, store);
  to.scales = upload_array<float>(w, store, "scales", w.n,
                                  [&](int64_t i) { return scale_of_halves(w.scales[i]); });
  to.shifts = upload_exceptions(w, store);
  return to;
}

}  // namespace pippin::cuda
