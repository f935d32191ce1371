#include "pippin/repl/event_reader.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::repl {
namespace {

using Events = std::vector<std::string>;

Events events_of(std::string_view text, size_t piece) {
  EventReader reader;
  Events events;
  for (size_t at = 0; at < text.size(); at += piece) {
    reader.feed(text.substr(at, piece));
    while (const auto event = reader.next()) events.push_back(*event);
  }
  return events;
}

TEST(EventReader, ReadsWhateverTheLineEndsAndPieces) {
  const std::string text =
      "\xEF\xBB\xBF: a comment\n\ndata: {\"a\":1}\n\ndata:two\r\ndata\r\ndata:  lines\r\n\r\n"
      "event: x\rid: 7\rdata: three\r\rretry: 5\n\ndata: cut off";
  const Events wanted = {"{\"a\":1}", "two\n\n lines", "three"};
  for (const size_t piece : {1u, 2u, 3u, 10u, 1000u}) EXPECT_EQ(events_of(text, piece), wanted);
}

TEST(EventReader, AnyBytesEnd) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "data: \r\nx"[random() % 9];
    const Events whole = events_of(text, text.size());
    // A "\r" at the very end may be half of a line ending.
    EXPECT_EQ(events_of(text + "x", 1), events_of(text + "x", 50)) << text;
    EXPECT_LE(whole.size(), text.size());
  }
}

TEST(EventReader, EndlessEventsAreRefused) {
  EventReader reader;
  const std::string part = "data: " + std::string(1 << 20, 'x');
  EXPECT_ERROR(
      for (int i = 0; i < 40; ++i) {
        reader.feed(part);
        reader.next();
      },
      ErrorCode::LimitExceeded, "an event of more than");
}

}  // namespace
}  // namespace pippin::repl
