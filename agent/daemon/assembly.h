// What configuration means for the data path: weftd.toml's values as the options and tables of agent/dataplane.
#pragma once

#include "agent/control/config.h"
#include "agent/dataplane/datapath.h"

namespace weft::daemon {

dataplane::DatapathOptions datapath_options(const control::Config& config);
dataplane::ClassifierTables classifier_tables(const control::Config& config);

// What must hold on this machine before traffic is touched: a bridge path underneath, an MTU that fits, one receive
// queue, key files that can be read.
Status check_machine(const control::Config& config);
Status check_key_files(const control::Config& config);

}  // namespace weft::daemon
