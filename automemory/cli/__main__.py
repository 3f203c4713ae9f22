import sys

from automemory.cli import main

sys.exit(main())
