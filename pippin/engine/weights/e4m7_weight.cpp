#include "pippin/engine/weights/e4m7_weight.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/base/threads/thread_pool.h"

namespace pippin::engine {
namespace {

using kernels::E4M7Exception;
using kernels::E4M7Matrix;
using kernels::E4M7Row;
using kernels::WeightType;

// Number of weights: smaller arrays stay in the caches of the processor.
constexpr int64_t kWorthPacking = int64_t{1} << 19;

// Padding to whole groups of columns makes short rows longer.
bool gains(int64_t k) {
  return 10 * kernels::e4m7_row_bytes(k) < 9 * k * kernels::bytes_per_weight(WeightType::F16);
}

// Recognizes most weights of 11 significant bits by a few rows.
bool looks_narrow(const PlainWeight& w) {
  constexpr int64_t kOneIn = 16;
  std::vector<uint8_t> codes(static_cast<size_t>(kernels::e4m7_row_bytes(w.k)));
  for (const int64_t i : {int64_t{0}, w.n / 2, w.n - 1}) {
    const E4M7Row row = kernels::pack_e4m7_row(w.type, w.row(i), w.k, codes.data(), nullptr, 0);
    if (row.num_exceptions > w.k / kOneIn) return false;
  }
  return true;
}

// Nothing if there are too many exceptions.
std::vector<std::byte> pack(const PlainWeight& w) {
  const int64_t most = kernels::most_e4m7_exceptions(w.n, w.k);
  std::vector<std::byte> bytes(static_cast<size_t>(kernels::e4m7_bytes(w.n, w.k)));
  const kernels::E4M7Parts parts = kernels::e4m7_parts(bytes.data(), w.n, w.k);
  ThreadPool pool;
  std::vector<std::vector<E4M7Exception>> found(static_cast<size_t>(pool.num_threads()));
  pool.run([&](int part, int count) {
    auto& mine = found[static_cast<size_t>(part)];
    std::vector<E4M7Exception> of_row(static_cast<size_t>(w.k));
    const Range share = split_range(w.n, part, count);
    for (int64_t i = share.begin; i < share.end; ++i) {
      const E4M7Row row =
          kernels::pack_e4m7_row(w.type, w.row(i), w.k, parts.codes + i * parts.row_bytes,
                                 of_row.data(), std::ssize(of_row));
      parts.scales[i] = row.scale;
      parts.begins[i] = static_cast<uint32_t>(row.num_exceptions);
      mine.insert(mine.end(), of_row.begin(), of_row.begin() + row.num_exceptions);
      if (std::ssize(mine) > most) return;
    }
  });
  int64_t exceptions = 0;
  for (const auto& some : found) {
    if (exceptions + std::ssize(some) > most) return {};
    std::copy(some.begin(), some.end(), parts.exceptions + exceptions);
    exceptions += std::ssize(some);
  }
  uint32_t begin = 0;
  for (int64_t i = 0; i < w.n; ++i) {
    const uint32_t count = std::exchange(parts.begins[i], begin);
    begin += count;
  }
  parts.begins[w.n] = begin;
  return bytes;
}

// Whether an array from a cache can be used: all exceptions lie inside.
bool is_sound(const E4M7Matrix& w) {
  const auto most = static_cast<uint32_t>(kernels::most_e4m7_exceptions(w.n, w.k));
  if (w.begins[0] != 0 || w.begins[w.n] > most || !std::is_sorted(w.begins, w.begins + w.n + 1)) {
    return false;
  }
  return std::all_of(w.exceptions, w.exceptions + w.begins[w.n],
                     [&](const E4M7Exception& one) { return int64_t{one.column} < w.k; });
}

}  // namespace

int64_t E4M7Weight::read_bytes() const {
  constexpr int64_t kOfRow = sizeof(float) + sizeof(uint32_t);
  return matrix.n * (matrix.row_bytes + kOfRow) +
         int64_t{matrix.begins[matrix.n]} * static_cast<int64_t>(sizeof(E4M7Exception));
}

int64_t E4M7Weight::saved_bytes() const {
  return matrix.n * matrix.k * kernels::bytes_per_weight(WeightType::F16) - read_bytes();
}

std::shared_ptr<const E4M7Weight> narrow_weight(const PlainWeight& half, mil::Opset opset,
                                                LoadCache* cache) {
  const int64_t count = half.n * half.k;
  if (count < kWorthPacking || count > std::numeric_limits<uint32_t>::max() || !gains(half.k)) {
    return nullptr;
  }
  check_cancel();
  const std::string variant = fmt::format("e4m7 {} x {}", half.n, half.k);
  const ArrayRequest request{half.var,
                             static_cast<uint64_t>(kernels::e4m7_bytes(half.n, half.k)),
                             opset,
                             variant,
                             cache,
                             [&] { return looks_narrow(half); },
                             /*only_stored=*/true};
  SharedBytes bytes = shared_array(request, [&] { return pack(half); });
  if (bytes == nullptr) return nullptr;
  auto weight = std::make_shared<E4M7Weight>();
  weight->matrix = kernels::e4m7_matrix(bytes.get(), half.n, half.k);
  weight->bytes = std::move(bytes);
  if (!is_sound(weight->matrix)) return nullptr;
  log_debug("'{}' is kept in 12 bits", half.var->name);
  return weight;
}

}  // namespace pippin::engine
