// For tests only: each test starts with a working stand-in, and must end without recorded faults.
#pragma once

#include <gtest/gtest.h>

#include "pippin/coreml/device.h"
#include "tests/coreml/standin.h"
#include "tests/coreml/standin_engine.h"

namespace pippin::standin {

class StandinTest : public ::testing::Test {
 protected:
  StandinTest() {
    coreml::set_system_framework(&coreml::core_ml());
    Settings& all = settings();
    all.ios = 260;
    all.compile = all.load = all.predict = Behaviour::Works;
    all.late_ms = 1;
    all.ignores_backings = true;
    Counters& counted = counters();
    for (auto* const number :
         {&counted.compiled, &counted.loaded, &counted.predictions, &counted.asynchronous,
          &counted.used_backings, &counted.states, &counted.looks, &counted.models_alive}) {
      *number = 0;
    }
    engine_options() = {.threads = 1, .compute = {}};
    engine_options().compute.precision = engine::Precision::Exact;
  }
  ~StandinTest() override {
    LateWork::wait_for_all();
    EXPECT_EQ(take_faults(), std::vector<std::string>());
  }
};

}  // namespace pippin::standin
