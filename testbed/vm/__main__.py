import sys

from testbed.vm.cli import main

sys.exit(main())
