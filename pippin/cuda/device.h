// NVIDIA's GPUs as devices: whole plans run there, from weights and states in the GPU's memory.
//
// A plan with a node that has no kernel is refused (Unsupported, with the node's name). Programs
// need neither CUDA nor its headers: the driver is looked for when a device is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/engine/device.h"

namespace pippin::cuda {

struct Driver;

struct DeviceFacts {
  int index = 0;
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  // compute capability
  uint64_t memory_bytes = 0, free_bytes = 0;
  int driver_version = 0;  // 12040: the newest CUDA that the driver supports
  std::string problem;     // why it cannot be used; empty: it can
};

// Whether this build has kernels for GPUs: it was made with nvcc.
bool has_kernels();
// Their targets: "sm_80 sm_90 compute_90"; empty without kernels.
std::string_view kernel_targets();

// The GPUs of this system. Throws Unsupported if there is no driver, or one too old.
std::vector<DeviceFacts> list_devices();
std::vector<DeviceFacts> list_devices(const Driver& driver);

// Throws Unsupported if that GPU cannot be used, saying why: no kernels in this build, no driver,
// a driver or GPU that is too old, with the versions; NotFound if there are fewer GPUs.
std::shared_ptr<engine::Device> open_device(int index = 0);
std::shared_ptr<engine::Device> open_device(int index, const Driver& driver);

}  // namespace pippin::cuda
