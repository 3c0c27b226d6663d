"""Print which aspects judge each field of a response, or why none does: `python -m critests.responses`."""

import sys

from critests.responses.field_table import judged, reason_without_rule

table = judged()
with_rule = sum(map(bool, table.values()))
lines = [f"{with_rule} of {len(table)} fields have a rule.", "", "| field | judged by |", "|---|---|"]
lines += [
    f"| {name} | {', '.join(dict.fromkeys(aspects)) or f'no rule: {reason_without_rule(name)}'} |"
    for name, aspects in table.items()
]
sys.stdout.write("\n".join(lines) + "\n")
