#include "pippin/hub/public_address.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace pippin::hub {
namespace {

using V4 = std::array<uint8_t, 4>;
using V6 = std::array<uint8_t, 16>;

template <typename Bytes>
struct AddressBlock {
  Bytes first;
  int bits;  // of the prefix
};

template <typename Bytes>
bool contains(const AddressBlock<Bytes>& block, const Bytes& address) {
  const auto whole = static_cast<size_t>(block.bits / 8);
  if (!std::equal(address.begin(), address.begin() + whole, block.first.begin())) return false;
  const int rest = block.bits % 8;
  return rest == 0 || ((address[whole] ^ block.first[whole]) >> (8 - rest)) == 0;
}

constexpr AddressBlock<V4> kSpecialV4[] = {
    {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10}, {{127, 0, 0, 0}, 8},
    {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12},  {{192, 0, 0, 0}, 24},  {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24}, {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24}, {{224, 0, 0, 0}, 4},    {{240, 0, 0, 0}, 4},
};

// Global unicast addresses are 2000::/3; these are the blocks in it that are not public.
constexpr AddressBlock<V6> kGlobalUnicast = {{0x20}, 3};
constexpr AddressBlock<V6> kSpecialV6[] = {
    {{0x20, 0x01, 0x00}, 23},        // protocol assignments, Teredo
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x3f, 0xff, 0x00}, 20},        // documentation
};
// Blocks whose addresses carry an IPv4 address, and the byte at which it begins.
struct CarryingBlock {
  AddressBlock<V6> block;
  size_t offset;
};
constexpr CarryingBlock kCarryingV4[] = {
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12},  // mapped
    {{{0x00, 0x64, 0xff, 0x9b}, 96}, 12},                    // NAT64
    {{{0x20, 0x02}, 16}, 2},                                 // 6to4
};

bool is_public_v4(const V4& address) {
  return std::none_of(std::begin(kSpecialV4), std::end(kSpecialV4),
                      [&](const auto& block) { return contains(block, address); });
}

bool is_public_v6(const V6& address) {
  for (const auto& [block, offset] : kCarryingV4) {
    if (!contains(block, address)) continue;
    V4 inner{};
    std::memcpy(inner.data(), address.data() + offset, inner.size());
    return is_public_v4(inner);
  }
  return contains(kGlobalUnicast, address) &&
         std::none_of(std::begin(kSpecialV6), std::end(kSpecialV6),
                      [&](const auto& block) { return contains(block, address); });
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in full{};
    std::memcpy(&full, &address, sizeof full);
    V4 bytes{};
    std::memcpy(bytes.data(), &full.sin_addr, bytes.size());
    return is_public_v4(bytes);
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 full{};
    std::memcpy(&full, &address, sizeof full);
    V6 bytes{};
    std::memcpy(bytes.data(), &full.sin6_addr, bytes.size());
    return is_public_v6(bytes);
  }
  return false;
}

std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in full{};
    std::memcpy(&full, &address, sizeof full);
    inet_ntop(AF_INET, &full.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 full{};
    std::memcpy(&full, &address, sizeof full);
    inet_ntop(AF_INET6, &full.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace pippin::hub
