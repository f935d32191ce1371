#include "pippin/runtime/row_runs.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/runtime/row_ids.h"

namespace pippin::runtime {
namespace {

using SharedRows = std::shared_ptr<const EmbeddedRows>;

// Whether the tokens of a run have its ids, as far as they go.
bool has_ids(const RowRun& run, std::span<const int32_t> tokens, int64_t position) {
  const int64_t end = std::min(run.end(), position + std::ssize(tokens));
  for (int64_t i = std::max(run.begin, position); i < end; ++i) {
    if (tokens[static_cast<size_t>(i - position)] != row_id(run.digest, i - run.begin))
      return false;
  }
  return true;
}

bool has_rows(std::span<const int32_t> ids) {
  return std::any_of(ids.begin(), ids.end(), [](int32_t id) { return id < 0; });
}

[[noreturn]] void refuse(int64_t token, int32_t id) {
  fail(ErrorCode::InvalidArgument,
       "token {} has the id {} of a row of embeddings that was not provided", token, id);
}

// The numbers of frames, rows and columns of an image, at most those of its rows.
bool fits_grid(const EmbeddedRows& rows) {
  const auto& [frames, height, width] = rows.grid;
  if (rows.grid == std::array<int64_t, 3>{}) return true;
  if (frames < 1 || height < 1 || width < 1) return false;
  if (frames > rows.count || height > rows.count / frames) return false;
  if (width > rows.count / (frames * height) || frames * height * width != rows.count) return false;
  // Positions stay below the number of tokens.
  if (frames == 1) return true;
  return rows.frame_step >= 0 && rows.frame_step <= (rows.count - 1) / (frames - 1);
}

}  // namespace

void RowRuns::provide(const RowForm& form, SharedRows rows) {
  constexpr int64_t kMostRows = int64_t{1} << 24;
  const bool fits = rows->count > 0 && rows->count <= kMostRows && rows->width == form.width &&
                    std::ssize(rows->values) == rows->count * rows->width;
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "{} rows of {} numbers with {} values: the model takes rows of {} numbers", rows->count,
         rows->width, rows->values.size(), form.width);
  }
  if (form.has_coordinates && !fits_grid(*rows)) {
    fail(ErrorCode::InvalidArgument,
         "{} rows do not form a grid of {} x {} x {} with {} positions from frame to frame",
         rows->count, rows->grid[0], rows->grid[1], rows->grid[2], rows->frame_step);
  }
  row_id(rows->digest, 0);  // checks the digest
  provided_.push_back(std::move(rows));
}

// Takes the runs that begin among `ids` from those provided.
std::vector<RowRun> RowRuns::found(std::span<const int32_t> ids, int64_t position,
                                   std::vector<SharedRows>& provided) const {
  std::vector<RowRun> result;
  const int64_t end = position + std::ssize(ids);
  int64_t next = position;
  if (const RowRun* const last = around(position)) {
    if (!has_ids(*last, ids, position)) {
      fail(ErrorCode::InvalidArgument,
           "token {} has the id {}: {} more rows of the run that began at {} come first", position,
           ids.front(), last->end() - position, last->begin);
    }
    next = std::min(last->end(), end);
    if (last->rows == nullptr) {  // of a saved sequence
      const auto own = std::find_if(provided.begin(), provided.end(), [&](const SharedRows& rows) {
        return rows->digest == last->digest && rows->count == last->count;
      });
      if (own == provided.end()) refuse(position, ids.front());
      result.push_back(*last);
      result.back().rows = *own;
      provided.erase(own);
    }
  }
  while (next < end) {
    const int32_t id = ids[static_cast<size_t>(next - position)];
    if (id >= 0) {
      ++next;
      continue;
    }
    RowRun run;
    const auto own = std::find_if(provided.begin(), provided.end(), [&](const SharedRows& rows) {
      run = {next, rows->count, rows->digest, rows->grid, rows->frame_step, rows};
      return has_ids(run, ids, position);
    });
    if (own == provided.end()) refuse(next, id);
    provided.erase(own);
    next = std::min(run.end(), end);
    result.push_back(std::move(run));
  }
  return result;
}

void RowRuns::check(std::span<const int32_t> ids, int64_t position, RowForm::Sight sight) const {
  if (!has_rows(ids) && around(position) == nullptr) return;
  std::vector<SharedRows> provided = provided_;
  const std::vector<RowRun> added = found(ids, position, provided);
  if (sight == RowForm::Sight::Causal) return;
  const int64_t end = position + std::ssize(ids);
  if (around(position) != nullptr || (!added.empty() && added.back().end() > end)) {
    fail(ErrorCode::InvalidArgument,
         "a part of a run of rows: the model's rows see each other, so a run is fed at once");
  }
  if (sight == RowForm::Sight::Prompt && position > 0) {
    fail(ErrorCode::InvalidArgument,
         "rows after {} tokens: all tokens of the model's prompts see each other, so a prompt with "
         "rows is fed at once",
         position);
  }
}

void RowRuns::begin(std::span<const int32_t> ids, int64_t position) {
  if (!has_rows(ids)) return;
  for (RowRun& run : found(ids, position, provided_)) {
    if (!runs_.empty() && runs_.back().begin == run.begin) {
      runs_.back() = std::move(run);
    } else {
      runs_.push_back(std::move(run));
    }
  }
}

void RowRuns::keep(int64_t count) {
  while (!runs_.empty() && runs_.back().begin >= count) {
    if (runs_.back().rows != nullptr) provided_.push_back(std::move(runs_.back().rows));
    runs_.pop_back();
  }
}

void RowRuns::release(int64_t count) {
  for (RowRun& run : runs_) {
    if (run.end() <= count) run.rows.reset();
  }
}

void RowRuns::restore(std::vector<RowRun> runs, std::span<const int32_t> tokens) {
  const int64_t count = std::ssize(tokens);
  int64_t rows = 0, end = 0;
  for (const RowRun& run : runs) {
    const EmbeddedRows form{run.digest, run.count, 0, {}, run.grid, run.frame_step};
    const bool fits = run.begin >= end && run.begin < count && run.count > 0 &&
                      run.count <= INT32_MAX && fits_grid(form) && has_ids(run, tokens, 0);
    if (!fits) {
      fail(ErrorCode::InvalidArgument, "{} rows from token {} on do not belong to {} tokens",
           run.count, run.begin, count);
    }
    end = run.end();
    rows += std::min(end, count) - run.begin;
  }
  const auto negative =
      std::count_if(tokens.begin(), tokens.end(), [](int32_t token) { return token < 0; });
  if (rows != negative) {
    fail(ErrorCode::InvalidArgument, "{} tokens are rows, {} are in runs", negative, rows);
  }
  runs_ = std::move(runs);
}

const RowRun* RowRuns::at(int64_t token) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), token,
                       [](int64_t place, const RowRun& run) { return place < run.begin; });
  if (after == runs_.begin() || token >= std::prev(after)->end()) return nullptr;
  return &*std::prev(after);
}

const RowRun* RowRuns::around(int64_t count) const {
  const RowRun* const run = count > 0 ? at(count - 1) : nullptr;
  return run != nullptr && count < run->end() ? run : nullptr;
}

bool RowRuns::has_grid_before(int64_t count) const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [&](const RowRun& run) { return run.has_grid() && run.begin < count; });
}

// Text counts on from the largest coordinate before it; the rows of a picture begin there.
void RowRuns::coordinates(int64_t begin, int64_t count, std::vector<int32_t>& result) const {
  const auto size = static_cast<size_t>(count);
  result.assign(3 * size, 0);
  const auto put = [&](int64_t token, const std::array<int64_t, 3>& place) {
    for (size_t i = 0; i < 3; ++i) {
      result[i * size + static_cast<size_t>(token - begin)] = static_cast<int32_t>(place[i]);
    }
  };
  const int64_t end = begin + count;
  int64_t offset = 0, next = begin;  // of positions from tokens
  const auto text_until = [&](int64_t stop) {
    for (; next < std::min(stop, end); ++next) {
      const int64_t place = next + offset;
      put(next, {place, place, place});
    }
  };
  for (const RowRun& run : runs_) {
    if (!run.has_grid()) continue;
    if (run.begin >= end) break;
    text_until(run.begin);
    const int64_t first = run.begin + offset;
    const auto& [frames, height, width] = run.grid;
    for (; next >= run.begin && next < std::min(run.end(), end); ++next) {
      const int64_t i = next - run.begin;
      const int64_t frame = i / (height * width);
      put(next, {first + frame * run.frame_step, first + i / width % height, first + i % width});
    }
    offset += std::max({(frames - 1) * run.frame_step + 1, height, width}) - run.count;
  }
  text_until(end);
}

}  // namespace pippin::runtime
