#include "agent/ctl/genkey.h"

#include <cstdio>

#include <sys/stat.h>
#include <unistd.h>

#include "agent/wire/secrets.h"

namespace weft::ctl {
namespace {

int genkey() {
  const auto key = wire::generate_key();
  if (!key) return complain(key.error(), kExitFailed);
  struct stat out {};
  if (::fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode) && (out.st_mode & 077) != 0) {
    static_cast<void>(
        std::fputs("weftctl: warning: others may read the file this key goes to\n"
                   "HINT: weftd will not take it until: chmod 600 FILE\n",
                   stderr));
  }
  if (std::puts(key->c_str()) >= 0 && std::fflush(stdout) == 0) return kExitOk;
  return complain(fail_errno("cannot write", "standard output").value(), kExitFailed);
}

}  // namespace

void add_genkey(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "genkey", "Print a new key for a pair of agents; both name a file with it as their key_file");
  command->callback([&chosen] { chosen = genkey; });
}

}  // namespace weft::ctl
