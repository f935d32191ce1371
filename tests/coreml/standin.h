// The stand-in for Core ML: its strictness, the failures to simulate, and the faults that it
// detected.
//
// Its predictions are computed by Pippin's engine (standin_engine.h). It always does what Apple's
// documentation allows but real systems seldom do: outputs have padded rows with poison between
// them, every second backing is ignored, states move and are poisoned after each access,
// completions arrive late from another thread, compiled models vanish at the end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin::standin {

enum class Behaviour : uint8_t { Works, Fails, Hangs, KillsItsProcess };

struct Settings {
  // The members that exist: those of this iOS version and earlier, in tenths (macOS 15 is 180).
  std::atomic<int> ios = 260;
  std::atomic<Behaviour> compile = Behaviour::Works, load = Behaviour::Works,
                         predict = Behaviour::Works;
  std::atomic<int> late_ms = 1;               // delay of completions
  std::atomic<bool> ignores_backings = true;  // every second one
};
Settings& settings();
// Reads the variables STANDIN_IOS, STANDIN_COMPILE, STANDIN_LOAD, STANDIN_PREDICT (works, fails,
// hangs, kills) and STANDIN_LATE_MS.
void take_settings_from_environment();

// Records a caller's violation of Core ML's rules, such as two simultaneous predictions with one
// state.
void add_fault(const std::string& what);
std::vector<std::string> take_faults();

struct Counters {
  std::atomic<int64_t> compiled = 0, loaded = 0, predictions = 0, asynchronous = 0,
                       used_backings = 0, states = 0, looks = 0, models_alive = 0;
};
Counters& counters();

// Work that completes late, on other threads.
class LateWork {
 public:
  static void begin();
  static void end();
  static void wait_for_all();
};

// Simulates any behaviour other than Works; returns true if the operation must fail.
bool acts_up(Behaviour behaviour);

}  // namespace pippin::standin
