#include "pippin/runtime/package/step_runner.h"

#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/tensor.h"

namespace pippin::runtime {

void fill_causal_mask(std::span<float> mask, int64_t query, int64_t past, int64_t end) {
  for (int64_t row = 0; row < query; ++row) {
    const auto begin = mask.begin() + row * end;
    const int64_t seen = std::min(past + row + 1, end);
    std::fill(begin, begin + seen, 0.0f);
    std::fill(begin + seen, begin + end, -std::numeric_limits<float>::infinity());
  }
}

size_t find_port(std::span<const engine::Port> ports, const std::string& name) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const engine::Port& port) { return port.name == name; });
  if (found == ports.end()) fail(ErrorCode::Internal, "the plan has no port '{}'", name);
  return static_cast<size_t>(found - ports.begin());
}

std::vector<std::vector<int64_t>> declared_shapes(const engine::Plan& plan,
                                                  const mil::FunctionDescription& function) {
  std::vector<std::vector<int64_t>> shapes(plan.inputs().size());
  for (const mil::Feature& feature : function.inputs) {
    shapes.at(find_port(plan.inputs(), feature.name)) = feature.shape;
  }
  return shapes;
}

std::shared_ptr<const engine::Plan> StepRunner::make_plan(const mil::Model& model,
                                                          const StepSchema& schema,
                                                          mil::SizeRange query, int64_t context,
                                                          const engine::ComputeOptions& compute,
                                                          engine::CacheType cache_type) {
  engine::PlanOptions options;
  options.compute = compute;
  options.cache_type = cache_type;
  options.compute.batch_invariant = true;
  const mil::SizeRange one = {1, 1};
  auto& ranges = options.input_ranges;
  ranges[schema.tokens] = {one, query};
  if (schema.tokens_rank == 1) ranges[schema.tokens] = {query};
  if (!schema.takes_ids) ranges[schema.tokens].push_back({schema.width, schema.width});
  if (!schema.mask.empty()) {
    mil::SizeRange end = {schema.end.smallest(), schema.end.largest()};
    if (schema.end.is_range())
      end = {std::max(end.lower, query.lower), std::min(end.upper, context)};
    ranges[schema.mask] = {one, one, query, end};
  }
  if (!schema.padding_mask.empty()) ranges[schema.padding_mask] = {one, query};
  if (!schema.update_mask.empty()) {
    ranges[schema.update_mask] = {one, one, {schema.update_slots, schema.update_slots}, query};
  }
  if (!schema.positions.empty()) {
    ranges[schema.positions] = {query};
    if (schema.positions_rank == 2) ranges[schema.positions] = {one, query};
  }
  if (!schema.rows.empty()) {
    ranges[schema.rows] = {one, query, {schema.row_width, schema.row_width}};
    ranges[schema.are_rows] = {one, query, one};
  }
  if (!schema.previous.empty()) {
    ranges[schema.previous] = {one, query, {schema.previous_width, schema.previous_width}};
  }
  if (!schema.coordinates.empty()) ranges[schema.coordinates] = {{3, 3}, query};
  if (!schema.run_starts.empty()) ranges[schema.run_starts] = {query};
  return engine::Plan::make(model, schema.function, options);
}

StepRunner::StepRunner(const mil::Model& model, const StepSchema& schema, mil::SizeRange query,
                       int64_t context, ThreadPool& pool, const engine::ComputeOptions& compute,
                       engine::CacheType cache_type)
    : schema_(schema),
      execution_(make_plan(model, schema, query, context, compute, cache_type), pool) {
  const auto inputs = plan().inputs();
  const auto outputs = plan().outputs();
  const auto find = [](std::span<const engine::Port> ports, const std::string& name) {
    return name.empty() ? kNone : find_port(ports, name);
  };
  tokens_ = find(inputs, schema.tokens);
  mask_ = find(inputs, schema.mask);
  padding_mask_ = find(inputs, schema.padding_mask);
  update_mask_ = find(inputs, schema.update_mask);
  positions_ = find(inputs, schema.positions);
  first_position_ = find(inputs, schema.first_position);
  output_place_ = find(inputs, schema.output_place);
  rows_ = find(inputs, schema.rows);
  are_rows_ = find(inputs, schema.are_rows);
  coordinates_ = find(inputs, schema.coordinates);
  run_starts_ = find(inputs, schema.run_starts);
  adapters_ = find(inputs, schema.adapters);
  previous_ = find(inputs, schema.previous);
  hidden_ = find(outputs, schema.hidden);
  argmax_index_ = find(outputs, schema.argmax_index);
  argmax_value_ = find(outputs, schema.argmax_value);
  for (const std::string& part : schema.logits) logits_.push_back(find_port(outputs, part));
  shapes_ = declared_shapes(plan(), model.description(schema.function));
  log_debug("{} for {} to {} tokens:\n{}", schema.function, query.lower, query.upper,
            plan().describe());
}

void StepRunner::put_adapters(size_t lane) {
  if (adapters_ == kNone) return;
  const auto input = execution_.float_input(adapters_, lane);
  std::fill(input.begin(), input.end(), 0.0F);
  std::copy(adapter_numbers_.begin(), adapter_numbers_.end(), input.begin());
}

void StepRunner::bind(int64_t query, int64_t past, engine::State& state, size_t lane) {
  if (queries_.size() <= lane) queries_.resize(lane + 1);
  queries_[lane] = query;
  shapes_[tokens_] = {1, query};
  if (schema_.tokens_rank == 1) shapes_[tokens_] = {query};
  if (!schema_.takes_ids) shapes_[tokens_].push_back(schema_.width);
  if (mask_ != kNone) {
    const int64_t end = schema_.end.is_range() ? past + query : schema_.end.largest();
    shapes_[mask_] = {1, 1, query, end};
  }
  if (padding_mask_ != kNone) shapes_[padding_mask_] = {1, query};
  if (update_mask_ != kNone) shapes_[update_mask_] = {1, 1, schema_.update_slots, query};
  if (positions_ != kNone) {
    shapes_[positions_] = {query};
    if (schema_.positions_rank == 2) shapes_[positions_] = {1, query};
  }
  if (rows_ != kNone) {
    shapes_[rows_] = {1, query, schema_.row_width};
    shapes_[are_rows_] = {1, query, 1};
  }
  if (previous_ != kNone) shapes_[previous_] = {1, query, schema_.previous_width};
  if (coordinates_ != kNone) shapes_[coordinates_] = {3, query};
  if (run_starts_ != kNone) shapes_[run_starts_] = {query};
  if (first_position_ != kNone) shapes_[first_position_] = {1};
  if (output_place_ != kNone) shapes_[output_place_] = {1};
  execution_.bind(shapes_, state, lane);
}

void StepRunner::fill(int64_t query, int64_t past, int64_t real, size_t lane) {
  if (mask_ != kNone && !execution_.put_causal_mask(mask_, past, lane)) {
    fill_causal_mask(execution_.float_input(mask_, lane), query, past, shapes_[mask_].back());
  }
  put_adapters(lane);
  if (padding_mask_ != kNone) {
    const bool is_float = plan().inputs()[padding_mask_].is_float;
    for (int64_t i = 0; i < query; ++i) {
      const bool token = i < real;
      const auto at = static_cast<size_t>(i);
      if (is_float) execution_.float_input(padding_mask_, lane)[at] = token ? 1.0f : 0.0f;
      if (!is_float) execution_.int_input(padding_mask_, lane)[at] = token ? 1 : 0;
    }
  }
  if (update_mask_ != kNone) {
    const auto mask = execution_.float_input(update_mask_, lane);
    std::fill(mask.begin(), mask.end(), 0.0f);
    for (int64_t i = 0; i < query && past + i < schema_.update_slots; ++i) {
      mask[static_cast<size_t>((past + i) * query + i)] = 1.0f;
    }
  }
  if (positions_ != kNone) {
    places_.clear();
    for (int64_t i = 0; i < query; ++i) places_.push_back(static_cast<int32_t>(past + i));
    put(positions_, places_, lane);
  }
  const auto first = static_cast<int32_t>(past), last = static_cast<int32_t>(real - 1);
  if (first_position_ != kNone) put(first_position_, {&first, 1}, lane);
  if (output_place_ != kNone) put(output_place_, {&last, 1}, lane);
}

// Writes integers in the type of the input.
void StepRunner::put(size_t port, std::span<const int32_t> values, size_t lane) {
  if (plan().inputs()[port].is_float) {
    std::copy(values.begin(), values.end(), execution_.float_input(port, lane).begin());
  } else {
    std::copy(values.begin(), values.end(), execution_.int_input(port, lane).begin());
  }
}

void StepRunner::put_ids(std::span<const int32_t> ids, int64_t past, int64_t real,
                         engine::State& state, size_t lane) {
  const auto query = static_cast<int64_t>(ids.size());
  bind(query, past, state, lane);
  put(tokens_, ids, lane);
  fill(query, past, real, lane);
}

void StepRunner::put_hidden(std::span<const float> hidden, int64_t past, engine::State& state,
                            size_t lane) {
  const int64_t query = static_cast<int64_t>(hidden.size()) / schema_.width;
  bind(query, past, state, lane);
  std::copy(hidden.begin(), hidden.end(), execution_.float_input(tokens_, lane).begin());
  fill(query, past, query, lane);
}

void StepRunner::put_rows(std::span<const int32_t> ids, int64_t past, const RowInputs& inputs,
                          engine::State& state, size_t lane) {
  const auto query = static_cast<int64_t>(ids.size());
  bind(query, past, state, lane);
  places_.clear();
  for (const int32_t id : ids) places_.push_back(std::max(id, 0));
  put(tokens_, places_, lane);
  const auto rows = execution_.float_input(rows_, lane);
  std::copy(inputs.rows.begin(), inputs.rows.end(), rows.begin());
  const auto are_rows = execution_.float_input(are_rows_, lane);
  std::transform(ids.begin(), ids.end(), are_rows.begin(),
                 [](int32_t id) { return id < 0 ? 1.0F : 0.0F; });
  if (coordinates_ != kNone) put(coordinates_, inputs.coordinates, lane);
  if (run_starts_ != kNone) put(run_starts_, inputs.run_starts, lane);
  put_adapters(lane);
  const auto mask = execution_.float_input(mask_, lane);
  const int64_t end = shapes_[mask_].back();
  for (int64_t row = 0; row < query; ++row) {
    const auto begin = mask.begin() + row * end;
    const auto hidden = begin + inputs.seen[static_cast<size_t>(row)];
    std::fill(begin, hidden, 0.0f);
    std::fill(hidden, begin + end, -std::numeric_limits<float>::infinity());
  }
}

void StepRunner::put_previous(std::span<const int32_t> ids, int64_t past,
                              std::span<const float> previous, int64_t first, engine::State& state,
                              size_t lane) {
  const auto query = static_cast<int64_t>(ids.size());
  bind(query, past, state, lane);
  put(tokens_, ids, lane);
  const auto input = execution_.float_input(previous_, lane);
  std::copy(previous.begin(), previous.end(), input.begin());
  const auto mask = execution_.float_input(mask_, lane);
  const int64_t end = shapes_[mask_].back();
  fill_causal_mask(mask, query, past, end);
  for (int64_t row = 0; row < query; ++row) {
    const auto begin = mask.begin() + row * end;
    std::fill(begin, begin + std::min(first, past + row), -std::numeric_limits<float>::infinity());
  }
}

void StepRunner::run_together(size_t count) {
  while (all_seats_.size() < count) all_seats_.push_back(all_seats_.size());
  execution_.run_together(std::span(all_seats_).first(count));
}

void StepRunner::run_ids(std::span<const int32_t> ids, int64_t past, engine::State& state) {
  run_ids(ids, past, static_cast<int64_t>(ids.size()), state);
}

void StepRunner::run_ids(std::span<const int32_t> ids, int64_t past, int64_t real,
                         engine::State& state, std::optional<int64_t> only_row) {
  put_ids(ids, past, real, state, 0);
  run(only_row);
}

void StepRunner::run(std::optional<int64_t> only_row) {
  if (!only_row || logits_.empty()) return execution_.run();
  const LogitLayout whole = layout(logits_.front(), 0);
  if (!whole.is_row_major()) return execution_.run();
  const int64_t row = std::min(*only_row, whole.rows - 1);
  execution_.run(0, row < 0 ? engine::WantedRows{0, 0} : engine::WantedRows{row, row + 1});
}

void StepRunner::run_hidden(std::span<const float> hidden, int64_t past, engine::State& state) {
  put_hidden(hidden, past, state, 0);
  execution_.run();
}

std::span<const float> StepRunner::hidden(size_t lane) const {
  return execution_.float_output(hidden_, lane);
}

int64_t StepRunner::hidden_width() const {
  const auto shape = execution_.output_shape(hidden_);
  return shape.empty() ? 0 : shape.back();
}

LogitLayout StepRunner::layout(size_t part, size_t lane) const {
  return logit_layout(execution_.output_shape(part, lane), queries_.at(lane));
}

int64_t StepRunner::logit_rows(size_t lane) const {
  if (!logits_.empty()) return layout(logits_.front(), lane).rows;
  return mil::num_elements(execution_.output_shape(argmax_index_, lane));  // reads no output
}

int64_t StepRunner::vocab_size() const {
  int64_t size = 0;
  for (const size_t part : logits_) size += layout(part, 0).width;
  return size;
}

void StepRunner::copy_logits(int64_t row, float* target, size_t lane) const {
  for (const size_t part : logits_) {
    const LogitLayout part_layout = layout(part, lane);
    if (part_layout.is_row_major()) {
      const auto width = static_cast<size_t>(part_layout.width);
      const auto begin = static_cast<size_t>(row * part_layout.row_step);
      const auto numbers = execution_.float_output(part, begin, width, lane);
      target = std::copy(numbers.begin(), numbers.end(), target);
      continue;
    }
    const float* from = execution_.float_output(part, lane).data() + row * part_layout.row_step;
    for (int64_t i = 0; i < part_layout.width; ++i) *target++ = from[i * part_layout.step];
  }
}

std::optional<StepRunner::LogitRow> StepRunner::logit_row(int64_t row, size_t lane) const {
  if (logits_.size() != 1) return std::nullopt;
  const LogitLayout whole = layout(logits_.front(), lane);
  if (!whole.is_row_major()) return std::nullopt;
  return LogitRow{static_cast<size_t>(row * whole.row_step), static_cast<size_t>(whole.width)};
}

std::optional<int32_t> StepRunner::most_likely(int64_t row, size_t lane) const {
  const auto whole = logit_row(row, lane);
  if (!whole) return std::nullopt;
  return execution_.largest(logits_.front(), whole->begin, whole->width, lane);
}

std::vector<engine::RankedElement> StepRunner::most_likely_ones(int64_t row, size_t lane) const {
  const auto whole = logit_row(row, lane);
  if (!whole) return {};
  return execution_.largest_ones(logits_.front(), whole->begin, whole->width, lane);
}

std::span<const float> StepRunner::output(const std::string& name) const {
  return execution_.float_output(find_port(plan().outputs(), name));
}

}  // namespace pippin::runtime
