#include "pippin/app/convert/mixed_forms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/mil/data_type.h"

namespace pippin::app {
namespace {

using compress::Scheme;

TEST(MixedForms, NearestDivisorsAreThoseOfASearch) {
  for (int64_t size = 1; size <= 400; ++size) {
    for (const int64_t wanted : {1, 4, 16, 32, 128}) {
      const auto distance = [&](int64_t divisor) {
        return std::abs(std::log(static_cast<double>(divisor) / static_cast<double>(wanted)));
      };
      int64_t best = size;
      for (int64_t divisor = size; divisor >= 1; --divisor) {
        if (size % divisor == 0 && distance(divisor) < distance(best) - 1e-12) best = divisor;
      }
      EXPECT_EQ(nearest_divisor(size, wanted), best) << size << " " << wanted;
    }
  }
}

std::vector<std::string> names_of(int64_t channels, int64_t inputs) {
  std::vector<std::string> names;
  for (const Scheme& scheme : mixed_forms(channels, inputs, 16)) {
    names.push_back(to_string(scheme));
  }
  return names;
}

double bits_of(const Scheme& scheme, int64_t channels, int64_t inputs) {
  const auto all = static_cast<double>(channels * inputs);
  if (scheme.kind == Scheme::Kind::Palette) {
    const int64_t group = scheme.group == 0 ? channels : scheme.group;
    EXPECT_EQ(channels % group, 0);
    return scheme.bits + std::exp2(scheme.bits) * 16 * static_cast<double>(channels / group) / all;
  }
  const int64_t block = scheme.per == Scheme::Per::Block ? scheme.block : inputs;
  EXPECT_EQ(inputs % block, 0);
  return mil::bit_width(scheme.data) + 16 / static_cast<double>(block);
}

TEST(MixedForms, FitEverySize) {
  for (const int64_t channels : {1, 4, 7, 105, 172, 251, 512, 4096}) {
    for (const int64_t inputs : {1, 13, 64, 172, 352, 2048}) {
      const auto forms = mixed_forms(channels, inputs, 16);
      ASSERT_GE(forms.size(), 3u);
      double before = 0;
      for (const Scheme& form : forms) {
        EXPECT_FALSE(contradiction(form)) << to_string(form);
        const double bits = bits_of(form, channels, inputs);
        EXPECT_GE(bits, before) << to_string(form);
        EXPECT_EQ(std::count(forms.begin(), forms.end(), form), 1) << to_string(form);
        before = bits;
      }
    }
  }
}

TEST(MixedForms, GroupsDivideTheChannels) {
  // 172 = 4 * 43: no groups of 16, but of 43 and 4.
  const auto names = names_of(172, 64);
  for (const char* name : {"palette of 2 bits per tensor", "palette of 2 bits per 43 channels",
                           "palette of 2 bits per 4 channels", "palette of 2 bits per 1 channels",
                           "int4 per block of 32", "int4 per channel", "int8 per channel"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  // A palette of 16 values for every 64 elements takes as much as 8 bits.
  EXPECT_EQ(std::count(names.begin(), names.end(), "palette of 4 bits per 1 channels"), 0);
}

TEST(MixedForms, LargeWeightsHaveNoCoarseForms) {
  // With 4,096 inputs, a palette for every 4 channels takes 0.004 bits more than one for all.
  const auto names = names_of(4096, 4096);
  EXPECT_EQ(names.front(), "palette of 2 bits per 4 channels");
  EXPECT_EQ(std::count(names.begin(), names.end(), "palette of 2 bits per 16 channels"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "palette of 4 bits per 4 channels"), 1);
  EXPECT_LE(names.size(), 13u);
}

}  // namespace
}  // namespace pippin::app
