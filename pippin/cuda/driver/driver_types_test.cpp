// The types and functions of the driver against CUDA's own header, where it is installed.
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

#include "pippin/base/error.h"
#include "pippin/cuda/driver/driver.h"

namespace pippin::cuda {
namespace {

#ifdef CUDA_VERSION

template <typename Ours, typename Theirs>
constexpr bool is_alike =
    sizeof(Ours) == sizeof(Theirs) &&
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
        std::is_floating_point_v<Theirs>;

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename... Ours, typename... Theirs>
struct SameFunction<Result (*)(Ours...), CUresult (*)(Theirs...)> {
  static constexpr bool is_same() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return (is_alike<Ours, Theirs> && ...);
    } else {
      return false;
    }
  }
};

#define PIPPIN_CUDA_FUNCTION(member, symbol, parameters)                                \
  static_assert(SameFunction<decltype(Driver::member), decltype(&::symbol)>::is_same(), \
                "driver/functions.inc: " #member);
#include "pippin/cuda/driver/functions.inc"
#undef PIPPIN_CUDA_FUNCTION

#define SAME_PLACE(ours, theirs) \
  static_assert(offsetof(LaunchConfig, ours) == offsetof(CUlaunchConfig, theirs))
SAME_PLACE(grid_x, gridDimX);
SAME_PLACE(grid_y, gridDimY);
SAME_PLACE(grid_z, gridDimZ);
SAME_PLACE(block_x, blockDimX);
SAME_PLACE(block_y, blockDimY);
SAME_PLACE(block_z, blockDimZ);
SAME_PLACE(shared_bytes, sharedMemBytes);
SAME_PLACE(stream, hStream);
SAME_PLACE(attributes, attrs);
SAME_PLACE(num_attributes, numAttrs);
#undef SAME_PLACE
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(LaunchAttribute::kClusterSize == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(LaunchAttribute::kStartsEarly ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);

constexpr bool is_same_number(DeviceAttribute ours, CUdevice_attribute theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(is_same_number(DeviceAttribute::Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED));
static_assert(is_same_number(DeviceAttribute::CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(is_same_number(DeviceAttribute::Major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(is_same_number(DeviceAttribute::Minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(is_same_number(DeviceAttribute::SharedBytesOptIn,
                             CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));

constexpr bool is_same_number(FunctionAttribute ours, CUfunction_attribute theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(is_same_number(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(is_same_number(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(is_same_number(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(is_same_number(FunctionAttribute::MaxSharedBytes,
                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));

static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(DeviceNumber) == sizeof(CUdevice));
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(is_sticky(CUDA_ERROR_ECC_UNCORRECTABLE) && is_sticky(CUDA_ERROR_ILLEGAL_ADDRESS) &&
              is_sticky(CUDA_ERROR_LAUNCH_TIMEOUT) && is_sticky(CUDA_ERROR_LAUNCH_FAILED) &&
              is_sticky(CUDA_ERROR_MISALIGNED_ADDRESS) && is_sticky(CUDA_ERROR_ASSERT) &&
              is_sticky(CUDA_ERROR_NVLINK_UNCORRECTABLE) && is_sticky(CUDA_ERROR_UNKNOWN));
static_assert(!is_sticky(CUDA_ERROR_INVALID_VALUE) && !is_sticky(CUDA_ERROR_NOT_FOUND) &&
              !is_sticky(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
static_assert(kNonBlockingStream == CU_STREAM_NON_BLOCKING);
static_assert(kEventWithoutTime == CU_EVENT_DISABLE_TIMING);
static_assert(kCaptureThisThread == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

#endif  // CUDA_VERSION

// Machines of tests have no GPU.
TEST(CudaDriver, SaysWhatTheSystemLacks) {
  try {
    system_driver();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find("NVIDIA driver"), std::string::npos) << error.what();
  }
}

TEST(CudaDriver, WritesVersions) {
  EXPECT_EQ(version_text(12040), "12.4");
  EXPECT_EQ(version_text(13000), "13.0");
}

}  // namespace
}  // namespace pippin::cuda
