#include "pippin/app/facts/energy_meter.h"

namespace pippin::app {

std::unique_ptr<EnergyMeter> open_energy_meter() {
  return std::make_unique<RaplMeter>("/sys/class/powercap");
}

}  // namespace pippin::app
