#include "pippin/shell/shell_places.h"

#include <gtest/gtest.h>

#include "pippin/base/testing.h"

namespace pippin::shell {
namespace {

// Returns the command with its placeholders as <word>.
std::string marked(std::string_view command) {
  std::string result;
  size_t done = 0;
  for (const ShellPlace& place : find_shell_places(command)) {
    result += command.substr(done, place.begin - done);
    result += "<" + std::string(place.word) + ">";
    done = place.end;
  }
  return result + std::string(command.substr(done));
}

TEST(ShellPlaces, StandOutsideOfQuotesOrAloneInThem) {
  EXPECT_EQ(marked("curl wttr.in/{city}?{unit}"), "curl wttr.in/<city>?<unit>");
  EXPECT_EQ(marked("grep \"{q}\" '{f}'"), "grep <q> <f>");
  EXPECT_EQ(marked("echo \"a\"{q}\"b\" 'c'{q}"), "echo \"a\"<q>\"b\" 'c'<q>");
  EXPECT_EQ(marked("echo \"$(grep {q} f)\" `cat \"{q}\"`"), "echo \"$(grep <q> f)\" `cat <q>`");
  EXPECT_EQ(marked("echo \"$(grep \"{q}\" f)\" {q}"), "echo \"$(grep <q> f)\" <q>");
  EXPECT_EQ(marked("(cat {f})"), "(cat <f>)");
}

TEST(ShellPlaces, AreNoneOfTheShellsOwn) {
  for (const char* command : {"echo ${HOME}", "echo {a b} {} {", "echo \\{q}",
                              "date # {q} isn't it", "awk '{print $1}'"}) {
    EXPECT_EQ(marked(command), command);
  }
  EXPECT_EQ(marked("date # isn't\necho {q}"), "date # isn't\necho <q>");
  EXPECT_EQ(marked("echo a#'b' {q}"), "echo a#'b' <q>");
}

TEST(ShellPlaces, AmongOtherTextInQuotesAreRefused) {
  for (const char* command :
       {"sh -c 'grep {q} f'", "echo \"so: {q}\"", "echo \"{q} it is\"", "echo '{a}{q}'",
        "awk '/{q}/'", "echo \"\\\"{q}\\\"\"", "echo \"$(date)\" \"'{q}'\"", "echo '{q}"}) {
    EXPECT_ERROR(find_shell_places(command), ErrorCode::InvalidArgument, "stands within quotes");
  }
  EXPECT_ERROR(find_shell_places("echo $((1 + {n}))"), ErrorCode::InvalidArgument,
               "{n} stands within arithmetic");
}

TEST(ShellPlaces, QuotesAreQuoted) {
  EXPECT_EQ(shell_quoted("O'Hare"), "'O'\\''Hare'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace pippin::shell
