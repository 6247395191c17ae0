// weftctl: the operator's command. Each subcommand is a file in agent/ctl.
#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "agent/base/exit_code.h"
#include "agent/base/version.h"
#include "agent/ctl/agent_calls.h"
#include "agent/ctl/check.h"
#include "agent/ctl/decode.h"
#include "agent/ctl/doctor.h"
#include "agent/ctl/explain.h"
#include "agent/ctl/genkey.h"

int main(int argc, char** argv) try {
  CLI::App app("Inspect and control the Weft agent", "weftctl");
  app.set_version_flag("--version", std::string(weft::kVersion));
  app.require_subcommand(1);
  weft::ctl::Action chosen;
  weft::ctl::add_status(app, chosen);
  weft::ctl::add_flows(app, chosen);
  weft::ctl::add_reload(app, chosen);
  weft::ctl::add_mode(app, chosen);
  weft::ctl::add_check(app, chosen);
  weft::ctl::add_doctor(app, chosen);
  weft::ctl::add_decode(app, chosen);
  weft::ctl::add_explain(app, chosen);
  weft::ctl::add_genkey(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? weft::kExitOk : weft::kExitUsage;
  }
  return chosen();
} catch (const std::exception& error) {
  std::cerr << "weftctl: " << error.what() << '\n';
  return weft::kExitFailed;
}
