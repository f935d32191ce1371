#include "pippin/mil/networks/numbers.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/mil/networks/element_source.h"

namespace pippin::mil::networks {
namespace {

class UnpackedSource : public ElementSource {
 public:
  UnpackedSource(ByteSpan bytes, int64_t count, int bits, const Owner& owner)
      : ElementSource(count, 1), bytes_(bytes), bits_(bits), owner_(owner) {}

  ByteSpan view() const override { return bits_ == 8 ? bytes_ : ByteSpan(); }
  void elements(size_t first, MutableByteSpan out) const override {
    unpack_numbers(bytes_, bits_, first, out);
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("unpacked").number(bits_).number(count()).bytes(bytes_);
    return true;
  }

 private:
  const ByteSpan bytes_;
  const int bits_;
  const Owner owner_;
};

class PackedSource : public DerivedSource {
 public:
  PackedSource(std::shared_ptr<const TensorSource> numbers, int bits)
      : numbers_(std::move(numbers)), bits_(static_cast<size_t>(bits)) {}

  uint64_t size() const override { return (numbers_->size() * bits_ + 7) / 8; }

  // Eight numbers are as many bytes as each has bits.
  void read(uint64_t offset, MutableByteSpan out) const override {
    if (offset > size() || out.size() > size() - offset) {
      fail(ErrorCode::InvalidArgument, "bytes {} to {} of {} bytes of numbers", offset,
           offset + out.size(), size());
    }
    constexpr size_t kEights = 512;
    std::vector<std::byte> numbers(8 * kEights), packed(bits_ * kEights);
    while (!out.empty()) {
      const uint64_t first = offset / bits_ * 8;
      const auto count =
          static_cast<size_t>(std::min<uint64_t>(numbers.size(), numbers_->size() - first));
      std::fill(numbers.begin() + static_cast<ptrdiff_t>(count), numbers.end(), std::byte{0});
      numbers_->read(first, MutableByteSpan(numbers).first(count));
      for (size_t i = 0; i < kEights; ++i) pack(&numbers[8 * i], &packed[bits_ * i]);
      const size_t skipped = offset % bits_;
      const size_t bytes = std::min(out.size(), packed.size() - skipped);
      std::memcpy(out.data(), packed.data() + skipped, bytes);
      out = out.subspan(bytes);
      offset += bytes;
    }
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("packed").number(static_cast<int64_t>(bits_));
    return describe_source(*numbers_, recipe);
  }

 private:
  void pack(const std::byte* numbers, std::byte* packed) const {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= static_cast<uint64_t>(numbers[i]) << (i * bits_);
    for (size_t i = 0; i < bits_; ++i) packed[i] = static_cast<std::byte>(word >> (8 * i));
  }

  const std::shared_ptr<const TensorSource> numbers_;
  const size_t bits_;
};

}  // namespace

void unpack_numbers(ByteSpan bytes, int bits, size_t first, MutableByteSpan out) {
  if (bits == 8) {
    if (!out.empty()) std::memcpy(out.data(), bytes.data() + first, out.size());
    return;
  }
  size_t bit = first * static_cast<size_t>(bits);
  const uint32_t mask = (1U << bits) - 1;
  for (std::byte& number : out) {
    const size_t at = bit / 8;
    const uint32_t next = at + 1 < bytes.size() ? static_cast<uint32_t>(bytes[at + 1]) : 0;
    const uint32_t pair = static_cast<uint32_t>(bytes[at]) << 8 | next;
    number = static_cast<std::byte>(pair >> (16 - static_cast<int>(bit % 8) - bits) & mask);
    bit += static_cast<size_t>(bits);
  }
}

std::shared_ptr<const TensorSource> unpacked_numbers(ByteSpan bytes, int64_t count, int bits,
                                                     const Owner& owner) {
  return std::make_shared<UnpackedSource>(bytes, count, bits, owner);
}

std::shared_ptr<const TensorSource> packed_numbers(std::shared_ptr<const TensorSource> numbers,
                                                   int bits) {
  if (bits == 8) return numbers;
  return std::make_shared<PackedSource>(std::move(numbers), bits);
}

}  // namespace pippin::mil::networks
