#include "pippin/app/calibration.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pippin/app/text_input.h"
#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/plan.h"
#include "pippin/mil/ops/product.h"
#include "pippin/runtime/package/step_runner.h"
#include "pippin/runtime/stateful/model.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

using compress::InputMoments;
using mil::Operation;
using mil::Var;

// Where the inputs of a dot lie in what an operation takes.
struct Source {
  const Var* var;
  bool channels_first;  // (batch, inputs, places...) of conv, else (..., inputs)
  int64_t size;
};

// Of products with one matrix as their weight.
std::optional<Source> source_of(const Operation& operation, const mil::Product& product) {
  const auto& [given, weight] = product.operands;
  const Var* x = given.var();
  if (x == nullptr || mil::constant_of(x) != nullptr) return std::nullopt;
  if (!weight.batch.empty() || weight.own.size() != 1 || weight.summed.size() != 1 ||
      given.summed.size() != 1) {
    return std::nullopt;
  }
  const std::vector<int64_t>& dims = weight.var()->type.dims;
  for (const int64_t axis : weight.others) {
    if (dims[static_cast<size_t>(axis)] != 1) return std::nullopt;
  }
  const mil::Value* groups = operation.constant_input("groups");
  if (groups != nullptr && groups->to_ints() != std::vector<int64_t>{1}) return std::nullopt;
  const int64_t size = dims[static_cast<size_t>(weight.summed.front())];
  if (given.summed.front() == given.rank() - 1) return Source{x, false, size};
  const bool channels_first = given.summed.front() == 1 && given.batch.empty() &&
                              !given.own.empty() && given.own.front() == 0;
  return channels_first ? std::optional(Source{x, true, size}) : std::nullopt;
}

class Calibration final : public compress::InputStatistics {
 public:
  Calibration(mil::Model model, std::vector<int32_t> ids, const CalibrationOptions& options)
      : model_(std::move(model)),
        ids_(std::move(ids)),
        options_(options),
        pool_(options.threads),
        schema_(runtime::stateful_schema({&model_.description(model_.default_function)})) {
    const runtime::StepSchema& step = schema_.steps.front();
    if (!schema_.has_cache || !step.end.is_range()) {
      fail(ErrorCode::Unsupported,
           "calibration needs a package of the family stateful whose mask grows with the sequence");
    }
    std::set<const Var*> tables;
    const mil::Block& block = model_.program.function(model_.default_function).block();
    for (const auto& operation : block.operations()) {
      if (operation->type() == "gather") tables.insert(operation->input_var("x"));
    }
    for (const auto& operation : block.operations()) {
      const auto product = mil::product_of(*operation);
      const Var* weight = product ? product->operands[1].var() : nullptr;
      if (weight == nullptr || mil::constant_of(weight) == nullptr) continue;
      if (weight->type.dims.size() < 2 || tables.count(weight) != 0) continue;
      if (const auto source = source_of(*operation, *product)) {
        if (sources_.emplace(weight->name, *source).second) order_.push_back(weight->name);
      }
    }
  }

  std::shared_ptr<const InputMoments> moments(const std::string& weight) override {
    const auto source = sources_.find(weight);
    if (source == sources_.end()) return nullptr;
    const auto known = gathered_.find(source->second.var);
    if (known != gathered_.end()) return known->second;
    gather(weight);
    return gathered_.at(source->second.var);
  }

 private:
  using Gathered = std::map<const Var*, std::shared_ptr<InputMoments>>;

  // The moments of this weight's inputs, and of those after it that fit.
  void gather(const std::string& first) {
    gathered_.clear();
    Gathered gathered;
    std::vector<Source> wanted;
    uint64_t bytes = 0;
    for (auto name = std::find(order_.begin(), order_.end(), first); name != order_.end(); ++name) {
      const Source& source = sources_.at(*name);
      if (gathered.count(source.var) != 0) continue;
      bytes += static_cast<uint64_t>(source.size) * static_cast<uint64_t>(source.size) * 4;
      if (!wanted.empty() && bytes > options_.max_bytes) break;
      wanted.push_back(source);
      gathered.emplace(source.var, std::make_shared<InputMoments>(source.size));
    }
    log_debug("calibration: inputs of {} weights from '{}' on", wanted.size(), first);
    read(wanted, gathered);
    gathered_ = std::move(gathered);  // now that they are whole
  }

  void read(const std::vector<Source>& wanted, const Gathered& gathered) {
    const int64_t window =
        std::min({options_.window, schema_.context, static_cast<int64_t>(ids_.size())});
    const runtime::StepSchema& step = schema_.steps.front();
    const int64_t part = std::clamp<int64_t>(std::min<int64_t>(128, window), step.query.smallest(),
                                             step.query.largest());
    engine::PlanOptions plan;
    for (const Source& source : wanted) plan.outputs.push_back(source.var);
    const mil::SizeRange one = {1, 1}, query = {step.query.smallest(), part};
    plan.input_ranges[step.tokens] = {one, query};
    plan.input_ranges[step.mask] = {one, one, query, {query.lower, window}};
    engine::Execution execution(engine::Plan::make(model_, model_.default_function, plan), pool_);
    const auto ports = execution.plan().inputs();
    const size_t ids_port = ports[0].name == step.tokens ? 0 : 1, mask_port = 1 - ids_port;
    engine::State state(model_.description(model_.default_function).states);
    std::vector<std::vector<int64_t>> shapes(2);
    for (int64_t start = 0; start + query.lower <= static_cast<int64_t>(ids_.size());) {
      const int64_t past = start % window;
      if (past == 0) state.reset();
      const int64_t left = static_cast<int64_t>(ids_.size()) - start;
      const int64_t rest = std::min({part, left, window - past});
      const int64_t count = step.query.at_most(rest);
      if (count == 0) {  // too short a rest of the window
        start += rest;
        continue;
      }
      check_cancel();
      shapes[ids_port] = {1, count};
      shapes[mask_port] = {1, 1, count, past + count};
      execution.bind(shapes, state);
      std::copy_n(ids_.begin() + start, count, execution.int_input(ids_port).begin());
      runtime::fill_causal_mask(execution.float_input(mask_port), count, past, past + count);
      execution.run();
      for (size_t i = 0; i < wanted.size(); ++i) {
        add(wanted[i], execution, i, *gathered.at(wanted[i].var));
      }
      start += count;
    }
  }

  void add(const Source& source, const engine::Execution& execution, size_t index,
           InputMoments& moments) {
    const std::span<const float> values = execution.float_output(index);
    const int64_t size = source.size;
    const auto count = static_cast<int64_t>(values.size()) / size;
    if (!source.channels_first) return add_inputs(moments, values.data(), count, pool_);
    const std::vector<int64_t> shape = execution.output_shape(index);
    const int64_t batch = shape.at(0), places = count / std::max<int64_t>(batch, 1);
    turned_.resize(values.size());
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t c = 0; c < size; ++c) {
        for (int64_t p = 0; p < places; ++p) {
          turned_[static_cast<size_t>((b * places + p) * size + c)] =
              values[static_cast<size_t>((b * size + c) * places + p)];
        }
      }
    }
    add_inputs(moments, turned_.data(), count, pool_);
  }

  const mil::Model model_;
  std::vector<int32_t> ids_;
  CalibrationOptions options_;
  ThreadPool pool_;
  runtime::StatefulSchema schema_;
  std::map<std::string, Source> sources_;  // by the weight's name
  std::vector<std::string> order_;
  Gathered gathered_;
  std::vector<float> turned_;
};

}  // namespace

std::vector<int32_t> calibration_tokens(const std::string& file,
                                        const std::filesystem::path& tokenizer,
                                        int64_t max_tokens) {
  const std::string text = read_text(file);
  std::vector<int32_t> ids = Tokenizer::open(tokenizer).encode(text);
  if (static_cast<int64_t>(ids.size()) < kMinCalibrationTokens) {
    fail(ErrorCode::InvalidArgument, "{}: {} tokens are too few to calibrate with; give {} or more",
         file, ids.size(), kMinCalibrationTokens);
  }
  if (static_cast<int64_t>(ids.size()) > max_tokens) ids.resize(static_cast<size_t>(max_tokens));
  return ids;
}

std::shared_ptr<compress::InputStatistics> calibrate(mil::Model model, std::vector<int32_t> ids,
                                                     const CalibrationOptions& options) {
  return with_context("calibration", [&] {
    return std::make_shared<Calibration>(std::move(model), std::move(ids), options);
  });
}

}  // namespace pippin::app
