#include "pippin/base/shortened.h"

#include <fmt/format.h>

#include "pippin/base/text.h"

namespace pippin {

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::string_view start = text.substr(0, most);
  return fmt::format("{}...", start.substr(0, complete_utf8_prefix(start)));
}

}  // namespace pippin
