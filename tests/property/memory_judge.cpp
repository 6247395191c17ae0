#include "tests/property/memory_judge.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::test {
namespace {

// Which bytes of a message the agents declared zero.
std::vector<bool> declared_bytes(const sim::MessageOutcome& outcome, const roce::IpAddress& receiver,
                                 std::uint32_t pmtu_bytes, const std::vector<recovery::FillRecord>& records,
                                 Complaints& complaints) {
  std::vector<bool> declared(outcome.spec.bytes);
  for (const recovery::FillRecord& record : records) {
    const auto first = record.psn - static_cast<std::uint32_t>(record.offset_bytes / pmtu_bytes);
    if (record.dst != receiver || record.dst_qpn != outcome.qpn_b || record.va != outcome.va ||
        first != outcome.first_psn)
      continue;
    const std::uint64_t end = record.offset_bytes + record.payload_bytes;
    if (end > declared.size()) {
      complaints.add("P1", fmt::format("bytes {} to {} of a message of {} declared", record.offset_bytes, end,
                                       declared.size()));
      continue;
    }
    std::fill_n(declared.begin() + static_cast<std::ptrdiff_t>(record.offset_bytes), record.payload_bytes,
                true);
  }
  return declared;
}

}  // namespace

std::uint64_t judge_memory(const sim::Transfer& transfer, std::uint32_t pmtu_bytes,
                           const std::vector<recovery::FillRecord>& records, Complaints& complaints) {
  std::uint64_t declared_in_vain = 0;
  for (const sim::MessageOutcome& outcome : transfer.outcomes()) {
    if (!outcome.delivered) continue;
    if (outcome.corrupt_bytes > 0)
      complaints.add("P1", fmt::format("{} corrupt bytes", outcome.corrupt_bytes));
    auto declared = declared_bytes(outcome, transfer.address_of(sim::Side::kB, outcome.host), pmtu_bytes,
                                   records, complaints);
    std::uint64_t undeclared_zeros = 0;
    for (const rc::ByteRange& run : outcome.zero_runs) {
      for (std::uint64_t at = run.offset_bytes; at < run.offset_bytes + run.length_bytes; ++at) {
        undeclared_zeros += declared[at] ? 0 : 1;
        declared[at] = false;
      }
    }
    if (undeclared_zeros > 0)
      complaints.add("P1", fmt::format("{} zero bytes nobody declared", undeclared_zeros));
    declared_in_vain += static_cast<std::uint64_t>(std::ranges::count(declared, true));
  }
  return declared_in_vain;
}

std::string describe_failures(const sim::Transfer& transfer) {
  std::string text;
  for (const sim::MessageOutcome& outcome : transfer.outcomes()) {
    if (outcome.status == rc::WorkStatus::kSuccess && outcome.delivered) continue;
    text += fmt::format(" [{} bytes op {} dscp {}: {}{}]", outcome.spec.bytes,
                        static_cast<int>(outcome.spec.op), outcome.spec.dscp, rc::describe(outcome.status),
                        outcome.delivered ? "" : ", not delivered");
  }
  return text;
}

}  // namespace weft::test
