#include "pippin/base/files/machine.h"

#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/platform/boot_id.h"

namespace pippin {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string machine_lines() {
  return fmt::format("{}\n{}\n", host_name(), boot_id());
}

bool is_of_this_machine(std::string_view text) {
  const size_t end = text.find('\n');
  const size_t last = end == std::string_view::npos ? end : text.find('\n', end + 1);
  if (last == std::string_view::npos) return false;
  const std::string_view host = text.substr(0, end);
  const std::string_view boot = text.substr(end + 1, last - end - 1);
  return (!boot.empty() && boot == boot_id()) || (!host.empty() && host == host_name());
}

}  // namespace pippin
