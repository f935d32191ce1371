// The types of CUDA's driver interface that Pippin uses, with the layouts of CUDA's own header in
// versions 12 and 13, so that neither the build nor users need it. driver_types_test.cpp compares
// them where that header is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pippin::cuda {

using Result = int;  // 0: success
constexpr Result kOutOfMemory = 2;
// Whether no call succeeds in this process after it: the context is broken.
constexpr bool is_sticky(Result result) {
  return result == 214 || result == 220 || result == 226 ||  // memory, NVLink
         result == 700 || result == 702 ||                   // illegal address, time-out
         (result >= 710 && result <= 719) || result == 999;  // faults of kernels, unknown
}
using DeviceNumber = int;
using Address = uint64_t;  // of the device's memory
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using Library = struct LibraryHandle*;
using KernelHandle = struct KernelHandleOf*;
using Function = struct FunctionHandle*;

enum class DeviceAttribute : int {
  Integrated = 18,
  CacheBytes = 38,
  Major = 75,  // of the compute capability
  Minor = 76,
  SharedBytesOptIn = 97,  // of a block, after FunctionAttribute::MaxSharedBytes
};
// Arguments of functions.
constexpr unsigned kNonBlockingStream = 1;  // does not wait for the default stream
constexpr unsigned kEventWithoutTime = 2;
constexpr int kCaptureThisThread = 1;  // calls of other threads do not end the capture

enum class FunctionAttribute : int {
  SharedBytes = 1,
  LocalBytes = 3,  // spilled registers
  Registers = 4,
  MaxSharedBytes = 8,
};

struct LaunchAttribute {
  static constexpr int kClusterSize = 4;
  static constexpr int kStartsEarly = 6;  // programmatic stream serialization

  int id = 0;
  int padding = 0;
  union {
    unsigned cluster[3];
    int starts_early;
    char bytes[64];
  } value = {};
};
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned num_attributes = 0;
};

}  // namespace pippin::cuda
