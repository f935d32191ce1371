#include "pippin/server/metrics.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace pippin::server {
namespace {

// Returns a label's value, with quotes, line ends and backslashes escaped.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void describe(std::string& out, const char* name, const char* kind, const char* help) {
  fmt::format_to(std::back_inserter(out), "# HELP pippin_{0} {2}\n# TYPE pippin_{0} {1}\n", name,
                 kind, help);
}

}  // namespace

void Histogram::add(double seconds) {
  const auto at = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  ++counts_[static_cast<size_t>(at)];
  sum_ += seconds;
}

void Histogram::write(std::string& out, const char* name, const char* help) const {
  describe(out, name, "histogram", help);
  auto to = std::back_inserter(out);
  uint64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    fmt::format_to(to, "pippin_{}_bucket{{le=\"{}\"}} {}\n", name, bound, below);
  }
  fmt::format_to(to, "pippin_{0}_sum {1}\npippin_{0}_count {2}\n", name, sum_, below);
}

void Metrics::count_request(std::string_view route, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(route), status}];
}

void Metrics::count_seconds(double seconds) {
  const std::lock_guard lock(mutex_);
  total_.add(seconds);
}

void Metrics::count_text(const std::string& model, const Usage& usage) {
  const std::lock_guard lock(mutex_);
  Tokens& tokens = tokens_[model];
  tokens.prompt += static_cast<uint64_t>(usage.prompt_tokens);
  tokens.cached += static_cast<uint64_t>(usage.cached_tokens);
  tokens.generated += static_cast<uint64_t>(usage.generated_tokens);
  queue_.add(usage.queue_seconds);
  prompt_.add(usage.prompt_seconds);
  if (usage.first_token_seconds > 0) first_token_.add(usage.first_token_seconds);
  if (usage.generated_tokens > 1) {
    decode_.add((usage.total_seconds - usage.first_token_seconds) /
                static_cast<double>(usage.generated_tokens - 1));
  }
}

std::string Metrics::text(const std::vector<ModelStatus>& models, int connections) const {
  std::string out;
  auto to = std::back_inserter(out);
  {
    const std::lock_guard lock(mutex_);
    describe(out, "requests_total", "counter", "Requests that were answered");
    for (const auto& [key, count] : requests_) {
      fmt::format_to(to, "pippin_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n",
                     label(key.first), key.second, count);
    }
    const auto counter = [&](const char* name, uint64_t Tokens::*value, const char* help) {
      describe(out, name, "counter", help);
      for (const auto& [model, tokens] : tokens_) {
        fmt::format_to(to, "pippin_{}{{model=\"{}\"}} {}\n", name, label(model), tokens.*value);
      }
    };
    counter("prompt_tokens_total", &Tokens::prompt, "Tokens of prompts");
    counter("cached_tokens_total", &Tokens::cached, "Tokens of prompts that were cached");
    counter("generated_tokens_total", &Tokens::generated, "Tokens that were generated");
    total_.write(out, "request_seconds", "From a request to the end of its answer");
    queue_.write(out, "queue_seconds", "From a request to the begin of its prompt");
    prompt_.write(out, "prompt_seconds", "Reading prompts");
    first_token_.write(out, "first_token_seconds", "From a request to its first token");
    decode_.write(out, "token_seconds", "Mean time between two tokens of a request");
  }
  describe(out, "connections", "gauge", "Open connections");
  fmt::format_to(to, "pippin_connections {}\n", connections);

  std::vector<std::pair<std::string, scheduling::SchedulerState>> states;
  for (const ModelStatus& status : models) {
    if (status.model == nullptr || status.shares_model) continue;
    states.emplace_back(label(status.name), status.model->scheduler->state());
  }
  const auto each = [&](const char* name, const char* kind, const char* help, auto value) {
    describe(out, name, kind, help);
    for (const auto& [model, state] : states) {
      fmt::format_to(to, "pippin_{}{{model=\"{}\"}} {}\n", name, model, value(state));
    }
  };
  using State = scheduling::SchedulerState;
  each("requests_waiting", "gauge", "Requests that wait", [](const State& s) { return s.waiting; });
  each("requests_reading", "gauge", "Requests whose prompt is being read",
       [](const State& s) { return s.reading; });
  each("requests_decoding", "gauge", "Requests that generate",
       [](const State& s) { return s.decoding; });
  each("cache_blocks_used", "gauge", "Blocks of cache memory in use",
       [](const State& s) { return s.blocks_used; });
  each("steps_total", "counter", "Steps of the scheduler", [](const State& s) { return s.steps; });
  each("preempted_total", "counter", "Requests that gave their memory back",
       [](const State& s) { return s.preempted; });
  each("spec_decode_num_draft_tokens_total", "counter", "Tokens that were guessed and computed",
       [](const State& s) { return s.drafted_tokens; });
  each("spec_decode_num_accepted_tokens_total", "counter", "... and were right",
       [](const State& s) { return s.accepted_tokens; });
  each("prompt_cache_hits_total", "counter", "Prompts of which some was cached",
       [](const State& s) { return s.cache.hits; });
  each("prompt_cache_misses_total", "counter", "Prompts of which nothing was cached",
       [](const State& s) { return s.cache.misses; });
  each("prompt_cache_looked_up_tokens_total", "counter", "Tokens of prompts that were looked up",
       [](const State& s) { return s.cache.looked_up_tokens; });
  each("prompt_cache_reused_tokens_total", "counter", "... and found",
       [](const State& s) { return s.cache.reused_tokens; });
  each("prompt_cache_ram_bytes", "gauge", "Memory of the prompt cache",
       [](const State& s) { return s.cache.ram_bytes; });
  each("prompt_cache_disk_bytes", "gauge", "Files of the prompt cache",
       [](const State& s) { return s.cache.disk_bytes; });
  each("prompt_cache_entries", "gauge", "Stretches of tokens in the prompt cache",
       [](const State& s) { return s.cache.entries; });
  each("prompt_cache_evicted_total", "counter", "Entries that left its memory",
       [](const State& s) { return s.cache.evicted; });
  each("prompt_tokens_per_second", "gauge", "Speed of reading prompts",
       [](const State& s) { return s.prompt_tokens_per_second; });
  return out;
}

}  // namespace pippin::server
