#include "pippin/app/convert/text_values.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin::app {

TextReader::TextReader(const mil::Model& model, const CalibrationOptions& options)
    : model_(model),
      options_(options),
      pool_(options.threads),
      schema_(runtime::stateful_schema({&model.description(model.default_function)})) {
  if (!schema_.has_cache || !schema_.steps.front().end.is_range()) {
    fail(ErrorCode::Unsupported,
         "calibration needs a package of the family stateful whose mask grows with the sequence");
  }
}

void TextReader::read(std::span<const std::vector<int32_t>> texts,
                      const std::vector<const mil::Var*>& wanted, const Take& take) {
  int64_t longest = 0;
  for (const auto& ids : texts) longest = std::max(longest, std::ssize(ids));
  if (longest == 0) return;
  const int64_t window = std::min({options_.window, schema_.context, longest});
  const runtime::StepSchema& step = schema_.steps.front();
  const int64_t part = std::clamp<int64_t>(std::min<int64_t>(128, window), step.query.smallest(),
                                           step.query.largest());
  engine::PlanOptions plan;
  plan.outputs.assign(wanted.begin(), wanted.end());
  const mil::SizeRange one = {1, 1}, query = {step.query.smallest(), part};
  plan.input_ranges[step.tokens] = {one, query};
  plan.input_ranges[step.mask] = {one, one, query, {query.lower, window}};
  engine::Execution execution(engine::Plan::make(model_, model_.default_function, plan), pool_);
  const auto ports = execution.plan().inputs();
  const size_t ids_port = ports[0].name == step.tokens ? 0 : 1, mask_port = 1 - ids_port;
  engine::State state(model_.description(model_.default_function).states);
  std::vector<std::vector<int64_t>> shapes(2);
  const auto read_text = [&](const std::vector<int32_t>& ids) {
    for (int64_t start = 0; start + query.lower <= std::ssize(ids);) {
      const int64_t past = start % window;
      if (past == 0) state.reset();
      const int64_t left = std::ssize(ids) - start;
      const int64_t rest = std::min({part, left, window - past});
      const int64_t count = step.query.at_most(rest);
      if (count == 0) {  // the rest of the window is too short
        start += rest;
        continue;
      }
      check_cancel();
      shapes[ids_port] = {1, count};
      shapes[mask_port] = {1, 1, count, past + count};
      execution.bind(shapes, state);
      std::copy_n(ids.begin() + start, count, execution.int_input(ids_port).begin());
      runtime::fill_causal_mask(execution.float_input(mask_port), count, past, past + count);
      execution.run();
      for (size_t i = 0; i < wanted.size(); ++i) take(i, execution);
      start += count;
    }
  };
  for (const auto& ids : texts) read_text(ids);
}

}  // namespace pippin::app
