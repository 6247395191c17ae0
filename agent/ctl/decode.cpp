#include "agent/ctl/decode.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "agent/ctl/capture_file.h"
#include "agent/ctl/packet_report.h"
#include "agent/wire/secrets.h"

namespace weft::ctl {
namespace {

struct DecodeOptions {
  std::string path;
  std::vector<std::string> key_files;
  bool json = false;
};

Status print_line(std::string line) {
  line += '\n';
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size()) return {};
  return fail_errno("cannot write", "standard output");
}

Status decode(const DecodeOptions& options) {
  WeftAuthenticator authenticator;
  for (const std::string& path : options.key_files) {
    const auto psk = wire::read_key_file(path);
    if (!psk) return fail(psk.error());
    authenticator.add_key(*psk);
  }
  auto file = CaptureFile::open(options.path);
  if (!file) return fail(file.error());
  for (;;) {
    const auto packet = file->next();
    if (!packet) return fail(packet.error());
    if (!*packet) break;
    if (auto printed = print_line(options.json ? json_report(**packet, authenticator).dump()
                                               : text_report(**packet, authenticator));
        !printed) {
      return printed;
    }
  }
  if (std::fflush(stdout) != 0) return fail_errno("cannot write", "standard output");
  return {};
}

}  // namespace

void add_decode(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("decode", "Say what the packets of a capture file are");
  const auto options = std::make_shared<DecodeOptions>();
  command->add_option("FILE", options->path, "a pcap or pcapng file; - reads standard input")->required();
  command->add_option(
      "--key-file", options->key_files,
      "key of a pair of agents: says of their packets whether they are authentic; repeatable");
  command->add_flag("--json", options->json, "JSON Lines: one object per packet");
  command->callback([options, &chosen] {
    chosen = [options] {
      const auto done = decode(*options);
      return done ? kExitOk : complain(done.error(), kExitFailed);
    };
  });
}

}  // namespace weft::ctl
