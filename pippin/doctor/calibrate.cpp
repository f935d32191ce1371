#include "pippin/doctor/calibrate.h"

#include <algorithm>
#include <cmath>

#include "pippin/app/text_values.h"
#include "pippin/base/error.h"
#include "pippin/doctor/norms.h"
#include "pippin/mil/package/package.h"

namespace pippin::doctor {

Peaks measure_peaks(const mil::Model& model, const std::string& text,
                    const std::filesystem::path& tokenizer, int threads) {
  const std::string& name = model.default_function;
  const FunctionView function(name, model.program.function(name), model.description(name));
  std::vector<const mil::Var*> wanted;
  for (const SquaringNorm& norm : squaring_norms(function)) {
    if (std::find(wanted.begin(), wanted.end(), norm.x) == wanted.end()) wanted.push_back(norm.x);
  }
  Peaks peaks;
  if (wanted.empty()) return peaks;
  constexpr int64_t kMostTokens = 2048;
  const std::filesystem::path own = model.path / "Data" / mil::kTokenizerItem;
  const auto ids = app::calibration_tokens(text, tokenizer.empty() ? own : tokenizer, kMostTokens);
  app::CalibrationOptions options;
  options.threads = threads;
  app::TextReader reader(model, options);
  reader.read(ids, wanted, [&](size_t index, const engine::Execution& execution) {
    double& peak = peaks[{name, wanted[index]->name}];
    for (const float value : execution.float_output(index)) {
      peak = std::max(peak, static_cast<double>(std::abs(value)));
    }
  });
  return peaks;
}

}  // namespace pippin::doctor
