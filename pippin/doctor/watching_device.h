// The CPU, looked at while a model of any family runs: what the inputs of its norms come to.
//
// It is handed to whatever runs the model as its device (engine/device.h), and gives the CPU's
// plans with the values that are looked at as further outputs.
#pragma once

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

// Of the norms that square their input in fp16 (norms.h). Values are computed in fp32, so nothing
// overflows while it is measured.
class WatchingDevice final : public engine::Device {
 public:
  const std::string& name() const override;
  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override;
  std::unique_ptr<engine::StateMemory> make_state(const std::vector<mil::Feature>& states) override;

  // Takes what a norm was given; NaN counts as nothing, which is said of the other values.
  void take(const std::filesystem::path& package, const std::pair<std::string, std::string>& norm,
            std::span<const float> values);
  PackagePeaks peaks() const;

 private:
  mutable std::mutex mutex_;
  PackagePeaks peaks_;
};

// What its peaks call a package.
std::filesystem::path package_key(const std::filesystem::path& package);

}  // namespace pippin::doctor
