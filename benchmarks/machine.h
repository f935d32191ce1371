// What the machine itself can do: the limit that speeds are compared with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pippin::benchmarks {

// Bytes per second, over several runs.
struct Bandwidth {
  int threads = 0;
  double median = 0;
  double best = 0;
};

// Reads `bytes` of memory (far more than the caches hold; with huge pages where the system gives
// them) `runs` times with `threads` threads and adds it up.
Bandwidth measure_read_bandwidth(int threads, size_t bytes = size_t{1} << 30, int runs = 9);

// The processor's name as the system gives it, or "unknown".
std::string cpu_name();

double median(std::vector<double> values);

}  // namespace pippin::benchmarks
