// pippin-cuda-limits: what a GPU can do at most, as JSON: bandwidth of its memory for reads and for copies, and what a
// kernel costs inside a graph, with and without programmatic dependent launch. Exit status 77 without a usable GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

#define CHECK(call)                                                                    \
  do {                                                                                 \
    const cudaError_t status = (call);                                                 \
    if (status != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (false)

__global__ void read_kernel(const uint4* from, size_t count, unsigned* sink) {
  constexpr int kLoads = 4;
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  unsigned sum = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i + (kLoads - 1) * stride < count;
       i += kLoads * stride) {
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = __ldcs(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x12345) *sink = sum;  // never, but the compiler does not know
}

__global__ void empty_kernel(int starts_early) {
#if __CUDA_ARCH__ >= 900
  if (starts_early != 0) {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
#endif
}

class Timer {
 public:
  Timer() {
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }
  // The median of several runs, in seconds.
  template <typename Body>
  double median(const Body& body) {
    body();
    std::vector<float> all;
    for (int i = 0; i < 7; ++i) {
      CHECK(cudaEventRecord(begin_, stream));
      body();
      CHECK(cudaEventRecord(end_, stream));
      CHECK(cudaEventSynchronize(end_));
      float ms = 0;
      CHECK(cudaEventElapsedTime(&ms, begin_, end_));
      all.push_back(ms);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2] / 1e3;
  }
  cudaStream_t stream;

 private:
  cudaEvent_t begin_, end_;
};

double seconds_of_kernel(Timer& timer, const cudaDeviceProp& device, bool early) {
  constexpr int kKernels = 400;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(device.multiProcessorCount));
  config.blockDim = dim3(256);
  config.stream = timer.stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(timer.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kKernels; ++i) {
    CHECK(cudaLaunchKernelEx(&config, empty_kernel, early ? 1 : 0));
  }
  CHECK(cudaStreamEndCapture(timer.stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  const double seconds = timer.median([&] { CHECK(cudaGraphLaunch(executable, timer.stream)); });
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return seconds / kKernels;
}

}  // namespace

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "no GPU found: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 77;
  }
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  const size_t bytes = std::min(size_t{2} << 30, free_bytes / 3) / 256 * 256;
  char *from = nullptr, *to = nullptr;
  unsigned* sink = nullptr;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMalloc(&sink, sizeof(unsigned)));
  CHECK(cudaMemset(from, 1, bytes));
  Timer timer;
  double read = 0;
  for (const int blocks : {2, 8, 32}) {
    const double seconds = timer.median([&] {
      read_kernel<<<static_cast<unsigned>(device.multiProcessorCount * blocks), blocks == 2 ? 1024 : 256, 0,
                    timer.stream>>>(reinterpret_cast<const uint4*>(from), bytes / 16, sink);
      CHECK(cudaGetLastError());
    });
    read = std::max(read, bytes / seconds);
  }
  const double copy = 2.0 * bytes / timer.median([&] {
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, timer.stream));
  });
  std::printf("{\"name\": \"%s\", \"multiprocessors\": %d, \"memory_bytes\": %zu, \"read_bytes_per_second\": %.4g, "
              "\"copy_bytes_per_second\": %.4g, \"kernel_seconds\": %.3g",
              device.name, device.multiProcessorCount, total_bytes, read, copy,
              seconds_of_kernel(timer, device, false));
  if (device.major >= 9) std::printf(", \"kernel_early_seconds\": %.3g", seconds_of_kernel(timer, device, true));
  std::printf("}\n");
}
