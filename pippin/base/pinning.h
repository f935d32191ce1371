// Whether the workers of thread pools keep to one core each.
#pragma once

#include <cstdint>

namespace pippin {

enum class Pinning : uint8_t {
  Auto,    // where a pool has as many threads as the process has cores: no core is left to move to
  Always,  // where there are cores enough, even if others use them too
  Never,
};

// For pools that are made from now on. Without it, and with Auto, the environment's PIPPIN_PIN
// decides: 1 is Always, 0 Never.
void set_pinning(Pinning pinning);

}  // namespace pippin
