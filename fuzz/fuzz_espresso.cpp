// A compiled neural network: a line of JSON with its layers, a line with the sizes, the weights.
#include <memory>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/networks/espresso.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? first : text.find('\n', first + 1);
  if (second == text.npos) return 0;
  const auto weights = std::make_shared<const std::string>(text.substr(second + 1));
  mil::FunctionDescription description;
  description.name = "main";
  description.inputs.push_back(mil::array_feature("x", "", mil::DataType::Float32, {1, 2, 4, 4}));
  description.outputs.push_back(mil::array_feature("y", "", mil::DataType::Float32));
  try {
    const Json net = Json::parse(text.substr(0, first), "net");
    const Json shapes = Json::parse(text.substr(first + 1, second - first - 1), "shape");
    mil::verify(mil::networks::translate_espresso(net, shapes, as_byte_span(*weights), description,
                                                  weights));
  } catch (const Error&) {
  }
  return 0;
}
