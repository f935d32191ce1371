// The speed of a machine with language models, measured with any of them.
#pragma once

#include <string>
#include <vector>

namespace pippin::app {

struct MachineSpeed {
  double bytes_per_second = 0;  // read by a token of one sequence
  // Operations per second of a step's further sequences, by the number of sequences, ascending.
  struct Lanes {
    double sequences = 0, operations_per_second = 0;
  };
  std::vector<Lanes> lanes;                 // empty: not measured
  double prompt_operations_per_second = 0;  // 0: not measured
  double memory_bandwidth = 0;              // of the measuring machine; 0: unknown

  // The bytes per second with another bandwidth of memory; 0: the measuring machine's.
  double read_rate(double bandwidth) const;
  // Of further sequences, between and beyond the measured numbers of them; 0: not measured.
  double seconds_per_operation(double sequences) const;
};

// Reads a report of `pippin bench --json`. `where` is its name, for messages. Throws InvalidFile
// for other JSON, InvalidArgument for a report without a decode of one sequence.
MachineSpeed read_speed(const std::string& json, const std::string& where);

// A machine that reads all weights at that many bytes per second, of which nothing else is known.
MachineSpeed speed_of_bandwidth(double bytes_per_second);

}  // namespace pippin::app
