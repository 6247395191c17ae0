#include "agent/daemon/flow_learner.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/unit/dataplane/fake_map_store.h"

namespace weft::daemon {
namespace {

using dataplane::MapName;
using recovery::FlowNotice;
using std::chrono::seconds;

FlowNotice notice(FlowNotice::Kind kind, std::uint32_t qpn) {
  FlowNotice made{.kind = kind, .key = {}, .stream = {.class_id = 2, .level = 1}};
  made.key.src = *roce::IpAddress::parse("10.1.2.3");
  made.key.dst = *roce::IpAddress::parse("10.2.0.1");
  made.key.dest_qpn = qpn;
  return made;
}

TEST(FlowLearner, FollowsNoticesInOrder) {
  test::FakeMapStore store;
  dataplane::Classifier classifier(store, 8192);
  FlowLearner learner;
  const std::vector<FlowNotice> notices{notice(FlowNotice::Kind::kAnnounced, 1),
                                        notice(FlowNotice::Kind::kAnnounced, 2),
                                        notice(FlowNotice::Kind::kForgotten, 1)};
  EXPECT_FALSE(learner.follow(classifier, notices, seconds(5)));
  EXPECT_EQ(learner.counts().learned, 2U);
  EXPECT_EQ(learner.counts().forgotten, 1U);
  EXPECT_EQ(learner.counts().refused, 0U);
  ASSERT_EQ(store.tables[MapName::kFlows].size(), 1U);
  const Bytes value = store.tables[MapName::kFlows].begin()->second;
  weft_flow entry{};
  ASSERT_EQ(value.size(), sizeof(entry));
  std::memcpy(&entry, value.data(), sizeof(entry));
  EXPECT_EQ(entry.tag.class_id, 2);
  EXPECT_EQ(entry.tag.level, 1);
}

TEST(FlowLearner, AFullTableIsCountedAndToldNowAndThen) {
  test::FakeMapStore store;
  store.most_entries = 1;
  dataplane::Classifier classifier(store, 8192);
  FlowLearner learner;
  const std::vector<FlowNotice> notices{notice(FlowNotice::Kind::kAnnounced, 1),
                                        notice(FlowNotice::Kind::kAnnounced, 2)};
  const auto error = learner.follow(classifier, notices, seconds(5));
  ASSERT_TRUE(error);
  EXPECT_NE(error->hint.find("[caps] flows"), std::string::npos);
  EXPECT_EQ(learner.counts().learned, 1U);
  EXPECT_EQ(learner.counts().refused, 1U);
  EXPECT_FALSE(learner.follow(classifier, notices, seconds(6)));
  EXPECT_TRUE(learner.follow(classifier, notices, seconds(66)));
  EXPECT_EQ(learner.counts().refused, 3U);
}

}  // namespace
}  // namespace weft::daemon
