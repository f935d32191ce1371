#include "pippin/cuda/device.h"

#include <array>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/cuda/run/embedded.h"
#include "pippin/cuda/run/plan.h"
#include "pippin/cuda/run/resources.h"
#include "pippin/cuda/run/state.h"
#include "pippin/engine/planning/planning.h"

namespace pippin::cuda {
namespace {

class CudaDevice final : public engine::Device {
 public:
  explicit CudaDevice(ResourcesPointer resources) : resources_(std::move(resources)) {}

  const std::string& name() const override { return resources_->name; }

  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override {
    if (options.compute.precision == engine::Precision::Reference) {
      fail(ErrorCode::Unsupported, "the device '{}' has no precision 'reference', only the CPU has",
           name());
    }
    return std::make_shared<const CudaPlan>(
        resources_, plan_nodes(model, function, options, cuda_target(options.compute)),
        options.compute);
  }

  std::unique_ptr<engine::StateMemory> make_state(
      const std::vector<mil::Feature>& states) override {
    return std::make_unique<CudaState>(resources_, states);
  }

 private:
  const ResourcesPointer resources_;
};

DeviceFacts facts_of(const Driver& driver, int index) {
  DeviceFacts facts;
  facts.index = index;
  DeviceNumber number = 0;
  driver.check(driver.device_get(&number, index), kSymbol<&Driver::device_get>);
  std::array<char, 256> text = {};
  driver.check(driver.device_name(text.data(), static_cast<int>(text.size()) - 1, number),
               kSymbol<&Driver::device_name>);
  facts.name = text.data();
  size_t memory = 0;
  driver.check(driver.device_memory(&memory, number), kSymbol<&Driver::device_memory>);
  facts.memory_bytes = memory;
  driver.check(driver.driver_version(&facts.driver_version), kSymbol<&Driver::driver_version>);
  for (auto& [attribute, value] :
       {std::pair<DeviceAttribute, int*>{DeviceAttribute::Major, &facts.major},
        {DeviceAttribute::Minor, &facts.minor}}) {
    driver.check(driver.device_attribute(value, attribute, number),
                 kSymbol<&Driver::device_attribute>);
  }
  try {
    const Gpu gpu(driver, index);
    gpu.enter();
    facts.free_bytes = gpu.free_bytes();
  } catch (const Error& error) {
    facts.problem = error.what();
  }
  return facts;
}

}  // namespace

bool has_kernels() {
  return !embedded_kernels().empty();
}

std::vector<DeviceFacts> list_devices() {
  return list_devices(system_driver());
}

std::vector<DeviceFacts> list_devices(const Driver& driver) {
  int count = 0;
  driver.check(driver.device_count(&count), kSymbol<&Driver::device_count>);
  std::vector<DeviceFacts> all;
  all.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(facts_of(driver, i));
  return all;
}

std::shared_ptr<engine::Device> open_device(int index) {
  if (!has_kernels()) {
    fail(ErrorCode::Unsupported, "this program has no kernels for GPUs: it was built without nvcc");
  }
  return open_device(index, system_driver());
}

std::shared_ptr<engine::Device> open_device(int index, const Driver& driver) {
  return open_device(index, driver, RunOptions());
}

std::shared_ptr<engine::Device> open_device(int index, const Driver& driver,
                                            const RunOptions& options) {
  // A stand-in for the driver has its own kernels.
  static constexpr std::byte kNothing[16] = {};
  static constexpr KernelImage kStandIn = kNothing;
  const auto embedded = embedded_kernels();
  return std::make_shared<CudaDevice>(std::make_shared<Resources>(
      driver, index, embedded.empty() ? std::span(&kStandIn, 1) : embedded, options));
}

}  // namespace pippin::cuda
