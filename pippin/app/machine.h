// What the machine itself can do, and what it tells of itself: the limits that pippin bench
// compares speeds with, its memory and its energy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/runtime/benchmark.h"

namespace pippin::app {

// Reads a large piece of memory (with huge pages where the system gives them) and multiplies
// integers, with all threads of a pool. `pool` must outlive it.
class MachineProbe {
 public:
  // More than caches hold. Throws LimitExceeded where there is not so much memory.
  explicit MachineProbe(ThreadPool& pool, size_t bytes = size_t{256} << 20);
  MachineProbe(const MachineProbe&) = delete;
  MachineProbe& operator=(const MachineProbe&) = delete;
  ~MachineProbe();

  // Bytes per second of one pass over the memory.
  double read_once();
  // Operations per second of a few milliseconds of int8 products from registers; 0 where
  // kernels/peak has no kernel for this processor.
  double multiply_once();
  // The medians of three of each.
  runtime::MachineReading reading();

 private:
  class Memory;
  ThreadPool& pool_;
  std::unique_ptr<Memory> memory_;
  int64_t rows_;
  std::vector<float> sums_;
};

// Where the system counts the energy that its processors use; empty where it has no such folder.
std::filesystem::path energy_counters();

// RAPL's counters of processor packages (Linux, powercap). Readable for root alone on many systems.
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& root = energy_counters());
  // Joules of all packages since the meter was made; nothing where the machine does not tell. Has
  // to be called before a counter wraps twice (minutes).
  std::optional<double> joules();

 private:
  struct Counter {
    std::filesystem::path path;
    uint64_t range = 0;  // where it wraps, in microjoules; 0: unknown
    uint64_t last = 0;
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
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
// in memory, so that the next load reads the disk. False where that did not work.
bool drop_cached_files(const std::filesystem::path& path);
// Reads a file, or all files of a folder, so that they are in memory. False where they are larger
// than what is free there, or cannot be read.
bool read_files(const std::filesystem::path& path);

}  // namespace pippin::app
