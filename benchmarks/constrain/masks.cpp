// Measures the time to compile schemas and to compute masks, over schemas with sample values.
//
//   pippin-masks [--slow MICROSECONDS] TOKENIZER FILE.jsonl...
//
// A line of a file is {"schema": ..., "tests": [{"data": ..., "valid": true}, ...]}, as in the
// files of the JSON Schema test suite. Each valid value is fed token by token; the time of each
// token's mask counts, including everything computed for it. Uses one thread. --slow lists the
// masks that take longer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/constraint.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/tokenizer.h"

namespace {

using namespace pippin;
using namespace pippin::constrain;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Times {
  std::vector<double> compile, masks;
  size_t refused = 0;
  double slow = 1e18;
};

void report(const char* what, std::vector<double> times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double time : times) sum += time;
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-8s %7zu   mean %8.1f   p50 %8.1f   p99 %8.1f   max %8.1f us\n", what, times.size(),
              sum / static_cast<double>(times.size()), at(0.5), at(0.99), times.back());
}

void measure(const Json& group, const Tokenizer& tokenizer,
             const std::shared_ptr<const Vocabulary>& vocabulary, Times& times) {
  const auto start = Clock::now();
  std::shared_ptr<Constraint> constraint;
  try {
    auto grammar = std::make_shared<Grammar>();
    const RuleId root = grammar->add_rule("root");
    grammar->add_alternative(root, {add_schema(*grammar, group.at("schema"), {})});
    grammar->set_root(root);
    grammar->finish();
    constraint = std::make_shared<Constraint>(std::move(grammar), vocabulary);
  } catch (const Error&) {
    ++times.refused;
    return;
  }
  times.compile.push_back(microseconds_since(start));
  for (const Json& test : group.at("tests").elements()) {
    if (!test.get_bool("valid")) continue;
    ConstrainedText text(constraint);
    for (const int32_t id : tokenizer.encode(test.at("data").dump(), false)) {
      const auto before = Clock::now();
      const auto mask = text.mask();
      times.masks.push_back(microseconds_since(before));
      if (times.masks.back() > times.slow) {
        std::printf("%9.0f us: token %zu of %s, %s\n", times.masks.back(), text.size(),
                    test.at("data").dump().substr(0, 60).c_str(),
                    group.get_string_or("description", "").c_str());
      }
      if (!mask->allows(id) || !text.accept(id)) break;
    }
  }
}

int run(int count, char** arguments) {
  Times times;
  if (count > 3 && std::string(arguments[1]) == "--slow") {
    times.slow = std::stod(arguments[2]);
    arguments += 2;
    count -= 2;
  }
  if (count < 3) {
    std::fputs("usage: pippin-masks [--slow MICROSECONDS] TOKENIZER FILE.jsonl...\n", stderr);
    return 2;
  }
  const Tokenizer tokenizer = Tokenizer::open(arguments[1]);
  const auto start = Clock::now();
  const auto vocabulary = Vocabulary::of(tokenizer);
  std::printf("vocabulary of %zu tokens: %.0f ms\n", vocabulary->size(),
              microseconds_since(start) / 1000);
  for (int i = 2; i < count; ++i) {
    std::ifstream lines(arguments[i]);
    for (std::string line; std::getline(lines, line);) {
      measure(Json::parse(line, arguments[i], {.max_depth = 1000}), tokenizer, vocabulary, times);
    }
  }
  report("compile", times.compile);
  report("masks", times.masks);
  std::printf("refused  %7zu\n", times.refused);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pippin-masks: %s\n", error.what());
    return 1;
  }
}
