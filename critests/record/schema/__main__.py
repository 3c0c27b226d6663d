"""Print the schema of the run record."""

import json
import sys

from critests.record.schema import schema

sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
