#include "pippin/io/pickle.h"

#include <gtest/gtest.h>

#include "pippin/io/fault_test.h"

namespace pippin {
namespace {

using namespace std::string_literals;

std::vector<PickledTensor> read(const std::string& bytes, const PickleLimits& limits = {}) {
  return read_tensor_pickle(as_byte_span(bytes), "data.pkl", limits);
}

std::string text(const std::string& value) {
  return "\x8c" + std::string(1, static_cast<char>(value.size())) + value;
}

// A call of _rebuild_tensor_v2 for storage "7" of a class, with shape (2, 3) from the fourth
// element on.
std::string tensor(const std::string& storage_class = "torch\nFloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "c" + storage_class + "\n" +
         text("7") + text("cpu") + "K\x40tQ" + "K\x04(K\x02K\x03t(K\x03K\x01t\x89" +
         "ccollections\nOrderedDict\n)RtR";
}

std::string numbers(size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += "K\x01";
  return result;
}

TEST(Pickle, ADictionaryOfTensors) {
  // {'a': tensor, 'step': 5} with SETITEMS, and b, a parameter, with SETITEM.
  const std::string pickle = "\x80\x02}(" + text("a") + tensor() + text("step") + "K\x05u" +
                             text("b") + "ctorch._utils\n_rebuild_parameter\n(" +
                             tensor("torch\nBFloat16Storage") +
                             "\x88"
                             "ccollections\nOrderedDict\n)RtRs.";
  const auto tensors = read(pickle);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, Dtype::F32);
  EXPECT_EQ(tensors[0].storage, "7");
  EXPECT_EQ(tensors[0].offset, 4);
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors[0].strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].dtype, Dtype::BF16);
}

TEST(Pickle, NumbersOfEveryForm) {
  // The offset with LONG1, negative and of 8 bytes; sizes with BININT and BININT2.
  const auto offset_of = [](const std::string& number) {
    return read("\x80\x02}" + text("a") + "ctorch._utils\n_rebuild_tensor_v2\n((" +
                text("storage") + "ctorch\nLongStorage\n" + text("0") + text("cpu") + "K\0tQ"s +
                number + ")))tRs.")
        .at(0)
        .offset;
  };
  EXPECT_EQ(offset_of("\x8a\x02\xff\x7f"), 32767);
  EXPECT_EQ(offset_of("\x8a\x01\xff"), -1);
  EXPECT_EQ(offset_of("\x8a\0"s), 0);
  EXPECT_EQ(offset_of("M\x00\x01"s), 256);
  EXPECT_EQ(offset_of("J\xff\xff\xff\xff"), -1);
}

TEST(Pickle, NamesThatAreNoTensorsAreRefused) {
  EXPECT_FAULT(read("\x80\x02"
                    "cos\nsystem\n(" +
                    text("true") + "tR."),
               "the pickle names 'os.system', which is not part of a dictionary of tensors");
  EXPECT_FAULT(read("\x80\x04" + text("builtins") + text("eval") + "\x93."), "'builtins.eval'");
  EXPECT_FAULT(read("\x80\x02"
                    "ctorch\nFloatStorage\n)R."),
               "a storage's class is called");
}

// A pickle may refer to values any number of times: a dictionary of two bytes per entry must not
// take memory for a copy of all names, keys and sizes.
TEST(Pickle, WhatIsSharedIsNotCopied) {
  const auto shared = [&](const std::string& key_or_value) {
    return "\x80\x02}" + tensor() + "q\x02" + "0(" + key_or_value + "u.";
  };
  EXPECT_FAULT(read(shared(text("a") + "q\x01h\x02h\x01h\x02")), "two entries are called a");
  EXPECT_FAULT(read(shared(text("a") + "h\x02" + text("a") + "h\x02")), "two entries are called a");
  // For other values the last of equal keys counts, as in Python; they are skipped.
  EXPECT_EQ(read(shared(text("a") + "K\x01" + text("a") + "h\x02")).size(), 1u);
  const auto two = read(shared(text("a") + "h\x02" + text("b") + "h\x02"));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].storage.data(), two[1].storage.data());

  std::string many;
  for (int i = 0; i < 100; ++i) many += text(std::to_string(i)) + "h\x01";
  EXPECT_FAULT(read("\x80\x02}ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
                    "ctorch\nFloatStorage\n" + text("7") + text("cpu") + "K\x40tQ" + "K\x04(" +
                    numbers(64) + "tq\x03h\x03tRq\x01" + "0(" + many + "u."),
               "more sizes of tensors than its pickle has bytes");
}

TEST(Pickle, Faults) {
  EXPECT_FAULT(read(""), "1 bytes needed at offset 0");
  EXPECT_FAULT(read("\x80\x01."), "pickle protocol 1, 2 to 5 are read");
  EXPECT_FAULT(read("\x80\x02."), "the stack is empty");
  EXPECT_FAULT(read("\x80\x02K\x05."), "expected a dictionary of tensors");
  EXPECT_FAULT(read("\x80\x02t."), "no mark on the stack");
  EXPECT_FAULT(read("\x80\x02}(K\x01u."), "a key without a value");
  EXPECT_FAULT(read("\x80\x02h\x05."), "no value was remembered as 5");
  EXPECT_FAULT(read("\x80\x02"
                    "cos"),
               "a line without end");
  EXPECT_FAULT(read("\x80\x02X\xff\xff\xff\xff"
                    "abc"),
               "4294967295 bytes needed");
  EXPECT_FAULT(read("\x80\x02}\x81."), "instruction 0x81");
  EXPECT_FAULT(read("\x80\x02]K\x01(0."), "the stack is empty");  // below the mark
  EXPECT_FAULT(read("\x80\x02\x8a\x09"
                    "123456789."),
               "an integer of 9 bytes");
  EXPECT_FAULT(read("\x80\x02" + std::string(200, 'N'), {.max_values = 100}),
               "more than 100 values");
  EXPECT_FAULT(read("\x80\x02N" + std::string(200, '2'), {.max_values = 100}),
               "more than 100 values on a pickle's stack");
  EXPECT_FAULT(read("\x80\x02}" + text("a") + tensor() + "s.", {.max_rank = 1}),
               "rank 2, at most 1");
}

// A list that contains itself, and ten million levels of nesting, use no stack.
TEST(Pickle, CyclesAndDepthAreHarmless) {
  EXPECT_EQ(read("\x80\x02]q\x01h\x01"
                 "a0}.")
                .size(),
            0u);
  std::string deep = "\x80\x02}" + text("deep") + ")";
  for (int i = 0; i < 1000000; ++i) deep += '\x85';
  EXPECT_EQ(read(deep + "s.").size(), 0u);
}

}  // namespace
}  // namespace pippin
