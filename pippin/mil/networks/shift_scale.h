// The scales and offsets of MIL: (number - offset) * scale, where networks have number * scale +
// bias.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mil/networks/compressed_form.h"

namespace pippin::mil::networks {

struct ShiftScale {
  std::vector<double> scale, offset;  // one of each for each group

  bool is_symmetric() const;
  // One of each for each channel.
  ShiftScale repeated(int64_t channels) const;
  // The offsets in the numbers' type if it holds them, else in fp32.
  Value offset_value(DataType numbers, std::vector<int64_t> dims) const;
};

// Nothing if no offset gives the same values, for instance with a scale of 0.
std::optional<ShiftScale> to_shift_scale(const CompressedForm& form);

}  // namespace pippin::mil::networks
