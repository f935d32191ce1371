#include "pippin/mil/networks/espresso_blobs.h"

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"

namespace pippin::mil::networks {

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
    blobs_.insert_or_assign(static_cast<int64_t>(number), blob);
  }
}

std::shared_ptr<const TensorSource> EspressoBlobs::floats(int64_t number, int64_t count) const {
  const auto blob = blobs_.find(number);
  if (blob == blobs_.end()) fail(ErrorCode::InvalidFile, "there is no blob {}", number);
  const auto size = static_cast<int64_t>(blob->second.size());
  if (count < 0 || (size / 4 != count && size / 2 != count) || size % 2 != 0) {
    fail(ErrorCode::InvalidFile, "blob {} has {} bytes, {} numbers are needed", number, size,
         count);
  }
  return stored_source(blob->second, size / 4 != count, owner_);
}

}  // namespace pippin::mil::networks
