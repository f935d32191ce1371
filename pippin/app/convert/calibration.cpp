#include "pippin/app/convert/calibration.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pippin/app/convert/text_values.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/ops/product.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

using compress::InputMoments;
using mil::Operation;
using mil::Var;

// The position of a dot product's inputs in an operation's operand.
struct Source {
  const Var* var;
  bool channels_first;  // (batch, inputs, positions...) as in conv, otherwise (..., inputs)
  int64_t size;
};

// For products with a matrix as their weight.
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
        reader_(model_, options) {
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

  // Gathers the moments of this weight's inputs, and of subsequent weights that fit.
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
    gathered_ = std::move(gathered);  // only when they are complete
  }

  void read(const std::vector<Source>& wanted, const Gathered& gathered) {
    std::vector<const Var*> vars;
    vars.reserve(wanted.size());
    for (const Source& source : wanted) vars.push_back(source.var);
    reader_.read(ids_, vars, [&](size_t index, const engine::Execution& execution) {
      const Source& source = wanted[index];
      add(source, execution, index, *gathered.at(source.var));
    });
  }

  void add(const Source& source, const engine::Execution& execution, size_t index,
           InputMoments& moments) {
    const std::span<const float> values = execution.float_output(index);
    const int64_t size = source.size;
    const auto count = static_cast<int64_t>(values.size()) / size;
    if (!source.channels_first) return add_inputs(moments, values.data(), count, reader_.pool());
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
    add_inputs(moments, turned_.data(), count, reader_.pool());
  }

  const mil::Model model_;
  std::vector<int32_t> ids_;
  CalibrationOptions options_;
  TextReader reader_;
  std::map<std::string, Source> sources_;  // by weight name
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
