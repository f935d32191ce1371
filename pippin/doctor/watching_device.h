// The CPU, looked at while a model of any family runs: what the inputs of its norms and its results
// of fp16 come to.
//
// It is handed to whatever runs the model as its device (engine/device.h), and gives the CPU's
// plans with the values that are looked at as further outputs. Outputs are kept until a run ends:
// where they are more than memory should hold, the model runs several times, and each pass looks at
// some of them.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "pippin/doctor/subject.h"
#include "pippin/engine/device.h"

namespace pippin::doctor {

// By package: its own path without links.
using PackagePeaks = std::map<std::filesystem::path, Peaks>;

// Of the norms that square their input in fp16 (norms.h) and of results (overflow.h). Values are
// computed in fp32, so nothing overflows while it is measured.
class WatchingDevice final : public engine::Device {
 public:
  static constexpr uint64_t kMostBytes = 1ULL << 30;
  // `most_bytes`: of the values of a function that one pass looks at.
  explicit WatchingDevice(uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // Of the plans that are made from here on.
  void begin_pass(size_t pass) { pass_ = pass; }
  // As many as the functions need of which plans were made.
  size_t passes() const;

  const std::string& name() const override;
  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override;
  std::unique_ptr<engine::StateMemory> make_state(const std::vector<mil::Feature>& states) override;

  // Takes a value, named by its function and itself; NaN counts as nothing, which is said of the
  // other values.
  void take(const std::filesystem::path& package, const std::pair<std::string, std::string>& name,
            std::span<const float> values);
  PackagePeaks peaks() const;

 private:
  // Those of this pass.
  std::vector<const mil::Var*> watched_values(const FunctionView& function);

  uint64_t most_bytes_;
  std::atomic<size_t> pass_ = 0;
  mutable std::mutex mutex_;
  size_t passes_ = 1;
  PackagePeaks peaks_;
};

// What its peaks call a package.
std::filesystem::path package_key(const std::filesystem::path& package);

}  // namespace pippin::doctor
