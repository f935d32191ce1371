#include "pippin/runtime/vision/vision_tower.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/families/package.h"
#include "pippin/families/vision.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/package/model_digest.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {
namespace {

constexpr const char* kPixels = families::vision::kPixels;
constexpr const char* kRows = families::vision::kRows;

std::shared_ptr<const engine::Plan> plan_of_shape(const mil::Model& model,
                                                  const image::VisionShape& shape,
                                                  const engine::ComputeOptions& compute) {
  engine::PlanOptions options;
  options.compute = compute;
  auto& ranges = options.input_ranges[kPixels];
  ranges.reserve(shape.pixels.size());
  for (const int64_t size : shape.pixels) ranges.push_back({size, size});
  return engine::Plan::make(model, families::kMain, options);
}

std::string digest_of_program(const mil::Model& model) {
  Digest digest = Digest::sha256();
  add_program(digest, model);
  return digest.finish();
}

std::span<const float> pixels_of(const image::VisionPass& pass, const image::ImageInputs& inputs) {
  if (pass.further.empty()) return inputs.pixel_values.values;
  const auto found = inputs.further.find(pass.further);
  if (found == inputs.further.end()) {
    fail(ErrorCode::Internal, "a pass reads {}, which is not among the inputs", pass.further);
  }
  return found->second.values;
}

const std::vector<int64_t>& integers_of(const image::VisionIntegers& one,
                                        const image::ImageInputs& inputs) {
  const auto found = inputs.sizes.find(one.size);
  if (found == inputs.sizes.end()) {
    fail(ErrorCode::Internal, "a pass reads {}, which is not among the inputs", one.size);
  }
  return found->second.values;
}

// The run's rows, of the rows of all passes.
std::vector<float> rows_of(const image::VisionRun& run, const std::vector<float>& all,
                           int64_t width) {
  const int64_t count = width > 0 ? std::ssize(all) / width : 0;
  const auto size = static_cast<size_t>(width), parts = static_cast<size_t>(run.parts);
  if (!run.weights.empty() && run.weights.size() != run.rows.size()) {
    fail(ErrorCode::Internal, "{} weights of {} rows", run.weights.size(), run.rows.size());
  }
  std::vector<float> values(run.rows.size() / parts * size);
  for (size_t i = 0; i < run.rows.size(); ++i) {
    const int64_t row = run.rows[i];
    if (row < 0 || row >= count) {
      fail(ErrorCode::Internal, "row {} of an image that has {}", row, count);
    }
    const float weight = run.weights.empty() ? 1 : run.weights[i];
    const float* const source = all.data() + static_cast<size_t>(row) * size;
    float* const target = values.data() + i / parts * size;
    for (size_t k = 0; k < size; ++k) target[k] += weight * source[k];
  }
  return values;
}

template <typename Number>
void add_numbers(Digest& digest, std::span<const Number> numbers) {
  const auto count = static_cast<uint64_t>(numbers.size());
  digest.update(std::as_bytes(std::span(&count, 1)));
  digest.update(std::as_bytes(numbers));
}

}  // namespace

// A shape's program with its plan.
struct VisionTower::Planned {
  Planned(image::VisionShape its_shape, mil::Model its_model, const VisionTowerOptions& options,
          ThreadPool& pool, engine::State& state)
      : shape(std::move(its_shape)),
        model(std::move(its_model)),
        execution(plan_of_shape(model, shape, options.compute), pool),
        input(find_port(execution.plan().inputs(), kPixels)),
        output(find_port(execution.plan().outputs(), kRows)) {
    auto shapes = declared_shapes(execution.plan(), model.description(families::kMain));
    shapes.at(input) = shape.pixels;
    execution.bind(shapes, state);
  }

  void put(const std::string& name, const std::vector<int64_t>& integers) {
    const std::span<int32_t> target =
        execution.int_input(find_port(execution.plan().inputs(), name));
    if (integers.size() != target.size()) {
      fail(ErrorCode::Internal, "'{}' takes {} integers, the image has {}", name, target.size(),
           integers.size());
    }
    for (size_t i = 0; i < target.size(); ++i) target[i] = static_cast<int32_t>(integers[i]);
  }

  // Of rows; valid until the next run.
  std::span<const float> run(std::span<const float> pixels) {
    ranges::copy(pixels, execution.float_input(input).begin());
    execution.run_cancellable();
    return execution.float_output(output);
  }
  int64_t width() const { return execution.output_dims(output).back(); }

  image::VisionShape shape;
  mil::Model model;
  engine::Execution execution;
  size_t input, output;
};

VisionTower::VisionTower(VisionPrograms programs, std::shared_ptr<ThreadPool> pool,
                         VisionTowerOptions options)
    : programs_(std::move(programs)),
      pool_(std::move(pool)),
      options_(std::move(options)),
      state_(std::vector<mil::Feature>(), options_.compute) {}

VisionTower::~VisionTower() = default;

VisionTower::Planned& VisionTower::planned(const image::VisionShape& shape) {
  const auto known = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& one) { return one->shape == shape; });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
    return *plans_.front();
  }
  // Before a plan is made, so that memory is never that of one more.
  while (!plans_.empty() && plans_.size() >= options_.most_plans) plans_.pop_back();
  plans_.push_front(
      std::make_unique<Planned>(shape, programs_.build(shape), options_, *pool_, state_));
  return *plans_.front();
}

std::string VisionTower::program_digest(const image::VisionShape& shape) {
  constexpr size_t kMostDigests = 1024;
  const auto known = digests_.find(shape);
  if (known != digests_.end()) return known->second;
  if (digests_.size() >= kMostDigests) digests_.clear();
  return digests_.emplace(shape, digest_of_program(programs_.build(shape))).first->second;
}

std::string VisionTower::digest_of(const image::ImageInputs& inputs,
                                   const image::VisionPasses& passes) {
  Digest digest = Digest::sha256();
  for (const image::VisionPass& pass : passes.passes) {
    digest.update(as_byte_span(program_digest(pass.shape)));
    add_numbers(digest, std::span<const int64_t>(&pass.first, 1));
    add_numbers(digest, std::span<const char>(pass.further));
    for (const image::VisionIntegers& one : pass.integers) {
      add_numbers(digest, std::span<const int64_t>(integers_of(one, inputs)));
    }
  }
  add_numbers(digest, std::span<const float>(inputs.pixel_values.values));
  for (const auto& [name, array] : inputs.further) {
    add_numbers(digest, std::span<const char>(name));
    add_numbers(digest, std::span<const float>(array.values));
  }
  for (const image::VisionRun& run : passes.runs) {
    add_numbers(digest, std::span<const int64_t>(run.rows));
    add_numbers(digest, std::span<const float>(run.weights));
    add_numbers(digest, std::span<const int64_t>(run.grid));
    add_numbers(digest, std::span<const int64_t>(&run.frame_step, 1));
  }
  return digest.finish();
}

VisionTower::Rows VisionTower::encode(const image::ImageInputs& inputs) {
  const image::VisionPasses passes = programs_.passes(inputs);
  const std::lock_guard lock(turn_);
  const std::string digest = digest_of(inputs, passes);
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.digest == digest; });
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return known->rows;
  }
  Rows rows = compute(inputs, passes, digest);
  keep(digest, rows);
  return rows;
}

void VisionTower::forget_rows() {
  const std::lock_guard lock(turn_);
  kept_.clear();
  kept_bytes_ = 0;
}

int64_t VisionTower::count_rows(const image::ImageInputs& inputs) const {
  int64_t count = 0;
  for (const image::VisionRun& run : programs_.passes(inputs).runs) {
    count += std::ssize(run.rows) / run.parts;
  }
  return count;
}

VisionTower::Rows VisionTower::compute(const image::ImageInputs& inputs,
                                       const image::VisionPasses& passes,
                                       const std::string& digest) {
  std::vector<float> all;
  int64_t width = 0;
  for (const image::VisionPass& pass : passes.passes) {
    Planned& plan = planned(pass.shape);
    const size_t size = plan.execution.float_input(plan.input).size();
    const std::span<const float> pixels = pixels_of(pass, inputs);
    const auto first = static_cast<size_t>(pass.first);
    if (first > pixels.size() || size > pixels.size() - first) {
      fail(ErrorCode::Internal, "a pass reads {} numbers from {} on, the image has {}", size, first,
           pixels.size());
    }
    for (const auto& one : pass.integers) plan.put(one.input, integers_of(one, inputs));
    const std::span<const float> rows = plan.run(pixels.subspan(first, size));
    if (width != 0 && plan.width() != width) {
      fail(ErrorCode::Internal, "rows of {} and of {} numbers", width, plan.width());
    }
    width = plan.width();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  Rows result;
  result.reserve(passes.runs.size());
  for (size_t i = 0; i < passes.runs.size(); ++i) {
    const image::VisionRun& run = passes.runs[i];
    auto rows = std::make_shared<EmbeddedRows>();
    rows->count = std::ssize(run.rows) / run.parts;
    rows->width = width;
    rows->grid = run.grid;
    rows->frame_step = run.frame_step;
    rows->values = rows_of(run, all, width);
    Digest own = Digest::sha256();
    own.update(as_byte_span(digest));
    const auto index = static_cast<int64_t>(i);
    add_numbers(own, std::span<const int64_t>(&index, 1));
    rows->digest = own.finish();
    result.push_back(std::move(rows));
  }
  return result;
}

void VisionTower::keep(const std::string& digest, const Rows& rows) {
  size_t bytes = 0;
  for (const auto& one : rows) bytes += one->values.size() * sizeof(float);
  if (bytes > options_.kept_bytes) return;
  while (kept_bytes_ + bytes > options_.kept_bytes) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
  kept_.push_front({digest, rows, bytes});
  kept_bytes_ += bytes;
}

}  // namespace pippin::runtime
