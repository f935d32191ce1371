#include "pippin/runtime/package/fixed_part.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/walk.h"
#include "pippin/runtime/package/model_digest.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {
namespace {

// Ports are in the order of the description.
size_t place_of(const std::vector<mil::Feature>& features, std::string_view name,
                std::string_view what, const std::string& package) {
  const auto found =
      std::find_if(features.begin(), features.end(),
                   [&](const mil::Feature& feature) { return feature.name == name; });
  if (found == features.end()) {
    fail(ErrorCode::InvalidFile, "{}: has no {} '{}'", package, what, name);
  }
  return static_cast<size_t>(found - features.begin());
}

}  // namespace

FixedPart::FixedPart(const std::filesystem::path& path, std::string name,
                     const engine::ComputeOptions& compute)
    : FixedPart(mil::read_package(path), std::move(name), compute) {}

FixedPart::FixedPart(mil::Model model, std::string name, const engine::ComputeOptions& compute)
    : name_(std::move(name)), state_({}), model_(std::move(model)) {
  plan_options_.compute = compute;
  plan_options_.compute.batch_invariant = true;
  if (!model_.has_program()) {
    fail(ErrorCode::Unsupported, "{}: a {}, which is not part of a model of several packages",
         name_, to_string(model_.kind));
  }
}

void FixedPart::prepare(ThreadPool& pool, engine::State& state) {
  if (execution_) return;
  with_context(name_, [&] {
    execution_ = std::make_unique<engine::Execution>(
        engine::Plan::make(model_, model_.default_function, plan_options_), pool);
    bind(state);
  });
}

void FixedPart::bind(engine::State& state) {
  execution_->bind(declared_shapes(execution_->plan(), description()), state);
}

void FixedPart::release() {
  execution_.reset();
  mil::release_weights(model_.program);
}

void FixedPart::add_to(Digest& digest) {
  add_program(digest, model_);
  if (!is_ready()) mil::release_weights(model_.program);
}

void FixedPart::reserve_lanes(size_t count) {
  execution_->reserve_lanes(count);
  const auto shapes = declared_shapes(execution_->plan(), description());
  for (size_t lane = 0; lane < count; ++lane) execution_->bind(shapes, state_, lane);
}

size_t FixedPart::input_port(std::string_view name) const {
  return place_of(description().inputs, name, "input", name_);
}

size_t FixedPart::output_port(std::string_view name) const {
  return place_of(description().outputs, name, "output", name_);
}

}  // namespace pippin::runtime
