#include "pippin/mil/networks/espresso_blobs.h"

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"

namespace pippin::mil::networks {
namespace {

[[noreturn]] void fail_size(int64_t number, size_t size, int64_t count, int64_t element) {
  fail(ErrorCode::InvalidFile, "blob {} has {} bytes, {} elements of {} are needed", number, size,
       count, element);
}

}  // namespace

EspressoBlobs::EspressoBlobs(ByteSpan bytes, Owner owner) : owner_(std::move(owner)) {
  ByteReader table(bytes, "model.espresso.weights");
  const auto count = table.read<uint64_t>();
  constexpr size_t kEntry = 2 * sizeof(uint64_t);
  if (count > table.remaining() / kEntry) {
    fail(ErrorCode::InvalidFile, "model.espresso.weights: {} blobs in {} bytes", count,
         bytes.size());
  }
  ByteReader data(bytes, "model.espresso.weights");
  data.seek(sizeof(uint64_t) + count * kEntry);
  for (uint64_t i = 0; i < count; ++i) {
    const auto number = table.read<uint64_t>();
    const ByteSpan blob = data.take(table.read<uint64_t>());
    if (!blobs_.emplace(static_cast<int64_t>(number), blob).second) {
      fail(ErrorCode::InvalidFile, "model.espresso.weights: blob {} is there twice", number);
    }
  }
}

ByteSpan EspressoBlobs::blob(int64_t number) const {
  const auto found = blobs_.find(number);
  if (found == blobs_.end()) {
    fail(ErrorCode::InvalidFile, "blob {} is not in model.espresso.weights", number);
  }
  return found->second;
}

ByteSpan EspressoBlobs::sized(int64_t number, int64_t count, int64_t element) const {
  const ByteSpan found = blob(number);
  const auto size = static_cast<int64_t>(found.size());
  if (count < 0 || size % element != 0 || size / element != count) {
    fail_size(number, found.size(), count, element);
  }
  return found;
}

std::shared_ptr<const TensorSource> EspressoBlobs::floats(int64_t number, int64_t count) const {
  return stored_source(sized(number, count, 4), false, owner_);
}

std::shared_ptr<const TensorSource> EspressoBlobs::halves(int64_t number, int64_t count) const {
  return stored_source(sized(number, count, 2), true, owner_);
}

std::shared_ptr<const TensorSource> EspressoBlobs::biases(int64_t number, int64_t count) const {
  constexpr int64_t kElement = 4, kVectors = 4;
  const ByteSpan found = blob(number);
  const auto size = static_cast<int64_t>(found.size());
  const bool one = size % kElement == 0 && size / kElement == count;
  const bool four = size % (kElement * kVectors) == 0 && size / (kElement * kVectors) == count;
  if (!one && !four) fail_size(number, found.size(), count, kElement);
  return stored_source(found.first(static_cast<size_t>(count * kElement)), false, owner_);
}

ByteSpan EspressoBlobs::bytes(int64_t number, int64_t count) const {
  constexpr int64_t kAlignment = 64;
  const ByteSpan found = blob(number);
  const auto size = static_cast<int64_t>(found.size());
  if (count < 0 || size < count || size - count >= kAlignment) {
    fail_size(number, found.size(), count, 1);
  }
  return found.first(static_cast<size_t>(count));
}

}  // namespace pippin::mil::networks
