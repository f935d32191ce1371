// The drafts of one text: chooses the tokens to feed after its last one, and records the outcome.
//
//   drafting.observe(prompt);
//   ... for each pass:
//   const auto drafts = drafting.propose(most);   // often none
//   feed the last token and the drafts; choose row by row, until a token is not the draft
//   drafting.took(chosen, seconds);
//
// Proposes as many drafts as pay: the expected number of correct ones (by the measured rates of the
// sources' levels) over the measured time of a pass of that many rows. The drafts of free sources
// are measured even if they are not fed, so it needs no trial to notice that they pay again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/runtime/draft/drafter.h"
#include "pippin/runtime/draft/row_cost.h"

namespace pippin::runtime {

// Used by one thread. All texts of a model share `cost`.
class Drafting {
 public:
  // If several sources have a draft, the first in the list is preferred.
  struct Limits {
    int64_t most = 15;
    int64_t vocab_size = INT32_MAX;  // drafts with other ids are dropped
    bool always = false;             // all drafts, whether they pay or not
    // After a wrong draft, the tokens before it are fed again, at once or with the next ones.
    bool feeds_again = false, feeds_late = false;
  };
  Drafting(std::vector<std::unique_ptr<Drafter>> sources, std::shared_ptr<RowCost> cost,
           const Limits& limits);

  void observe(std::span<const int32_t> ids);
  // The sequence of the text, before propose(). It may change from pass to pass.
  void attach(Sequence& sequence);
  // Returns at most `most` drafts, valid until the next call.
  std::span<const int32_t> propose(int64_t most);
  // Records the tokens chosen in the pass (with or without drafts): the accepted drafts, and the
  // token after them if there is one. `seconds` is the time of the pass if it had only this text,
  // else 0.
  void took(std::span<const int32_t> chosen, double seconds);

  int64_t num_drafted() const { return num_drafted_; }
  int64_t num_accepted() const { return num_accepted_; }

 private:
  struct Rate {
    double accepted = 0, seen = 0;
  };
  struct Source {
    std::unique_ptr<Drafter> drafter;
    std::array<Rate, kDraftLevels> rates;
    std::vector<Draft> drafts;  // of the current pass
    AskingCost asking;          // if the source is not free
    int64_t passes_until_probe = 0;
  };
  struct Plan {
    double gain = 1;  // tokens in the time of a pass of one row
    size_t count = 0;
  };

  double rate(const Source& source, int level) const;
  // The time of a pass with drafts relative to one without, including that of the rows that are fed
  // again if one of them is wrong: all are right with probability `hope`, and `tokens` are
  // expected.
  double cost_of(int64_t drafts, double hope, double tokens) const;
  Plan plan(const Source& source) const;
  std::optional<Draft> next(Source& source) const;
  Plan ask(Source& source, int64_t most);
  Plan ask_costly(Source& source, int64_t most, double least);
  void count(Source& source, std::span<const int32_t> chosen) const;

  std::vector<Source> sources_;
  const std::shared_ptr<RowCost> cost_;
  const Limits limits_;
  std::vector<int32_t> fed_;
  int64_t unfed_ = 0;  // tokens that the pass feeds again
  int64_t num_drafted_ = 0, num_accepted_ = 0;
};

}  // namespace pippin::runtime
