// Loops. The values that a loop changes are variables of a while_loop; their types and shapes are
// found by translating the body until they stay the same.
#include <algorithm>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/mil/networks/control_flow.h"

namespace pippin::mil::networks {
namespace {

constexpr int kMaxAttempts = 64;

ValueInfo forgetful(ValueInfo info) {
  info.elements.reset();
  info.constant = nullptr;
  return info;
}

struct Variable {
  std::string name;
  Var* start;
  ValueInfo info;
};

class Loop {
 public:
  Loop(Network& network, const Layer& layer)
      : network_(network),
        graph_(network.graph),
        condition_name_(layer.parameters.text({2, "conditionVar"})),
        condition_(layer.parameters.message({3, "conditionNetwork"})),
        body_(layer.parameters.message({4, "bodyNetwork"})) {
    if (!layer.inputs.empty()) {
      limit_ = scalar(graph_, network.integral(layer, 0));
    } else if (const int64_t most = layer.parameters.integer({1, "maxLoopIterations"}); most > 0) {
      limit_ = graph_.add_constant(integer(std::min<int64_t>(most, INT32_MAX)));
    }
    has_break_ = leaves_loop(body_, kBreakField);
    has_continue_ = leaves_loop(body_, kContinueField);
    if (limit_ == nullptr && condition_name_.empty() && !has_break_) {
      fail(ErrorCode::InvalidFile, "the loop has no limit, condition or break");
    }
  }

  void translate() {
    const auto before = network_.values;
    network_.values.erase(std::string(kBroken));
    network_.values.erase(std::string(kContinued));
    run_condition();
    find_variables();
    std::unique_ptr<Block> body;
    for (int attempt = 0; body == nullptr; ++attempt) {
      if (attempt == kMaxAttempts) {
        fail(ErrorCode::LimitExceeded, "the shapes in a loop do not settle");
      }
      body = translate_body();
    }
    finish(std::move(body));
    for (const std::string_view name : {kBroken, kContinued}) {
      network_.values.erase(std::string(name));
      const auto outer = before.find(name);
      if (outer != before.end()) network_.values.insert(*outer);
    }
  }

 private:
  // Before each iteration, the first one included.
  void run_condition() {
    if (condition_name_.empty()) return;
    const std::vector<ListedLayer> layers = read_layers(condition_);
    translate_layers(network_, layers);
  }

  void add_variable(const std::string& name, Var* start) {
    variables_.push_back({name, start, forgetful(graph_.info(start))});
  }

  void find_variables() {
    if (has_break_) add_variable(std::string(kBroken), graph_.add_constant(flag(false)));
    std::set<std::string> defined = defined_names(body_);
    if (!condition_name_.empty()) defined.merge(defined_names(condition_));
    std::map<std::string, int, std::less<>> inside;
    count_reads(body_, inside);
    count_reads(condition_, inside);
    for (const std::string& name : defined) {
      const auto value = network_.values.find(name);
      if (value != network_.values.end()) {
        add_variable(name, network_.full(value->second));
        continue;
      }
      const auto reads = network_.reads.find(name), own = inside.find(name);
      const int outside = (reads == network_.reads.end() ? 0 : reads->second) -
                          (own == inside.end() ? 0 : own->second);
      if (outside > 0) late_.push_back(name);
    }
    if (!late_.empty()) find_late_variables();
  }

  // Names that only the body defines, for layers after the loop: zeros until then.
  void find_late_variables() {
    std::map<std::string, ValueInfo> infos;
    in_body([&] {
      for (const std::string& name : late_) {
        const auto value = network_.values.find(name);
        if (value == network_.values.end()) continue;
        infos.emplace(name, graph_.info(network_.full(value->second)));
      }
    });
    for (const auto& [name, info] : infos) {
      std::vector<int64_t> sizes;
      sizes.reserve(info.shape.size());
      for (const Dim& dim : info.shape) sizes.push_back(dim.try_constant().value_or(0));
      Var* zeros = graph_.add("fill", {{"shape", {integers(sizes)}}, {"value", {number(0)}}});
      variables_.push_back({name, graph_.cast(zeros, info.type), forgetful(info)});
      for (Dim& dim : variables_.back().info.shape) {
        if (!dim.is_constant()) dim = Dim::symbol(name, 0, INT64_MAX);
      }
    }
  }

  std::vector<Var*> add_inputs() {
    std::vector<Var*> inputs;
    if (limit_ != nullptr) {
      inputs.push_back(graph_.add_block_input("turn", tensor_of(DataType::Int32)));
    }
    for (const Variable& variable : variables_) {
      inputs.push_back(graph_.add_block_input("loop", variable.info));
      network_.values.insert_or_assign(variable.name, Slot{inputs.back()});
    }
    return inputs;
  }
  static ValueInfo tensor_of(DataType type) {
    ValueInfo info;
    info.type = type;
    return info;
  }

  // Translates the body in a block of its own, which is dropped.
  void in_body(const std::function<void()>& look) {
    const auto before = network_.values;
    graph_.begin_block();
    add_inputs();
    translate_iteration();
    look();
    graph_.end_block({});
    network_.values = before;
  }

  void translate_iteration() {
    if (has_continue_) {
      network_.values.insert_or_assign(std::string(kContinued),
                                       Slot{graph_.add_constant(flag(false))});
    }
    const std::vector<ListedLayer> layers = read_layers(body_);
    translate_layers(network_, layers);
    network_.values.erase(std::string(kContinued));
    run_condition();
  }

  // Null if a variable turned out to have another type or shape: the body is then translated again.
  std::unique_ptr<Block> translate_body() {
    const auto before = network_.values;
    graph_.begin_block();
    const std::vector<Var*> inputs = add_inputs();
    translate_iteration();
    std::vector<Var*> outputs;
    if (limit_ != nullptr) outputs.push_back(binary(graph_, "add", inputs[0], integer(1)));
    bool settled = true;
    for (Variable& variable : variables_) {
      const auto value = network_.values.find(variable.name);
      if (value == network_.values.end()) {
        fail(ErrorCode::Unsupported, "'{}' has different ranks in branches of the loop",
             variable.name);
      }
      Var* result = network_.full(value->second);
      if (graph_.type(result) != variable.info.type) {
        if (variable.info.type != DataType::Float32) {
          variable.info.type = DataType::Float32;
          settled = false;
        }
        result = graph_.cast(result, DataType::Float32);
      }
      settled = widen(variable, graph_.shape(result)) && settled;
      outputs.push_back(result);
    }
    std::unique_ptr<Block> body = graph_.end_block(std::move(outputs));
    network_.values = before;
    return settled ? std::move(body) : nullptr;
  }

  // Returns false if sizes became unknown.
  static bool widen(Variable& variable, const Shape& next) {
    Shape& shape = variable.info.shape;
    if (shape.size() != next.size()) {
      fail(ErrorCode::Unsupported, "'{}' has rank {} before the loop and {} in it", variable.name,
           shape.size(), next.size());
    }
    bool settled = true;
    for (size_t i = 0; i < shape.size(); ++i) {
      // An unknown size stays unknown.
      if (shape[i] == next[i] || !shape[i].is_constant()) continue;
      shape[i] = Dim::symbol(fmt::format("{}.dim{}", variable.name, i), 0, INT64_MAX);
      settled = false;
    }
    return settled;
  }

  Var* continues(const std::vector<Var*>& inputs) {
    Var* result = nullptr;
    const auto require = [&](Var* term) {
      result = result == nullptr ? term : binary(graph_, "logical_and", result, term);
    };
    if (limit_ != nullptr) require(binary(graph_, "less", inputs[0], limit_));
    if (has_break_) {
      require(unary(graph_, "logical_not", network_.values.at(std::string(kBroken)).var));
    }
    if (!condition_name_.empty()) {
      const auto value = network_.values.find(condition_name_);
      if (value == network_.values.end()) {
        fail(ErrorCode::InvalidFile, "no layer produces the condition '{}'", condition_name_);
      }
      require(condition_of(network_, network_.full(value->second)));
    }
    return result;
  }

  void finish(std::unique_ptr<Block> body) {
    const auto before = network_.values;
    graph_.begin_block();
    const std::vector<Var*> inputs = add_inputs();
    Var* more = continues(inputs);
    std::vector<std::unique_ptr<Block>> blocks;
    blocks.push_back(graph_.end_block({more}));
    blocks.push_back(std::move(body));
    network_.values = before;
    Argument start;
    std::vector<ValueInfo> infos;
    if (limit_ != nullptr) {
      start.emplace_back(graph_.add_constant(integer(0)));
      infos.push_back(tensor_of(DataType::Int32));
    }
    for (const Variable& variable : variables_) {
      start.emplace_back(graph_.cast(variable.start, variable.info.type));
      infos.push_back(variable.info);
    }
    const std::vector<Var*> results = graph_.add_with_blocks(
        "while_loop", {{"loop_vars", std::move(start)}}, std::move(blocks), std::move(infos));
    const size_t first = limit_ != nullptr ? 1 : 0;
    for (size_t i = 0; i < variables_.size(); ++i) {
      network_.values.insert_or_assign(variables_[i].name, Slot{results[first + i]});
    }
  }

  Network& network_;
  Graph& graph_;
  const std::string condition_name_;
  const Fields condition_, body_;
  Var* limit_ = nullptr;  // the number of iterations, or null
  bool has_break_ = false, has_continue_ = false;
  std::vector<Variable> variables_;
  std::vector<std::string> late_;
};

}  // namespace

void translate_loop(Network& network, const Layer& layer) {
  Loop(network, layer).translate();
}

}  // namespace pippin::mil::networks
