#include "netem/loss_log.h"

#include <fmt/format.h>

#include "agent/base/bytes.h"
#include "agent/roce/icrc.h"

namespace weft::netem {
namespace {

const char* cause_of(const Fate& fate) {
  switch (fate.outcome) {
    case Fate::Outcome::kLost:
      return "loss";
    case Fate::Outcome::kTailDropped:
      return "queue";
    case Fate::Outcome::kDelivered:
      return fate.corrupt_bit ? "corrupt" : nullptr;
  }
  return nullptr;
}

std::string source_fields(const Classified& packet) {
  if (!packet.source) return R"("op":null,"flow":null,"psn":null,"fingerprint":null,"icrc":null)";
  const Classified::Source& source = *packet.source;
  const std::string icrc = to_hex(roce::icrc_to_wire(source.icrc));
  return fmt::format(
      R"("op":"{}","flow":{{"src":"{}","dst":"{}","dst_qpn":{},"response":{}}},"psn":{},"fingerprint":"{}","icrc":"{}")",
      source.op, source.flow.src.to_string(), source.flow.dst.to_string(), source.flow.dest_qpn,
      source.flow.response, source.psn.value, icrc.substr(0, 4), icrc);
}

}  // namespace

Result<LossLog> LossLog::create(const std::string& path) {
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "we"));
  if (file == nullptr) return fail_errno("cannot write the loss log", path);
  std::setvbuf(file.get(), nullptr, _IOLBF, BUFSIZ);
  return LossLog(std::move(file), path);
}

void LossLog::record(Nanoseconds now, Direction direction, const Classified& packet, std::uint32_t ip_bytes,
                     const Fate& fate) {
  const char* cause = cause_of(fate);
  if (cause == nullptr) return;
  const std::string line =
      fmt::format(R"({{"t_ns":{},"direction":"{}","cause":"{}","kind":"{}","ip_bytes":{},{}}})", now.count(),
                  direction == Direction::kForward ? "forward" : "reverse", cause, name_of(packet.kind),
                  ip_bytes, source_fields(packet));
  std::fprintf(file_.get(), "%s\n", line.c_str());
}

Status LossLog::finish() {
  if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0)
    return fail_errno("cannot write the loss log", path_, "is the disk full?");
  return {};
}

}  // namespace weft::netem
