#include "pippin/server/random_id.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "pippin/base/bytes.h"
#include "pippin/io/digest.h"

namespace pippin::server {
namespace {

constexpr size_t kIdDigits = 48;

}  // namespace

std::string random_digits() {
  std::random_device device;
  std::string digits;
  for (size_t i = 0; i < kIdDigits / 8; ++i) digits += fmt::format("{:08x}", device());
  return digits;
}

bool is_random_id(std::string_view id, std::string_view prefix) {
  if (!id.starts_with(prefix) || id.size() != prefix.size() + kIdDigits) return false;
  id.remove_prefix(prefix.size());
  return std::all_of(id.begin(), id.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string derived_digits(std::string_view secret, std::string_view purpose) {
  Digest digest = Digest::sha256();
  digest.update(as_byte_span(fmt::format("{}\n{}", secret, purpose)));
  return digest.finish().substr(0, kIdDigits);
}

}  // namespace pippin::server
