// The division of attention among any number of threads.
#include <algorithm>
#include <map>

#include "pippin/base/threads/counted_parts_testing.h"
#include "pippin/base/unwritten.h"
#include "pippin/kernels/attention/attention_testing.h"

namespace pippin::kernels::testing_attention {
namespace {

TEST_P(Attention, BitsAreTheSameForAnyNumberOfThreads) {
  for (const Sizes& sizes : {Sizes{16, 8, 1, 1100, 32, 32}, Sizes{8, 2, 40, 700, 16, 16}}) {
    Problem problem(GetParam(), sizes, 5);
    problem.mask_causally(100);
    const std::vector<float> expected = problem.run(kernel());
    for (const int threads : {2, 3, 5, 8, 16, 31, 64}) {
      CountedParts parts;
      ThreadPool pool(threads, parts);
      EXPECT_TRUE(same_bits(problem.run(kernel(), problem.args(), pool), expected)) << threads;
      EXPECT_EQ(parts.runs, 1) << threads;
    }
  }
}

// With an even number of heads per thread, the last rows of a thread's last head have no work.
TEST_P(Attention, RowsThatSeeNothingAreWrittenByAnyNumberOfThreads) {
  Problem problem(GetParam(), {4, 4, 300, 400, 64, 64}, 9);
  problem.mask_causally();
  std::fill(problem.mask.begin() + 140 * 400, problem.mask.end(), -kInf);
  for (const int threads : {1, 2, 3, 4}) {
    const std::vector<float> out = problem.run(kernel(), threads);
    for (int64_t row = 0; row < 4 * 300; ++row) {
      const float value = out[at(row * 65)];
      EXPECT_EQ(std::isnan(value), row % 300 >= 140) << "row " << row << ", " << threads;
      EXPECT_NE(value, kUntouched) << "row " << row << ", " << threads;
    }
  }
}

// A kernel that only counts.
struct Tasks {
  CountedParts parts;
  std::vector<int64_t> chunks;                                 // by part
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> at;  // times by chunk, of [head, row]
  std::map<std::pair<int64_t, int64_t>, int> finished;
};
Tasks* tasks = nullptr;

void count_task(const AttentionArgs& args, const AttentionTask& task, float*) noexcept {
  auto& times = tasks->at[{task.head, task.row}];
  const auto all = mask_chunks(args.keys);
  times.resize(at(all));
  if (task.kind == AttentionTask::Kind::Combine) {
    ++tasks->finished[{task.head, task.row}];
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
    return;
  }
  const bool whole = task.kind == AttentionTask::Kind::Whole;
  if (whole) ++tasks->finished[{task.head, task.row}];
  const int64_t begin = whole ? 0 : task.chunk_begin, end = whole ? all : task.chunk_end;
  for (int64_t chunk = begin; chunk < end; ++chunk) ++times[at(chunk)];
  tasks->chunks[at(tasks->parts.part)] += end - begin;
}

TEST(SharedAttention, EveryChunkIsComputedOnceAndSharesAreEven) {
  const AttentionKernel kernel = {"counts", CacheType::F32, &CpuFeatures::avx2, count_task};
  for (const int64_t keys : {300, 2048, 5000}) {
    for (const int64_t kv_heads : {1, 3, 8}) {
      AttentionArgs args = {};
      args.heads = 2 * kv_heads, args.kv_heads = kv_heads, args.rows = 1, args.keys = keys;
      args.head_dim = args.value_dim = 128, args.v_dim_stride = 1;
      const int64_t floats = attention_scratch_floats(args), total = kv_heads * mask_chunks(keys);
      for (const int threads : {2, 3, 5, 8, 16, 24, 31, 48, 63, 64}) {
        SCOPED_TRACE(testing::Message() << keys << " keys, " << kv_heads << " heads, " << threads);
        Tasks counted;
        tasks = &counted;
        counted.chunks.resize(at(threads));
        ThreadPool pool(threads, counted.parts);
        const auto scratch = make_unwritten<float>(at(floats * threads));
        attention(pool, kernel, args, scratch.get(), floats);
        EXPECT_LE(counted.parts.runs, 1);
        EXPECT_EQ(static_cast<int64_t>(counted.finished.size()), kv_heads);
        for (const auto& [tile, times] : counted.at) {
          EXPECT_EQ(times, std::vector<int>(at(mask_chunks(keys)), 1));
          EXPECT_EQ(counted.finished[tile], 1);
        }
        if (counted.parts.runs == 0) continue;  // too little to share
        EXPECT_LE(*std::max_element(counted.chunks.begin(), counted.chunks.end()),
                  (total + threads - 1) / threads);
      }
    }
  }
}

}  // namespace
}  // namespace pippin::kernels::testing_attention
