import sys

from testbed.netns.cli import main

sys.exit(main())
