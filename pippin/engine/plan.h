// Executable plans of programs: everything that can fail happens when the plan is made or bound.
//
// A Plan is made once per function and shape class (the ranges of its flexible dimensions: 1 token,
// up to 256 tokens), by the device that will run it (device.h). An Execution holds the memory for
// running it: bind() gives the flexible dimensions their values and checks them, run() allocates
// nothing and, on the CPU, cannot fail. States belong to a sequence, not to a plan (state.h).
//
// Sequences that are computed together use lanes of an Execution: each has shapes, inputs, outputs
// and a State of its own. run_together() multiplies the rows of all of them by the weights at once
// and does everything else sequence by sequence.
//
// Floats of every width are computed in fp32 and integers and bools in int32; states keep their
// declared type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/cache_type.h"
#include "pippin/engine/compute_options.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

struct PlanOptions {
  // By input name, one range per axis: the shape class. Absent inputs keep the ranges that the
  // model declares (their default shape if fixed).
  std::map<std::string, std::vector<mil::SizeRange>, std::less<>> input_ranges = {};
  ComputeOptions compute = {};
  // The form of the states that attention reads. Others than F16 need the CPU, and replace each of
  // these states by two: its codes and their scales, as Plan::states() tells.
  CacheType cache_type = CacheType::F16;
  // Values of the function's main block, computed instead of its results; empty: its results.
  std::vector<const mil::Var*> outputs = {};
};

// An input or output in the caller's view.
struct Port {
  std::string name;
  mil::DataType declared = mil::DataType::Float32;
  bool is_float = true;  // fp32 data, else int32
};

class DeviceExecution;

class Plan {
 public:
  // On the device of the options. Throws Unsupported (an op that cannot run, named with its value
  // and opset), InvalidFile (impossible shapes), NotFound (absent weights), InvalidArgument (ranges
  // outside the declared ones).
  // `model` must outlive the plan: weights are used in place.
  static std::shared_ptr<const Plan> make(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options = {});
  virtual ~Plan() = default;

  virtual const std::string& name() const = 0;  // of the function
  virtual std::span<const Port> inputs()
      const = 0;  // in the order of the function's description, without states
  virtual std::span<const Port> outputs() const = 0;
  virtual const std::vector<mil::Feature>& states() const = 0;  // in their stored form
  virtual uint64_t arena_bytes() const = 0;
  virtual uint64_t weight_bytes() const = 0;  // read by one run
  virtual uint64_t saved_bytes() const = 0;   // bytes saved compared with the package
  virtual std::string describe() const = 0;   // one line per step, for --verbose and tests
  // The states that are not only those of recurrences over tokens, for which a few tokens have the
  // same bits in one run as in several. All on devices without nodes.
  virtual std::vector<std::string> states_outside_recurrences() const;
  // The list of nodes (engine/nodes): a line for each, and an array in JSON. Throws Unsupported on
  // devices without nodes.
  virtual std::string nodes_text() const;
  virtual std::string nodes_json() const;

  // For Execution, which keeps the plan alive.
  virtual std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const = 0;
};

// Rows [begin, end) of outputs.
struct WantedRows {
  int64_t begin, end;
};

// An element of an output, and its place among those that were looked at.
struct RankedElement {
  float value;
  int32_t index;
};
constexpr size_t kLeastRanked = 100;  // of Execution::largest_ones()

// An Error of the code Device means that the device itself failed: the execution is then dead, and
// throws the same Error on every call; States that it ran with have unspecified values.
class Execution {
 public:
  // With one lane. `pool` must outlive it.
  Execution(std::shared_ptr<const Plan> plan, ThreadPool& pool);
  Execution(Execution&&) noexcept;
  ~Execution();

  const Plan& plan() const;
  // Ensures at least that many lanes. Their contents stay; spans of them become invalid. Memory is
  // allocated on first use of a lane. Throws LimitExceeded.
  void reserve_lanes(size_t count);
  size_t lanes() const;

  // Sets the shapes of all inputs, in the order of plan().inputs(). Throws InvalidArgument if one
  // is outside the plan's ranges or the program's own constraints fail. Cheap if nothing changed.
  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane = 0);

  // The memory of an input, to be written before run(); contiguous, of the bound shape.
  std::span<float> float_input(size_t index, size_t lane = 0);
  std::span<int32_t> int_input(size_t index, size_t lane = 0);
  // The same for any type: fp32, int32, or bools as bytes.
  MutableByteSpan input_bytes(size_t index, size_t lane = 0);
  // Replaces writing an input: runs read it in place, in the form and size of input_bytes(), until
  // one of these functions or reserve_lanes() is called again. Returns false, and changes nothing,
  // on devices that cannot, with several lanes, and for elements that are not aligned.
  bool lend_input(size_t index, ByteSpan bytes, size_t lane = 0);

  // Replaces writing a mask [.., rows, keys] of floats: row i is 0 for keys [0, past + i] and -inf
  // after them, in all runs until the input is written. Returns false, and changes nothing, on
  // devices that need it written.
  bool put_causal_mask(size_t index, int64_t past, size_t lane = 0);

  // Throws only where an operation without a kernel runs on the reference and its value rule
  // refuses the data, and InvalidArgument where an integer input that says positions (a cache's
  // next row) has a value that the program's shapes refuse.
  // `rows`: only these are wanted of the outputs [.., 1, rows, columns]; of those that a product
  // makes row by row and nothing else reads, the others are not computed and have any values.
  void run(size_t lane = 0, std::optional<WantedRows> rows = std::nullopt);
  // Like run(), but ends between two steps with Cancelled if the call is cancelled
  // (base/threads/cancel.h): the contents of the state are then undefined.
  void run_cancellable(size_t lane = 0);

  // Runs several lanes. Each gets the result of run(), up to the rounding of kernels for another
  // number of rows. Throws like run(), errors of positions before anything is computed;
  // InvalidArgument if a lane or a State occurs twice.
  void run_together(std::span<const size_t> lanes);

  // Valid until the next bind() or run() of the lane.
  std::span<const float> float_output(size_t index, size_t lane = 0) const;
  std::span<const int32_t> int_output(size_t index, size_t lane = 0) const;
  // Elements [begin, begin + count) of a float output, of which devices transfer no others.
  std::span<const float> float_output(size_t index, size_t begin, size_t count, size_t lane) const;
  // Where among these elements the largest is, the first of equals, found by the device: nothing is
  // transferred but the answer. Nothing on devices that leave it to the caller, and where one is
  // NaN or none is finite.
  std::optional<int32_t> largest(size_t index, size_t begin, size_t count, size_t lane) const;
  // Some of the largest of these elements, found by the device, in order of index: all that are
  // greater than the others, at least kLeastRanked or all elements. Nothing on devices that leave
  // it to the caller, where one is NaN or the largest is infinite, and where too many are equal.
  std::vector<RankedElement> largest_ones(size_t index, size_t begin, size_t count,
                                          size_t lane) const;
  std::vector<int64_t> output_shape(size_t index, size_t lane = 0) const;
  std::span<const int64_t> output_dims(size_t index, size_t lane = 0) const;  // the same

 private:
  // Returns the result of body(), which calls the device.
  template <typename Body>
  decltype(auto) ask(Body&& body) const;

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<DeviceExecution> device_;
  std::vector<uint64_t> states_;  // by lane, the bound State's id; 0: none
  mutable std::optional<Error> failure_;
};

}  // namespace pippin::engine
