// The speed of a model on several machines, before it runs there: from the sizes of its parts, and
// from what `pippin bench --json` measured of any model.
//
// A step of n sequences reads the weights once and does the operations of n tokens:
//
//   seconds(n) = bytes / read rate + (n - 1) * operations / rate of further sequences
//
// The rates are those of the measurement (machine_speed.h). In a pipeline a token passes all
// machines one after another, so a step takes as long as on one machine with all of the memory, and
// the network's time. Sequences that decode together are as many groups as there are machines,
// whose steps follow each other: the slowest machine, or the time of one group's step, determines
// their rate. Each group reads the weights again. Pieces of prompts follow each other as well.
//
// In tensor parallel, several machines are one with their bandwidth and processors together, but
// each has all caches. After each of a layer's kExchanges steps they send each other its results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/app/facts/machine_speed.h"

namespace pippin::app {

// A part of a model that runs on one machine: a package, or a layer.
struct PlannedPart {
  std::string name;
  uint64_t stored_bytes = 0;  // in the file
  uint64_t read_bytes = 0;    // of weights, for a token
  double operations = 0;      // of a token without its logits
  uint64_t cache_bytes = 0;   // of a token
  double products = 0;        // numbers that a token's products with weights result in
};

struct ModelShape {
  std::vector<PlannedPart> parts;
  double logit_operations = 0;  // of a token whose logits are needed
  bool is_one_program = true;   // in a pipeline, steps of several groups can be in flight
  int64_t width = 0;            // numbers that pass from part to part
  int64_t vocabulary = 0;
  int64_t context = 0;  // most tokens of a sequence; 0: unknown
};

struct Machines {
  int64_t count = 1;
  int64_t tensor_parallel = 1;  // that compute each layer together
  uint64_t memory_bytes = 0;
  double bandwidth = 0;  // bytes per second of memory; 0: the measured machine's
  double network_bytes_per_second = 125e6;
  double network_latency = 1e-4;  // seconds of a message
  double price_per_hour = 0;      // of a machine
};

struct Load {
  int64_t streams = 8;     // sequences that decode together
  int64_t context = 4096;  // tokens that each may have
  int64_t prompt = 512, answer = 128;
  int64_t requests = 0;  // of a corpus; 0: none
};

// Of the machines that compute the same layers each.
struct MachineShare {
  size_t first_part = 0, end_part = 0;
  uint64_t weight_bytes = 0, cache_bytes = 0;
};

struct CapacityPlan {
  int64_t machines_per_copy = 1;     // that one model is split over
  int64_t copies = 1;                // models that run side by side
  std::vector<MachineShare> shares;  // of one copy, for each Machines::tensor_parallel machines
  double one_stream = 0;             // tokens per second
  double many_streams = 0;           // of one copy, with Load::streams sequences
  double prompt = 0;                 // tokens per second of one copy; 0: not measured
  double first_token = 0;            // seconds for Load::prompt; 0: not measured
  double corpus_seconds = 0, corpus_cost = 0;
  double sent_bytes_per_token = 0;  // over the network, of one stream
  double messages_per_token = 0;
};

// Queries, keys and values; attention; its output; gate and up; down.
constexpr int kExchanges = 5;

// Splits the model over the fewest machines whose memory holds their parts, with the caches of all
// streams, and runs as many copies as there are machines for. Throws LimitExceeded if all machines
// together do not suffice, saying how many would, or if a part is too large for one machine.
CapacityPlan plan_capacity(const ModelShape& model, const MachineSpeed& speed,
                           const Machines& machines, const Load& load);

// The seconds of a step of that many sequences on one machine, or on several in tensor parallel
// without their exchanges.
double step_seconds(const ModelShape& model, const MachineSpeed& speed, const Machines& machines,
                    int64_t sequences, int64_t tokens_in_cache);

}  // namespace pippin::app
