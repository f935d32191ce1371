#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "pippin/base/threads/cancel.h"
#include "pippin/speech/candidates.h"
#include "pippin/speech/token_scores.h"

namespace pippin::speech {
namespace {

struct Beam {
  WindowDecoder* decoder = nullptr;
  Candidate candidate;
  std::vector<float> logits;  // after the last token
};

// A beam and a token after it.
struct Extension {
  size_t beam;
  int32_t token;
  double sum_logprob;
};

// Decoders of the beams: the prompted one and its forks. Those that are not in use wait for a beam
// that continues in several ways.
class DecoderPool {
 public:
  explicit DecoderPool(WindowDecoder& first) : first_(first) {}

  // Assigns decoders to the beams that follow `beams`: beam i continues beams[sources[i]].
  std::vector<WindowDecoder*> follow(std::span<const Beam> beams, std::span<const size_t> sources) {
    std::vector<WindowDecoder*> decoders(sources.size());
    std::vector<bool> is_taken(beams.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      if (is_taken[sources[i]]) continue;
      is_taken[sources[i]] = true;
      decoders[i] = beams[sources[i]].decoder;
    }
    // A fork copies its source, so forks come before the unused decoders are released.
    std::vector<std::unique_ptr<WindowDecoder>> added;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (decoders[i] != nullptr) continue;
      added.push_back(beams[sources[i]].decoder->fork());
      decoders[i] = added.back().get();
    }
    for (size_t b = 0; b < beams.size(); ++b) {
      if (!is_taken[b]) release(beams[b].decoder);
    }
    std::move(added.begin(), added.end(), std::back_inserter(forks_));
    return decoders;
  }

 private:
  void release(const WindowDecoder* decoder) {
    if (decoder == &first_) return;
    forks_.erase(std::find_if(forks_.begin(), forks_.end(),
                              [&](const auto& fork) { return fork.get() == decoder; }));
  }

  WindowDecoder& first_;
  std::vector<std::unique_ptr<WindowDecoder>> forks_;
};

// Adds the `count` most likely tokens after a beam.
void add_extensions(const PromptedDecoder& prompted, const std::vector<Beam>& beams, size_t index,
                    size_t count, std::vector<Extension>& extensions) {
  const Beam& beam = beams[index];
  std::vector<float> logprobs = beam.logits;
  prompted.rules.apply(beam.candidate.tokens, logprobs);
  log_softmax(logprobs);
  std::vector<int32_t> order(logprobs.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  const auto logprob = [&](int32_t id) { return logprobs[static_cast<size_t>(id)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                    [&](int32_t a, int32_t b) {
                      return logprob(a) > logprob(b) || (logprob(a) == logprob(b) && a < b);
                    });
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(logprob(order[i]))) break;  // a forbidden token
    extensions.push_back({index, order[i], beam.candidate.sum_logprob + logprob(order[i])});
  }
}

}  // namespace

std::vector<Candidate> search_beams(const PromptedDecoder& prompted, int64_t beam_count,
                                    double patience) {
  const auto most_beams = static_cast<size_t>(beam_count);
  const auto most_finished = static_cast<size_t>(
      std::max(1.0, std::nearbyint(static_cast<double>(beam_count) * patience)));
  DecoderPool pool(prompted.decoder);
  std::vector<Candidate> finished;
  // All beams start equal, so the search starts with one.
  std::vector<Beam> beams(1);
  beams[0].decoder = &prompted.decoder;
  beams[0].logits.assign(prompted.logits.begin(), prompted.logits.end());
  for (int64_t step = 0; step < prompted.max_tokens && !beams.empty(); ++step) {
    check_cancel();
    std::vector<Extension> extensions;
    for (size_t i = 0; i < beams.size(); ++i) {
      add_extensions(prompted, beams, i, most_beams + 1, extensions);
    }
    std::stable_sort(
        extensions.begin(), extensions.end(),
        [](const Extension& a, const Extension& b) { return a.sum_logprob > b.sum_logprob; });
    std::vector<Beam> next;
    std::vector<size_t> sources;
    std::vector<int32_t> ids;
    for (const Extension& extension : extensions) {
      const Candidate& before = beams[extension.beam].candidate;
      if (extension.token == prompted.end_of_text) {
        if (finished.size() < most_finished) {
          finished.push_back({before.tokens, extension.sum_logprob});
        }
        continue;
      }
      Beam beam;
      beam.candidate = {before.tokens, extension.sum_logprob};
      beam.candidate.tokens.push_back(extension.token);
      next.push_back(std::move(beam));
      sources.push_back(extension.beam);
      ids.push_back(extension.token);
      if (next.size() == most_beams) break;
    }
    const bool ends = finished.size() >= most_finished || step + 1 == prompted.max_tokens;
    if (!ends && !next.empty()) {
      const std::vector<WindowDecoder*> decoders = pool.follow(beams, sources);
      const auto logits = prompted.model.feed_each(decoders, ids);
      for (size_t i = 0; i < next.size(); ++i) {
        next[i].decoder = decoders[i];
        next[i].logits.assign(logits[i].begin(), logits[i].end());
      }
    }
    beams = std::move(next);
    if (ends) break;
  }
  // Unfinished texts, best first, if not enough of them have ended.
  for (Beam& beam : beams) {
    if (finished.size() >= most_beams) break;
    finished.push_back(std::move(beam.candidate));
  }
  return finished;
}

}  // namespace pippin::speech
