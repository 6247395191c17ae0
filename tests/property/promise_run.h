// One run of two sites with faults, watched at every wire: the promises are checked on every packet, and again at the
// end on every delivered byte and every fill record.
//
//   Scenario (what goes over the WAN, what goes wrong, when) ──▶ PromiseRun::run() ──▶ complaints, counters, fault hits
//
// Deterministic: the same scenario gives the same run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/property/attacker.h"
#include "tests/property/counter_watch.h"
#include "tests/property/delivery_watch.h"
#include "tests/property/hits.h"
#include "tests/property/memory_judge.h"
#include "tests/property/overhead_watch.h"
#include "tests/property/passing_watch.h"
#include "tests/property/sites_config.h"

namespace weft::test {

enum class AgentFate : std::uint8_t {
  kRestart,   // dies and starts anew
  kDie,       // dies for good
  kStop,      // SIGSTOP
  kContinue,  // SIGCONT
};

struct AgentEvent {
  recovery::Time at{};
  sim::Side side = sim::Side::kA;
  AgentFate fate = AgentFate::kRestart;
};

struct Scenario {
  std::string name = "run";
  std::uint64_t seed = 1;
  Wan wan;
  // Of the WAN, both directions; see netem::LinkProfile.
  double reorder = 0;
  recovery::Time reorder_delay = std::chrono::milliseconds(1);
  double duplicate = 0;
  double corrupt = 0;
  std::uint64_t ecn_threshold_bytes = 0;  // 0: no marks
  // Of the lans: what a host sends is lost before its agent, what an agent forwards is lost before the host.
  double drop_from_host = 0;
  double drop_to_host = 0;
  std::vector<AgentEvent> agent_events;
  double strangers = 0;  // the share of packets that somebody copies under an address of no site
  // Every so often some of the Weft packets seen so far are sent again: to where they went, back to where they came
  // from, and with bits changed. Zero: nobody attacks.
  recovery::Time attack_every{0};

  recovery::PolicyTable policy = recovery::PolicyTable::defaults();
  std::function<void(recovery::EngineConfig&)> adjust_agent;  // limits and the like
  std::size_t pool_frames = 1U << 16;
  double scarce = 0;  // the share of time in which the pools are at their low-water mark
  std::optional<std::uint8_t> response_mark;  // responses get the class of this mark
  sim::TransferConfig transfer;
  recovery::Time limit = std::chrono::seconds(120);
  // After the last message: retransmissions in flight, held packets and repairs of tails.
  recovery::Time afterglow = std::chrono::milliseconds(500);
  bool must_succeed = true;
};

class PromiseRun {
 public:
  explicit PromiseRun(Scenario scenario);

  // Runs to the end and judges. Call once. Complaints become test failures.
  Hits run();

  sim::TwoSites& sites() { return sites_; }
  // Called at every sighting, after the watches; and every few milliseconds.
  std::function<void(const Sighting& seen)> also_see;
  std::function<void()> also_check;
  const sim::Transfer& transfer() const { return transfer_; }
  recovery::Time longest_hold() const { return passing_.longest_hold(); }

 private:
  static sim::SitesConfig sites_of(const Scenario& scenario);
  bool on_frame(sim::Place place, sim::Side side, sim::TwoSites::Tapped& tapped);
  void strike(const AgentEvent& event);
  void collect(sim::Side side);
  void take_fill_records(sim::Side side);
  void judge_end();
  void judge_leaks();
  void count_hits();

  const Scenario scenario_;
  const sim::SitesConfig config_;
  Rng rng_;
  Attacker attacker_;
  Complaints complaints_;
  SourceBook book_;
  DeliveryWatch deliveries_;
  PassingWatch passing_;
  OverheadWatch overhead_;
  CounterWatch counters_;
  sim::TwoSites sites_;
  sim::Transfer transfer_;
  Hits hits_;
  std::uint64_t boots_ = 0;
  bool struck_ = false;  // an agent event has taken place
  std::vector<recovery::FillRecord> fill_records_;
};

// Runs a scenario and adds what happened to `hits`.
void run_scenario(const Scenario& scenario, Hits& hits);

// How much of a full run this one does: all of it, less with sanitizers, little when WEFT_TEST_QUICK is set.
double run_share();

}  // namespace weft::test
