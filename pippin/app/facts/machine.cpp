#include "pippin/app/facts/machine.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>

#include <sys/mman.h>

#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/platform/file_cache.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/base/platform/pages.h"
#include "pippin/base/stopwatch.h"
#include "pippin/kernels/peak/peak.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kRow = 1 << 16;  // floats added per call

bool read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
  }
  return file.eof();
}

// The file itself, or all files of a folder; nullopt if they cannot be listed.
std::optional<std::vector<fs::path>> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  if (error) return std::nullopt;
  return files;
}

}  // namespace

class MachineProbe::Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) fail(ErrorCode::LimitExceeded, "no memory for {} bytes", bytes);
    want_huge_pages(data_, bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(data_, bytes_); }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  void* data_;
  size_t bytes_;
};

MachineProbe::MachineProbe(ThreadPool& pool, size_t bytes)
    : pool_(pool),
      rows_(std::max<int64_t>(1, static_cast<int64_t>(bytes / sizeof(float)) / kRow)),
      sums_(static_cast<size_t>(rows_)) {
  memory_ = std::make_unique<Memory>(static_cast<size_t>(rows_ * kRow) * sizeof(float));
  // Each thread touches its own part first, so that the system places it nearby.
  pool_.run([&](int part, int parts) {
    const Range range = split_range(rows_, part, parts);
    std::fill(memory_->floats() + range.begin * kRow, memory_->floats() + range.end * kRow, 1.0f);
  });
}

MachineProbe::~MachineProbe() = default;

double MachineProbe::read_once() {
  const kernels::RowsKernels& kernel = kernels::choose_rows(detect_cpu());
  const auto start = Clock::now();
  pool_.run([&](int part, int parts) {
    const Range range = split_range(rows_, part, parts);
    kernel.reduce(kernels::ReduceOp::Sum,
                  {memory_->floats() + range.begin * kRow, kRow, sums_.data() + range.begin, 1,
                   range.end - range.begin, kRow});
  });
  return static_cast<double>(rows_ * kRow) * sizeof(float) / seconds_since(start);
}

double MachineProbe::multiply_once() {
  const kernels::PeakKernel* kernel = kernels::choose_peak(detect_cpu());
  if (kernel == nullptr) return 0;
  constexpr int64_t kSteps = 300'000;  // 1 to 2 ms
  std::atomic<int32_t> result = 0;
  const auto start = Clock::now();
  pool_.run([&](int, int) { result += kernel->int8_dot(kSteps); });
  return static_cast<double>(kSteps * kernel->operations) * pool_.num_threads() /
         seconds_since(start);
}

double MachineProbe::multiply_floats_once() {
  const kernels::FloatPeakKernel* kernel = kernels::choose_float_peak(detect_cpu());
  if (kernel == nullptr) return 0;
  constexpr int64_t kSteps = 500'000;  // 1 to 2 ms
  std::vector<float> results(static_cast<size_t>(pool_.num_threads()));
  const auto start = Clock::now();
  pool_.run([&](int part, int) { results[static_cast<size_t>(part)] = kernel->dot(kSteps); });
  return static_cast<double>(kSteps * kernel->operations) * pool_.num_threads() /
         seconds_since(start);
}

runtime::MachineReading MachineProbe::reading() {
  std::vector<double> bytes, operations, floats;
  for (int i = 0; i < 3; ++i) {
    bytes.push_back(read_once());
    operations.push_back(multiply_once());
    floats.push_back(multiply_floats_once());
  }
  return {runtime::percentile(std::move(bytes), 0.5),
          runtime::percentile(std::move(operations), 0.5),
          runtime::percentile(std::move(floats), 0.5)};
}

bool drop_cached_files(const fs::path& path) {
  const auto files = files_of(path);
  if (!files) return false;
  bool all = true;
  for (const fs::path& file : *files) all = forget_cached(file) && all;
  return all;
}

bool read_files(const fs::path& path) {
  const auto files = files_of(path);
  if (!files) return false;
  uintmax_t size = 0;
  for (const fs::path& file : *files) {
    std::error_code error;
    size += fs::file_size(file, error);
    if (error) return false;
  }
  if (size > free_memory()) return false;
  return std::all_of(files->begin(), files->end(), read_file);
}

}  // namespace pippin::app
