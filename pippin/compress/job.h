// The compression of one weight: its parts (codes and scales, indices and palettes, mask and
// values) are TensorSources that share a Job.
//
// Nothing is computed until a part is read; then all parts are, on all threads. A part's memory is
// freed after its last byte has been read, so a package is written with one weight in memory at a
// time. A part that is read again is computed again; parts of a few bytes, which are stored inline,
// are kept.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/buffer.h"
#include "pippin/compress/encoding.h"
#include "pippin/compress/input_statistics.h"
#include "pippin/mil/value.h"

namespace pippin::compress {

// Threads that all jobs share, one job at a time.
struct Workers {
  explicit Workers(int num_threads = 0) : pool(num_threads) {}
  std::mutex mutex;
  ThreadPool pool;
};

enum class Part : uint8_t {
  Codes,   // integers or indices, of unpruned elements
  Scale,   // in the weight's type, one per block, or for palettes
  Offset,  // in the codes' type, one per block
  Lut,     // in the weight's type or Int8, 2^bits entries per palette
  Mask,    // one bit per element
  Values,  // for Form::Plain: the unpruned elements
};

// The error of an encoding. Squares are summed over all elements.
struct Measure {
  double squared_error = 0, energy = 0;
  bool calibrated = false;  // using statistics of its inputs: see error_feedback.h
  // Calibrated: the squared error of the products with these inputs, in units of the weight.
  double output_error = 0;
};

class Job : public std::enable_shared_from_this<Job> {
 public:
  // `source` has `dims` elements of `type`, Float16 or Float32. `name` is used in messages and to
  // look up `statistics`, with which codes are improved in `rounds` rounds.
  Job(std::string name, std::shared_ptr<const mil::TensorSource> source, mil::DataType type,
      Dims dims, Encoding encoding, std::shared_ptr<Workers> workers,
      std::shared_ptr<InputStatistics> statistics = nullptr, int rounds = 0);

  // Returns the same object while it is alive: sharing it means sharing its place in a file.
  std::shared_ptr<const mil::TensorSource> part(Part part);
  uint64_t part_size(Part part) const;

  // Known once a part has been read. Reading throws InvalidFile if the weight has a value that
  // is not finite.
  std::optional<Measure> measure() const;
  // The same, computed if it is not known yet; keeps nothing else.
  Measure compute_measure();

 private:
  friend class PartSource;
  void read(Part part, uint64_t offset, MutableByteSpan out);
  void compute();

  std::string name_;
  std::shared_ptr<const mil::TensorSource> source_;
  mil::DataType type_;
  Dims dims_;
  Encoding encoding_;
  std::shared_ptr<Workers> workers_;
  std::shared_ptr<InputStatistics> statistics_;
  int rounds_;
  mutable std::mutex mutex_;
  static constexpr size_t kParts = 6;
  std::array<std::weak_ptr<const mil::TensorSource>, kParts> wanted_;  // computed only if alive
  std::array<Buffer, kParts> outputs_;  // empty: not computed, or already read
  std::optional<Measure> measure_;
};

}  // namespace pippin::compress
