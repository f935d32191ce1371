#include "pippin/app/convert/mixed_forms.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>

#include "pippin/mil/data_type.h"

namespace pippin::app {
namespace {

using compress::Scheme;

// A finer form replaces a coarser one if it takes at most this many times its bytes.
constexpr double kNearlyEqual = 1.005;

struct SizedForm {
  Scheme scheme;
  double bits;  // per element
};

SizedForm palette(int bits, int64_t channels, int64_t group, int64_t inputs, int value_bits) {
  Scheme scheme;
  scheme.kind = Scheme::Kind::Palette;
  scheme.bits = bits;
  scheme.group = group == channels ? 0 : group;
  const auto elements = static_cast<double>(group * inputs);
  return {scheme, bits + static_cast<double>(value_bits << bits) / elements};
}

SizedForm integers(mil::DataType type, int64_t block, int64_t inputs, int value_bits) {
  Scheme scheme;
  scheme.kind = Scheme::Kind::Linear;
  scheme.data = type;
  scheme.per = block == inputs ? Scheme::Per::Channel : Scheme::Per::Block;
  if (block != inputs) scheme.block = block;
  return {scheme,
          mil::bit_width(type) + static_cast<double>(value_bits) / static_cast<double>(block)};
}

// Appends the forms of one kind, given from the coarsest to the finest.
void append(const std::vector<SizedForm>& coarse_to_fine, std::vector<SizedForm>& forms) {
  for (size_t i = 0; i < coarse_to_fine.size(); ++i) {
    const bool last = i + 1 == coarse_to_fine.size();
    if (!last && coarse_to_fine[i + 1].bits <= kNearlyEqual * coarse_to_fine[i].bits) continue;
    forms.push_back(coarse_to_fine[i]);
  }
}

// Divisors of `size`: itself and the nearest ones to those wanted, from the largest on.
std::set<int64_t, std::greater<>> divisors_near(int64_t size,
                                                std::initializer_list<int64_t> wanted) {
  std::set<int64_t, std::greater<>> result = {size};
  for (const int64_t one : wanted) result.insert(nearest_divisor(size, one));
  return result;
}

}  // namespace

int64_t nearest_divisor(int64_t size, int64_t wanted) {
  const auto ratio = [&](int64_t divisor) {
    const auto [small, large] = std::minmax(divisor, wanted);
    return static_cast<double>(large) / static_cast<double>(small);
  };
  int64_t best = 1;
  for (int64_t low = 1; low * low <= size; ++low) {
    if (size % low != 0) continue;
    for (const int64_t divisor : {low, size / low}) {
      const bool nearer = ratio(divisor) < ratio(best);
      if (nearer || (ratio(divisor) == ratio(best) && divisor > best)) best = divisor;
    }
  }
  return best;
}

std::vector<Scheme> mixed_forms(int64_t channels, int64_t inputs, int value_bits) {
  std::vector<SizedForm> forms;
  for (const int bits : {2, 3, 4, 6, 8}) {
    const auto groups =
        bits <= 4 ? divisors_near(channels, {16, 4, 1}) : divisors_near(channels, {16});
    std::vector<SizedForm> palettes;
    palettes.reserve(groups.size());
    for (const int64_t group : groups) {
      palettes.push_back(palette(bits, channels, group, inputs, value_bits));
    }
    append(palettes, forms);
  }
  // Drops forms with fewer entries for as many bytes.
  std::erase_if(forms, [&, all = forms](const SizedForm& form) {
    return std::any_of(all.begin(), all.end(), [&](const SizedForm& other) {
      return other.scheme.bits > form.scheme.bits && other.bits <= form.bits;
    });
  });
  const auto sizes = divisors_near(inputs, {128, 32});
  std::vector<SizedForm> blocks;
  blocks.reserve(sizes.size());
  for (const int64_t block : sizes) {
    blocks.push_back(integers(mil::DataType::Int4, block, inputs, value_bits));
  }
  append(blocks, forms);
  forms.push_back(integers(mil::DataType::Int8, inputs, inputs, value_bits));
  std::stable_sort(forms.begin(), forms.end(),
                   [](const SizedForm& a, const SizedForm& b) { return a.bits < b.bits; });
  std::vector<Scheme> schemes;
  schemes.reserve(forms.size());
  for (const SizedForm& form : forms) schemes.push_back(form.scheme);
  return schemes;
}

}  // namespace pippin::app
