// The machine's speed and memory: the limits with which pippin bench compares speeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::app {

// Reads a large block of memory (with huge pages if available) and multiplies integers and floats
// on all threads of a pool. `pool` must outlive it.
class MachineProbe {
 public:
  // More than caches hold. Throws LimitExceeded if there is not enough memory.
  explicit MachineProbe(ThreadPool& pool, size_t bytes = size_t{256} << 20);
  MachineProbe(const MachineProbe&) = delete;
  MachineProbe& operator=(const MachineProbe&) = delete;
  ~MachineProbe();

  // Bytes per second of one pass over the memory.
  double read_once();
  // Operations per second, over a few milliseconds of int8 products in registers; 0 if kernels/peak
  // has no kernel for this processor.
  double multiply_once();
  // The same for fp32.
  double multiply_floats_once();
  // The medians of three measurements each.
  runtime::MachineReading reading();

 private:
  class Memory;
  ThreadPool& pool_;
  std::unique_ptr<Memory> memory_;
  int64_t rows_;
  std::vector<float> sums_;
};

// The processor's name as the system gives it, or "unknown".
std::string cpu_name();

// The peak memory of the process.
uint64_t peak_memory_bytes();
// Restarts the measurement of peak memory, if the system supports it (Linux).
void restart_peak_memory();
// The peak of resident bytes, including mapped files, since process start or restart_peak_memory().
uint64_t peak_resident_bytes();

// Writes a file, or all files of a folder, back to disk and asks the system to drop its cached
// pages, so that the next load reads the disk. False if that failed.
bool drop_cached_files(const std::filesystem::path& path);
// Reads a file, or all files of a folder, into the system's cache. False if they are larger than
// free memory, or cannot be read.
bool read_files(const std::filesystem::path& path);

}  // namespace pippin::app
