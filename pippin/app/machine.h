// What the machine itself can do, and what it tells of itself: the limits that pippin bench
// compares speeds with, and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::app {

// Reads a large piece of memory (with huge pages where the system gives them) and multiplies
// integers and floats, with all threads of a pool. `pool` must outlive it.
class MachineProbe {
 public:
  // More than caches hold. Throws LimitExceeded if there is not so much memory.
  explicit MachineProbe(ThreadPool& pool, size_t bytes = size_t{256} << 20);
  MachineProbe(const MachineProbe&) = delete;
  MachineProbe& operator=(const MachineProbe&) = delete;
  ~MachineProbe();

  // Bytes per second of one pass over the memory.
  double read_once();
  // Operations per second of a few milliseconds of int8 products from registers; 0 where
  // kernels/peak has no kernel for this processor.
  double multiply_once();
  // The same of fp32.
  double multiply_floats_once();
  // The medians of three of each.
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

// The most memory that the process had at once.
uint64_t peak_memory_bytes();
// Peak memory counts from here on, where the system can do that (Linux).
void restart_peak_memory();
// The most resident bytes, mapped files included, since the process or restart_peak_memory() began.
uint64_t peak_resident_bytes();

// Writes a file, or all files of a folder, back and asks the system to forget what it has of them
// in memory, so that the next load reads the disk. False if that did not work.
bool drop_cached_files(const std::filesystem::path& path);
// Reads a file, or all files of a folder, so that they are in memory. False if they are larger
// than what is free there, or cannot be read.
bool read_files(const std::filesystem::path& path);

}  // namespace pippin::app
