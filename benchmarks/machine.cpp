#include "benchmarks/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>

#include <sys/mman.h>

#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/thread_pool.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::benchmarks {
namespace {

// Anonymous memory, with huge pages advised.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) fail(ErrorCode::LimitExceeded, "no memory for {} bytes", bytes);
#if defined(MADV_HUGEPAGE)
    ::madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    ::munmap(data_, bytes_);
  }
  float* floats() const {
    return static_cast<float*>(data_);
  }

 private:
  void* data_;
  size_t bytes_;
};

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Bandwidth measure_read_bandwidth(int threads, size_t bytes, int runs) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRow = 1 << 16;  // floats that one call adds up
  const int64_t rows = static_cast<int64_t>(bytes / sizeof(float)) / kRow;
  const Memory memory(static_cast<size_t>(rows * kRow) * sizeof(float));
  const kernels::RowsKernels& kernel = kernels::choose_rows(detect_cpu());
  ThreadPool pool(threads);
  std::vector<float> sums(static_cast<size_t>(rows));
  // Each thread touches its own part first, which is where the system then places it.
  pool.run([&](int part, int parts) {
    const Range range = split_range(rows, part, parts);
    std::fill(memory.floats() + range.begin * kRow, memory.floats() + range.end * kRow, 1.0f);
  });
  std::vector<double> speeds;
  for (int run = -1; run < runs; ++run) {  // one to warm up
    const auto start = Clock::now();
    pool.run([&](int part, int parts) {
      const Range range = split_range(rows, part, parts);
      kernel.reduce(kernels::ReduceOp::Sum,
                    {memory.floats() + range.begin * kRow, kRow, sums.data() + range.begin, 1,
                     range.end - range.begin, kRow});
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (run >= 0) speeds.push_back(static_cast<double>(rows * kRow) * sizeof(float) / seconds);
  }
  return {threads, median(speeds), *std::max_element(speeds.begin(), speeds.end())};
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace pippin::benchmarks
