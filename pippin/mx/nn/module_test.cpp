#include "pippin/mx/nn/module.h"

#include <fstream>

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"
#include "pippin/mx/nn/nn.h"

namespace pippin::mx::nn {
namespace {

struct Block : Module {
  explicit Block(int dims)
      : norm(*this, "norm", RMSNorm(dims)), mlp(*this, "mlp", SwiGLU(dims, 2 * dims)) {}
  array operator()(const array& x) const { return x + mlp(norm(x)); }
  Child<> norm, mlp;
};

struct Model : Module {
  explicit Model(int count, int dims = 32)
      : embed(*this, "embed", Embedding(10, dims)), layers(*this, "layers", List<Block>()) {
    for (int i = 0; i < count; ++i) layers->push_back(Block(dims));
  }
  array operator()(const array& ids) const {
    array x = embed(ids);
    for (const auto& layer : *layers) x = layer(x);
    return embed->as_linear(x);
  }
  Child<EmbeddingLayer> embed;
  Child<List<Block>> layers;
};

std::vector<std::string> names_of(const ArrayMap& arrays) {
  std::vector<std::string> names;
  for (const auto& [name, value] : arrays) names.push_back(name);
  return names;
}

const std::vector<std::string> kNames = {
    "embed.weight", "layers.0.norm.weight", "layers.0.mlp.gate_proj.weight",
    "layers.0.mlp.up_proj.weight", "layers.0.mlp.down_proj.weight"};

TEST(Module, NamesItsParametersAndModules) {
  Model model(1);
  EXPECT_EQ(names_of(model.parameters()), kNames);
  std::vector<std::string> names;
  for (const auto& [name, module] : model.named_modules()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"", "embed", "layers", "layers.0", "layers.0.norm",
                                             "layers.0.mlp", "layers.0.mlp.gate_proj",
                                             "layers.0.mlp.up_proj", "layers.0.mlp.down_proj"}));
  EXPECT_EQ(model.children()[1].first, "layers");
  EXPECT_ERROR(model.at("layers.1"), ErrorCode::NotFound, "no module layers.1");
  EXPECT_ERROR(model.add("embed", array(1)), ErrorCode::InvalidArgument, "two members");
  EXPECT_ERROR(model.add("a.b", array(1)), ErrorCode::InvalidArgument, "\"a.b\" is not a name");
}

TEST(Module, IsTheSameAfterItMoved) {
  Model first(2);
  const array ids({1, 2, 3});
  const array before = first(ids);
  eval(before);
  const Model second(std::move(first));
  EXPECT_EQ(numbers(second(ids)), numbers(before));
  EXPECT_EQ(second.parameters().size(), 9U);
}

TEST(Module, UpdatesAllOrNothing) {
  Model model(1);
  model.update({{"embed.weight", ones({10, 32})}});
  EXPECT_EQ(numbers((*model.embed)(array({3})))[0], 1);
  EXPECT_ERROR(model.update({{"embed.weight", zeros({10, 32})}, {"embed.wieght", ones({1})}}),
               ErrorCode::InvalidArgument, "embed.wieght is not a parameter of the module");
  EXPECT_ERROR(
      model.update({{"embed.weight", zeros({10, 32})}, {"layers.0.norm.weight", ones({33})}}),
      ErrorCode::InvalidArgument,
      "layers.0.norm.weight: expected shape (32,) of floats, found shape (33,) of float32");
  EXPECT_ERROR(model.update({{"embed.weight", zeros({10, 32}, int32)}}), ErrorCode::InvalidArgument,
               "found shape (10,32) of int32");
  EXPECT_EQ(numbers((*model.embed)(array({3})))[0], 1);
  model.update({{"nowhere", ones({1})}}, false);
}

TEST(Module, LoadsWhatItSaved) {
  const TempDir folder;
  Model model(2), other(2);
  for (const char* name : {"w.safetensors", "w.npz"}) {
    const auto file = folder.path() / name;
    model.save_weights(file);
    other.apply([](const array& a) { return zeros_like(a); });
    other.load_weights(file);
    EXPECT_EQ(numbers(other(array({4, 5}))), numbers(model(array({4, 5})))) << name;
  }
  EXPECT_ERROR(model.save_weights(folder.path() / "w.txt"), ErrorCode::InvalidArgument,
               "neither .safetensors nor .npz");
  const auto file = folder.path() / "w.safetensors";
  Model larger(3), smaller(1);
  EXPECT_ERROR(larger.load_weights(file), ErrorCode::InvalidArgument,
               "w.safetensors: [load_weights] 4 parameters have no weights: layers.2.norm.weight, "
               "layers.2.mlp.gate_proj.weight, layers.2.mlp.up_proj.weight and 1 more.");
  EXPECT_ERROR(smaller.load_weights(file), ErrorCode::InvalidArgument,
               "4 weights are not parameters of the module: layers.1.norm.weight");
  WeightOptions options;
  options.strict = false;
  larger.load_weights(file, options);
  options.strict = true;
  options.rename = [](const std::string& name) -> std::optional<std::string> {
    if (name.starts_with("layers.1.")) return std::nullopt;
    return name;
  };
  smaller.load_weights(file, options);
  options.rename = {};
  options.ignore = {".1.norm", ".1.mlp"};
  smaller.load_weights(file, options);
  options.ignore = {};
  options.rename = [](const std::string&) { return std::string("embed.weight"); };
  EXPECT_ERROR(smaller.load_weights(file, options), ErrorCode::InvalidArgument,
               "two weights are called embed.weight");
}

TEST(Module, LoadsQuantizedWeights) {
  const TempDir folder;
  for (const int bits : {2, 3, 4, 6, 8}) {
    Model model(1, 64), other(1, 64);
    quantize(model, 32, bits);
    const auto file = folder.path() / "w.safetensors";
    model.save_weights(file);
    other.load_weights(file);
    EXPECT_EQ(names_of(other.parameters()), names_of(model.parameters()));
    EXPECT_EQ(numbers(other(array({4, 5}))), numbers(model(array({4, 5})))) << bits;
  }
  Model other(1, 64);
  EXPECT_ERROR(other.load_weights({{"embed.weight", zeros({10, 8}, uint32)},
                                   {"embed.scales", zeros({10, 3})},
                                   {"embed.biases", zeros({10, 3})}}),
               ErrorCode::InvalidArgument,
               "embed: expected quantized weights of width 64, found values of shape (10,8) and "
               "scales of shape (10,3)");
}

TEST(Module, QuantizesWhatIsChosen) {
  Model model(1, 64);
  const std::vector<double> exact = numbers(model(array({1, 2})));
  quantize(model, 64, 8, "affine", [](const std::string& name, Module&) {
    return name.ends_with("up_proj") || name == "embed";
  });
  EXPECT_NE(dynamic_cast<QuantizedEmbedding*>(&*model.embed), nullptr);
  EXPECT_NE(dynamic_cast<QuantizedLinear*>(&model.at("layers.0.mlp.up_proj")), nullptr);
  EXPECT_NE(dynamic_cast<Linear*>(&model.at("layers.0.mlp.down_proj")), nullptr);
  expect_numbers(model(array({1, 2})), exact, 0.05, "8 bits", 0.05);
  struct Fixed : Module {
    Child<Linear> layer{*this, "layer", Linear(64, 4)};
  } fixed;
  EXPECT_ERROR(quantize(fixed), ErrorCode::InvalidArgument, "layer is declared as a type");
  Model narrow(1, 40);
  EXPECT_ERROR(quantize(narrow), ErrorCode::InvalidArgument, "embed: [quantize] The last axis");
}

TEST(Module, SharesModulesAndRefusesCycles) {
  struct Node : Module {
    void link(const std::string& name, const std::shared_ptr<Module>& to) {
      children.emplace_back(*this, name, to);
    }
    std::vector<Child<Module>> children;
  };
  const auto shared = std::make_shared<Linear>(2, 3);
  Node root;
  root.link("a", shared);
  root.link("b", shared);
  root.update({{"a.bias", array({1.0f, 2.0f, 3.0f})}});
  EXPECT_EQ(numbers(root.parameters()[3].second), (std::vector<double>{1, 2, 3}));

  const auto first = std::make_shared<Node>(), second = std::make_shared<Node>();
  first->link("second", second);
  second->link("first", first);
  EXPECT_ERROR(first->parameters(), ErrorCode::InvalidArgument,
               "The module second.first contains itself");
  EXPECT_ERROR(first->update({}), ErrorCode::InvalidArgument, "contains itself");
  EXPECT_ERROR(quantize(*first), ErrorCode::InvalidArgument, "contains itself");
  second->replace("first", shared);
  second->link("deep", std::make_shared<Node>());
  EXPECT_EQ(first->parameters().size(), 2U);
}

TEST(Module, CastsFloatsOnly) {
  Model model(1, 64);
  quantize(model, 64, 4, "affine",
           [](const std::string& name, Module&) { return name == "embed"; });
  model.set_dtype(float16);
  for (const auto& [name, value] : model.parameters()) {
    EXPECT_EQ(value.dtype(), name == "embed.weight" ? uint32 : float16) << name;
  }
  EXPECT_EQ(model(array({1})).dtype(), float16);
  EXPECT_ERROR(model.set_dtype(int32), ErrorCode::InvalidArgument, "int32 is not a floating-point");
}

TEST(Config, ReadsKeys) {
  const TempDir folder;
  std::ofstream(folder.path() / "config.json")
      << R"({"n": 3, "eps": 1e-5, "rope": {"factor": 2.5}, "tie": true, "kind": "llama", "no": null, "ends": [1, 2], "big": 4294967296})";
  const Config config = Config::load(folder.path());
  EXPECT_EQ(config.integer("n"), 3);
  EXPECT_EQ(config.number("rope.factor"), 2.5);
  EXPECT_TRUE(config.flag("tie"));
  EXPECT_EQ(config.text("kind"), "llama");
  EXPECT_EQ(config.integer("no", 7), 7);
  EXPECT_FALSE(config.has("rope.other"));
  EXPECT_EQ(config.integers("n"), std::vector<int>({3}));
  EXPECT_EQ(config.integers("ends"), std::vector<int>({1, 2}));
  EXPECT_ERROR(config.integer("no"), ErrorCode::InvalidFile, "config.json: no is absent");
  EXPECT_ERROR(config.integer("big"), ErrorCode::InvalidFile, "4294967296");
  EXPECT_ERROR(config.integer("kind"), ErrorCode::InvalidFile, "expected");
}

}  // namespace
}  // namespace pippin::mx::nn
