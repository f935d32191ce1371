#include "pippin/app/convert/calibration.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "pippin/app/convert/product_inputs.h"
#include "pippin/app/convert/text_values.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::app {
namespace {

using compress::InputMoments;
using mil::Var;

class Calibration final : public compress::InputStatistics {
 public:
  Calibration(mil::Model model, std::vector<int32_t> ids, const CalibrationOptions& options)
      : model_(std::move(model)),
        ids_(std::move(ids)),
        options_(options),
        inputs_(model_),
        reader_(model_, options) {}

  std::shared_ptr<const InputMoments> moments(const std::string& weight) override {
    const ProductInput* const source = inputs_.find(weight);
    if (source == nullptr) return nullptr;
    if (gathered_.count(source->var) == 0) gather(weight);
    return weighted_moments(*source, gathered_.at(source->var));
  }

 private:
  using Gathered = std::map<const Var*, std::shared_ptr<InputMoments>>;

  // Gathers the moments of this weight's inputs, and of subsequent weights that fit.
  void gather(const std::string& first) {
    gathered_.clear();
    Gathered gathered;
    std::vector<ProductInput> wanted;
    uint64_t bytes = 0;
    const auto& order = inputs_.order;
    for (auto name = std::find(order.begin(), order.end(), first); name != order.end(); ++name) {
      const ProductInput& source = inputs_.by_weight.at(*name);
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

  void read(const std::vector<ProductInput>& wanted, const Gathered& gathered) {
    std::vector<const Var*> vars;
    vars.reserve(wanted.size());
    for (const ProductInput& source : wanted) vars.push_back(source.var);
    reader_.read(std::span(&ids_, 1), vars, [&](size_t index, const engine::Execution& execution) {
      const ProductInput& source = wanted[index];
      add_output(source, execution, index, reader_.pool(), *gathered.at(source.var));
    });
  }

  const mil::Model model_;
  std::vector<int32_t> ids_;
  CalibrationOptions options_;
  ProductInputs inputs_;
  TextReader reader_;
  Gathered gathered_;
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
