// The machine's energy use, as reported by the system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pippin::app {

class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  // Joules since the meter was created; nullopt if the machine does not report it.
  virtual std::optional<double> joules() = 0;
  // The scope and the source of the figure, or the reason why it is missing.
  virtual std::string source() const = 0;
};

// This system's meter: RAPL on Linux, IOReport on macOS.
std::unique_ptr<EnergyMeter> open_energy_meter();

// RAPL's counters of processor packages (Linux, powercap). On many systems only root can read them.
// Must be read before a counter wraps twice (minutes).
class RaplMeter final : public EnergyMeter {
 public:
  explicit RaplMeter(const std::filesystem::path& root);
  std::optional<double> joules() override;
  std::string source() const override;

 private:
  struct Counter {
    std::filesystem::path path;
    uint64_t range = 0;  // where it wraps, in microjoules; 0: unknown
    uint64_t last = 0;
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
};

}  // namespace pippin::app
