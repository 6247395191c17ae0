#include "tests/property/source_book.h"

namespace weft::test {

void SourceBook::see(const Sighting& seen) {
  if (!seen.roce) return;
  switch (seen.place) {
    case sim::Place::kFromHost:
      return record(*seen.roce);
    case sim::Place::kOutOfWan:
      return left(*seen.roce);
    case sim::Place::kIntoWan:
    case sim::Place::kToHost:
      return;
  }
}

SentPacket* SourceBook::find(const roce::FlowKey& flow, roce::Psn psn) {
  const auto of_flow = flows_.find(flow);
  if (of_flow == flows_.end()) return nullptr;
  const auto packet = of_flow->second.packets.find(psn.value);
  return packet == of_flow->second.packets.end() ? nullptr : &packet->second;
}

void SourceBook::record(const roce::PacketView& view) {
  Flow& flow = flows_[view.flow_key()];
  const auto [place, is_new] = flow.packets.try_emplace(view.psn().value);
  SentPacket& packet = place->second;
  ++(is_new ? sent_ : resent_);
  if (is_new) {
    if (view.op().is_rc_write() && view.op().starts_message()) {
      flow.message_first_psn = view.psn();
      flow.message_bytes = view.reth()->length_bytes;
    }
    if (view.op().is_rc_write()) {
      packet.message_first_psn = flow.message_first_psn;
      packet.message_bytes = flow.message_bytes;
    }
    if (flow.newest_sent && view.psn().value < flow.newest_sent->value &&
        roce::psn_before(*flow.newest_sent, view.psn()))
      ++wrapped_;
    flow.newest_sent = view.psn();
  }
  packet.bth = view.bth();
  packet.reth = view.reth().value_or(roce::Reth{});
  packet.imm = view.imm().value_or(0);
  packet.payload_bytes = static_cast<std::uint32_t>(view.payload_bytes());
  packet.dscp = view.dscp();
  SentCopy& copy = packet.copies.emplace_back();
  copy.icrc = view.icrc_found();
  copy.number = sent_ + resent_;
}

void SourceBook::left(const roce::PacketView& view) {
  SentPacket* packet = find(view.flow_key(), view.psn());
  SentCopy* copy = packet == nullptr
                       ? nullptr
                       : packet->find(view.icrc_found(), [](const SentCopy& c) { return !c.left_wan; });
  if (copy == nullptr) return;
  if (copy->left_wan) ++duplicated_;
  copy->left_wan = true;
  ++copy->arrivals;
  copy->mark_changed = copy->mark_changed || view.dscp() != packet->dscp;
  copy->ce_on_arrival = copy->ce_on_arrival && view.ecn() == roce::kEcnCe;
  Flow& flow = flows_[view.flow_key()];
  if (flow.newest_arrival && roce::psn_before(view.psn(), *flow.newest_arrival) && packet->copies.size() == 1)
    ++reordered_;
  if (!flow.newest_arrival || roce::psn_before(*flow.newest_arrival, view.psn()))
    flow.newest_arrival = view.psn();
}

}  // namespace weft::test
