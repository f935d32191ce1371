#include "pippin/compress/improve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pippin/base/threads/cancel.h"
#include "pippin/compress/fit_palettes.h"
#include "pippin/compress/levels.h"
#include "pippin/compress/rows_of_codes.h"

namespace pippin::compress {
namespace {

constexpr int64_t kTogether = 16;  // channels that share each read of H
constexpr int kSweeps = 4;         // of a round, at most

// The sums of all threads.
struct Errors {
  double squared = 0, output = 0;
};

class Improvement {
 public:
  Improvement(const MatrixView& view, const Encoding& encoding, mil::DataType type,
              const ErrorFeedback& feedback, ThreadPool& pool, Encoded& result)
      : of_{view, encoding, type, feedback, result}, pool_(pool) {}

  void run(int rounds) {
    const bool linear = of_.encoding.form == Encoding::Form::Linear;
    const bool palettes = !linear && of_.encoding.bits <= kMaxFittedBits;
    if (!palettes || rounds == 0) {
      errors_of_channels([&](RowsOfCodes& rows) {
        rows.compute_gradients();
        improve(rows, rounds, linear && of_.view.group() == 1);
      });
      return;
    }
    for (int round = 0; round < rounds; ++round) {
      fit_palettes(of_, pool_);
      const double before = of_.result.output_error;
      errors_of_channels([&](RowsOfCodes& rows) {
        rows.compute_gradients();
        sweeps(rows);
      });
      if (round > 0 && of_.result.output_error > 0.999 * before) return;
    }
  }

 private:
  // Calls `work` for all channels, and adds up their errors afterwards.
  template <typename Work>
  void errors_of_channels(Work&& work) {
    // By batch of channels: the sums do not depend on the number of threads.
    const int64_t channels = of_.view.channels(), batches = (channels + kTogether - 1) / kTogether;
    std::vector<Errors> errors(static_cast<size_t>(batches));
    pool_.run([&](int part, int parts) {
      RowsOfCodes rows(of_, kTogether);
      for (int64_t batch = part; batch < batches; batch += parts) {
        check_cancel();
        const int64_t first = batch * kTogether;
        rows.load(first, std::min(kTogether, channels - first));
        work(rows);
        errors[static_cast<size_t>(batch)] = {rows.squared_error(), rows.output_error()};
      }
    });
    of_.result.squared_error = 0;
    of_.result.output_error = 0;
    for (const Errors& one : errors) {
      of_.result.squared_error += one.squared;
      of_.result.output_error += one.output;
    }
  }

  static void improve(RowsOfCodes& rows, int rounds, bool fits_scales) {
    for (int round = 0; round < rounds; ++round) {
      const bool fitted = fits_scales && rows.fit_scales();
      if (!sweeps(rows) && !fitted) return;
    }
  }

  static bool sweeps(RowsOfCodes& rows) {
    bool changed = false;
    for (int sweep = 0; sweep < kSweeps && rows.descend(); ++sweep) changed = true;
    return changed;
  }

  CodedMatrix of_;
  ThreadPool& pool_;
};

}  // namespace

void improve_codes(const MatrixView& view, const Encoding& encoding, mil::DataType type,
                   const ErrorFeedback& feedback, int rounds, ThreadPool& pool, Encoded& result) {
  Improvement(view, encoding, type, feedback, pool, result).run(rounds);
}

}  // namespace pippin::compress
