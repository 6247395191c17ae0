#include <filesystem>

#include <gtest/gtest.h>

#include "netem/profile_file.h"

namespace weft::netem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const LinkProfile& forward_base(const WanProfile& profile) { return profile.schedules[0].front().link; }
const LinkProfile& reverse_base(const WanProfile& profile) { return profile.schedules[1].front().link; }

TEST(Profile, ReadsEveryKey) {
  const auto profile = parse_profile(R"(
seed = 42
[both]
rate = "200mbit"
delay = "15ms"
jitter = "1ms"
loss = { model = "gilbert-elliott", p = 1e-3, burst = 4 }
reorder = 1e-3
reorder_delay = "2ms"
duplicate = 1e-4
corrupt = 1e-5
ecn_threshold = "64k"
bleach = true
[reverse]
delay = "25ms"
queue = "64k"
loss = 0.5
)",
                                     "wan.toml", {});
  ASSERT_TRUE(profile) << profile.error().to_string();
  EXPECT_EQ(profile->seed, 42U);
  const LinkProfile& forward = forward_base(*profile);
  EXPECT_EQ(forward.rate_bits_per_second, 200'000'000U);
  EXPECT_EQ(forward.delay, milliseconds(15));
  EXPECT_EQ(forward.queue_bytes, 2'000'000U);  // twice 200 Mbit/s x 40 ms
  EXPECT_EQ(forward.loss.model, LossProfile::Model::kGilbertElliott);
  EXPECT_EQ(forward.loss.probability, 1e-3);
  EXPECT_EQ(forward.loss.mean_burst_packets, 4);
  EXPECT_EQ(forward.reorder, 1e-3);
  EXPECT_EQ(forward.reorder_delay, milliseconds(2));
  EXPECT_EQ(forward.duplicate, 1e-4);
  EXPECT_EQ(forward.corrupt, 1e-5);
  EXPECT_EQ(forward.ecn_threshold_bytes, 65536U);
  EXPECT_TRUE(forward.bleach);
  EXPECT_EQ(reverse_base(*profile).queue_bytes, 65536U);
  EXPECT_EQ(reverse_base(*profile).loss.probability, 0.5);
  EXPECT_EQ(reverse_base(*profile).loss.mean_burst_packets, 4);
}

TEST(Profile, StepsBuildOnWhatIsThere) {
  const auto profile = parse_profile(R"(
[both]
rate = "100mbit"
delay = "5ms"
jitter = "1ms"
loss = { model = "gilbert-elliott", p = 1e-4, burst = 4 }
[[step]]
at = "10s"
loss = 1e-2
[[step]]
at = "20s"
direction = "reverse"
delay = "10ms"
)",
                                     "wan.toml", {});
  ASSERT_TRUE(profile) << profile.error().to_string();
  const LinkSchedule& forward = profile->schedules[0];
  const LinkSchedule& reverse = profile->schedules[1];
  ASSERT_EQ(forward.size(), 2U);
  ASSERT_EQ(reverse.size(), 3U);
  EXPECT_EQ(forward[1].from, seconds(10));
  EXPECT_EQ(forward[1].link.loss.probability, 1e-2);
  EXPECT_EQ(forward[1].link.loss.mean_burst_packets, 4);
  EXPECT_EQ(forward[1].link.delay, milliseconds(5));
  EXPECT_EQ(reverse[2].from, seconds(20));
  EXPECT_EQ(reverse[2].link.delay, milliseconds(10));
  EXPECT_EQ(reverse[2].link.loss.probability, 1e-2);
}

TEST(Profile, OverridesChangeTheBaseBelowTheSteps) {
  ProfileOverrides overrides;
  overrides.rate_bits_per_second = 10'000'000;
  overrides.delay = milliseconds(30);
  overrides.loss = {1e-3, std::nullopt};
  overrides.mean_burst_packets = 4;
  overrides.queue = QueueSize::parse("1bdp").value();
  overrides.seed = 9;
  const auto profile =
      parse_profile("[both]\nloss = 1e-4\n[[step]]\nat = \"1s\"\nloss = 0.1\n", "x", overrides);
  ASSERT_TRUE(profile) << profile.error().to_string();
  EXPECT_EQ(profile->seed, 9U);
  EXPECT_EQ(forward_base(*profile).loss.probability, 1e-3);
  EXPECT_EQ(reverse_base(*profile).loss.probability, 1e-4);
  EXPECT_EQ(forward_base(*profile).queue_bytes, 75'000U);
  EXPECT_EQ(profile->schedules[0][1].link.loss.probability, 0.1);
  EXPECT_EQ(profile->schedules[0][1].link.loss.mean_burst_packets, 4);
  EXPECT_EQ(profile->schedules[0][1].link.rate_bits_per_second, 10'000'000U);
}

struct BadFile {
  const char* text;
  const char* where;
  const char* message;
};

TEST(Profile, ErrorsSayWhereAndWhatInstead) {
  const BadFile files[] = {
      {"[both]\ndelay = \"15ms\"\nraet = \"1gbit\"\n", "wan.toml:3", "unknown key 'raet'"},
      {"[both]\nrate = 200\n", "wan.toml:2", "'rate' must be a string"},
      {"[both]\nrate = \"200\"\n", "wan.toml:2", "'200' is not a rate"},
      {"[both]\n\nloss = 2.0\n", "wan.toml:3", "'loss' must be a number from 0 to 1"},
      {"[both]\nloss = { model = \"bursts\" }\n", "wan.toml:2", "unknown loss model 'bursts'"},
      {"[both]\nloss = { model = \"gilbert-elliott\", p = 0.9, burst = 2 }\n", "wan.toml:2",
       "cannot make up"},
      {"[both]\nloss = { model = \"iid\", p = 0.1, burst = 2 }\n", "wan.toml:2", "unknown key 'burst'"},
      {"[both]\njitter = \"2ms\"\ndelay = \"1ms\"\n", "wan.toml:1", "jitter is larger than delay"},
      {"[both]\nqueue = \"2bdps\"\n", "wan.toml:2", "queue"},
      {"[both]\n[[step]]\nloss = 0\n", "wan.toml:2", "rising times"},
      {"[[step]]\nat = \"1s\"\ndirection = \"up\"\n", "wan.toml:3", "unknown direction 'up'"},
      {"[[step]]\nat = \"1s\"\nlose = 1\n", "wan.toml:3", "unknown key 'lose'"},
      {"step = 3\n", "wan.toml:1", "array of tables"},
      {"both = 1\n", "wan.toml:1", "must be a table"},
      {"seed = -1\n", "wan.toml:1", "'seed'"},
      {"[both\n", "wan.toml:1", ""},
  };
  for (const BadFile& file : files) {
    const auto profile = parse_profile(file.text, "wan.toml", {});
    ASSERT_FALSE(profile) << file.text;
    EXPECT_EQ(profile.error().where, file.where) << file.text;
    EXPECT_NE(profile.error().what.find(file.message), std::string::npos) << profile.error().to_string();
  }
}

TEST(Profile, EveryCommittedProfileLoads) {
  int profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator("netem/profiles")) {
    const auto profile = load_profile(entry.path().string(), {});
    EXPECT_TRUE(profile) << profile.error().to_string();
    ++profiles;
  }
  EXPECT_GE(profiles, 5);
}

TEST(Profile, AMissingFileIsNamed) {
  const auto profile = load_profile("netem/profiles/none.toml", {});
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().where, "netem/profiles/none.toml");
}

}  // namespace
}  // namespace weft::netem
