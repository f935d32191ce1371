#include "pippin/runtime/draft/drafts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/runtime/draft/draft_model.h"
#include "pippin/runtime/draft/drafting.h"
#include "pippin/runtime/draft/lookup.h"
#include "pippin/runtime/draft/prediction_drafter.h"

namespace pippin::runtime {

Drafts::Drafts(const DraftOptions& options)
    : options_(options),
      cost_(std::make_shared<RowCost>()),
      pool_(options.pool_bytes > 0 ? std::make_shared<LookupPool>(options.pool_bytes) : nullptr) {}

Drafts::~Drafts() = default;

std::unique_ptr<Drafting> Drafts::begin(const Model& model, const GenerateOptions& options) {
  std::vector<std::unique_ptr<Drafter>> sources;
  if (options_.source) sources.push_back(options_.source());
  if (options_.lookup) {
    sources.push_back(std::make_unique<LookupDrafter>(options.predicted, pool_));
  }
  if (options_.model != nullptr) sources.push_back(std::make_unique<ModelDrafter>(options_.model));
  if (options_.prediction && model.capabilities().predicts) {
    sources.push_back(std::make_unique<PredictionDrafter>());
  }
  Drafting::Limits limits{options_.most, model.vocab_size(), options_.always};
  if (options.max_drafts >= 0) limits.most = std::min(limits.most, options.max_drafts);
  limits.feeds_again = model.capabilities().checkpoint;
  limits.feeds_late = model.capabilities().feeds_late;
  return std::make_unique<Drafting>(std::move(sources), cost_, limits);
}

void Drafts::keep(std::span<const int32_t> text) {
  if (pool_ != nullptr) pool_->add(text);
}

std::unique_ptr<Drafting> begin_drafting(const Model& model, const GenerateOptions& options) {
  if (options.drafts == nullptr || options.max_drafts == 0) return nullptr;
  const Capabilities& can = model.capabilities();
  const bool goes_back = can.truncate || (can.checkpoint && can.equal_rows > 1);
  if (can.greedy_only || !can.every_row || !goes_back) {
    log_debug("no drafts: {}", can.greedy_only  ? "the model has no logits to compare them with"
                               : !can.every_row ? "a pass gives the logits of its last token alone"
                                                : "the model cannot drop tokens that were wrong");
    return nullptr;
  }
  return options.drafts->begin(model, options);
}

int64_t most_drafts(const Sequence& sequence, int64_t left) {
  const Model& model = sequence.model();
  const int64_t room = model.context() - sequence.position();
  const int64_t rows = model.capabilities().equal_rows;
  const int64_t dropped = model.capabilities().checkpoint ? rows : sequence.droppable();
  return std::min({room, left, rows - sequence.unfed(), dropped}) - 1;
}

bool prepare_to_drop(Sequence& sequence, int64_t count) try {
  if (sequence.droppable() < count) sequence.checkpoint();
  return true;
} catch (const Error& error) {
  if (error.code() != ErrorCode::LimitExceeded) throw;
  log_debug("no drafts: {}", error.what());
  return false;
}

void drop_behind(Sequence& sequence, int64_t count) {
  if (sequence.position() <= count) return;
  CallContext context = CallContext::current();
  context.cancel = nullptr;
  const ContextScope scope(context);
  sequence.truncate(count);
}

}  // namespace pippin::runtime
