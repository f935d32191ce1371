// The rows of embeddings of a sequence: those provided and not yet fed, and the runs among its
// tokens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::runtime {

// The rows that a model takes in place of tokens.
struct RowForm {
  // The numbers per row.
  int64_t width = 0;
  // Whether positions have three coordinates, which a grid gives to rows.
  bool has_coordinates = false;
  // Which tokens rows see: those before them; also the others of their run; all of the prompt, as
  // all tokens of a prompt with rows do. In the last two cases a run is fed whole, in the last one
  // the prompt.
  enum class Sight : uint8_t { Causal, Runs, Prompt };
  Sight sight = Sight::Causal;  // of this model
  // The id that processors write into a prompt for each row of a picture; -1: none is known.
  int32_t placeholder = -1;
};

// Rows that stand next to each other in a sequence.
struct RowRun {
  int64_t begin = 0, count = 0;              // tokens; fewer of them may have been fed
  std::string digest;                        // that of EmbeddedRows
  std::array<int64_t, 3> grid{};             // likewise
  int64_t frame_step = 1;                    // likewise
  std::shared_ptr<const EmbeddedRows> rows;  // null once all of them were fed

  // The token after the last one.
  int64_t end() const { return begin + count; }
  // Whether the positions have three coordinates.
  bool has_grid() const { return grid[0] > 0; }
};

// The runs of a sequence. Not thread-safe.
class PIPPIN_API RowRuns {
 public:
  // Adds rows for the next tokens with their ids. Throws InvalidArgument if they do not fit.
  void provide(const RowForm& form, std::shared_ptr<const EmbeddedRows> rows);
  // Forgets rows that no fed token belongs to.
  void withdraw() { provided_.clear(); }

  // Throws InvalidArgument if `ids`, the tokens after `position` others, have ids of rows that were
  // not provided, do not go on with a run that the others end with, or have only a part of a run
  // although rows with that sight are fed at once.
  void check(std::span<const int32_t> ids, int64_t position, RowForm::Sight sight) const;
  // Adds the runs of such tokens.
  void begin(std::span<const int32_t> ids, int64_t position);
  // Drops runs that begin after the first `count` tokens; rows not yet fed are provided again.
  void keep(int64_t count);
  // Releases rows whose tokens were all fed, `count` tokens in total.
  void release(int64_t count);
  // Takes the runs of a saved sequence with these tokens. Throws InvalidArgument if they differ.
  void restore(std::vector<RowRun> runs, std::span<const int32_t> tokens);

  // The runs, in the order of the tokens.
  const std::vector<RowRun>& runs() const { return runs_; }
  // Whether the tokens are all ids.
  bool is_empty() const { return runs_.empty(); }
  // The run with that token; null if it is not a row.
  const RowRun* at(int64_t token) const;
  // The run with the tokens before and after the first `count`; null if they end between runs.
  const RowRun* around(int64_t count) const;
  // Whether the positions of the first `count` tokens have several coordinates.
  bool has_grid_before(int64_t count) const;
  // The coordinates of tokens [begin, begin + count): frames, rows and columns, `count` of each.
  void coordinates(int64_t begin, int64_t count, std::vector<int32_t>& result) const;

 private:
  std::vector<RowRun> found(std::span<const int32_t> ids, int64_t position,
                            std::vector<std::shared_ptr<const EmbeddedRows>>& provided) const;

  std::vector<std::shared_ptr<const EmbeddedRows>> provided_;
  std::vector<RowRun> runs_;  // in the order of the tokens
};

}  // namespace pippin::runtime
