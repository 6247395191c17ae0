// A two-state loss process (Gilbert-Elliott with loss 0 in the good state and 1 in the bad one), stepped per
// packet: packets are lost with probability `loss`, in runs of `burst` on average.
//
//   good --t_gb--> bad     t_gb = loss / (burst (1 - loss))
//   bad  --t_bg--> good    t_bg = 1 / burst
#pragma once

namespace weft::fec {

struct LossModel {
  double loss = 0;   // fraction of packets
  double burst = 1;  // mean run of lost packets; 1: independent losses
  friend bool operator==(const LossModel&, const LossModel&) = default;
};

// The model with its numbers forced into the range where it means something: losses up to a half, bursts of at
// least one packet.
LossModel sane(const LossModel& model);

// Correlation of two neighbouring packets' losses, in [0, 1): the second eigenvalue of the chain, 1 - t_gb -
// t_bg. Independent losses have none.
double correlation(const LossModel& model);

// Where the chain goes in `packets` steps at once: the fate of a packet given that of the one `packets` before.
struct LossStep {
  double loss_after_arrival = 0;
  double loss_after_loss = 0;
};
LossStep loss_step(const LossModel& model, unsigned packets);

}  // namespace weft::fec
