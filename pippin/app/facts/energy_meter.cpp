#include "pippin/app/facts/energy_meter.h"

#include <algorithm>
#include <fstream>

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

std::optional<uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

}  // namespace

RaplMeter::RaplMeter(const fs::path& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    // "intel-rapl:0" is a package (of AMD's processors too); "intel-rapl:0:1" is a part of one.
    const std::string name = entry.path().filename();
    if (name.rfind("intel-rapl:", 0) != 0 || std::count(name.begin(), name.end(), ':') != 1) {
      continue;
    }
    // "psys", the whole platform, contains the packages.
    std::ifstream file(entry.path() / "name");
    std::string domain;
    if (!(file >> domain) || domain.rfind("package", 0) != 0) continue;
    Counter counter;
    counter.path = entry.path() / "energy_uj";
    const auto now = read_number(counter.path);
    if (!now) continue;
    counter.last = *now;
    counter.range = read_number(entry.path() / "max_energy_range_uj").value_or(0);
    counters_.push_back(std::move(counter));
  }
}

std::optional<double> RaplMeter::joules() {
  if (counters_.empty()) return std::nullopt;
  for (Counter& counter : counters_) {
    const auto now = read_number(counter.path);
    if (!now || (*now < counter.last && counter.range < counter.last)) return std::nullopt;
    const uint64_t used =
        *now >= counter.last ? *now - counter.last : counter.range - counter.last + *now;
    joules_ += static_cast<double>(used) * 1e-6;
    counter.last = *now;
  }
  return joules_;
}

std::string RaplMeter::source() const {
  return counters_.empty() ? "not told: RAPL's counters are not there, or for root alone"
                           : "of processor packages, by RAPL";
}

}  // namespace pippin::app
