#include "pippin/app/facts/energy_meter.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

void write_counter(const fs::path& folder, const std::string& name, uint64_t microjoules,
                   uint64_t range) {
  fs::create_directories(folder);
  write_file(folder / "name", name + "\n");
  write_file(folder / "energy_uj", std::to_string(microjoules) + "\n");
  write_file(folder / "max_energy_range_uj", std::to_string(range) + "\n");
}

TEST(EnergyMeter, OfAllPackages) {
  const TempDir root;
  EXPECT_FALSE(RaplMeter(root / "absent").joules().has_value());
  EXPECT_EQ(RaplMeter(root.path()).source().find("not told: "), 0U);
  EXPECT_FALSE(RaplMeter(root.path()).joules().has_value());
  write_counter(root / "intel-rapl:0", "package-0", 5'000'000, 10'000'000);
  write_counter(root / "intel-rapl:1", "package-1", 9'000'000, 10'000'000);
  write_counter(root / "intel-rapl:0:0", "core", 1, 10'000'000);
  write_counter(root / "intel-rapl:2", "psys", 1, 10'000'000);
  RaplMeter meter(root.path());
  EXPECT_EQ(meter.source(), "of processor packages, by RAPL");
  EXPECT_EQ(meter.joules(), 0);
  write_counter(root / "intel-rapl:0", "package-0", 7'000'000, 10'000'000);
  write_counter(root / "intel-rapl:0:0", "core", 9'000'000, 10'000'000);
  write_counter(root / "intel-rapl:2", "psys", 9'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 2);
  write_counter(root / "intel-rapl:1", "package-1", 500'000, 10'000'000);  // wrapped
  EXPECT_DOUBLE_EQ(meter.joules().value(), 3.5);
  fs::remove(root / "intel-rapl:1" / "energy_uj");
  EXPECT_FALSE(meter.joules().has_value());
}

// The result depends on the machine, but there must be an answer.
TEST(EnergyMeter, OfThisMachine) {
  const auto meter = open_energy_meter();
  EXPECT_EQ(meter->joules().has_value(), meter->source().find("not told: ") != 0);
}

}  // namespace
}  // namespace pippin::app
