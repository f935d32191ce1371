#include "pippin/compress/job.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float_convert.h"
#include "pippin/compress/calibrated_encoder.h"
#include "pippin/compress/encoder.h"
#include "pippin/compress/pack.h"
#include "pippin/mil/type.h"

namespace pippin::compress {

namespace {

// Parts stored inline in the program (mil/package/weights.h: below 10 elements) are read after the
// weight file has been written.
constexpr size_t kSmall = 64;
constexpr size_t kPiece = size_t{8} << 20;  // amount of a weight read at a time

Buffer packed(std::span<const uint8_t> codes, mil::DataType type, ThreadPool& pool) {
  const auto count = static_cast<int64_t>(codes.size());
  Buffer result(mil::packed_size(type, count));
  pool.run([&](int part, int parts) {
    const Range range = split_range(count, part, parts, 8);
    pack_codes(codes, mil::bit_width(type), static_cast<size_t>(range.begin),
               static_cast<size_t>(range.end), result);
  });
  return result;
}

// Floats that are values of `type`, packed.
Buffer packed_floats(std::span<const float> values, mil::DataType type) {
  const auto bytes = std::as_bytes(values);
  Buffer result(mil::packed_size(type, static_cast<int64_t>(values.size())));
  if (type == mil::DataType::Float32) {
    std::copy(bytes.begin(), bytes.end(), result.data());
  } else {
    convert_f32_to_f16(bytes.data(), result.data(), values.size());
  }
  return result;
}

// Floats that are integers of 8 bits.
Buffer packed_integers(std::span<const float> values) {
  Buffer result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    result.data()[i] = static_cast<std::byte>(static_cast<int8_t>(values[i]));
  }
  return result;
}

int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (const int64_t size : dims) result *= size;
  return result;
}

}  // namespace

class PartSource : public mil::TensorSource {
 public:
  PartSource(std::shared_ptr<Job> job, Part part) : job_(std::move(job)), part_(part) {}

  uint64_t size() const override { return job_->part_size(part_); }
  void read(uint64_t offset, MutableByteSpan out) const override { job_->read(part_, offset, out); }

 private:
  std::shared_ptr<Job> job_;
  Part part_;
};

Job::Job(std::string name, std::shared_ptr<const mil::TensorSource> source, mil::DataType type,
         Dims dims, Encoding encoding, std::shared_ptr<Workers> workers,
         std::shared_ptr<InputStatistics> statistics, int rounds)
    : name_(std::move(name)),
      source_(std::move(source)),
      type_(type),
      dims_(std::move(dims)),
      encoding_(std::move(encoding)),
      workers_(std::move(workers)),
      statistics_(std::move(statistics)),
      rounds_(rounds) {}

std::shared_ptr<const mil::TensorSource> Job::part(Part part) {
  const std::lock_guard lock(mutex_);
  auto& wanted = wanted_[static_cast<size_t>(part)];
  auto result = wanted.lock();
  if (result == nullptr) {
    result = std::make_shared<PartSource>(shared_from_this(), part);
    wanted = result;
  }
  return result;
}

uint64_t Job::part_size(Part part) const {
  const int64_t count = product(dims_), blocks = product(encoding_.blocks);
  const int64_t kept = encoding_.kept >= 0 ? encoding_.kept : count;
  const int64_t palettes = product(encoding_.lut_blocks(dims_));
  switch (part) {
    case Part::Codes:
      return mil::packed_size(encoding_.code_type(), kept / encoding_.cluster);
    case Part::Scale:
      return mil::packed_size(type_, encoding_.form == Encoding::Form::Palette ? palettes : blocks);
    case Part::Offset:
      return mil::packed_size(encoding_.code_type(), blocks);
    case Part::Lut:
      return mil::packed_size(encoding_.int8_lut ? mil::DataType::Int8 : type_,
                              palettes * encoding_.cluster << encoding_.bits);
    case Part::Mask:
      return mil::packed_size(mil::DataType::UInt1, count);
    case Part::Values:
      return mil::packed_size(type_, kept);
  }
  return 0;
}

std::optional<Measure> Job::measure() const {
  const std::lock_guard lock(mutex_);
  return measure_;
}

Measure Job::compute_measure() {
  const std::lock_guard lock(mutex_);
  if (!measure_) {
    compute();
    for (Buffer& bytes : outputs_) bytes.clear();
  }
  return *measure_;
}

void Job::read(Part part, uint64_t offset, MutableByteSpan out) {
  const std::lock_guard lock(mutex_);
  const uint64_t size = part_size(part);
  if (offset > size || out.size() > size - offset) {
    fail(ErrorCode::InvalidArgument, "{} bytes at {} of a part of {}", out.size(), offset, size);
  }
  if (out.empty()) return;
  auto& bytes = outputs_[static_cast<size_t>(part)];
  if (bytes.empty()) compute();
  std::memcpy(out.data(), bytes.data() + offset, out.size());
  if (offset + out.size() == size && size > kSmall) bytes.clear();
}

void Job::compute() {
  const std::lock_guard lock(workers_->mutex);
  std::vector<std::byte> own;
  ByteSpan bytes = source_->view();
  if (bytes.empty()) {
    own.resize(source_->size());
    // Only one piece is also resident as mapped memory.
    for (size_t done = 0; done < own.size(); done += kPiece) {
      const size_t count = std::min(kPiece, own.size() - done);
      source_->read(done, MutableByteSpan(own).subspan(done, count));
      source_->release();
    }
    bytes = own;
  }
  const auto wants = [&](Part part) { return !wanted_[static_cast<size_t>(part)].expired(); };
  const auto output = [&](Part part) -> auto& {
    return outputs_[static_cast<size_t>(part)];
  };
  std::shared_ptr<const InputMoments> moments;
  if (statistics_ != nullptr && can_calibrate(dims_, encoding_)) {
    moments = statistics_->moments(name_);
    if (moments != nullptr && moments->size != dims_[encoding_.input_axis]) moments = nullptr;
  }
  Encoded encoded = moments != nullptr ? encode_calibrated(bytes, type_, dims_, encoding_, *moments,
                                                           rounds_, workers_->pool)
                                       : encode(bytes, type_, dims_, encoding_, workers_->pool);
  if (!std::isfinite(encoded.energy)) {
    fail(ErrorCode::InvalidFile, "{}: a value is not finite, so it cannot be compressed", name_);
  }
  measure_ = {encoded.squared_error, encoded.energy, moments != nullptr, encoded.output_error};
  moments.reset();
  if (wants(Part::Values)) {
    const size_t size = type_ == mil::DataType::Float16 ? 2 : 4;
    auto& values = output(Part::Values);
    values = Buffer(part_size(Part::Values));
    size_t next = 0;
    for (size_t i = 0; i < encoded.mask.size(); ++i) {
      if (encoded.mask[i] == 0) continue;
      std::memcpy(values.data() + next, bytes.data() + i * size, size);
      next += size;
    }
  }
  source_->release();
  std::vector<std::byte>().swap(own);
  ThreadPool& pool = workers_->pool;
  if (wants(Part::Codes)) {
    output(Part::Codes) =
        encoded.packed.empty()
            ? packed({encoded.codes.codes(), encoded.codes.size()}, encoding_.code_type(), pool)
            : std::move(encoded.packed);
  }
  encoded.codes.clear();
  if (wants(Part::Mask)) output(Part::Mask) = packed(encoded.mask, mil::DataType::UInt1, pool);
  if (wants(Part::Scale)) output(Part::Scale) = packed_floats(encoded.scales, type_);
  if (wants(Part::Offset)) {
    output(Part::Offset) = packed(encoded.offsets, encoding_.code_type(), pool);
  }
  if (wants(Part::Lut)) {
    output(Part::Lut) =
        encoding_.int8_lut ? packed_integers(encoded.luts) : packed_floats(encoded.luts, type_);
  }
}

}  // namespace pippin::compress
