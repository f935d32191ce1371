// From a program to something that runs: everything that can fail happens when the plan is made or
// bound.
//
// A Plan is made once per function and shape class (the ranges of its flexible dimensions: 1 token,
// up to 256 tokens), by the device that will run it (device.h). An Execution holds the memory for
// running it: bind() gives the flexible dimensions their values and checks them, run() allocates
// nothing and, on the CPU, cannot fail. States belong to a sequence, not to a plan (state.h).
//
// Sequences that are computed together sit in the lanes of an Execution: each with shapes, inputs,
// outputs and a State of its own. run_together() multiplies the rows of all of them with the
// weights at once and does everything else sequence by sequence.
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
#include "pippin/engine/compute_options.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

struct PlanOptions {
  // By input name, one range per axis: the shape class. Inputs that are absent keep the ranges that
  // the model declares (their default shape where fixed).
  std::map<std::string, std::vector<mil::SizeRange>, std::less<>> input_ranges = {};
  ComputeOptions compute = {};
  // Of the function's main block, computed instead of its results; empty: its results.
  std::vector<const mil::Var*> outputs = {};
};

// One input or output as a caller sees it.
struct Port {
  std::string name;
  mil::DataType declared = mil::DataType::Float32;
  bool is_float = true;  // fp32 data, else int32
};

class DeviceExecution;

class Plan {
 public:
  // On the device of the options.
  // Throws Unsupported (an op that cannot run, named with its value and opset), InvalidFile (shapes
  // that cannot be), NotFound (absent weights), InvalidArgument (ranges outside the declared ones).
  // `model` must outlive the plan: weights are used where they lie.
  static std::shared_ptr<const Plan> make(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options = {});
  virtual ~Plan() = default;

  virtual const std::string& name() const = 0;  // of the function
  virtual std::span<const Port> inputs()
      const = 0;  // in the order of the function's description, no states
  virtual std::span<const Port> outputs() const = 0;
  virtual const std::vector<mil::Feature>& states() const = 0;
  virtual uint64_t arena_bytes() const = 0;
  virtual uint64_t weight_bytes() const = 0;  // read by one run
  virtual uint64_t saved_bytes() const = 0;   // fewer than the package has for it
  virtual std::string describe() const = 0;   // one line per step, for --verbose and tests
  // The nodes that it is a list of (engine/nodes), a line for each, and as an array in JSON. Throws
  // Unsupported on devices that do not tell.
  virtual std::string nodes_text() const;
  virtual std::string nodes_json() const;

  // For Execution, which keeps the plan as long.
  virtual std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const = 0;
};

// Rows [begin, end) of outputs.
struct WantedRows {
  int64_t begin, end;
};

// An Error of the code Device means that the device itself failed: the execution is dead then, and
// throws the same Error at whatever else it is asked; States that it ran with have any values.
class Execution {
 public:
  // With one lane. `pool` must outlive it.
  Execution(std::shared_ptr<const Plan> plan, ThreadPool& pool);
  Execution(Execution&&) noexcept;
  ~Execution();

  const Plan& plan() const;
  // Makes it at least so many lanes. What they hold stays; spans of it become invalid. Memory
  // is taken when a lane is used first. Throws LimitExceeded.
  void reserve_lanes(size_t count);
  size_t lanes() const;

  // Shapes of all inputs, in the order of plan().inputs(). Throws InvalidArgument where one is
  // outside the plan's ranges or the program's own constraints fail. Cheap when nothing changed.
  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane = 0);

  // Where to write an input before run(); contiguous, of the bound shape.
  std::span<float> float_input(size_t index, size_t lane = 0);
  std::span<int32_t> int_input(size_t index, size_t lane = 0);
  // The same, whatever the type: fp32, int32, or bools as bytes.
  MutableByteSpan input_bytes(size_t index, size_t lane = 0);
  // Instead of writing an input: runs read it where it lies, in the form and size of input_bytes(),
  // until one of these functions or reserve_lanes() is called again. False, with nothing done, on
  // devices that cannot, with several lanes, and for elements that are not aligned.
  bool lend_input(size_t index, ByteSpan bytes, size_t lane = 0);

  // Throws only where an operation without a kernel runs on the reference and its value rule
  // refuses the data, and InvalidArgument where an integer input that says positions (a cache's
  // next row) has a value that the program's shapes refuse.
  // `rows`: only these are wanted of the outputs [.., 1, rows, columns]; of those that a product
  // makes row by row and nothing else reads, the others are not computed and have any values.
  void run(size_t lane = 0, std::optional<WantedRows> rows = std::nullopt);
  // As run(), but ends between two steps with Cancelled where the call is cancelled
  // (base/threads/cancel.h): what the state holds is undefined then.
  void run_cancellable(size_t lane = 0);

  // Runs several lanes. What each gets is what run() gives it, up to the rounding of kernels that
  // take another number of rows. Throws as run(), before anything is computed where it is about
  // positions; InvalidArgument where a lane or a State is there twice.
  void run_together(std::span<const size_t> lanes);

  // Valid until the next bind() or run() of the lane.
  std::span<const float> float_output(size_t index, size_t lane = 0) const;
  std::span<const int32_t> int_output(size_t index, size_t lane = 0) const;
  std::vector<int64_t> output_shape(size_t index, size_t lane = 0) const;
  std::span<const int64_t> output_dims(size_t index, size_t lane = 0) const;  // the same

 private:
  // What body() gives, while the device works.
  template <typename Body>
  decltype(auto) ask(Body&& body) const;

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<DeviceExecution> device_;
  std::vector<uint64_t> states_;  // by lane, the bound State's id; 0: none
  mutable std::optional<Error> failure_;
};

}  // namespace pippin::engine
