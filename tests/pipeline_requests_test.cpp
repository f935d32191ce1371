// Requests on several ranks, which are threads: as many steps as ranks are in flight, and texts
// have the bits of one process, whatever comes and goes, is cancelled or fails.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/batch.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/steps_in_flight.h"
#include "pippin/scheduling/block_pool.h"
#include "pippin/scheduling/requests_testing.h"
#include "pippin/scheduling/scheduler.h"
#include "tests/on_ranks.h"
#include "tests/run_adapters_testing.h"
#include "tests/watched_ranks.h"

namespace pippin {
namespace {

using on_ranks::Course;
using pipeline::Command;
using runtime::Batch;
using runtime::StopReason;
using scheduling::ask;
using scheduling::Asked;
using scheduling::Ids;
using scheduling::kPlenty;
using scheduling::Request;
using scheduling::Scheduler;
using scheduling::SchedulerOptions;

runtime::RunnableModel open_demo(const runtime::LoadOptions& options) {
  return runtime::make_runnable(models::build(source_dir() / "pippin/demo/model", {.context = 256}),
                                options);
}

constexpr int kRequests = 9;

// Prompts of 1 to 120 tokens, some of which begin alike.
Request story(int i) {
  Request request;
  std::string text = i % 3 == 0 ? "Once upon a time" : i % 3 == 1 ? "The fox" : "One day";
  for (int k = 0; k < i * i; ++k) text += " there was a dog";
  request.prompt = scheduling::tokenizer().encode(text);
  request.prompt.resize(std::min<size_t>(request.prompt.size(), 120));
  request.options.sampling.temperature = i % 4 == 0 ? 0 : 0.9;
  request.options.sampling.seed = static_cast<uint64_t>(i);
  request.options.max_tokens = 10 + 7 * (i % 4) + i;
  request.options.logprobs = 0;
  request.in_background = i == 4 || i == 7;
  return request;
}

struct Text {
  Ids ids;
  std::vector<double> logprobs;
};

// Sizes of prompts' pieces depend on time, and change the last bits of logits.
void expect_same(const Text& have, const Text& want, const std::string& where) {
  ASSERT_EQ(have.ids, want.ids) << where;
  ASSERT_EQ(have.logprobs.size(), want.logprobs.size()) << where;
  for (size_t i = 0; i < want.logprobs.size(); ++i) {
    EXPECT_NEAR(have.logprobs[i], want.logprobs[i], 1e-2) << where;
  }
}

Text text_of(const Asked& asked) {
  EXPECT_EQ(asked.heard->error(), "");
  return {asked.heard->ids, asked.heard->logprobs};
}

// Of one process, one after another.
const std::vector<Text>& expected() {
  static const std::vector<Text> texts = [] {
    std::vector<Text> all;
    const auto model = open_demo(on_ranks::one_thread());
    for (int i = 0; i < kRequests; ++i) {
      Scheduler scheduler(model.model, scheduling::tokenizer(), {.cache_ram = 0});
      all.push_back(text_of(ask(scheduler, story(i))));
    }
    return all;
  }();
  return texts;
}

// Prompts that are read in one piece, and not twice: logits have the same bits.
Request short_story(int i) {
  Request request = story(i);
  request.prompt.resize(std::min<size_t>(request.prompt.size(), 20));
  request.in_background = false;
  return request;
}

TEST(PipelineRequests, HaveTheBitsOfOneProcess) {
  const SchedulerOptions options{.step_seconds = 100, .cache_ram = 0};
  std::vector<Text> want;
  const auto here = open_demo(on_ranks::one_thread());
  for (int i = 0; i < kRequests; ++i) {
    Scheduler scheduler(here.model, scheduling::tokenizer(), options);
    want.push_back(text_of(ask(scheduler, short_story(i))));
  }
  for (int ranks = 1; ranks <= 4; ++ranks) {
    on_ranks::run(ranks, open_demo, [&](runtime::Model& model, pipeline::Pipeline&) {
      EXPECT_EQ(runtime::most_in_flight(model), ranks);
      for (int lanes = 1; lanes <= kRequests; ++lanes) {
        SchedulerOptions own = options;
        own.max_running = lanes;
        Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), own);
        std::vector<Asked> asked;
        for (int i = 0; i < kRequests; ++i) asked.push_back(ask(scheduler, short_story(i)));
        for (size_t i = 0; i < asked.size(); ++i) {
          const Text have = text_of(asked[i]);
          EXPECT_EQ(have.ids, want[i].ids) << ranks << ", " << lanes << ", " << i;
          EXPECT_EQ(have.logprobs, want[i].logprobs) << ranks << ", " << lanes << ", " << i;
        }
      }
    });
  }
}

// With pieces of prompts between steps, the prompt cache, too little memory for all, and requests
// in the background.
TEST(PipelineRequests, HaveTheTextsOfOneProcess) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    on_ranks::run(ranks, open_demo, [&](runtime::Model& model, pipeline::Pipeline&) {
      for (int lanes = 2; lanes <= kRequests; ++lanes) {
        SchedulerOptions options;
        options.max_running = lanes;
        options.cache_ram = lanes % 2 == 0 ? kPlenty : 0;
        if (lanes % 3 == 0) options.step_seconds = 1e-9;  // the smallest pieces of prompts
        if (lanes % 4 == 1) options.cache_tokens = 5 * scheduling::kBlockTokens;
        Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), options);
        std::vector<Asked> asked;
        for (int i = 0; i < kRequests; ++i) {
          if (i == kRequests / 2) asked.front().heard->wait_for_tokens(3);
          asked.push_back(ask(scheduler, story(i)));
        }
        for (size_t i = 0; i < asked.size(); ++i) {
          expect_same(text_of(asked[i]), expected()[i],
                      fmt::format("{} ranks, {} lanes, request {}", ranks, lanes, i));
        }
      }
    });
  }
}

// Asks for `count` texts, calls `act` once when all are written, and waits for the ends.
std::vector<Asked> ask_and_act(Scheduler& scheduler, int count, const std::function<void()>& act) {
  std::vector<Asked> all(static_cast<size_t>(count));
  const auto tokens = std::make_shared<std::vector<int>>(all.size(), 0);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].heard->look = [tokens, act, i](const scheduling::Token&) {  // on one thread
      constexpr int kAll = 4;
      const bool was_ready = *std::min_element(tokens->begin(), tokens->end()) >= kAll;
      ++(*tokens)[i];
      if (!was_ready && *std::min_element(tokens->begin(), tokens->end()) >= kAll) act();
      return true;
    };
    Request request = story(static_cast<int>(i));
    request.in_background = false;
    request.options.max_tokens = 60;
    all[i].job = scheduler.submit(std::move(request), all[i].heard);
  }
  for (const Asked& one : all) one.heard->wait();
  return all;
}

// Rank 1 takes each of 40 steps only when all other groups' steps have begun.
TEST(PipelineRequests, AsManyStepsAsRanksAreInFlight) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    for (const int lanes : {ranks, ranks + 1, 2 * ranks + 1}) {
      const auto course = std::make_shared<Course>();
      on_ranks::run(
          ranks, open_demo,
          [&](runtime::Model& model, pipeline::Pipeline&) {
            Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(),
                                {.cache_ram = 0});
            ask_and_act(scheduler, lanes, [&] { course->hold_back(40, ranks); });
          },
          on_ranks::watched(course));
      EXPECT_FALSE(course->has_waited_in_vain()) << ranks << " ranks, " << lanes << " lanes";
    }
  }
}

TEST(PipelineBatches, HoldTheirSequencesInFlight) {
  const auto course = std::make_shared<Course>();
  int64_t most = 0;
  on_ranks::run(
      2, open_demo,
      [&](runtime::Model& model, pipeline::Pipeline&) {
        const auto one = model.new_sequence(), other = model.new_sequence();
        one->prefill(Ids{1, 2});
        other->prefill(Ids{3});
        Batch first(model.shared_from_this()), second(model.shared_from_this());
        const int64_t before = course->sent();
        first.add(*one, 5);
        first.start();
        second.add(*other, 6);
        EXPECT_ERROR(one->decode(7), ErrorCode::InvalidArgument, "the sequence is in use");
        second.start();
        most = course->sent() - before;
        EXPECT_EQ(one->position(), 2);
        first.finish();
        second.finish();
        EXPECT_EQ(one->position(), 3);
      },
      on_ranks::watched(course));
  EXPECT_EQ(most, 2);
}

// The last rank answers for a step before it begins the next one.
TEST(PipelineRequests, OutputsAreAskedForWithTheRun) {
  const auto course = std::make_shared<Course>();
  size_t begin = 0;
  on_ranks::run(
      2, open_demo,
      [&](runtime::Model& model, pipeline::Pipeline&) {
        Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {.cache_ram = 0});
        ask_and_act(scheduler, 4, [&] { begin = course->commands().size(); });
      },
      on_ranks::watched(course));
  const auto commands = course->commands();
  size_t steps = 0;
  for (size_t i = begin; i + 2 < commands.size() && steps < 40; ++i) {
    if (commands[i] != Command::Run) continue;
    EXPECT_EQ(commands[i + 1], Command::Fetch) << steps;
    EXPECT_EQ(commands[i + 2], Command::Fetch) << steps;
    ++steps;
  }
  EXPECT_EQ(steps, 40U);
}

// A step without values of a rank is computed again, a sequence at a time.
TEST(PipelineRequests, AFailedStepChangesNoText) {
  for (const int ranks : {2, 3}) {
    const auto course = std::make_shared<Course>();
    on_ranks::run(
        ranks, open_demo,
        [&](runtime::Model& model, pipeline::Pipeline&) {
          Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {.cache_ram = 0});
          const auto want = ask_and_act(scheduler, 5, [] {});
          const auto have = ask_and_act(scheduler, 5, [&] { course->fail_later(0); });
          for (size_t i = 0; i < want.size(); ++i)
            expect_same(text_of(have[i]), text_of(want[i]), fmt::format("request {}", i));
        },
        on_ranks::watched(course));
  }
}

// If the sequence fails again, its request does, and no other.
TEST(PipelineRequests, AFailureEndsOneRequest) {
  const auto course = std::make_shared<Course>();
  on_ranks::run(
      2, open_demo,
      [&](runtime::Model& model, pipeline::Pipeline&) {
        Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {.cache_ram = 0});
        const auto want = ask_and_act(scheduler, 4, [] {});
        const auto have = ask_and_act(scheduler, 4, [&] {
          course->fail_later(0);  // of a group; then the other group's step; then alone
          course->fail_later(2);
        });
        int failed = 0;
        for (size_t i = 0; i < want.size(); ++i) {
          if (have[i].heard->wait().error != nullptr) {
            EXPECT_EQ(have[i].heard->error(), Course::kFault);
            ++failed;
          } else {
            expect_same(text_of(have[i]), text_of(want[i]), fmt::format("request {}", i));
          }
        }
        EXPECT_EQ(failed, 1);
      },
      on_ranks::watched(course));
}

TEST(PipelineRequests, AreCancelledAndStoppedInFlight) {
  on_ranks::run(3, open_demo, [&](runtime::Model& model, pipeline::Pipeline&) {
    Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {.cache_ram = kPlenty});
    for (int round = 0; round < 5; ++round) {
      std::vector<Asked> all(6);
      for (size_t i = 0; i < all.size(); ++i) {
        all[i].heard->look = [&, i](const scheduling::Token&) {
          const size_t count = all[i].heard->ids.size();
          if (i == 0 && count == 3) all[1].job->cancel();
          return i != 2 || count < 4;
        };
      }
      for (size_t i = all.size(); i-- > 0;) {  // the first one last: it knows the second one's job
        all[i].job = scheduler.submit(story(static_cast<int>(i)), all[i].heard);
        if (i == 1) all[1].heard->wait_for_tokens(1);
      }
      all[0].heard->wait_for_tokens(5);
      all[0].job->cancel();
      EXPECT_EQ(all[2].heard->wait().reason, StopReason::Callback);
      EXPECT_EQ(all[2].heard->ids.size(), 4U);
      for (const size_t i : {0U, 1U, 2U}) {
        all[i].heard->wait();
        const Ids& have = all[i].heard->ids;
        const Ids& want = expected()[i].ids;
        ASSERT_LE(have.size(), want.size());
        EXPECT_TRUE(std::equal(have.begin(), have.end(), want.begin())) << i;
      }
      for (const size_t i : {3U, 4U, 5U}) {
        expect_same(text_of(all[i]), expected()[i], fmt::format("request {}", i));
      }
    }
  });
}

// The end of a scheduler with steps in flight ends all requests; the model goes on.
TEST(PipelineRequests, EndInFlight) {
  on_ranks::run(2, open_demo, [&](runtime::Model& model, pipeline::Pipeline&) {
    for (int round = 0; round < 3; ++round) {
      std::vector<Asked> all;
      {
        Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {});
        for (int i = 0; i < 4; ++i) all.push_back(ask(scheduler, story(3)));
        all.back().heard->wait_for_tokens(2);
      }
      for (const Asked& one : all) EXPECT_EQ(one.heard->error(), "");
    }
    Scheduler scheduler(model.shared_from_this(), scheduling::tokenizer(), {});
    expect_same(text_of(ask(scheduler, story(5))), expected()[5], "after the ends");
  });
}

// A fork of a sequence with a failure that was not read yet fails as well.
TEST(PipelineBatches, ForksKeepAFailure) {
  const auto course = std::make_shared<Course>();
  on_ranks::run(
      2, open_demo,
      [&](runtime::Model& model, pipeline::Pipeline&) {
        const auto sequence = model.new_sequence();
        Batch batch(model.shared_from_this());
        batch.add(*sequence, Ids{1, 2, 3}, runtime::Rows::None);
        course->fail_later(0);
        batch.run();
        const auto fork = sequence->fork();
        EXPECT_ERROR(fork->decode(5), ErrorCode::Internal, Course::kFault);
        EXPECT_ERROR(sequence->decode(5), ErrorCode::Internal, Course::kFault);
      },
      on_ranks::watched(course));
}

// Batches: with more started than ranks, cleared in flight, and moved.
TEST(PipelineBatches, AreStartedInAnyNumber) {
  constexpr size_t kSequences = 5;
  const auto rows = [&](runtime::Model& model, bool in_flight) {
    std::vector<std::vector<float>> all;
    std::vector<std::unique_ptr<runtime::Sequence>> sequences;
    for (size_t i = 0; i < kSequences; ++i) {
      sequences.push_back(model.new_sequence());
      sequences.back()->prefill(Ids(1 + i, static_cast<int32_t>(i + 3)));
    }
    for (int32_t id = 0; id < 4; ++id) {
      std::vector<Batch> batches;
      for (size_t i = 0; i < kSequences; ++i) {
        Batch batch(model.shared_from_this());
        batch.add(*sequences[i], id + 2);
        if (in_flight) {
          batch.start();
        } else {
          batch.run();
        }
        batches.push_back(std::move(batch));
      }
      for (size_t i = kSequences; i-- > 0;) {
        batches[i].finish();
        batches[i].finish();  // nothing is left to do
        const auto row = batches[i].logits(0);
        all.emplace_back(row.begin(), row.end());
      }
      const auto dropped = std::make_unique<Batch>(model.shared_from_this());
      for (const auto& sequence : sequences) dropped->add(*sequence, id);
      in_flight ? dropped->start() : dropped->run();
      dropped->clear();
      EXPECT_ERROR(dropped->add(*sequences[0], -1), ErrorCode::InvalidArgument, "token id -1");
    }
    return all;
  };
  const auto want = rows(*open_demo(on_ranks::one_thread()).model, false);
  EXPECT_EQ(rows(*open_demo(on_ranks::one_thread()).model, true), want);
  for (const int ranks : {2, 3}) {
    on_ranks::run(ranks, open_demo, [&](runtime::Model& model, pipeline::Pipeline&) {
      EXPECT_EQ(rows(model, true), want) << ranks;
      EXPECT_EQ(rows(model, false), want) << ranks;
    });
  }
}

// Each sequence keeps its own adapters.
TEST(PipelineBatches, KeepAdapters) {
  adapters::Fixture fixture(adapters::kLlama, false);
  adapters::change_all(fixture, 3, 2.0);
  fixture.write(R"(, "r": 3, "lora_alpha": 6)");
  on_ranks::Setting setting;
  setting.load.run_adapters = {{"style", fixture.adapter(), 1, false}};
  const on_ranks::Open open = [&](const runtime::LoadOptions& options) {
    return runtime::make_runnable(
        adapters::build(fixture.base(), setting.load.run_adapters, options.compute.precision),
        options);
  };
  const auto rows = [&](runtime::Model& model) {
    std::vector<std::unique_ptr<runtime::Sequence>> sequences;
    for (const float scale : {0.0F, 1.0F, -0.5F, 0.25F}) {
      sequences.push_back(model.new_sequence());
      sequences.back()->set_adapters({&scale, 1});
      sequences.back()->prefill(adapters::kIds);
    }
    std::vector<std::vector<float>> all;
    for (int32_t id = 0; id < 4; ++id) {
      Batch first(model.shared_from_this()), second(model.shared_from_this());
      for (size_t i = 0; i < sequences.size(); ++i) {
        (i % 2 == 0 ? first : second).add(*sequences[i], id);
      }
      first.start();
      second.start();
      for (Batch* const batch : {&first, &second}) {
        batch->finish();
        for (size_t i = 0; i < 2; ++i) {
          const auto row = batch->logits(i);
          all.emplace_back(row.begin(), row.end());
        }
      }
    }
    return all;
  };
  const auto want = rows(*open(setting.load).model);
  EXPECT_NE(want[0], want[1]);
  on_ranks::run(
      2, open, [&](runtime::Model& model, pipeline::Pipeline&) { EXPECT_EQ(rows(model), want); },
      setting);
}

}  // namespace
}  // namespace pippin
