#include "pippin/cuda/fake/fake_driver.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/fake/fake_memory.h"
#include "pippin/cuda/fake/fake_work.h"

namespace pippin::cuda {
namespace {

constexpr Result kInvalidValue = 1, kNoDevice = 101, kInvalidContext = 201, kInvalidHandle = 400,
                 kNotFound = 500, kIllegalAddress = 700, kLaunchFailed = 719,
                 kNotWhileCaptured = 900;
constexpr int kSharedBytes = 227 << 10;

thread_local Context current_context = nullptr;

FakeDriver::State* the_fake = nullptr;

}  // namespace

struct FakeDriver::State {
  explicit State(const FakeFacts& given) : facts(given), retained(size_t(given.devices)) {}

  // --- objects ---

  FakeFacts facts;
  std::recursive_mutex mutex;
  FakeMemory memory, pinned;
  struct Recorded {
    Stream stream = nullptr;
    uint64_t count = 0;  // of the stream's work before it
  };
  std::map<Stream, FakeStream> streams;
  std::map<Event, Recorded> events;
  std::map<Graph, std::vector<FakeWork>> graphs;
  std::map<GraphExec, std::vector<FakeWork>> executables;
  std::set<Library> libraries;
  std::map<Function, int> shared_limits;
  std::vector<int> retained;  // contexts, by device
  std::thread::id capturing;

  int64_t fail_in = 0;
  std::string fail_symbol;
  Result failure = 0, death = 0;
  int64_t num_calls = 0;
  std::map<std::string, int64_t, std::less<>> calls_of, launches_of;
  uint64_t to_device = 0, to_host = 0;
  std::string kernel_error;
  uintptr_t last_handle = 0;

  // --- for all functions ---

  template <typename Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(++last_handle << 4);
  }
  Context context_of(DeviceNumber device) const {
    return reinterpret_cast<Context>((uintptr_t(device) + 1) << 4);
  }
  bool has_context() const {
    for (size_t i = 0; i < retained.size(); ++i) {
      if (retained[i] > 0 && current_context == context_of(DeviceNumber(i))) return true;
    }
    return false;
  }
  bool may_allocate() const { return capturing != std::this_thread::get_id(); }
  FakeStream* find(Stream stream) {
    const auto found = streams.find(stream);
    return found != streams.end() ? &found->second : nullptr;
  }
  Result queue(Stream stream, FakeWork work) {
    FakeStream* const to = find(stream);
    if (to == nullptr) return kInvalidHandle;
    to->add(std::move(work));
    return 0;
  }
  Result ended(Result result) {
    if (is_sticky(result)) death = result;
    return result;
  }

  // --- the driver's functions ---

  Result get_error_name(Result result, const char** text) {
    static thread_local std::string name;
    name = result == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                  : "CUDA_ERROR_" + std::to_string(result);
    *text = name.c_str();
    return 0;
  }
  Result get_error_text(Result, const char** text) {
    *text = "as the test wants";
    return 0;
  }
  Result init(unsigned) { return 0; }
  Result driver_version(int* version) { return *version = facts.version, 0; }
  Result device_count(int* count) { return *count = facts.devices, 0; }
  Result device_get(DeviceNumber* device, int ordinal) {
    if (ordinal < 0 || ordinal >= facts.devices) return kNoDevice;
    return *device = ordinal, 0;
  }
  Result device_name(char* name, int size, DeviceNumber) {
    return std::strncpy(name, "Fake GPU", size_t(size)), 0;
  }
  Result device_attribute(int* value, DeviceAttribute what, DeviceNumber) {
    switch (what) {
      case DeviceAttribute::Integrated:
        return *value = 0, 0;
      case DeviceAttribute::CacheBytes:
        return *value = 1 << 20, 0;
      case DeviceAttribute::Major:
        return *value = facts.major, 0;
      case DeviceAttribute::Minor:
        return *value = facts.minor, 0;
      case DeviceAttribute::SharedBytesOptIn:
        return *value = kSharedBytes, 0;
    }
    return kInvalidValue;
  }
  Result device_memory(size_t* bytes, DeviceNumber) { return *bytes = facts.memory_bytes, 0; }
  Result retain_context(Context* context, DeviceNumber device) {
    ++retained.at(size_t(device));
    return *context = context_of(device), 0;
  }
  Result release_context(DeviceNumber device) { return --retained.at(size_t(device)), 0; }
  Result set_context(Context context) { return current_context = context, 0; }
  Result memory_info(size_t* free, size_t* total) {
    *total = facts.memory_bytes;
    *free = facts.memory_bytes - memory.bytes();
    return 0;
  }

  Result allocate(Address* address, size_t size) {
    if (size == 0) return kInvalidValue;
    if (!may_allocate()) return kNotWhileCaptured;
    if (size > facts.memory_bytes - memory.bytes()) return kOutOfMemory;
    return *address = reinterpret_cast<Address>(memory.allocate(size)), 0;
  }
  Result release(Address address) {
    return memory.release(reinterpret_cast<void*>(address)) ? 0 : kInvalidValue;
  }
  Result allocate_host(void** data, size_t size) {
    if (size == 0) return kInvalidValue;
    if (!may_allocate()) return kNotWhileCaptured;
    return *data = pinned.allocate(size), 0;
  }
  Result release_host(void* data) { return pinned.release(data) ? 0 : kInvalidValue; }

  Result copy_to_device(Address to, const void* from, size_t size, Stream stream) {
    auto* const target = reinterpret_cast<std::byte*>(to);
    if (!memory.has(target, size) || !pinned.has(from, size)) return kInvalidValue;
    return queue(stream, [this, target, from, size] {
      if (!memory.has(target, size) || !pinned.has(from, size)) return kIllegalAddress;
      std::memcpy(target, from, size);
      to_device += size;
      return 0;
    });
  }
  Result copy_to_host(void* to, Address from, size_t size, Stream stream) {
    auto* const source = reinterpret_cast<std::byte*>(from);
    if (!pinned.has(to, size) || !memory.has(source, size)) return kInvalidValue;
    return queue(stream, [this, to, source, size] {
      if (!pinned.has(to, size) || !memory.has(source, size)) return kIllegalAddress;
      std::memcpy(to, source, size);
      to_host += size;
      return 0;
    });
  }
  Result copy_inside(Address to, Address from, size_t size, Stream stream) {
    auto* const target = reinterpret_cast<std::byte*>(to);
    auto* const source = reinterpret_cast<std::byte*>(from);
    if (!memory.has(target, size) || !memory.has(source, size)) return kInvalidValue;
    return queue(stream, [this, target, source, size] {
      if (!memory.has(target, size) || !memory.has(source, size)) return kIllegalAddress;
      std::memmove(target, source, size);
      return 0;
    });
  }
  Result fill(Address to, unsigned char value, size_t size, Stream stream) {
    auto* const target = reinterpret_cast<std::byte*>(to);
    if (!memory.has(target, size)) return kInvalidValue;
    return queue(stream, [this, target, value, size] {
      if (!memory.has(target, size)) return kIllegalAddress;
      std::memset(target, value, size);
      return 0;
    });
  }

  Result create_stream(Stream* stream, unsigned) {
    *stream = new_handle<Stream>();
    streams[*stream];
    return 0;
  }
  Result destroy_stream(Stream stream) {
    FakeStream* const found = find(stream);
    if (found == nullptr) return kInvalidHandle;
    if (death == 0) ended(found->run_all());
    streams.erase(stream);
    return 0;
  }
  Result synchronize(Stream stream) {
    FakeStream* const found = find(stream);
    if (found == nullptr) return kInvalidHandle;
    if (found->is_captured()) return kNotWhileCaptured;
    return ended(found->run_all());
  }
  Result begin_capture(Stream stream, int) {
    FakeStream* const found = find(stream);
    if (found == nullptr || found->is_captured()) return kInvalidHandle;
    found->begin_capture();
    capturing = std::this_thread::get_id();
    return 0;
  }
  Result end_capture(Stream stream, Graph* graph) {
    FakeStream* const found = find(stream);
    if (found == nullptr || !found->is_captured()) return kInvalidHandle;
    capturing = {};
    *graph = new_handle<Graph>();
    graphs[*graph] = found->end_capture();
    return 0;
  }
  Result instantiate(GraphExec* executable, Graph graph, unsigned long long) {
    if (!graphs.contains(graph)) return kInvalidHandle;
    *executable = new_handle<GraphExec>();
    executables[*executable] = graphs[graph];
    return 0;
  }
  Result launch_graph(GraphExec executable, Stream stream) {
    FakeStream* const found = find(stream);
    if (found == nullptr || found->is_captured() || !executables.contains(executable)) {
      return kInvalidHandle;
    }
    found->add(executables[executable]);
    return 0;
  }
  Result destroy_executable(GraphExec executable) {
    return executables.erase(executable) > 0 ? 0 : kInvalidHandle;
  }
  Result destroy_graph(Graph graph) { return graphs.erase(graph) > 0 ? 0 : kInvalidHandle; }

  Result create_event(Event* event, unsigned) {
    *event = new_handle<Event>();
    events[*event] = {};
    return 0;
  }
  Result destroy_event(Event event) { return events.erase(event) > 0 ? 0 : kInvalidHandle; }
  Result record_event(Event event, Stream stream) {
    FakeStream* const found = find(stream);
    if (found == nullptr || !events.contains(event)) return kInvalidHandle;
    if (found->is_captured()) return kNotWhileCaptured;
    events[event] = {stream, found->num_added()};
    return 0;
  }
  Result wait_event(Event event) {
    if (!events.contains(event)) return kInvalidHandle;
    const Recorded& recorded = events[event];
    FakeStream* const found = find(recorded.stream);
    return found != nullptr ? ended(found->run_until(recorded.count)) : 0;
  }
  Result elapsed(float* ms, Event, Event) { return *ms = 0, 0; }

  Result load_library(Library* library, const void* image, int*, void**, unsigned, int*, void**,
                      unsigned) {
    if (image == nullptr) return kInvalidValue;
    *library = new_handle<Library>();
    libraries.insert(*library);
    return 0;
  }
  Result unload_library(Library library) {
    return libraries.erase(library) > 0 ? 0 : kInvalidHandle;
  }
  // Handles of kernels and functions: twice the number of the kernel, plus one for NAME_lanes; not
  // 0.
  Result get_kernel(KernelHandle* handle, Library library, const char* name) {
    if (!libraries.contains(library)) return kInvalidHandle;
    for (size_t i = 0; i < 2 * kNumKernels; ++i) {
      if (entry_point(i) != name) continue;
      return *handle = reinterpret_cast<KernelHandle>(i + 1), 0;
    }
    return kNotFound;
  }
  Result get_function(Function* function, KernelHandle handle) {
    if (!may_allocate()) return kNotWhileCaptured;  // the driver may load code
    return *function = reinterpret_cast<Function>(handle), 0;
  }
  Result set_function_attribute(Function function, FunctionAttribute what, int value) {
    if (what != FunctionAttribute::MaxSharedBytes || value > kSharedBytes) return kInvalidValue;
    return shared_limits[function] = value, 0;
  }
  Result function_attribute(int* value, FunctionAttribute, Function) { return *value = 0, 0; }

  static std::string entry_point(size_t index) {
    return std::string(kernel_name(static_cast<Kernel>(index / 2))) +
           (index % 2 == 1 ? "_lanes" : "");
  }

  Result launch(const LaunchConfig* config, Function function, void** parameters, void** extra) {
    const auto index = reinterpret_cast<size_t>(function) - 1;
    if (index >= 2 * kNumKernels) return kInvalidHandle;
    const auto kernel = static_cast<Kernel>(index / 2);
    const bool of_lanes = index % 2 == 1;
    const auto limit = shared_limits.find(function);
    const int most_shared = limit != shared_limits.end() ? limit->second : 48 << 10;
    if (extra != nullptr || config->grid_x == 0 || config->grid_x > INT32_MAX ||
        config->grid_y == 0 || config->grid_y > 65535 || config->grid_z == 0 ||
        config->grid_z > 65535 || config->block_x == 0 || config->block_y != 1 ||
        config->block_z != 1 || config->block_x > most_threads(kernel) ||
        config->shared_bytes > unsigned(most_shared) || (!of_lanes && config->grid_y != 1)) {
      return kInvalidValue;
    }
    for (unsigned i = 0; i < config->num_attributes; ++i) {
      if (config->attributes[i].id != LaunchAttribute::kStartsEarly || facts.major < 9) {
        return kInvalidValue;
      }
    }
    const size_t size = argument_bytes(kernel);
    std::vector<std::byte> arguments(of_lanes ? sizeof(Address) : size);
    std::memcpy(arguments.data(), parameters[0], arguments.size());
    return queue(config->stream,
                 [this, kernel, of_lanes, size, index, grid = *config,
                  given = std::move(arguments)]() -> Result {
                   const void* all = given.data();
                   if (of_lanes) {
                     Address address;
                     std::memcpy(&address, given.data(), sizeof(address));
                     all = reinterpret_cast<const void*>(address);
                     if (address % 16 != 0 || !memory.has(all, size * grid.grid_y))
                       return kIllegalAddress;
                   }
                   ++launches_of[entry_point(index)];
                   try {
                     emulate_launch(kernel, all, grid.grid_x, grid.grid_y, grid.grid_z,
                                    grid.block_x, grid.shared_bytes);
                   } catch (const Error& error) {
                     kernel_error = error.what();
                     return kLaunchFailed;
                   }
                   return 0;
                 });
  }

  // --- calls ---

  static bool needs_context(std::string_view symbol) {
    static const std::set<std::string_view> without = {"cuInit",
                                                       "cuDriverGetVersion",
                                                       "cuDeviceGetCount",
                                                       "cuDeviceGet",
                                                       "cuDeviceGetName",
                                                       "cuDeviceGetAttribute",
                                                       "cuDeviceTotalMem",
                                                       "cuCtxSetCurrent",
                                                       "cuDevicePrimaryCtxRetain",
                                                       "cuDevicePrimaryCtxRelease"};
    return !without.contains(symbol);
  }
  // These do their work even if they return an error.
  static bool releases(std::string_view symbol) {
    for (const std::string_view word : {"Free", "Destroy", "Unload", "Release", "EndCapture"}) {
      if (symbol.find(word) != std::string_view::npos) return true;
    }
    return false;
  }

  template <typename Body>
  Result call(std::string_view symbol, const Body& body) {
    const std::lock_guard lock(mutex);
    if (symbol.starts_with("cuGetError")) return body();
    ++num_calls;
    ++calls_of[std::string(symbol)];
    const bool fails = (fail_in > 0 && --fail_in == 0) || symbol == fail_symbol;
    if (fails) fail_symbol.clear();
    if (fails) ended(failure);
    const Result refused = fails ? failure : death;
    if (refused != 0 && !releases(symbol)) return refused;
    if (refused == 0 && needs_context(symbol) && !has_context()) return kInvalidContext;
    const Result result = body();
    return refused != 0 ? refused : result;
  }
};

namespace {

// A function of the table that calls the fake's method of that name.
template <auto Member, auto Method>
struct FakeFunction;
template <auto Member, typename... Parameters, Result (FakeDriver::State::*Method)(Parameters...)>
struct FakeFunction<Member, Method> {
  static Result call(Parameters... parameters) {
    return the_fake->call(kSymbol<Member>, [&] { return (the_fake->*Method)(parameters...); });
  }
};

}  // namespace

FakeDriver::FakeDriver(const FakeFacts& facts) : state_(std::make_unique<State>(facts)) {
  the_fake = state_.get();
#define PIPPIN_CUDA_FUNCTION(member, symbol, parameters) \
  driver_.member = &FakeFunction<&Driver::member, &State::member>::call;
#include "pippin/cuda/driver/functions.inc"
#undef PIPPIN_CUDA_FUNCTION
}

FakeDriver::~FakeDriver() {
  const State& left = *state_;
  EXPECT_EQ(left.memory.count(), 0U) << left.memory.bytes() << " bytes of the device";
  EXPECT_EQ(left.pinned.count(), 0U) << left.pinned.bytes() << " pinned bytes";
  EXPECT_EQ(left.streams.size(), 0U) << "streams";
  EXPECT_EQ(left.events.size(), 0U) << "events";
  EXPECT_EQ(left.graphs.size() + left.executables.size(), 0U) << "graphs";
  EXPECT_EQ(left.libraries.size(), 0U) << "libraries";
  for (const int count : left.retained) EXPECT_EQ(count, 0) << "contexts";
  the_fake = nullptr;
}

const Driver& FakeDriver::driver() const {
  return driver_;
}
void FakeDriver::fail_at(int64_t n, Result result) {
  state_->fail_in = n;
  state_->failure = result;
}
void FakeDriver::fail_next(std::string_view symbol, Result result) {
  state_->fail_symbol = symbol;
  state_->failure = result;
}
int64_t FakeDriver::calls() const {
  return state_->num_calls;
}
int64_t FakeDriver::calls(std::string_view symbol) const {
  const auto found = state_->calls_of.find(symbol);
  return found != state_->calls_of.end() ? found->second : 0;
}
int64_t FakeDriver::launches(std::string_view entry_point) const {
  const auto found = state_->launches_of.find(entry_point);
  return found != state_->launches_of.end() ? found->second : 0;
}
uint64_t FakeDriver::bytes_to_device() const {
  return state_->to_device;
}
uint64_t FakeDriver::bytes_to_host() const {
  return state_->to_host;
}
uint64_t FakeDriver::memory_bytes() const {
  return state_->memory.bytes();
}
std::string FakeDriver::error() const {
  return state_->kernel_error;
}

}  // namespace pippin::cuda
