#include "pippin/cuda/backend.h"

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/cuda/device.h"

namespace pippin::cuda {

std::optional<int> gpu_number(std::string_view backend) {
  constexpr std::string_view kName = "cuda";
  if (backend == kName) return 0;
  if (!backend.starts_with(kName) || backend[kName.size()] != ':') return std::nullopt;
  int number = 0;
  if (!parse_number(backend.substr(kName.size() + 1), number) || number < 0) return std::nullopt;
  return number;
}

AutoChoice choose_device() {
  std::string reason = "no GPU";
  try {
    for (const DeviceFacts& facts : list_devices()) {
      if (!facts.problem.empty()) {
        reason = fmt::format("{}: {}", facts.name, facts.problem);
        continue;
      }
      try {
        return {open_device(facts.index), fmt::format("cuda:{}, {}", facts.index, facts.name)};
      } catch (const Error& error) {  // another one may work
        reason = error.what();
      }
    }
  } catch (const Error& error) {
    reason = error.what();
  }
  return {nullptr, std::move(reason)};
}

std::string problem_of(int index) {
  try {
    open_device(index);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace pippin::cuda
