#include "agent/base/units.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Units, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_rate("200mbit").value(), 200'000'000U);
  EXPECT_EQ(parse_rate("1.5gbit").value(), 1'500'000'000U);
  EXPECT_EQ(parse_duration("67ms").value(), milliseconds(67));
  EXPECT_EQ(parse_duration("0.5ms").value(), microseconds(500));
  EXPECT_EQ(parse_duration("0").value(), Nanoseconds{0});
  EXPECT_EQ(parse_bytes("4mib").value(), 4U << 20);
  EXPECT_EQ(parse_bytes("65536").value(), 65536U);
}

TEST(Units, RefusesWhatHasNoUnitOrNoMeaning) {
  for (const char* text :
       {"", "200", "mbit", "-1mbit", "0mbit", "1e400gbit", "nanmbit", "200 mbit", "0x10mbit "}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  for (const char* text : {"", "5", "ms", "-5ms", "5 ms", "1e30s", "infs"})
    EXPECT_FALSE(parse_duration(text)) << text;
  for (const char* text : {"", "-1", "4x", "k"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(Units, WritesWhatItReadsBack) {
  for (const char* text : {"67ms", "1.5s", "30us", "1ns", "0"}) {
    EXPECT_EQ(format_duration(parse_duration(text).value()), text);
  }
}

}  // namespace
}  // namespace weft
