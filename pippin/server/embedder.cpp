#include "pippin/server/embedder.h"

#include "pippin/app/unit_vector.h"
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/runtime/sequence.h"

namespace pippin::server {

Pooling read_pooling(const std::filesystem::path& folder) {
  const auto file = folder / "1_Pooling" / "config.json";
  if (folder.empty() || !std::filesystem::exists(file)) return Pooling::Last;
  const Json config = Json::load(file, kPythonJson);
  if (const auto mode = config.find("pooling_mode"); mode && mode->is_string()) {
    if (mode->as_string() == "lasttoken") return Pooling::Last;
    if (mode->as_string() == "mean") return Pooling::Mean;
    if (mode->as_string() == "cls") return Pooling::First;
  }
  if (config.get_bool_or("pooling_mode_lasttoken", false)) return Pooling::Last;
  if (config.get_bool_or("pooling_mode_mean_tokens", false)) return Pooling::Mean;
  if (config.get_bool_or("pooling_mode_cls_token", false)) return Pooling::First;
  fail(ErrorCode::Unsupported, "{}: none of the poolings lasttoken, mean_tokens and cls_token",
       file.string());
}

Embedder::Embedder(const app::ModelChoice& choice)
    : model_(app::open_hidden(choice)),
      pooling_(read_pooling(model_.path)),
      sequence_(model_.model->new_sequence()) {}

std::vector<float> Embedder::embed(std::span<const int32_t> ids) {
  const std::lock_guard lock(mutex_);
  sequence_->reset();
  const auto states = sequence_->trace(ids);
  return pool(states.front().rows, states.front().width, pooling_);
}

std::vector<float> pool(std::span<const float> states, int64_t width, Pooling pooling) {
  const auto size = static_cast<size_t>(width);
  const size_t rows = states.size() / size;
  if (pooling == Pooling::Mean) {
    std::vector<double> sums(size);
    for (size_t i = 0; i < rows * size; ++i) sums[i % size] += states[i];
    std::vector<float> vector(sums.begin(), sums.end());  // scaled to length 1 below
    app::normalize(vector);
    return vector;
  }
  const auto row = states.subspan(pooling == Pooling::Last ? (rows - 1) * size : 0, size);
  std::vector<float> vector(row.begin(), row.end());
  app::normalize(vector);
  return vector;
}

}  // namespace pippin::server
