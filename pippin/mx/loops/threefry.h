// Threefry-2x32 with 20 rounds: two words from a key and a counter.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace pippin::mx {

using Words = std::array<uint32_t, 2>;

constexpr Words threefry(Words key, Words count) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
  uint32_t x = count[0] + keys[0], y = count[1] + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

// Fills `bytes` bytes: the first words of all counters, then the second ones. If the number of
// words is odd, an additional counter gives the word in the middle.
inline void random_bytes(Words key, std::byte* to, int64_t bytes) {
  const int64_t words = (bytes + 3) / 4, half = words / 2, second = half + words % 2;
  const auto put = [&](int64_t word, uint32_t value) {
    const int64_t left = bytes - 4 * word;
    std::memcpy(to + 4 * word, &value, static_cast<size_t>(left < 4 ? left : 4));
  };
  for (int64_t i = 0; i < half; ++i) {
    const Words pair = threefry(key, {static_cast<uint32_t>(i), static_cast<uint32_t>(second + i)});
    put(i, pair[0]);
    put(second + i, pair[1]);
  }
  if (words % 2 != 0) put(half, threefry(key, {static_cast<uint32_t>(half), 0})[0]);
}

}  // namespace pippin::mx
