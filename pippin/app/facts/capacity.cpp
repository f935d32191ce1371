#include "pippin/app/facts/capacity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/text.h"

namespace pippin::app {
namespace {

constexpr double kHours = 3600;
constexpr int64_t kPiece = 64;  // tokens of a prompt that pass through a pipeline together

double sum_of(const ModelShape& model, double (*of)(const PlannedPart&)) {
  double sum = 0;
  for (const PlannedPart& part : model.parts) sum += of(part);
  return sum;
}

double read_bytes(const PlannedPart& part) {
  return static_cast<double>(part.read_bytes);
}
double operations(const PlannedPart& part) {
  return part.operations;
}
double products(const PlannedPart& part) {
  return part.products;
}
double cache_bytes(const PlannedPart& part) {
  return static_cast<double>(part.cache_bytes);
}

uint64_t cache_of(const PlannedPart& part, const Load& load) {
  const auto tokens =
      checked_mul(static_cast<uint64_t>(load.context), static_cast<uint64_t>(load.streams));
  const auto bytes = tokens ? checked_mul(part.cache_bytes, *tokens) : std::nullopt;
  if (!bytes || *bytes > uint64_t{1} << 50) {
    fail(ErrorCode::LimitExceeded, "the caches of {} streams of {} tokens exceed 1 PB",
         load.streams, load.context);
  }
  return *bytes;
}

// Parts that follow each other, each stage with about the same number of stored bytes, which its
// `width` machines share.
std::vector<MachineShare> split(const ModelShape& model, int64_t count, int64_t width,
                                const Load& load) {
  double total = 0;
  for (const PlannedPart& part : model.parts) total += static_cast<double>(part.stored_bytes);
  std::vector<MachineShare> shares(static_cast<size_t>(count));
  size_t next = 0;
  double before = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    MachineShare& share = shares[i];
    share.first_part = next;
    const double wanted = total * static_cast<double>(i + 1) / static_cast<double>(count);
    const size_t left = shares.size() - i - 1;  // machines that need a part as well
    while (next < model.parts.size() - left) {
      const auto bytes = static_cast<double>(model.parts[next].stored_bytes);
      const bool is_first = next == share.first_part;
      if (!is_first && before + bytes / 2 > wanted) break;
      before += bytes;
      share.weight_bytes += model.parts[next].stored_bytes;
      share.cache_bytes += cache_of(model.parts[next], load);
      ++next;
    }
    share.end_part = next;
    share.weight_bytes = ceil_div(share.weight_bytes, static_cast<uint64_t>(width));
  }
  return shares;
}

// The parts of a machine, as a model.
ModelShape model_of(const ModelShape& model, const MachineShare& share) {
  ModelShape part = model;
  part.parts.assign(model.parts.begin() + static_cast<std::ptrdiff_t>(share.first_part),
                    model.parts.begin() + static_cast<std::ptrdiff_t>(share.end_part));
  if (share.end_part < model.parts.size()) part.logit_operations = 0;
  return part;
}

bool fits(const std::vector<MachineShare>& shares, uint64_t memory) {
  return std::all_of(shares.begin(), shares.end(), [&](const MachineShare& share) {
    return share.weight_bytes + share.cache_bytes <= memory;
  });
}

}  // namespace

double step_seconds(const ModelShape& model, const MachineSpeed& speed, const Machines& machines,
                    int64_t sequences, int64_t tokens_in_cache) {
  const auto count = static_cast<double>(sequences);
  const auto width = static_cast<double>(machines.tensor_parallel);
  const double rate = speed.read_rate(machines.bandwidth);
  // Heads are divided for a sequence alone.
  const double cached = sum_of(model, cache_bytes) * static_cast<double>(tokens_in_cache) /
                        (sequences == 1 ? width : 1);
  const double work = (sum_of(model, operations) + model.logit_operations) / width;
  return (sum_of(model, read_bytes) / width + count * cached) / rate +
         (count - 1) * work * speed.seconds_per_operation(count);
}

CapacityPlan plan_capacity(const ModelShape& model, const MachineSpeed& speed,
                           const Machines& machines, const Load& load) {
  CapacityPlan plan;
  const auto most = static_cast<int64_t>(model.parts.size());
  const int64_t width = machines.tensor_parallel;
  const auto describe = [&](int64_t count) { return split(model, count, width, load); };
  int64_t needed = 1;
  while (needed <= most && !fits(describe(needed), machines.memory_bytes)) ++needed;
  if (needed > most) {
    uint64_t largest = 0;
    for (const MachineShare& share : describe(most)) {
      largest = std::max(largest, share.weight_bytes + share.cache_bytes);
    }
    fail(ErrorCode::LimitExceeded,
         "the model's {} parts cannot be split further: one needs {} for weights and the caches of "
         "{} "
         "streams of {} tokens, a machine has {}",
         most, format_bytes(largest), load.streams, load.context,
         format_bytes(machines.memory_bytes));
  }
  if (needed * width > machines.count) {
    fail(ErrorCode::LimitExceeded,
         "{} machines of {} do not hold the weights and the caches of {} streams of {} tokens; {} "
         "do",
         machines.count, format_bytes(machines.memory_bytes), load.streams, load.context,
         needed * width);
  }
  plan.machines_per_copy = needed * width;
  plan.copies = machines.count / plan.machines_per_copy;
  plan.shares = describe(needed);

  const auto hops = static_cast<double>(needed - 1);
  const auto sent = [&](double rows) {  // seconds to the next machine
    return machines.network_latency + rows * static_cast<double>(model.width) * sizeof(float) /
                                          machines.network_bytes_per_second;
  };
  // Rank 0 asks for the logits when it starts the step.
  const auto returned = [&](double rows) {
    return machines.network_latency + rows * static_cast<double>(model.vocabulary) * sizeof(float) /
                                          machines.network_bytes_per_second;
  };
  // The results of one machine, sent to each other one of its group.
  const auto exchanged_bytes = [&](const ModelShape& part) {
    const auto logits = part.logit_operations > 0 ? static_cast<double>(part.vocabulary) : 0;
    const auto attended = static_cast<double>(part.parts.size()) * static_cast<double>(part.width);
    return (sum_of(part, products) + attended + logits) * sizeof(float) *
           static_cast<double>(width - 1) / static_cast<double>(width);
  };
  const auto exchanges = [&](const ModelShape& part) {
    return kExchanges * static_cast<double>(part.parts.size()) +
           (part.logit_operations > 0 ? 1 : 0);
  };
  const auto exchange = [&](const ModelShape& part, double rows) {
    return width == 1 ? 0
                      : exchanges(part) * machines.network_latency +
                            rows * exchanged_bytes(part) / machines.network_bytes_per_second;
  };
  const auto network = [&](double rows) {
    return (needed == 1 ? 0 : hops * sent(rows) + returned(rows)) + exchange(model, rows);
  };
  const int64_t cached = load.prompt + load.answer / 2;
  const auto step = [&](int64_t streams) {
    return step_seconds(model, speed, machines, streams, cached) +
           network(static_cast<double>(streams));
  };
  plan.one_stream = 1 / step(1);
  if (!speed.lanes.empty() || load.streams == 1) {
    const int64_t groups = model.is_one_program ? std::min(needed, load.streams) : 1;
    const int64_t group = (load.streams + groups - 1) / groups;
    double seconds = step(group);  // of a token of all groups
    for (const MachineShare& share : plan.shares) {
      const ModelShape part = model_of(model, share);
      const double own = step_seconds(part, speed, machines, group, cached) +
                         exchange(part, static_cast<double>(group));
      seconds = std::max(seconds, static_cast<double>(groups) * own);
    }
    plan.many_streams = static_cast<double>(load.streams) / seconds;
  }
  const auto others = static_cast<double>(width - 1), all = static_cast<double>(width);
  plan.sent_bytes_per_token = all * exchanged_bytes(model);
  // To each other machine of the group, and the commands.
  if (width > 1) plan.messages_per_token = exchanges(model) * all * others + others;
  if (needed > 1) {
    plan.sent_bytes_per_token += hops * all * static_cast<double>(model.width) * sizeof(float) +
                                 static_cast<double>(model.vocabulary) * sizeof(float);
    // The command to each other machine, the values, the request for the logits and the answer.
    plan.messages_per_token += 2 * hops * all + 2;
  }
  if (speed.prompt_operations_per_second > 0) {
    double slowest = 0, whole = 0;  // seconds of a token
    for (const MachineShare& share : plan.shares) {
      ModelShape part = model_of(model, share);
      part.logit_operations = 0;
      const double seconds = sum_of(part, operations) / all / speed.prompt_operations_per_second +
                             exchange(part, kPiece) / kPiece;
      slowest = std::max(slowest, seconds);
      whole += seconds;
    }
    const double sending = needed == 1 ? 0
                                       : static_cast<double>(model.width) * sizeof(float) /
                                             machines.network_bytes_per_second;
    plan.prompt = 1 / std::max(slowest, sending);
    const auto tokens = static_cast<double>(load.prompt);
    const double piece = std::min<double>(tokens, kPiece);
    plan.first_token = (tokens - piece) / plan.prompt + piece * whole +
                       (needed == 1 ? 0 : hops * sent(piece) + returned(1));
  }
  if (load.requests > 0 && plan.many_streams > 0 && plan.prompt > 0) {
    const auto requests = static_cast<double>(load.requests);
    plan.corpus_seconds = requests *
                          (static_cast<double>(load.prompt) / plan.prompt +
                           static_cast<double>(load.answer) / plan.many_streams) /
                          static_cast<double>(plan.copies);
    plan.corpus_cost = plan.corpus_seconds / kHours * machines.price_per_hour *
                       static_cast<double>(plan.copies * plan.machines_per_copy);
  }
  return plan;
}

}  // namespace pippin::app
