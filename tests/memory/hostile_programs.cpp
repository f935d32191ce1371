#include "pippin/io/json.h"
#include "pippin/io/zip_testing.h"
#include "pippin/mil/package/coreml_data.h"
#include "pippin/mil/package/manifest.h"
#include "pippin/mil/package/metadata_json.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

// ---- MIL text

std::string program(const std::string& body) {
  return "program(1.3)\n[buildInfo = dict<string, string>({})]\n{\n"
         "func main<ios18>(tensor<fp16, [1]> x) {\n" +
         body + "tensor<fp16, [1]> y = relu(x = x)[name = string(\"y\")];\n} -> (y);\n}\n";
}
std::string constant(const std::string& type, const std::string& value) {
  return program(type + " c = const()[name = string(\"c\"), val = " + type + "(" + value + ")];\n");
}
std::string list_of(std::string_view item) {
  return "[" + repeated(std::string(item) + ", ", 20'000) + std::string(item) + "]";
}

std::vector<Hostile> texts() {
  const auto read = [](const std::string& file) { mil::parse_text(file, "model.mil"); };
  const std::string wide = "tuple<" + repeated("fp32, ", 2'000) + "fp32>";
  std::string deep = "fp32";
  for (int i = 0; i < 10; ++i) deep = "list<" + deep + ", ?>";
  std::string doubling = "fp32";
  for (int i = 0; i < 9; ++i) doubling = "tuple<" + doubling + ", " + doubling + ">";
  const auto operation = [](size_t i) { return "fp16 a" + std::to_string(i) + " = f()[];\n"; };
  return {
      {"mil, lists of a wide type", 512, constant("list<list<" + wide + ", ?>, ?>", list_of("[]")),
       read},
      {"mil, lists of a deep type", 512, constant(deep, list_of("[]")), read},
      {"mil, lists of a doubling type", 512,
       constant("list<list<" + doubling + ", ?>, ?>", list_of("[]")), read},
      {"mil, dictionaries", 512, constant("list<dict<string, " + wide + ">, ?>", list_of("{}")),
       read},
      {"mil, numbers of a list", 512, constant("list<fp32, ?>", list_of("1")), read},
      {"mil, numbers", 64, constant("tensor<fp32, [?]>", list_of("1")), read},
      {"mil, strings", 64, constant("tensor<string, [?]>", list_of("\"\"")), read},
      {"mil, a shape without elements", 64, constant("tensor<fp32, [9000000000, 0]>", "[]"), read},
      {"mil, a large shape", 64, constant("tensor<fp32, [9000000000]>", "[1]"), read},
      {"mil, operations", 128, program(joined(20'000, operation)), read},
      {"mil, depth of types", 64, constant(repeated("list<", 50'000), "1"), read},
  };
}

// ---- protobuf

std::string varint(uint64_t value) {
  std::string result;
  for (; value >= 128; value >>= 7) result += static_cast<char>(value | 128);
  return result + static_cast<char>(value);
}
std::string field(uint64_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}

// Empty messages of two bytes, in each repeated field of a model.
std::vector<Hostile> protobufs() {
  const auto read = [](const std::string& file) { mil::parse_model(as_byte_span(file)); };
  const auto many = [](uint64_t number) { return repeated(field(number, ""), 100'000); };
  std::vector<Hostile> result;
  const auto add = [&](std::initializer_list<uint64_t> path) {
    std::string name = "protobuf", content;
    for (auto step = std::rbegin(path); step != std::rend(path); ++step) {
      content = step == std::rbegin(path) ? many(*step) : field(*step, content);
    }
    for (const uint64_t step : path) name += "," + std::to_string(step);
    result.push_back({name, 256, "\x08\x09" + content, read});
  };
  constexpr uint64_t kDescription = 2, kPipeline = 202, kGlm = 300, kProgram = 502, kBoxes = 610;
  for (const uint64_t part : {1, 10, 13, 20}) add({kDescription, part});
  add({kDescription, 100, 100});
  for (const uint64_t part : {1, 2}) add({kPipeline, part});
  for (const uint64_t part : {1, 100}) add({kGlm, part});
  for (const uint64_t part : {2, 4}) add({kProgram, part});
  add({kBoxes, 100, 1});
  // In a function and its block, each the value of an entry.
  for (const uint64_t part : {1, 3, 4}) add({kProgram, 2, 2, part});
  for (const uint64_t part : {1, 2, 3, 4}) add({kProgram, 2, 2, 3, 2, part});
  for (const uint64_t part : {1, 2, 3, 4, 5}) add({kProgram, 2, 2, 3, 2, 3, part});
  return result;
}

// ---- other files of a package

std::vector<Hostile> other_programs() {
  const auto metadata = [](const std::string& file) {
    mil::parse_metadata(Json::parse(file, "metadata.json"));
  };
  const std::string feature =
      R"({"type":"MultiArray","name":"a","dataType":"Float32","shape":"[1]","formattedType":""},)";
  std::string names;
  append_number<uint64_t>(names, 1'000'000);
  return {
      {"metadata.json", 64,
       R"([{"specificationVersion":9,"inputSchema":[)" + repeated(feature, 5'000) + "{}]}]",
       metadata},
      {"metadata.json, sizes", 64,
       R"([{"specificationVersion":9,"inputSchema":[{"type":"MultiArray","name":"a","shape":"[)" +
           repeated("1, ", 50'000) + "1]\"}]}]",
       metadata},
      {"Manifest.json", 64,
       "{\"itemInfoEntries\":{" +
           joined(5'000,
                  [](size_t i) {
                    return "\"" + std::to_string(i) + R"(":{"path":"a","author":"b","name":"c"},)";
                  }) +
           R"("a":{}},"rootModelIdentifier":"0"})",
       [](const std::string& file) { mil::parse_manifest(Json::parse(file, "Manifest.json")); }},
      {"modelNames", 64, names + std::string(100'000, '\0'),
       [](const std::string& file) { mil::parse_model_names(as_byte_span(file)); }},
      {"coremldata.bin", 64, std::string(100'000, '\xff'),
       [](const std::string& file) { mil::parse_coreml_data(as_byte_span(file)); }},
  };
}

}  // namespace

std::vector<Hostile> hostile_programs() {
  std::vector<Hostile> all;
  for (auto* const make : {texts, protobufs, other_programs}) {
    for (Hostile& one : make()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace pippin
